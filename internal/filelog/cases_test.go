package filelog

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"holdfast/internal/durable"
	"holdfast/internal/ledger"
	"holdfast/internal/ledger/ledgertest"
)

func fixture(t testing.TB, name string) string {
	t.Helper()
	return get(t, filepath.Join("testdata", filepath.FromSlash(name)))
}

// C001 and C002: torn and glued lines in each file that holds lines. In the
// mirror, the second copy, they are passed over and named by their numbers, and
// nothing is glued to them; in a pack they are damage.
func TestCaseC001_TornLines(t *testing.T) {
	for _, name := range []string{"C001/torn-middle.jsonl", "C001/torn-tail.jsonl", "C002/no-final-newline.jsonl", "C002/glued.jsonl", "C008/reused-seq.jsonl"} {
		strange := fixture(t, name)
		t.Run("mirror "+name, func(t *testing.T) {
			l, p := made(t, 3)
			lines := strings.SplitAfter(get(t, l.mirror()), "\n")
			// The same kinds of damage made of our own lines.
			torn := strange
			if strings.Contains(name, "glued") {
				torn += lines[1][:len(lines[1])-1] + lines[2]
			}
			put(t, l.mirror(), strings.Join(lines[:3], "")+torn)
			p = add(t, l.again(), p, note("next"))
			verify(t, l, p)
			wantMirrored(t, l, p)
			if !strings.Contains(get(t, l.mirror()), strange[:40]) {
				t.Error("what was strange is gone")
			}
			bad := 0
			for line, err := range l.MirrorEntries(t.Context(), l.Mirrors(t.Context(), l.id())[0]) {
				if err != nil {
					bad++
					if line.Line < 4 || strings.Contains(err.Error(), "Ship") {
						t.Errorf("line %d: %v", line.Line, err)
					}
				}
			}
			if bad == 0 {
				t.Error("nothing strange was named")
			}
		})
		t.Run("pack "+name, func(t *testing.T) {
			l, p := full(t)
			p = add(t, l, p, note("packs"))
			lines := strings.SplitAfter(get(t, l.packed(packOf(1))), "\n")
			lines[499] = strange
			put(t, l.packed(packOf(1)), strings.Join(lines, ""))
			n, last := 0, error(nil)
			for _, err := range l.again().Entries(t.Context(), ledger.Pos{}) {
				if last = err; err == nil {
					n++
				}
			}
			d, ok := errors.AsType[*DamageError](last)
			if !ok || n != 500 || d.Rev != 500 || strings.Contains(last.Error(), "Ship") {
				t.Errorf("%d entries, then %v", n, last)
			}
			_ = p
		})
		t.Run("revision "+name, func(t *testing.T) {
			l, p := made(t, 3)
			put(t, l.rev(3), strange)
			err := refuses(t, l.again(), p)
			if !Damaged(err) && !errors.As(err, new(*UnfinishedError)) || strings.Contains(err.Error(), "Ship") {
				t.Errorf("got %v", err)
			}
			if get(t, l.rev(3)) != strange {
				t.Error("it was changed")
			}
		})
	}
}

// C002: a last line without its newline is closed before the next one is added.
func TestCaseC002_NoFinalNewline(t *testing.T) {
	l, p := made(t, 3)
	whole := get(t, l.mirror())
	put(t, l.mirror(), strings.TrimSuffix(whole, "\n"))
	p = add(t, l.again(), p, note("next"))
	lines := strings.SplitAfter(get(t, l.mirror()), "\n")
	for i, line := range lines[:len(lines)-1] {
		if _, err := ledger.Parse([]byte(line)); err != nil {
			t.Errorf("line %d: %v", i+1, err)
		}
	}
	wantMirrored(t, l, p)
}

// C004: the revision's bytes are flushed before its name and its folder before
// the answer (TestOrderOfASave); what a power cut left as NUL bytes or empty is
// lost, not new, and nothing good is written over.
func TestCaseC004_NULFiles(t *testing.T) {
	contents := map[string]string{
		"NUL": fixture(t, "C004/state.nul.json"), "half NUL": fixture(t, "C004/state.half-nul.json"), "empty": "",
	}
	for kind, content := range contents {
		for _, file := range []string{"FORMAT", "gen/0001/rev/00000002.json", "gen/0001/rev/00000003.json", "gen/0001/rev/00000000.json"} {
			t.Run(kind+" "+file, func(t *testing.T) {
				t.Parallel()
				l, p := made(t, 3)
				put(t, l.at(file), content)
				before := snapshot(t, l.at("gen"), filepath.Dir(l.state(l.ID()+"/x")))
				s := l.again()
				unlock, err := s.Lock(t.Context())
				check(t, err)
				_, err = s.Append(t.Context(), p, note("x"))
				check(t, unlock())
				if file == "gen/0001/rev/00000002.json" { // read by nobody: seen by stamps, or when it is read
					for _, err = range s.Entries(t.Context(), ledger.Pos{}) {
						if err != nil {
							break
						}
					}
				} else {
					after := snapshot(t, l.at("gen"), filepath.Dir(l.state(l.ID()+"/x")))
					for path := range after {
						if strings.HasSuffix(path, mirrorLockName) {
							delete(after, path)
							delete(before, path)
						}
					}
					same(t, before, after)
				}
				if !Damaged(err) {
					t.Errorf("got %v", err)
				}
				n := 0
				for range l.again().Salvage(t.Context()) {
					n++
				}
				if n < 4 {
					t.Errorf("%d entries can be had, want 4", n)
				}
			})
		}
		t.Run(kind+" mirror", func(t *testing.T) {
			l, p := made(t, 3)
			put(t, l.mirror(), content)
			p = add(t, l.again(), p, note("x"))
			wantMirrored(t, l, p)
		})
		t.Run(kind+" both", func(t *testing.T) {
			l, p := made(t, 3)
			put(t, l.mirror(), content)
			put(t, l.rev(3), content)
			refuses(t, l.again(), p)
		})
		t.Run(kind+" FORMAT and nothing else", func(t *testing.T) {
			l := testLog(t)
			mkdir(t, l.Dir())
			put(t, l.at(formatName), content)
			if err := refuses(t, l, ledger.Pos{}); !Damaged(err) {
				t.Errorf("got %v", err)
			}
		})
	}
}

// C007, as far as a log decides it: what is saved behind a place that was read
// before somebody else saved is a conflict that names the head.
func TestCaseC007_LostUpdate(t *testing.T) {
	l, p := made(t, 2)
	a, b := l.again(), l.again()
	head(t, a)
	head(t, b)
	q := add(t, a, p, note("A replaces it"))
	_, err := b.Append(t.Context(), p, note("B replaces it too"))
	if c := want[*ledger.ConflictError](t, err); c.Head != q {
		t.Errorf("conflict with %v", c.Head)
	}
	verify(t, l, q)
}

// C008: an entry of a kind that this build doesn't know is kept, counts, and
// forbids writing; its number is never used again.
func TestCaseC008_UnknownKind(t *testing.T) {
	l, p := made(t, 2)
	e := ledgertest.Extend(l.chain(t), l.key1(t), ledgertest.Future())[3]
	put(t, l.rev(3), string(e.Raw))
	for _, s := range []*Log{l, l.again()} {
		if h := head(t, s); h != e.Pos() {
			t.Fatalf("head %v", h)
		}
		n := want[*NewerError](t, refuses(t, s, e.Pos()))
		if n.Rev != 3 {
			t.Errorf("%+v", n)
		}
		_, err := s.Append(t.Context(), p, note("over it"))
		if c := want[*ledger.ConflictError](t, err); c.Head != e.Pos() {
			t.Errorf("conflict with %v", c.Head)
		}
	}
	if es := l.chain(t); len(es) != 4 || !es[3].Newer {
		t.Errorf("%d entries", len(es))
	}
	put(t, l.at(formatName), `{"format":"holdfast","v":2,"ledger":"`+l.id()+`","more":1}`+"\n")
	fresh := l.again()
	_, err := fresh.Head(t.Context())
	want[*NewerError](t, err)
	before := snapshot(t, l.p.Dir)
	_, err = fresh.Lock(t.Context())
	want[*NewerError](t, err)
	same(t, before, snapshot(t, l.p.Dir))
}

// C020: damage stops every writer at once, in every way of coming to the ledger;
// a ledger reached through a link or under a second name is refused or the same.
func TestCaseC020_DamageStopsAllWriters(t *testing.T) {
	l, p := made(t, 4)
	session := l.again()
	add2 := add(t, session, p, note("x"))
	link := filepath.Join(t.TempDir(), "link")
	check(t, os.Symlink(l.p.Dir, link))
	put(t, l.rev(add2.Rev), strings.Replace(get(t, l.rev(add2.Rev)), `"text":"x"`, `"text":"y"`, 1))
	for _, s := range []*Log{session, l.again(), l.elsewhere(link)} {
		wantDamage(t, refuses(t, s, add2), DamageChanged)
	}
	n := 0
	for _, err := range l.again().Entries(t.Context(), ledger.Pos{}) {
		if err == nil {
			n++
		}
	}
	if n != 5 {
		t.Errorf("%d entries can still be read, want 5", n)
	}
	linked := filepath.Join(t.TempDir(), "linked")
	mkdir(t, linked)
	check(t, os.Symlink(l.Dir(), filepath.Join(linked, FolderName)))
	if err := refuses(t, l.elsewhere(linked), add2); !errors.Is(err, durable.ErrUnsafe) {
		t.Errorf("through a link in its place: %v", err)
	}
}
