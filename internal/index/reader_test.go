package index_test

import (
	"path/filepath"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"holdfast/internal/index"
	"holdfast/internal/ledger"
	"holdfast/internal/ledger/ledgertest"
)

func fold(t testing.TB, es []ledger.Entry) *ledger.State {
	t.Helper()
	s := &ledger.State{}
	for _, e := range es {
		if err := s.Apply(e); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

func logOf(es []ledger.Entry) *ledgertest.Memory {
	return ledgertest.NewMemory(ledgertest.Options{Sealer: ledgertest.Key(), Entries: es})
}

func open(t testing.TB, o index.Options) *index.Index {
	t.Helper()
	x, err := index.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := x.Close(); err != nil {
			t.Error(err)
		}
	})
	return x
}

func follow(t testing.TB, x *index.Index, es []ledger.Entry) {
	t.Helper()
	if err := x.Follow(t.Context(), logOf(es)); err != nil {
		t.Fatal(err)
	}
}

func view(t testing.TB, x *index.Index, tail []ledger.Entry) *index.View {
	t.Helper()
	v, err := x.View(t.Context(), tail)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// same fails the test unless v answers as the fold of es does, for every reader.
func same(t *rapid.T, h ledgertest.History, es []ledger.Entry, v ledger.Reader) {
	t.Helper()
	s := &ledger.State{}
	for _, e := range es {
		if err := s.Apply(e); err != nil {
			t.Fatal(err)
		}
	}
	diff, err := ledgertest.Compare(t.Context(), h, s, v)
	if err != nil {
		t.Fatal(err)
	}
	if diff != "" {
		t.Fatalf("fold (-) and index (+) differ: %s", diff)
	}
}

// folders gives a fresh folder for each run of a property.
func folders(t *testing.T) func() string {
	dir, n := t.TempDir(), 0
	return func() string { n++; return filepath.Join(dir, strconv.Itoa(n)) }
}

// grow feeds entries to an index in a few steps, and gives how many.
func grow(t *rapid.T, x *index.Index, es []ledger.Entry) int {
	upTo := 0
	for range rapid.IntRange(0, 3).Draw(t, "steps") {
		upTo = rapid.IntRange(upTo, len(es)).Draw(t, "followed up to")
		if err := x.Follow(t.Context(), logOf(es[:upTo])); err != nil {
			t.Fatal(err)
		}
	}
	return upTo
}

func openIn(t *rapid.T, o index.Options) *index.Index {
	x, err := index.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

func viewIn(t *rapid.T, x *index.Index, tail []ledger.Entry) *index.View {
	v, err := x.View(t.Context(), tail)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// The index is fed in a few steps, the rest is left to the view, and the view
// must answer as the fold of everything does.
func TestIndexAgainstFold(t *testing.T) {
	dir := folders(t)
	rapid.Check(t, func(t *rapid.T) {
		h := ledgertest.Histories().Draw(t, "history")
		es := h.Entries(ledgertest.Key())
		x := openIn(t, index.Options{Dir: dir()})
		defer x.Close()
		upTo := grow(t, x, es)
		end := rapid.IntRange(upTo, len(es)).Draw(t, "end of the tail")
		same(t, h, es[:end], viewIn(t, x, es[upTo:end]))
	})
}

// The same with everything that is meant for large ledgers: stored tables for
// scopes, few of them and often behind, small batches.
func TestStoredScopesAgainstFold(t *testing.T) {
	dir := folders(t)
	tables := 0
	rapid.Check(t, func(t *rapid.T) {
		h := ledgertest.Histories().Draw(t, "history")
		es := h.Entries(ledgertest.Key())
		x := openIn(t, index.Options{Dir: dir()})
		defer x.Close()
		x.Limits(0, rapid.IntRange(0, 3).Draw(t, "behind"), rapid.IntRange(1, 8).Draw(t, "scopes"),
			rapid.IntRange(1, 10).Draw(t, "batch"), rapid.SampledFrom([]int{1, 5, 100}).Draw(t, "change"))
		upTo := 0
		for range rapid.IntRange(1, 3).Draw(t, "steps") {
			upTo = rapid.IntRange(upTo, len(es)).Draw(t, "followed up to")
			if err := x.Follow(t.Context(), logOf(es[:upTo])); err != nil {
				t.Fatal(err)
			}
			end := rapid.IntRange(upTo, len(es)).Draw(t, "end of the tail")
			same(t, h, es[:end], viewIn(t, x, es[upTo:end]))
			n, err := x.Tables()
			if err != nil {
				t.Fatal(err)
			}
			tables += n
		}
	})
	if tables == 0 {
		t.Error("no table was ever stored")
	}
}

// A view goes on to answer for its own head while another process brings the
// file further, past that head and through recoveries.
func TestViewWhileOthersWrite(t *testing.T) {
	dir := folders(t)
	rapid.Check(t, func(t *rapid.T) {
		h := ledgertest.Histories().Draw(t, "history")
		es := h.Entries(ledgertest.Key())
		if len(h.Erased) > 0 { // a redaction makes the file anew: see TestRedact
			t.Skip("with redactions")
		}
		o := index.Options{Dir: dir()}
		x, other := openIn(t, o), openIn(t, o)
		defer x.Close()
		defer other.Close()
		if rapid.Bool().Draw(t, "stored scopes") {
			x.Limits(0, 0, 3, 100, 100)
		}
		upTo := grow(t, x, es)
		if upTo == 0 { // the file is filled by the other one, and can't be read yet
			upTo = 1
			if err := x.Follow(t.Context(), logOf(es[:1])); err != nil {
				t.Fatal(err)
			}
		}
		end := rapid.IntRange(upTo, len(es)).Draw(t, "end of the tail")
		v := viewIn(t, x, es[upTo:end])
		if rapid.Bool().Draw(t, "asked before") {
			same(t, h, es[:end], v)
		}
		ahead := upTo
		for range rapid.IntRange(1, 2).Draw(t, "the other's steps") {
			ahead = rapid.IntRange(ahead, len(es)).Draw(t, "other up to")
			if err := other.Follow(t.Context(), logOf(es[:ahead])); err != nil {
				t.Fatal(err)
			}
			same(t, h, es[:end], v)
		}
	})
}

// A cache that can't be written is read, and what is behind it folded in memory.
func TestReadOnlyAgainstFold(t *testing.T) {
	dir := folders(t)
	rapid.Check(t, func(t *rapid.T) {
		h := ledgertest.Histories().Draw(t, "history")
		es := h.Entries(ledgertest.Key())
		if len(h.Erased) > 0 {
			t.Skip("with redactions")
		}
		o := index.Options{Dir: dir()}
		w := openIn(t, o)
		upTo := rapid.IntRange(1, len(es)).Draw(t, "written up to")
		if err := w.Follow(t.Context(), logOf(es[:upTo])); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		o.ReadOnly = true
		x := openIn(t, o)
		defer x.Close()
		x.Limits(0, 0, 3, 100, 100)
		if err := x.Follow(t.Context(), logOf(es)); err != nil {
			t.Fatal(err)
		}
		if got := x.Base(); got != es[upTo-1].Pos() || x.Where() != index.InReadOnly {
			t.Fatalf("a read-only index is at %v in %q, want %v", got, x.Where(), es[upTo-1].Pos())
		}
		same(t, h, es, viewIn(t, x, es[upTo:]))
	})
}

// logEntries are n simple entries.
func logEntries(t testing.TB, n int) []ledger.Entry {
	t.Helper()
	ds := []ledger.Draft{ledgertest.First()}
	for i := 1; i < n; i++ {
		ds = append(ds, ledgertest.Save(ledgertest.Record("r-"+strconv.Itoa(i), ledger.KindNote, "note "+strconv.Itoa(i))))
	}
	return ledgertest.Entries(ledgertest.Key(), ds...)
}

// What the histories don't have: reasons, old ones that a change drops, commits
// without a branch, and everything else that a version can hold.
func TestVersionsInFull(t *testing.T) {
	full := ledger.Record{
		ID: "full", Kind: ledger.KindNext, Text: "text", Why: "why", Source: "source", DoneWhen: "unit", Status: ledger.StatusDone, WithoutEvidence: "by hand",
		Cites: []ledger.Cite{{Path: "a b/ü.md", SHA256: "00"}, {Path: "gone"}},
	}
	save := ledgertest.Save(full)
	save.Body.Worktree, save.Body.Actor = "wt", ledgertest.Person()
	save.Body.Git = ledger.Git{Commit: ledgertest.ID(3), Base: ledgertest.ID(2), Detached: true}
	reopened := ledgertest.Status("full", 1, ledger.StatusOpen)
	done := ledgertest.Status("full", 2, ledger.StatusDone)
	done.Body.Change.WithoutEvidence, done.Body.Change.Settles = "seen by eye", []int64{1}
	noGit := ledgertest.Retract("full", 3)
	noGit.Body.Worktree = "other"
	lost := ledgertest.Status("never-there", 2, ledger.StatusDone)
	lost.Body.Change.WithoutEvidence = "no reason"
	es := ledgertest.Entries(ledgertest.Key(), ledgertest.First(), save, reopened, done, noGit, lost, ledgertest.Restore("never-there", 5))
	everyView(t, es, func(t *testing.T, v *index.View) {
		answers(t, v, es)
		for _, id := range []string{"full", "never-there"} {
			want, err := fold(t, es).Versions(t.Context(), id)
			if err != nil {
				t.Fatal(err)
			}
			got, err := v.Versions(t.Context(), id)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("%s: -fold +index\n%s", id, diff)
			}
		}
	})
}
