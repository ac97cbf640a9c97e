package ledger_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"holdfast/internal/ledger"
	"holdfast/internal/ledger/ledgertest"
)

// correction is a version of n-1 that replaces another.
func correction(replaces int64, text string, settles ...int64) ledger.Draft {
	r := ledgertest.Record("n-1", ledger.KindNext, text)
	r.Replaces, r.Settles = replaces, settles
	return ledgertest.Save(r)
}

func onBranch(b string, d ledger.Draft) ledger.Draft {
	return ledgertest.On(d, ledger.Git{Branch: b})
}

func diverged(cur ledger.Current) []int64 {
	var out []int64
	for _, v := range cur.Diverged {
		out = append(out, v.Rev)
	}
	slices.Sort(out)
	return out
}

func TestCurrentVersion(t *testing.T) {
	unborn := func(branch string, carries ...ledger.CarryUse) *ledger.Scope {
		return ledger.NewScope(ledger.Place{Git: ledger.Git{Branch: branch}, Default: "main"}, nil, carries, nil)
	}
	carry := func(onto string, rev int64, branches ...string) ledger.CarryUse {
		return ledger.CarryUse{Rev: rev, Git: ledger.Git{Branch: onto}, Branches: branches}
	}
	for _, c := range []struct {
		name     string
		drafts   []ledger.Draft // of n-1, from revision 1
		scope    *ledger.Scope
		rev      int64 // 0: none in force
		diverged []int64
	}{
		{"the only one", []ledger.Draft{correction(0, "a")}, ledger.All(), 1, nil},
		{"a correction", []ledger.Draft{correction(0, "a"), correction(1, "b")}, ledger.All(), 2, nil},
		{"a chain", []ledger.Draft{correction(0, "a"), correction(1, "b"), correction(2, "c")}, ledger.All(), 3, nil},
		{"none in force", []ledger.Draft{onBranch("x", correction(0, "a"))}, unborn("y"), 0, nil},
		{"the correction is elsewhere", []ledger.Draft{onBranch("y", correction(0, "a")), onBranch("x", correction(1, "b"))}, unborn("y"), 1, nil},
		{"two replace the same",
			[]ledger.Draft{onBranch("a", correction(0, "a")), onBranch("b", correction(1, "b")), onBranch("c", correction(1, "c"))},
			unborn("c", carry("c", 10, "a", "b")), 3, []int64{2}},
		{"one of them is elsewhere",
			[]ledger.Draft{onBranch("a", correction(0, "a")), onBranch("b", correction(1, "b")), onBranch("c", correction(1, "c"))},
			unborn("c", carry("c", 10, "a")), 3, nil},
		{"settled",
			[]ledger.Draft{onBranch("a", correction(0, "a")), onBranch("b", correction(1, "b")), onBranch("c", correction(1, "c")), onBranch("c", correction(3, "d", 2))},
			unborn("c", carry("c", 10, "a", "b")), 4, nil},
		{"settled, and then changed again on the other branch",
			[]ledger.Draft{onBranch("a", correction(0, "a")), onBranch("b", correction(1, "b")), onBranch("c", correction(1, "c")), onBranch("c", correction(3, "d", 2)), onBranch("b", correction(2, "e"))},
			unborn("c", carry("c", 10, "a", "b")), 5, []int64{4}},
		{"corrected, not settled",
			[]ledger.Draft{onBranch("a", correction(0, "a")), onBranch("b", correction(1, "b")), onBranch("c", correction(1, "c")), onBranch("c", correction(3, "d"))},
			unborn("c", carry("c", 10, "a", "b")), 4, []int64{2}},
		{"three ways",
			[]ledger.Draft{correction(0, "a"), correction(1, "b"), correction(1, "c"), correction(1, "d")},
			ledger.All(), 4, []int64{2, 3}},
		{"replaced by way of a version elsewhere", // c was made in sight of b, which replaced a
			[]ledger.Draft{onBranch("a", correction(0, "a")), onBranch("b", correction(1, "b")), onBranch("c", correction(2, "c"))},
			unborn("c", carry("c", 10, "a")), 3, nil},
		{"settled by way of a version elsewhere",
			[]ledger.Draft{onBranch("a", correction(0, "a")), onBranch("b", correction(0, "b")), onBranch("x", correction(2, "c", 1)), onBranch("c", correction(3, "d"))},
			unborn("c", carry("c", 10, "a", "b")), 4, nil},
		{"made twice, as by an import",
			[]ledger.Draft{correction(0, "a"), correction(0, "b")}, ledger.All(), 2, []int64{1}},
		{"made twice and settled",
			[]ledger.Draft{correction(0, "a"), correction(0, "b"), correction(2, "c", 1)}, ledger.All(), 3, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			cur, ok := current(t, fold(t, c.drafts...), "n-1", c.scope)
			if ok != (c.rev > 0) || cur.Rev != c.rev {
				t.Errorf("current revision = %d, %v; want %d", cur.Rev, ok, c.rev)
			}
			if got := diverged(cur); !cmp.Equal(got, c.diverged) {
				t.Errorf("diverged = %v, want %v", got, c.diverged)
			}
		})
	}
}

// The tool never writes one id twice in a save. If somebody's hand did, the
// first counts, everywhere.
func TestRecordTwiceInOneSave(t *testing.T) {
	d := ledgertest.Save(ledgertest.Record("n-1", ledger.KindNote, "first"), ledgertest.Record("n-1", ledger.KindNote, "second"))
	s := fold(t, d)
	vs, err := s.Versions(t.Context(), "n-1")
	if err != nil || len(vs) != 1 || vs[0].Text != "first" {
		t.Errorf("versions = %+v, %v; want the first alone", vs, err)
	}
	if got := find(t, s, ledger.Query{}); !cmp.Equal(got, []string{"n-1"}) {
		t.Errorf("records = %v", got)
	}
}
