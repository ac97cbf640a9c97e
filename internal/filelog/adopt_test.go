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

// AdoptCopy: the copy gets an id of its own and keeps its history; the original
// and its mirror stay as they are.
func TestAdoptCopy(t *testing.T) {
	l, p := made(t, 2)
	other := l.elsewhere(filepath.Join(t.TempDir(), "copy"))
	copyTree(t, l.p.Dir, other.p.Dir)
	p2 := add(t, l.again(), p, note("the original goes on"))
	before := snapshot(t, l.p.Dir, filepath.Dir(l.mirror()))

	_, err := other.AdoptCopy(t.Context(), ledger.Pos{Rev: 1, Hash: p.Hash}, typed(ledgertest.Adopt("")))
	want[*ledger.ConflictError](t, err)
	saved, err := other.AdoptCopy(t.Context(), p, typed(ledgertest.Adopt("")))
	check(t, err)
	if !saved.Protected || len(saved.Warnings) > 0 {
		t.Fatalf("saved %+v", saved)
	}
	if other.id() == l.id() || other.ID() != other.id() {
		t.Errorf("ids %s and %s, the log says %s", l.id(), other.id(), other.ID())
	}
	verify(t, other, saved.Pos)
	q := add(t, other.again(), saved.Pos, note("on its own"))
	verify(t, other, q)
	wantMirrored(t, other, q)
	after := snapshot(t, l.p.Dir, filepath.Dir(l.mirror()))
	same(t, before, after)
	p2 = add(t, l.again(), p2, note("the original still goes on"))
	verify(t, l, p2)
	if got := l.noteMap(); got[realPath(l.p.Dir)] != l.id() || got[realPath(other.p.Dir)] != other.id() {
		t.Errorf("notes %v", got)
	}
}

// Death between the adopt entry and FORMAT: the next save finishes it under the
// id that the entry names, and so does adopting again.
func TestAdoptCopyInterrupted(t *testing.T) {
	for _, again := range []bool{false, true} {
		for _, ahead := range []bool{false, true} {
			l, p := made(t, 2)
			other := l.elsewhere(filepath.Join(t.TempDir(), "copy"))
			copyTree(t, l.p.Dir, other.p.Dir)
			if ahead {
				add(t, l.again(), p, note("the original goes on"))
			}
			dying := other.with(&durable.Layer{Fault: func(op durable.Op, path string) error {
				if op == durable.OpRename && filepath.Base(path) == formatName {
					return errIO
				}
				return nil
			}})
			saved, err := dying.AdoptCopy(t.Context(), p, typed(ledgertest.Adopt("")))
			check(t, err)
			if saved.Protected || len(saved.Warnings) == 0 || other.id() != l.id() {
				t.Fatalf("saved %+v", saved)
			}
			e, err := other.again().Entry(t.Context(), saved.Rev)
			check(t, err)
			q := saved.Pos
			if again {
				saved, err = other.again().AdoptCopy(t.Context(), q, typed(ledgertest.Adopt("")))
				check(t, err)
				if saved.Pos != q || !saved.Protected {
					t.Errorf("saved %+v", saved)
				}
			} else {
				q = add(t, other.again(), q, note("next"))
			}
			if other.id() != e.ID || e.ID == l.id() {
				t.Errorf("id %s, adopted %s", other.id(), e.ID)
			}
			verify(t, other, q)
			wantMirrored(t, other, q)
			if found := other.temporaries(t); len(found) > 0 {
				t.Errorf("left: %v", found)
			}
		}
	}
}

// Adopting verifies the whole chain first, and only what was shown is adopted.
func TestAdopt(t *testing.T) {
	l, p := made(t, 3)
	s := l.stranger(t)
	_, err := s.Adopt(t.Context(), ledger.Pos{Rev: 2, Hash: p.Hash}, typed(ledgertest.Adopt("")))
	want[*ledger.ConflictError](t, err)
	wantForeign(t, s)
	put(t, l.rev(1), strings.Replace(get(t, l.rev(1)), `"text":"text"`, `"text":"tixt"`, 1))
	_, err = s.Adopt(t.Context(), p, typed(ledgertest.Adopt("")))
	wantDamage(t, err, DamageChanged)
	put(t, l.rev(1), strings.Replace(get(t, l.rev(1)), `"text":"tixt"`, `"text":"text"`, 1))

	saved, err := s.Adopt(t.Context(), p, typed(ledgertest.Adopt("")))
	check(t, err)
	verify(t, s, saved.Pos)
	wantMirrored(t, s, saved.Pos)
	e, err := s.Entry(t.Context(), saved.Rev)
	check(t, err)
	if e.ID != l.id() || e.Void() {
		t.Errorf("adopt entry %+v", e.Head)
	}
	verify(t, l, saved.Pos) // it stays known where it was made
}

// Without a key nothing can be adopted.
func TestAdoptNeedsASeal(t *testing.T) {
	l, p := made(t, 1)
	s := l.stranger(t)
	s.m.State = nil
	_, err := s.Adopt(t.Context(), p, typed(ledgertest.Adopt("")))
	want[*UnsealedError](t, err)
	wantForeign(t, s)
}

func TestDescribe(t *testing.T) {
	l, p := made(t, 3)
	s := l.stranger(t)
	before := snapshot(t, l.p.Dir)
	d, err := s.Describe(t.Context(), nil)
	check(t, err)
	if d.ID != l.id() || d.Head != p || d.Entries != 4 || d.Records[ledger.KindNote] != 3 || d.There != 4 || d.Here != 0 || d.Err != nil {
		t.Errorf("%+v", d)
	}
	if d.Actors[ledgertest.Agent()] != 3 || d.First == "" || d.Last < d.First {
		t.Errorf("%+v", d)
	}
	same(t, before, snapshot(t, l.p.Dir))
	seen := 0
	put(t, l.rev(2), "garbage\n")
	d, err = s.Describe(t.Context(), func(*ledger.Entry) { seen++ })
	check(t, err)
	if d.Entries != 2 || seen != 2 || !Damaged(d.Err) {
		t.Errorf("%+v, %d entries seen", d, seen)
	}
	if _, err := testLog(t).Describe(t.Context(), nil); !errors.Is(err, ErrNone) {
		t.Errorf("nothing: %v", err)
	}
}

// Starting over is a decision: refused as long as something lies there, and then
// the old ledger is given up while its mirror stays.
func TestStartOver(t *testing.T) {
	for _, left := range []string{"nothing", "an empty folder", "FORMAT", "NUL FORMAT", "an empty generation"} {
		t.Run(left, func(t *testing.T) {
			l, _ := made(t, 3)
			id, mirror := l.id(), l.mirror()
			_, err := l.StartOver(t.Context())
			want[*PresentError](t, err)
			check(t, os.RemoveAll(l.at("gen")))
			switch left {
			case "nothing":
				check(t, os.RemoveAll(l.Dir()))
			case "an empty folder":
				check(t, os.Remove(l.at(formatName)))
			case "NUL FORMAT":
				put(t, l.at(formatName), strings.Repeat("\x00", 80))
			case "an empty generation":
				mkdir(t, l.at("gen/0001/rev"))
			}
			fresh := l.again()
			if _, err := fresh.Head(t.Context()); !Damaged(err) {
				t.Fatalf("head: %v", err)
			}
			old, err := fresh.StartOver(t.Context())
			check(t, err)
			if old.Ledger != id {
				t.Errorf("given up: %+v", old)
			}
			if h := head(t, l.again()); h != (ledger.Pos{}) {
				t.Errorf("head %v", h)
			}
			p := create(t, fresh)
			verify(t, fresh, p)
			if l.id() == id {
				t.Error("the new ledger has the old id")
			}
			if lines := strings.Count(get(t, mirror), "\n"); lines != 4 {
				t.Errorf("the old mirror has %d lines", lines)
			}
			check(t, os.RemoveAll(l.Dir()))
			_, err = l.again().Head(t.Context())
			want[*LostError](t, err)
		})
	}
}

func TestStartOverWithoutALedger(t *testing.T) {
	l := testLog(t)
	if old, err := l.StartOver(t.Context()); err != nil || old.Ledger != "" {
		t.Errorf("%+v, %v", old, err)
	}
	create(t, l)
}

// A ledger known here lies at a path where another was known.
func TestAnotherLedgerAtThePath(t *testing.T) {
	l, p := made(t, 2)
	other := l.elsewhere(filepath.Join(t.TempDir(), "other"))
	mkdir(t, other.p.Dir)
	q := create(t, other)
	check(t, os.RemoveAll(l.Dir()))
	copyTree(t, other.Dir(), l.Dir())
	wantDamage(t, refuses(t, l.again(), q), DamageOther)
	_ = p
	// A person takes what lies there.
	check(t, os.RemoveAll(other.p.Dir))
	adopting := l.again()
	adopting.m.Adopted = []string{l.id()}
	q = add(t, adopting, q, note("adopted"))
	adopting.m.Adopted = nil
	verify(t, l.again(), q)
}
