package ledger_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"holdfast/internal/ledger"
	"holdfast/internal/ledger/ledgertest"
)

// Whole is what a store may select by branch alone.
func TestScopeWhole(t *testing.T) {
	l := newLineage(t)
	l.w.Fork("x", "main")
	l.w.Commit("x")
	l.record("x-1", "x")
	l.record("y-1", "y")
	l.record("m-0", "main")
	l.carry("main", "y")
	l.w.Merge("main", "x")
	s := fold(t, l.drafts...)
	p, c := l.w.On("main")
	scope, err := ledgertest.Scope(t.Context(), s, p, c)
	if err != nil {
		t.Fatal(err)
	}
	if got := scope.Whole(); !cmp.Equal(got, []string{"main", "x"}) || scope.Everything() {
		t.Errorf("whole branches = %v, everything %v", got, scope.Everything())
	}
	if !ledger.All().Everything() {
		t.Error("All has limits")
	}
}

// A reader whose HEAD names no branch has no branch of its own.
func TestScopeWholeDetached(t *testing.T) {
	l := newLineage(t)
	l.w.Fork("x", "main")
	l.w.Commit("x")
	l.record("x-1", "x")
	p, c := l.w.Detached(1)
	scope, err := ledgertest.Scope(t.Context(), fold(t, l.drafts...), p, c)
	if err != nil {
		t.Fatal(err)
	}
	if got := scope.Whole(); !cmp.Equal(got, []string{"x"}) {
		t.Errorf("whole branches = %q", got)
	}
}

// The newest commit of a branch that is gone decides, in whatever order a
// store lists where entries were made.
func TestScopeOrderOfCommits(t *testing.T) {
	w := ledgertest.NewWorld("main")
	w.Fork("x", "main")
	w.Commit("x")
	old := w.Git("x")
	w.Merge("main", "x")
	w.Commit("x") // not merged
	late := w.Git("x")
	w.Delete("x")
	p, c := w.On("main")
	for _, uses := range [][]ledger.CommitUse{{{Git: old, LastRev: 1}, {Git: late, LastRev: 2}}, {{Git: late, LastRev: 2}, {Git: old, LastRev: 1}}} {
		if _, ok := ledger.NewScope(p, uses, nil, c).InForce(old, 1); ok {
			t.Error("a branch whose newest commit isn't merged counts as merged")
		}
	}
	uses := []ledger.CommitUse{{Git: old, LastRev: 2}, {Git: late, LastRev: 1}}
	if via, ok := ledger.NewScope(p, uses, nil, c).InForce(late, 1); !ok || via != ledger.ViaMerged {
		t.Error("the newest commit is that of the latest entry")
	}
}
