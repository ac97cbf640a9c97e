package index_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"holdfast/internal/index"
	"holdfast/internal/ledger"
	"holdfast/internal/ledger/ledgertest"
)

// Entries of a type that makes no versions are found by an index of their own,
// even where a record's kind, written by somebody's hand, is named as a type.
func TestEventsOfOneType(t *testing.T) {
	plain := []ledger.Draft{
		ledgertest.First(), ledgertest.Check("unit", ledger.Passed), ledgertest.Save(ledgertest.Record("a", ledger.KindNext, "text")),
		ledgertest.Carry("x"), ledgertest.Check("lint", ledger.Failed), ledgertest.Status("a", 2, ledger.StatusDone), ledgertest.Check("unit", ledger.Failed),
	}
	odd := append(plain[:len(plain):len(plain)], ledgertest.Save(ledgertest.Record("b", ledger.TypeCheck, "not a check")))
	for name, ds := range map[string][]ledger.Draft{"plain": plain, "odd": odd} {
		es := ledgertest.Entries(ledgertest.Key(), ds...)
		s := fold(t, es)
		everyView(t, es, func(t *testing.T, v *index.View) {
			for _, kind := range []string{"", ledger.TypeCheck, ledger.TypeCarry, ledger.TypeRecord, ledger.TypeStatus, ledger.TypeRedact, ledger.KindNext, "nothing"} {
				for _, limit := range []int{0, 1, 2} {
					q := ledger.EventQuery{Since: 0, Before: 7, Kind: kind, Limit: limit}
					if kind == "" {
						q.Since, q.Before = -1, 0
					}
					want, err := s.Events(t.Context(), q)
					if err != nil {
						t.Fatal(err)
					}
					got, err := v.Events(t.Context(), q)
					if err != nil {
						t.Fatal(err)
					}
					if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
						t.Errorf("%s ledger, events %+v: -fold +index\n%s", name, q, diff)
					}
				}
			}
		})
	}
}

// An entry that this build doesn't understand, in the middle, doesn't end what
// is derived from the log; and all of it is made again from the log alone.
func TestCaseC008_DerivedIndexGoesOnAndIsRebuilt(t *testing.T) {
	es := ledgertest.Entries(ledgertest.Key(), ledgertest.First(), ledgertest.Save(ledgertest.Record("g-1", ledger.KindGoal, "Ship the importer")),
		ledgertest.Future(), ledgertest.Save(ledgertest.Record("d-1", ledger.KindDecision, "Use one writer")), ledgertest.Save(ledgertest.Record("n-1", ledger.KindNext, "Write the reader")))
	x := open(t, index.Options{Dir: t.TempDir()})
	for _, n := range []int{2, 3, 5} {
		check(t, x, es[:n])
	}
	if err := x.Discard(t.Context()); err != nil {
		t.Fatal(err)
	}
	check(t, x, es)
	v := view(t, x, nil)
	newer, err := v.Newer(t.Context())
	if err != nil || len(newer) != 1 || newer[0] != 2 {
		t.Errorf("entries of a newer build: %v, %v", newer, err)
	}
	page, err := v.Find(t.Context(), ledger.Query{Scope: ledger.All()})
	if err != nil || page.Total != 3 {
		t.Errorf("%d records, %v; want all three", page.Total, err)
	}
}
