package filelog

import (
	"crypto/rand"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"holdfast/internal/durable"
	"holdfast/internal/ledger"
	"holdfast/internal/ledger/ledgertest"
)

// wantForeign checks that nothing of a ledger can be read or written, and that
// nothing in its folder changes by trying.
func wantForeign(t *testing.T, l *Log) {
	t.Helper()
	before := snapshot(t, l.p.Dir)
	ctx := t.Context()
	_, err := l.Head(ctx)
	f := want[*ForeignError](t, err)
	if strings.Contains(err.Error(), "text") {
		t.Errorf("error shows content: %v", err)
	}
	for e, err := range l.Entries(ctx, ledger.Pos{}) {
		if err == nil {
			t.Errorf("entry %d of a foreign ledger", e.Rev)
		}
		want[*ForeignError](t, err)
	}
	_, err = l.Entry(ctx, 1)
	want[*ForeignError](t, err)
	_, err = l.Append(ctx, ledger.Pos{}, note("x"))
	want[*ForeignError](t, err)
	_, err = l.Lock(ctx)
	want[*ForeignError](t, err)
	want[*ForeignError](t, l.Secure(ctx))
	_, err = l.Stamps(ctx)
	want[*ForeignError](t, err)
	_, err = l.Redactions(ctx)
	want[*ForeignError](t, err)
	_, err = l.Redact(ctx, nil)
	want[*ForeignError](t, err)
	_, err = l.Sweep(ctx)
	want[*ForeignError](t, err)
	for range l.Salvage(ctx) {
		t.Error("salvaged a foreign ledger")
	}
	same(t, before, snapshot(t, l.p.Dir))
	if f.Path == "" {
		t.Error("no path")
	}
}

func TestForeignLedger(t *testing.T) {
	l, _ := made(t, 3)
	wantForeign(t, l.stranger(t))

	s := l.stranger(t)
	s.m.Adopted = []string{l.id()}
	p := head(t, s)
	add(t, s, p, note("through HOLDFAST_ADOPT"))
}

// What makes a ledger known, each alone.
func TestKnownBy(t *testing.T) {
	t.Run("the first revision's seal", func(t *testing.T) {
		l, p := made(t, 3)
		check(t, os.RemoveAll(filepath.Dir(l.mirror())))
		check(t, os.RemoveAll(l.paths()))
		verify(t, l.again(), p)
	})
	t.Run("the mirror", func(t *testing.T) {
		l, p := made(t, 3)
		check(t, os.Remove(l.state(keyName)))
		check(t, os.RemoveAll(l.paths()))
		verify(t, l.again(), p)
	})
	t.Run("a mirror that is behind", func(t *testing.T) {
		l, p := made(t, 3)
		check(t, os.Remove(l.state(keyName)))
		check(t, os.RemoveAll(l.paths()))
		put(t, l.mirror(), strings.Join(strings.SplitAfter(get(t, l.mirror()), "\n")[:2], ""))
		verify(t, l.again(), p)
	})
	t.Run("a note alone is not enough", func(t *testing.T) {
		l, _ := made(t, 3)
		check(t, os.Remove(l.state(keyName)))
		check(t, os.RemoveAll(filepath.Dir(l.mirror())))
		wantForeign(t, l.again())
	})
	t.Run("adoption", func(t *testing.T) {
		l, p := made(t, 3)
		s := l.stranger(t)
		saved, err := s.Adopt(t.Context(), p, typed(ledgertest.Adopt("")))
		check(t, err)
		check(t, os.RemoveAll(filepath.Dir(s.mirror())))
		check(t, os.RemoveAll(s.paths()))
		verify(t, s.again(), saved.Pos)
	})
}

// A lost key is made anew, and nothing else changes.
func TestLostKey(t *testing.T) {
	l, _ := made(t, 3)
	old := get(t, l.state(keyName))
	check(t, os.Remove(l.state(keyName)))
	fresh := l.again()
	p := fill(t, fresh, 2)
	verify(t, fresh, p)
	if now := get(t, l.state(keyName)); now == old {
		t.Error("the key came back")
	}
	e, err := fresh.Entry(t.Context(), p.Rev)
	check(t, err)
	keys, err := l.m.Keys()
	check(t, err)
	if keys.Check(&e) != ledger.SealedHere {
		t.Error("the save is not sealed with the new key")
	}
}

// A key file that can't be read is left as it is; saves go on unsealed, with a
// word about it, and what takes something away is refused.
func TestUnreadableKey(t *testing.T) {
	l, p := made(t, 1)
	put(t, l.state(keyName), "not a key")
	fresh := l.again()
	saved, err := fresh.Append(t.Context(), p, note("unsealed"))
	check(t, err)
	if !saved.Protected || len(saved.Warnings) != 1 || !strings.Contains(saved.Warnings[0], "not sealed") {
		t.Errorf("saved: %+v", saved)
	}
	_, err = fresh.Append(t.Context(), saved.Pos, typed(ledgertest.Confirm(ledger.Ref{ID: "n-1", Rev: 1})))
	want[*UnsealedError](t, err)
	if get(t, l.state(keyName)) != "not a key" {
		t.Error("the key file was changed")
	}
	verify(t, fresh, saved.Pos)
}

// Entries that claim this machine's seal and don't have it are damage wherever
// they are read.
func TestForgedSeal(t *testing.T) {
	forge := func(t *testing.T, l *Log, p ledger.Pos) ledger.Pos {
		key, err := l.m.Key()
		check(t, err)
		for _, seal := range []ledger.Sealer{badSeal{key.KeyID(), strings.Repeat("0", 64)}, badSeal{key.KeyID(), ""}, badSeal{"", strings.Repeat("0", 64)}} {
			e, err := ledger.Encode(p, note("forged"), make([]byte, 16), seal)
			check(t, err)
			put(t, l.rev(p.Next()), string(e.Raw))
			wantDamage(t, refuses(t, l.again(), e.Pos()), DamageChanged)
			_, err = l.again().Entry(t.Context(), e.Rev)
			wantDamage(t, err, DamageChanged)
		}
		e, err := ledger.Encode(p, note("forged"), make([]byte, 16), badSeal{key.KeyID(), strings.Repeat("0", 64)})
		check(t, err)
		put(t, l.rev(p.Next()), string(e.Raw))
		return e.Pos()
	}
	l, p := made(t, 2)
	p = forge(t, l, p)
	// An honest entry on top hides nothing.
	e, err := ledger.Encode(p, note("on top"), make([]byte, 16), nil)
	check(t, err)
	put(t, l.rev(p.Next()), string(e.Raw))
	var last error
	for _, err := range l.again().Entries(t.Context(), ledger.Pos{}) {
		last = err
	}
	if d := wantDamage(t, last, DamageChanged); d.Rev != 3 {
		t.Errorf("damage of revision %d", d.Rev)
	}
}

type badSeal struct{ id, seal string }

func (s badSeal) KeyID() string      { return s.id }
func (s badSeal) Seal(string) string { return s.seal }

// Entries by hand, rightly chained and without a seal, are what a sandbox
// writes: they stand, but can't take anything away.
func TestUnsealedSuffixStands(t *testing.T) {
	l, p := made(t, 2)
	e, err := ledger.Encode(p, note("by hand"), make([]byte, 16), nil)
	check(t, err)
	put(t, l.rev(p.Next()), string(e.Raw))
	p = add(t, l.again(), e.Pos(), note("next"))
	verify(t, l, p)
}

// The first revision or FORMAT of a ledger that this machine knows can't be
// read: it is damaged, not foreign.
func TestDamagedNotForeign(t *testing.T) {
	for _, c := range []struct {
		name string
		do   func(*testing.T, *Log)
	}{
		{"first revision", func(t *testing.T, l *Log) { put(t, l.rev(0), "garbage\n") }},
		{"first revision of another type", func(t *testing.T, l *Log) {
			put(t, l.rev(0), string(ledgertest.Entries(nil, note("x"))[0].Raw))
		}},
		{"FORMAT", func(t *testing.T, l *Log) { put(t, l.at(formatName), "garbage") }},
		{"no FORMAT", func(t *testing.T, l *Log) { check(t, os.Remove(l.at(formatName))) }},
	} {
		for _, by := range []string{"note", "mirror"} {
			t.Run(c.name+" by "+by, func(t *testing.T) {
				t.Parallel()
				l, p := made(t, 3)
				check(t, os.Remove(l.state(keyName)))
				if by == "mirror" {
					check(t, os.RemoveAll(l.paths()))
				} else {
					check(t, os.Remove(l.mirror()))
				}
				c.do(t, l)
				_, err := l.again().Head(t.Context())
				if !Damaged(err) {
					t.Errorf("got %v", err)
				}
				if err := refuses(t, l.again(), p); !Damaged(err) {
					t.Errorf("got %v", err)
				}
			})
		}
	}
}

// A ledger whose FORMAT was replaced is not known by another's seals.
func TestForeignFormatOverOwnRevisions(t *testing.T) {
	l, _ := made(t, 3)
	check(t, os.RemoveAll(l.paths()))
	put(t, l.at(formatName), string(formatOf(strings.Repeat("0", 32)).bytes()))
	wantForeign(t, l.again())
}

func TestMachineWithoutRandomness(t *testing.T) {
	l := testLog(t)
	l.m.Rand = failingReader{}
	if _, err := l.Append(t.Context(), ledger.Pos{}, ledger.Draft{Type: ledger.TypeLedger}); !errors.Is(err, errNoRandom) {
		t.Errorf("creation: %v", err)
	}
	l.m.Rand = rand.Reader
	p := create(t, l)
	l.m.Rand = failingReader{}
	if _, err := l.Append(t.Context(), p, note("x")); !errors.Is(err, errNoRandom) {
		t.Errorf("save: %v", err)
	}
}

var errNoRandom = errors.New("no randomness")

type failingReader struct{}

func (failingReader) Read([]byte) (int, error) { return 0, errNoRandom }

// Both state folders count: a key or a mirror in either, and of two mirrors the
// one with the further head is extended.
func TestTwoStateFolders(t *testing.T) {
	l, p := made(t, 2)
	first := l.m.State[0]
	second := filepath.Join(t.TempDir(), "default")

	// A client that strips the environment knows the default alone.
	stripped := l.again()
	stripped.m = new(*l.m)
	stripped.m.State = []string{second}
	wantForeign(t, stripped)

	both := l.again()
	both.m = new(*l.m)
	both.m.State = []string{second, first}
	p = add(t, both, p, note("seen by both"))
	wantMirrored(t, l, p)
	if _, err := os.Lstat(filepath.Join(second, l.id())); err == nil {
		t.Error("a second mirror was begun")
	}

	// The default's own mirror is further: it is the one that goes on.
	copyTree(t, first, second)
	p = add(t, stripped, p, note("only in the default's"))
	both = both.again()
	p = add(t, both, p, note("next"))
	tails := map[string]ledger.Pos{}
	for _, root := range both.m.State {
		tl, err := both.tailIn(root, l.id())
		check(t, err)
		tails[root] = tl.last
	}
	if tails[second] != p || tails[first].Rev != p.Rev-2 {
		t.Errorf("tails %v, head %v", tails, p)
	}
	verify(t, both, p)
	verify(t, l.again(), p)
}

// Where the mirror with the further head can't be written, another one is.
func TestUnwritableStateFolder(t *testing.T) {
	l, p := made(t, 2)
	first := l.m.State[0]
	second := filepath.Join(t.TempDir(), "default")
	readOnly := l.with(&durable.Layer{Fault: func(op durable.Op, path string) error {
		switch op {
		case durable.OpCreate, durable.OpWrite, durable.OpLock, durable.OpMkdir, durable.OpLink, durable.OpRename:
			if strings.HasPrefix(path, first) {
				return errReadOnly
			}
		}
		return nil
	}})
	saved, err := readOnly.Append(t.Context(), p, note("x"))
	check(t, err)
	if saved.Protected || len(saved.Warnings) == 0 {
		t.Errorf("saved %+v", saved)
	}
	readOnly.m.State = []string{first, second}
	p = add(t, readOnly.again(), saved.Pos, note("y"))
	tl, err := readOnly.tailIn(second, l.id())
	if err != nil || tl.last != p {
		t.Errorf("the second mirror ends at %v, %v", tl.last, err)
	}
	verify(t, l, p)
}

// Without any place for state saves stand, unprotected, and say so.
func TestNoStateFolder(t *testing.T) {
	for name, state := range map[string][]string{
		"none": nil, "a file in its place": {"file"}, "a link to nowhere": {"link"},
	} {
		t.Run(name, func(t *testing.T) {
			l := testLog(t)
			dir := t.TempDir()
			put(t, filepath.Join(dir, "file"), "x")
			check(t, os.Symlink(filepath.Join(dir, "nowhere"), filepath.Join(dir, "link")))
			l.m.State = nil
			for _, s := range state {
				l.m.State = append(l.m.State, filepath.Join(dir, s))
			}
			saved, err := l.Append(t.Context(), ledger.Pos{}, ledger.Draft{Type: ledger.TypeLedger, At: time.Now()})
			check(t, err)
			for i := range 3 {
				if saved.Protected || len(saved.Warnings) == 0 {
					t.Errorf("save %d: %+v", i, saved)
				}
				saved, err = l.Append(t.Context(), saved.Pos, note("x"))
				check(t, err)
			}
			_, err = l.Append(t.Context(), saved.Pos, typed(ledgertest.Confirm(ledger.Ref{ID: "n-1", Rev: 1})))
			want[*UnsealedError](t, err)
			// The process that made it notices its loss all the same.
			check(t, os.RemoveAll(l.Dir()))
			_, err = l.Head(t.Context())
			want[*LostError](t, err)
		})
	}
}
