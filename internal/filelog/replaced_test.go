package filelog

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"holdfast/internal/durable"
	"holdfast/internal/ledger"
	"holdfast/internal/ledger/ledgertest"
)

// chain reads a ledger's entries as they are.
func (l *Log) chain(t testing.TB) (es []ledger.Entry) {
	t.Helper()
	for e, err := range l.again().Entries(t.Context(), ledger.Pos{}) {
		check(t, err)
		es = append(es, e)
	}
	return es
}

func (l *Log) key1(t testing.TB) ledger.Key {
	t.Helper()
	k, err := l.m.Key()
	check(t, err)
	return k
}

// put0 writes entries as the loose revisions of a generation.
func (l *Log) putGeneration(t testing.TB, n int, es []ledger.Entry) {
	t.Helper()
	dir := l.at("gen/" + genFolder(n) + "/rev")
	mkdir(t, dir)
	for _, e := range es {
		path := filepath.Join(dir, revFile(e.Rev))
		if old, err := os.ReadFile(path); err != nil || string(old) != string(e.Raw) {
			put(t, path, string(e.Raw))
		}
	}
}

// recovered makes what a recovery makes: a second generation that goes back to
// base and names what it replaced.
func (l *Log) recovered(t testing.TB, base int64, seal ledger.Sealer, replaces ...ledger.Pos) []ledger.Entry {
	t.Helper()
	es := l.chain(t)
	put(t, l.at("gen/0001/SEALED"), "x")
	d := ledgertest.Recover("11111111-1111-4111-8111-111111111111", base, replaces...)
	es = ledgertest.Extend(es[:base+1:base+1], seal, d)
	l.putGeneration(t, 2, es)
	return es
}

func recoveredNote(text string) ledger.Draft {
	d := note(text)
	d.Recovery = "11111111-1111-4111-8111-111111111111"
	return d
}

// A recovery's generation is the ledger from then on, for processes that were
// there before it too. The mirror keeps the old lines and goes on.
func TestRecoveredGeneration(t *testing.T) {
	l, p := made(t, 5)
	session := l.again()
	head(t, session)
	es := l.recovered(t, 2, l.key1(t), p)
	now := es[len(es)-1].Pos()
	for _, l := range []*Log{session, l.again()} {
		if h := head(t, l); h != now {
			t.Fatalf("head %v, want %v", h, now)
		}
		_, err := l.Append(t.Context(), p, note("from before"))
		if c := want[*ledger.ConflictError](t, err); c.Head != now {
			t.Errorf("conflict with %v", c.Head)
		}
	}
	before := get(t, l.mirror())
	q := add(t, session, now, recoveredNote("after the recovery"))
	verify(t, l, q)
	wantMirrored(t, l, q)
	if !strings.HasPrefix(get(t, l.mirror()), before) {
		t.Error("old lines of the mirror are gone")
	}
	q = add(t, l.again(), q, recoveredNote("and on"))
	wantMirrored(t, l, q)
	if n := strings.Count(get(t, l.mirror()), "\n"); n != strings.Count(before, "\n")+3 {
		t.Errorf("%d lines in the mirror: more than what was new", n)
	}
}

// Whether a lost head is accepted: only on the word of a recovery that was
// sealed here, for exactly the heads it names and what leads to them.
func TestReplacedHeads(t *testing.T) {
	for _, c := range []struct {
		name   string
		do     func(t *testing.T, l *Log, p ledger.Pos, es []ledger.Entry)
		accept bool
	}{
		{"it names the mirror's head", func(t *testing.T, l *Log, p ledger.Pos, es []ledger.Entry) {
			l.recovered(t, 2, l.key1(t), p)
		}, true},
		{"it names another head", func(t *testing.T, l *Log, p ledger.Pos, es []ledger.Entry) {
			l.recovered(t, 2, l.key1(t), ledger.Pos{Rev: p.Rev, Hash: es[1].Hash})
		}, false},
		{"it names nothing", func(t *testing.T, l *Log, p ledger.Pos, es []ledger.Entry) {
			l.recovered(t, 2, l.key1(t))
		}, false},
		{"unsealed", func(t *testing.T, l *Log, p ledger.Pos, es []ledger.Entry) {
			l.recovered(t, 2, nil, p)
		}, false},
		{"sealed elsewhere", func(t *testing.T, l *Log, p ledger.Pos, es []ledger.Entry) {
			l.recovered(t, 2, ledgertest.OtherKey(), p)
		}, false},
		{"sealed elsewhere, then adopted here", func(t *testing.T, l *Log, p ledger.Pos, _ []ledger.Entry) {
			es := l.recovered(t, 2, ledgertest.OtherKey(), p)
			d := ledgertest.Adopt(l.id())
			d.Recovery = es[len(es)-1].Recovery
			l.putGeneration(t, 2, ledgertest.Extend(es, l.key1(t), d))
		}, true},
		{"adopted here, then sealed elsewhere", func(t *testing.T, l *Log, p ledger.Pos, es []ledger.Entry) {
			adopted := ledgertest.Extend(es[:3:3], l.key1(t), ledgertest.Adopt(l.id()))
			l.putGeneration(t, 2, ledgertest.Extend(adopted, ledgertest.OtherKey(),
				ledgertest.Recover("11111111-1111-4111-8111-111111111111", 2, p)))
		}, false},
		{"the mirror's head leads to it, in the older generation", func(t *testing.T, l *Log, p ledger.Pos, es []ledger.Entry) {
			put(t, l.mirror(), strings.Join(strings.SplitAfter(get(t, l.mirror()), "\n")[:5], ""))
			l.recovered(t, 2, l.key1(t), p)
		}, true},
		{"it leads to it, but the older generation is damaged", func(t *testing.T, l *Log, p ledger.Pos, es []ledger.Entry) {
			put(t, l.mirror(), strings.Join(strings.SplitAfter(get(t, l.mirror()), "\n")[:4], ""))
			l.recovered(t, 2, l.key1(t), p)
			check(t, os.Remove(l.rev(4)))
		}, false},
		{"it leads to it, in the mirror's own lines", func(t *testing.T, l *Log, p ledger.Pos, es []ledger.Entry) {
			lines := strings.SplitAfter(get(t, l.mirror()), "\n")
			put(t, l.mirror(), strings.Join(lines, "")+lines[3])
			l.recovered(t, 2, l.key1(t), p)
			check(t, os.RemoveAll(l.at("gen/0001")))
		}, true},
		{"two recoveries ago", func(t *testing.T, l *Log, p ledger.Pos, es []ledger.Entry) {
			first := l.recovered(t, 2, l.key1(t), p)
			again := ledgertest.Recover("22222222-2222-4222-8222-222222222222", 1, first[3].Pos())
			l.putGeneration(t, 3, ledgertest.Extend(first, l.key1(t), again))
		}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			l, p := made(t, 5)
			c.do(t, l, p, l.chain(t))
			h, err := l.again().Head(t.Context())
			if c.accept {
				check(t, err)
				q := add(t, l.again(), h, recoveredNote("next"))
				verify(t, l, q)
				wantMirrored(t, l, q)
			} else {
				wantDamage(t, err, DamageRegressed)
			}
		})
	}
}

// What can happen between a save's link and its last look.
func TestReplacedDuringASave(t *testing.T) {
	const (
		saved = iota
		withdrawn
		unknown
	)
	sealedAt := func(t *testing.T, l *Log, es []ledger.Entry) {
		d := ledger.Draft{Type: ledger.TypeSealed, HeadFields: ledger.HeadFields{Successor: "0002"}}
		l.putGeneration(t, 1, ledgertest.Extend(es, l.key1(t), d))
		put(t, l.at("gen/0001/SEALED"), "x")
	}
	for _, c := range []struct {
		name string
		do   func(t *testing.T, l *Log)
		want int
	}{
		{"nothing", func(t *testing.T, l *Log) {}, saved},
		{"a seal below the save", func(t *testing.T, l *Log) {
			es := l.chain(t)
			sealedAt(t, l, es[:len(es)-2])
		}, withdrawn},
		{"a seal above the save", func(t *testing.T, l *Log) { sealedAt(t, l, l.chain(t)) }, saved},
		{"only SEALED", func(t *testing.T, l *Log) { put(t, l.at("gen/0001/SEALED"), "x") }, unknown},
		{"a higher generation without a seal", func(t *testing.T, l *Log) { mkdir(t, l.at("gen/0002/rev")) }, unknown},
		{"a seal without a seal key", func(t *testing.T, l *Log) {
			d := ledger.Draft{Type: ledger.TypeSealed}
			l.putGeneration(t, 1, ledgertest.Extend(l.chain(t), nil, d))
			put(t, l.at("gen/0001/SEALED"), "x")
		}, unknown},
		{"the folder was moved and another one put in its place", func(t *testing.T, l *Log) {
			check(t, os.Rename(l.Dir(), l.Dir()+".moved"))
			copyTree(t, l.Dir()+".moved", l.Dir())
			check(t, os.Remove(l.rev(4)))
		}, withdrawn},
		{"the folder was moved away", func(t *testing.T, l *Log) { check(t, os.Rename(l.Dir(), l.Dir()+".moved")) }, withdrawn},
		{"the folder was moved, and another save follows", func(t *testing.T, l *Log) {
			check(t, os.Rename(l.Dir(), l.Dir()+".moved"))
			put(t, l.Dir()+".moved/gen/0001/rev/"+revFile(5), "x")
		}, unknown},
		{"the revisions' folder was replaced", func(t *testing.T, l *Log) {
			rev := l.at("gen/0001/rev")
			check(t, os.Rename(rev, rev+".moved"))
			copyTree(t, rev+".moved", rev)
			check(t, os.Remove(l.rev(4)))
		}, withdrawn},
		{"the revisions' folder was replaced by a copy with the save", func(t *testing.T, l *Log) {
			rev := l.at("gen/0001/rev")
			check(t, os.Rename(rev, rev+".moved"))
			copyTree(t, rev+".moved", rev)
		}, unknown},
		{"the revision was replaced", func(t *testing.T, l *Log) { put(t, l.rev(4), "x") }, unknown},
		{"the revision is gone", func(t *testing.T, l *Log) { check(t, os.Remove(l.rev(4))) }, unknown},
		{"a pack covers it", func(t *testing.T, l *Log) {
			mkdir(t, l.at("gen/0001/pack"))
			put(t, l.packed(packOf(4)), "x")
		}, withdrawn},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			l, p := made(t, 3)
			s := l.with(nil)
			s.m.Layer = when(durable.OpSyncDir, "/rev", func() { c.do(t, l) })
			got, err := s.Append(t.Context(), p, note("x"))
			isUnknown := errors.As(err, new(*ledger.UnknownOutcomeError))
			_, serr := os.Lstat(l.rev(4))
			if moved := l.Dir() + ".moved"; serr != nil {
				_, serr = os.Lstat(moved + "/gen/0001/rev/" + revFile(4))
			}
			switch {
			case c.want == saved && (err != nil || got.Rev != 4):
				t.Errorf("got %+v, %v; it stands", got, err)
			case c.want == unknown && !isUnknown:
				t.Errorf("got %+v, %v; the outcome is unknown", got, err)
			case c.want == withdrawn && (err == nil || isUnknown):
				t.Errorf("got %+v, %v; it doesn't stand", got, err)
			case c.want == withdrawn && serr == nil:
				t.Error("it was not taken back")
			}
			if n := strings.Count(get(t, filepath.Join(l.m.State[0], l.ID(), mirrorName)), "\n"); c.want != saved && n != 4 {
				t.Errorf("the mirror has %d lines", n)
			}
		})
	}
}

// A generation whose last revision seals it takes no more saves, even where the
// mark is gone; a seal that nobody sealed is void.
func TestSealedHead(t *testing.T) {
	for name, seal := range map[string]func(*Log) ledger.Sealer{
		"here":      func(l *Log) ledger.Sealer { return l.key1(t) },
		"elsewhere": func(*Log) ledger.Sealer { return ledgertest.OtherKey() },
		"nowhere":   func(*Log) ledger.Sealer { return nil },
	} {
		l, _ := made(t, 2)
		es := ledgertest.Extend(l.chain(t), seal(l), ledger.Draft{Type: ledger.TypeSealed})
		l.putGeneration(t, 1, es)
		p := es[3].Pos()
		if name == "nowhere" {
			verify(t, l, add(t, l.again(), p, note("x")))
			continue
		}
		wantDamage(t, refuses(t, l.again(), p), DamageIncomplete)
	}
}

// Somebody else's revision stands where ours wanted to be: the conflict names
// the head by then.
func TestLostRace(t *testing.T) {
	l, p := made(t, 2)
	var q ledger.Pos
	s := l.with(when(durable.OpLink, revFile(3), func() { q = fill(t, l.again(), 2) }))
	_, err := s.Append(t.Context(), p, note("too late"))
	if c := want[*ledger.ConflictError](t, err); c.Head != q {
		t.Errorf("conflict with %v, the head is %v", c.Head, q)
	}
	if found := l.temporaries(t); len(found) > 0 {
		t.Errorf("left: %v", found)
	}
	verify(t, s, add(t, s, q, note("now")))
}

// An unknown outcome is never taken for a save or for none; the next look tells.
func TestUnknownOutcome(t *testing.T) {
	l, p := made(t, 2)
	s := l.with(&durable.Layer{Fault: func(op durable.Op, path string) error {
		if op == durable.OpSyncDir && strings.HasSuffix(path, "/rev") {
			return errIO
		}
		return nil
	}})
	_, err := s.Append(t.Context(), p, note("x"))
	if u := want[*ledger.UnknownOutcomeError](t, err); u.Rev != 3 {
		t.Errorf("%+v", u)
	}
	h := head(t, s)
	if h.Rev != 3 {
		t.Fatalf("head %v", h)
	}
	if err := s.Secure(t.Context()); err == nil {
		t.Error("secured without a flush")
	}
	check(t, l.again().Secure(t.Context()))
	wantMirrored(t, l, h)
}

// Older generations and those in the making are found, with what is wrong.
func TestGenerations(t *testing.T) {
	l, p := made(t, 3)
	l.recovered(t, 1, l.key1(t), p)
	mkdir(t, l.at("gen/.build-abc/rev"))
	mkdir(t, l.at("gen/strange"))
	check(t, os.Remove(l.rev(2)))
	gs, err := l.again().Generations(t.Context())
	check(t, err)
	names := []string{}
	for _, g := range gs {
		names = append(names, g.Name)
	}
	if !slices.Equal(names, []string{".build-abc", "0001", "0002"}) {
		t.Fatalf("generations %v", names)
	}
	if g := gs[1]; !g.Sealed || g.Head != 1 || g.Err == nil || g.Number != 1 {
		t.Errorf("%+v", g)
	}
	if g := gs[2]; g.Sealed || g.Head != 2 || g.Err != nil {
		t.Errorf("%+v", g)
	}
	put(t, l.rev(1), "garbage\n")
	good, bad := 0, 0
	for line, err := range l.again().GenerationEntries(t.Context(), "0001") {
		if err != nil {
			bad++
			if filepath.Base(line.Path) != revFile(1) {
				t.Errorf("%v at %s", err, line.Path)
			}
		} else {
			good++
		}
	}
	if good != 2 || bad != 1 {
		t.Errorf("%d good lines, %d bad", good, bad)
	}
	if _, err := testLog(t).Generations(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestMirrors(t *testing.T) {
	l, p := made(t, 2)
	ms := l.Mirrors(t.Context(), l.id())
	if len(ms) != 1 || ms[0].Last != p || ms[0].Torn || ms[0].Err != nil || ms[0].Path != l.mirror() {
		t.Fatalf("%+v", ms)
	}
	lines := strings.SplitAfter(get(t, l.mirror()), "\n")
	changed := strings.Replace(lines[1], `"text":"text"`, `"text":"tixt"`, 1)
	put(t, l.mirror(), lines[0]+"garbage\n"+changed+lines[2]+"{\"torn")
	if m := l.Mirrors(t.Context(), l.id())[0]; !m.Torn || m.Last != p {
		t.Errorf("%+v", m)
	}
	var good, bad []int64
	for line, err := range l.MirrorEntries(t.Context(), ms[0]) {
		if err != nil {
			bad = append(bad, line.Line)
		} else {
			good = append(good, line.Line)
		}
	}
	if !slices.Equal(good, []int64{1, 4}) || !slices.Equal(bad, []int64{2, 3, 5}) {
		t.Errorf("good lines %v, bad ones %v", good, bad)
	}
	if ms := l.Mirrors(t.Context(), strings.Repeat("0", 32)); len(ms) > 0 {
		t.Errorf("mirrors of nothing: %+v", ms)
	}
}
