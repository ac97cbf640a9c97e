package ledger_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"holdfast/internal/ledger"
	"holdfast/internal/ledger/ledgertest"
)

// lineage is one situation: it makes entries in a world and says which of the
// records a reader sees and by which way. A record's id says where it was made.
type lineage struct {
	t      *testing.T
	w      *ledgertest.World
	drafts []ledger.Draft
}

func newLineage(t *testing.T) *lineage {
	return &lineage{t: t, w: ledgertest.NewWorld("main")}
}

func (l *lineage) at(g ledger.Git, d ledger.Draft) { l.drafts = append(l.drafts, ledgertest.On(d, g)) }

// record saves a record at the tip of branch.
func (l *lineage) record(id, branch string) { l.at(l.w.Git(branch), note(id)) }

func (l *lineage) carry(onto string, branches ...string) {
	l.at(l.w.Git(onto), ledgertest.Carry(branches...))
}

// sees checks what the reader sees: by id, the way.
func (l *lineage) sees(reader string, p ledger.Place, c ledger.Code, want map[string]string) {
	l.t.Helper()
	s := fold(l.t, l.drafts...)
	scope, err := ledgertest.Scope(l.t.Context(), s, p, c)
	if err != nil {
		l.t.Fatal(err)
	}
	page, err := s.Find(l.t.Context(), ledger.Query{Scope: scope, State: ledger.FindAny})
	if err != nil {
		l.t.Fatal(err)
	}
	got := map[string]string{}
	for _, cur := range page.Items {
		got[cur.ID] = cur.Via
	}
	if diff := cmp.Diff(want, got); diff != "" {
		l.t.Errorf("%s sees other records:\n%s", reader, diff)
	}
}

func (l *lineage) on(branch string, want map[string]string) {
	l.t.Helper()
	p, c := l.w.On(branch)
	l.sees("a reader on "+branch, p, c, want)
}

type sees = map[string]string

const (
	own       = ledger.ViaOwn
	def       = ledger.ViaDefault
	rewritten = ledger.ViaRewritten
	merged    = ledger.ViaMerged
	carried   = ledger.ViaCarried
	detached  = ledger.ViaDetached
)

func TestLineageOwnBranch(t *testing.T) {
	l := newLineage(t)
	l.w.Fork("x", "main")
	l.record("x-0", "x") // at a commit that main has too
	l.w.Commit("x")
	l.record("x-1", "x")
	l.on("x", sees{"x-0": own, "x-1": own})
	l.w.Rewrite("x") // amended: the old commit is gone, the branch is the same
	l.on("x", sees{"x-0": own, "x-1": own})
	l.on("main", sees{})
	l.w.Fork("y", "x") // started from x: not merged, and x-0's commit says nothing
	l.on("y", sees{})
}

func TestLineageDefaultBranch(t *testing.T) {
	l := newLineage(t)
	l.record("m-0", "main")
	l.w.Fork("x", "main")
	l.w.Commit("main")
	l.record("m-1", "main")
	l.on("x", sees{"m-0": def})
	l.on("main", sees{"m-0": own, "m-1": own})
	l.w.Merge("x", "main")
	l.on("x", sees{"m-0": def, "m-1": def})
	l.w.Commit("main")
	l.record("m-2", "main")
	l.on("x", sees{"m-0": def, "m-1": def})
	l.w.Rewrite("main") // m-2's commit is no longer main's: said, not lost
	l.on("x", sees{"m-0": def, "m-1": def, "m-2": rewritten})
}

func TestLineageUnborn(t *testing.T) {
	l := &lineage{t: t, w: ledgertest.NewWorld("main")}
	l.at(ledger.Git{Branch: "main"}, note("before the first commit"))
	l.at(ledger.Git{Branch: "x"}, note("x unborn"))
	l.w.Fork("x", "main")
	l.w.Commit("x")
	l.on("x", sees{"before the first commit": def, "x unborn": own})
	l.w.Unborn("orphan")
	l.on("orphan", sees{"before the first commit": def})
	l.record("o-0", "orphan")
	l.on("orphan", sees{"before the first commit": def, "o-0": own})
	l.on("main", sees{"before the first commit": own})
}

func TestLineageMerged(t *testing.T) {
	t.Run("truly merged", func(t *testing.T) {
		l := newLineage(t)
		l.w.Fork("x", "main")
		l.record("x-0", "x")
		l.w.Commit("x")
		l.record("x-1", "x")
		l.w.Commit("main")
		l.on("main", sees{})
		l.w.Merge("main", "x")
		l.on("main", sees{"x-0": merged, "x-1": merged})
		l.w.Delete("x")
		l.on("main", sees{"x-0": merged, "x-1": merged})
	})
	t.Run("fast-forward", func(t *testing.T) {
		l := newLineage(t)
		l.w.Fork("x", "main")
		l.w.Commit("x")
		l.record("x-1", "x")
		l.w.FastForward("main", "x")
		l.on("main", sees{"x-1": merged})
	})
	t.Run("no commit of its own", func(t *testing.T) {
		l := newLineage(t)
		l.w.Fork("x", "main")
		l.record("x-0", "x")
		l.w.Commit("main")
		l.on("main", sees{})
		l.w.Delete("x")
		l.on("main", sees{})
	})
	t.Run("the tip is ahead of the merge", func(t *testing.T) {
		l := newLineage(t)
		l.w.Fork("x", "main")
		l.w.Commit("x")
		l.record("x-1", "x")
		l.w.Merge("main", "x")
		l.w.Commit("x")
		l.on("main", sees{})
		l.w.Merge("main", "x")
		l.on("main", sees{"x-1": merged})
	})
	t.Run("the ref is gone and the newest commit is not merged", func(t *testing.T) {
		l := newLineage(t)
		l.w.Fork("x", "main")
		l.w.Commit("x")
		l.record("x-1", "x")
		l.w.Merge("main", "x")
		l.w.Commit("x")
		l.record("x-2", "x")
		l.w.Delete("x")
		l.on("main", sees{})
	})
	t.Run("the name was used again", func(t *testing.T) {
		l := newLineage(t)
		l.w.Fork("x", "main")
		l.w.Commit("x")
		l.record("x-1", "x")
		l.w.Merge("main", "x")
		l.w.Fork("x", "main") // the new x has x-1's commit in its past: its tip decides
		l.on("main", sees{"x-1": merged})
		l.w.Commit("x")
		l.on("main", sees{})
	})
	t.Run("the name was used again elsewhere", func(t *testing.T) {
		l := newLineage(t)
		l.w.Fork("old", "main")
		l.w.Fork("x", "main")
		l.w.Commit("x")
		l.record("x-1", "x")
		l.w.Merge("main", "x")
		l.w.Fork("x", "old") // doesn't descend from x-1's commit: the newest commit decides
		l.w.Commit("x")
		l.on("main", sees{"x-1": merged})
	})
	t.Run("shown by a check alone", func(t *testing.T) {
		l := newLineage(t)
		l.w.Fork("x", "main")
		l.record("x-0", "x") // at main's commit
		l.w.Commit("x")
		l.at(l.w.Git("x"), ledgertest.Check("unit", ledger.Passed)) // an entry of x at its own commit
		l.w.Merge("main", "x")
		l.on("main", sees{"x-0": merged})
	})
	t.Run("squashed", func(t *testing.T) {
		l := newLineage(t)
		l.w.Fork("x", "main")
		l.w.Commit("x")
		l.record("x-1", "x")
		l.w.Commit("main") // git can't see that it is x's work
		l.on("main", sees{})
		l.carry("main", "x")
		l.on("main", sees{"x-1": carried})
	})
	t.Run("into another branch", func(t *testing.T) {
		l := newLineage(t)
		l.w.Fork("x", "main")
		l.w.Commit("x")
		l.record("x-1", "x")
		l.w.Fork("y", "main")
		l.w.Commit("y")
		l.w.Merge("y", "x")
		l.on("y", sees{"x-1": merged})
		l.on("main", sees{})
	})
}

func TestLineageCarried(t *testing.T) {
	t.Run("what was there then", func(t *testing.T) {
		l := newLineage(t)
		l.record("x-1", "x")
		l.carry("y", "x")
		l.record("x-2", "x") // after the carry
		l.on("y", sees{"x-1": carried})
		l.carry("y", "x")
		l.on("y", sees{"x-1": carried, "x-2": carried})
		l.on("main", sees{})
	})
	t.Run("through carried branches", func(t *testing.T) {
		l := newLineage(t)
		l.record("a-1", "a")
		l.carry("b", "a")
		l.record("a-2", "a")
		l.carry("c", "b")
		l.carry("b", "a") // c carried b before this
		l.on("c", sees{"a-1": carried})
		l.carry("c", "b")
		l.on("c", sees{"a-1": carried, "a-2": carried})
	})
	t.Run("in a circle", func(t *testing.T) {
		l := newLineage(t)
		l.record("a-1", "a")
		l.record("b-1", "b")
		l.carry("a", "b")
		l.carry("b", "a")
		l.on("a", sees{"a-1": own, "b-1": carried})
		l.on("b", sees{"a-1": carried, "b-1": own})
	})
	t.Run("several at once", func(t *testing.T) {
		l := newLineage(t)
		l.record("a-1", "a")
		l.record("b-1", "b")
		l.carry("main", "a", "b", "nobody")
		l.on("main", sees{"a-1": carried, "b-1": carried})
	})
	t.Run("on the default branch at an ancestor", func(t *testing.T) {
		l := newLineage(t)
		l.record("a-1", "a")
		l.w.Commit("main")
		l.carry("main", "a") // no record was ever made at this commit
		l.w.Fork("x", "main")
		l.w.Commit("x")
		l.on("x", sees{"a-1": carried})
		l.w.Commit("main")
		l.record("a-2", "a")
		l.carry("main", "a") // x hasn't this commit
		l.on("x", sees{"a-1": carried})
		l.on("main", sees{"a-1": carried, "a-2": carried})
	})
	t.Run("the default branch itself", func(t *testing.T) {
		l := newLineage(t)
		l.w.Fork("x", "main")
		l.w.Commit("main")
		l.record("m-1", "main")
		l.on("x", sees{})
		l.carry("x", "main") // as before a rebase that is still to come
		l.on("x", sees{"m-1": carried})
		l.w.Commit("main")
		l.record("m-2", "main")
		l.w.Merge("x", "main")
		l.on("x", sees{"m-1": carried, "m-2": def})
	})
	t.Run("by a merged branch", func(t *testing.T) {
		l := newLineage(t)
		l.record("a-1", "a")
		l.w.Fork("x", "main")
		l.w.Commit("x")
		l.carry("x", "a")
		l.on("main", sees{})
		l.w.Merge("main", "x")
		l.on("main", sees{"a-1": carried})
	})
	t.Run("undone by a recovery", func(t *testing.T) {
		l := newLineage(t)
		l.record("a-1", "a")
		l.carry("main", "a")
		l.at(l.w.Git("main"), ledgertest.Recover("gen-1", 1))
		l.on("main", sees{})
		l.on("a", sees{"a-1": own})
	})
}

func TestLineageDetached(t *testing.T) {
	l := newLineage(t)
	l.record("m-0", "main")
	l.w.Fork("x", "main")
	l.w.Commit("x") // commit 1
	l.record("x-1", "x")
	l.at(l.w.GitDetached(1), note("d-1"))
	l.w.Commit("main") // commit 2
	l.record("m-2", "main")

	reader := func(n int, want sees) {
		t.Helper()
		p, c := l.w.Detached(n)
		l.sees(fmt.Sprintf("a reader at commit %d", n), p, c, want)
	}
	reader(0, sees{"m-0": def})
	reader(1, sees{"m-0": def, "x-1": merged, "d-1": detached}) // its history has all of x
	reader(2, sees{"m-0": def, "m-2": def})
	l.on("main", sees{"m-0": own, "m-2": own})
	l.on("x", sees{"m-0": def, "x-1": own, "d-1": detached})
	l.w.Merge("main", "x") // commit 3
	reader(3, sees{"m-0": def, "m-2": def, "x-1": merged, "d-1": detached})
	l.carry("main", "x")
	l.at(l.w.GitDetached(1), ledgertest.Carry("elsewhere")) // in force where it was made
	l.at(ledger.Git{Branch: "elsewhere"}, note("e-2"))
	reader(1, sees{"m-0": def, "x-1": merged, "d-1": detached})
}

func TestLineageDetachedCarryCounts(t *testing.T) {
	l := newLineage(t)
	l.at(ledger.Git{Branch: "elsewhere"}, note("e-1"))
	l.at(l.w.GitDetached(0), ledgertest.Carry("elsewhere"))
	p, c := l.w.Detached(0)
	l.sees("the same place", p, c, sees{"e-1": carried})
	l.on("main", sees{"e-1": carried}) // commit 0 is in its past
}

func TestLineageWithoutGit(t *testing.T) {
	l := newLineage(t)
	l.at(ledger.Git{}, note("no repository then"))
	l.record("m-0", "main")
	l.record("x-0", "x")
	l.sees("a reader outside", ledger.Place{NoGit: true}, nil, sees{"no repository then": own, "m-0": own, "x-0": own})
	l.w.Fork("y", "main")
	l.on("y", sees{"no repository then": own, "m-0": def})
}

func TestLineageWithoutDefaultBranch(t *testing.T) {
	l := newLineage(t)
	l.w.Default = ""
	l.record("m-0", "main")
	l.w.Fork("x", "main")
	l.w.Commit("x")
	l.record("x-1", "x")
	l.on("x", sees{"m-0": merged, "x-1": own}) // rule 4 alone: main's tip is in x's past
	l.on("main", sees{"m-0": own})
}
