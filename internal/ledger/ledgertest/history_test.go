package ledgertest_test

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"holdfast/internal/ledger"
	"holdfast/internal/ledger/ledgertest"
)

// Generated histories are chains, and all that the tests want to meet occurs.
func TestHistories(t *testing.T) {
	met := map[string]int{}
	rapid.Check(t, func(t *rapid.T) {
		h := ledgertest.Histories().Draw(t, "history")
		es := h.Entries(ledgertest.Key())
		if _, err := ledger.Verify(ledger.Pos{}, slicesSeq(es)); err != nil {
			t.Fatal(err)
		}
		var s ledger.State
		for _, e := range es {
			if err := s.Apply(e); err != nil {
				t.Fatalf("apply revision %d: %v", e.Rev, err)
			}
			met[e.Type]++
			met["void"] += count(e.Void())
			met["erased"] += count(e.BodyRaw == nil)
			met["newer"] += count(e.Newer)
		}
		for _, r := range h.Readers() {
			scope, err := ledgertest.Scope(t.Context(), &s, r.Place, r.Code)
			if err != nil {
				t.Fatal(err)
			}
			page, err := s.Find(t.Context(), ledger.Query{Scope: scope, State: ledger.FindAny})
			if err != nil {
				t.Fatal(err)
			}
			for _, cur := range page.Items {
				met["via "+cur.Via]++
				met["diverged"] += count(len(cur.Diverged) > 0)
				met["confirmed"] += count(cur.Confirmed > 0)
			}
			elsewhere, _ := s.Elsewhere(t.Context(), scope)
			met["elsewhere"] += len(elsewhere)
		}
	})
	for _, want := range []string{
		ledger.TypeRecord, ledger.TypeStatus, ledger.TypeRetract, ledger.TypeRestore, ledger.TypeConfirm,
		ledger.TypeCarry, ledger.TypeRecover, ledger.TypeRedact, ledger.TypeAllow, ledger.TypeCheck, ledger.TypeTxnBegin,
		"void", "erased", "newer", "diverged", "confirmed", "elsewhere", "via " + ledger.ViaOwn, "via " + ledger.ViaDefault,
		"via " + ledger.ViaMerged, "via " + ledger.ViaCarried, "via " + ledger.ViaRewritten, "via " + ledger.ViaDetached,
	} {
		if met[want] == 0 {
			t.Errorf("no history had %q", want)
		}
	}
	t.Log(met)
}

func count(b bool) int {
	if b {
		return 1
	}
	return 0
}

func slicesSeq(es []ledger.Entry) func(func(ledger.Entry, error) bool) {
	return func(yield func(ledger.Entry, error) bool) {
		for _, e := range slices.Clone(es) {
			if !yield(e, nil) {
				return
			}
		}
	}
}

// The world answers as git does for a small history drawn by hand:
//
//	0 --- 1 --- 3 --- 4   main (4 merges 2)
//	 \          /
//	  2 -------'          feature, deleted
func TestWorld(t *testing.T) {
	w := ledgertest.NewWorld("main")
	w.Fork("feature", "main")
	w.Commit("main")
	w.Commit("feature")
	g := w.Git("feature")
	if g.Commit != ledgertest.ID(2) || g.Base != ledgertest.ID(0) {
		t.Errorf("on feature: %+v", g)
	}
	_, c := w.On("main")
	if c.Ancestor(ledgertest.ID(2)) || !c.Ancestor(ledgertest.ID(0)) || !c.Ancestor(ledgertest.ID(1)) {
		t.Error("ancestors before the merge are wrong")
	}
	w.Merge("main", "feature")
	w.Commit("main")
	w.Delete("feature")
	_, c = w.On("main")
	if !c.Ancestor(ledgertest.ID(2)) || c.Tip("feature") != "" || c.Reaches(ledgertest.ID(2), "feature") || c.Tip("main") != ledgertest.ID(4) {
		t.Error("answers after the merge are wrong")
	}
	w.Rewrite("main")
	_, c = w.On("main")
	if c.Ancestor(ledgertest.ID(4)) || !c.Ancestor(ledgertest.ID(3)) || c.Reaches(ledgertest.ID(4), "main") {
		t.Error("answers after the rewrite are wrong")
	}
}
