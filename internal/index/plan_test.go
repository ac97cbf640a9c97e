package index_test

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"holdfast/internal/index"
	"holdfast/internal/ledger"
	"holdfast/internal/ledger/ledgertest"
)

// What a briefing asks costs the same in a ledger of any size: SQLite looks up
// each table that grows with the ledger by an index, and sorts none.
func TestPlansDoNotGrow(t *testing.T) {
	es := ledgertest.Entries(ledgertest.Key(), sample()...)
	x := open(t, index.Options{})
	follow(t, x, es)
	ctx := t.Context()
	v := view(t, x, nil)
	for _, q := range []ledger.Query{
		{Limit: 5}, {Kinds: []string{ledger.KindNext}, Limit: 5}, {State: ledger.FindFinished, Since: "2026", Limit: 5}, {State: ledger.FindFinished, Limit: 5}, {State: ledger.FindRetracted}, {State: ledger.FindAny, Limit: 5},
	} {
		q.Scope = ledger.All()
		if _, err := v.Find(ctx, q); err != nil {
			t.Fatal(err)
		}
	}
	_, _, kerr := v.KeyUse(ctx, ledger.KeyHash("key r-x"))
	_, verr := v.Versions(ctx, "r-x")
	_, eerr := v.Events(ctx, ledger.EventQuery{Since: -1, Limit: 5})
	_, terr := v.Events(ctx, ledger.EventQuery{Since: -1, Kind: ledger.TypeCheck, Limit: 5})
	_, lerr := v.Elsewhere(ctx, ledger.All())
	_, serr := v.Search(ctx, index.SearchQuery{Text: "note word", History: true})
	_, nerr := v.Search(ctx, index.SearchQuery{})
	merr := x.SetMeta(ctx, "a", "b")
	follow(t, x, ledgertest.Extend(es, ledgertest.Key(), ledgertest.Status("r-xxxx", 4, ledger.StatusDropped)))
	for _, err := range []error{kerr, verr, eerr, terr, lerr, serr, nerr, merr} {
		if err != nil {
			t.Fatal(err)
		}
	}
	plans, err := x.Plans()
	if err != nil {
		t.Fatal(err)
	}
	grows := regexp.MustCompile(`SCAN (current|versions|entries|texts|v|e|t|c)\b`)
	seen := 0
	for q, plan := range plans {
		if strings.Contains(q, "ORDER BY id, vn DESC") { // a file that was just filled: all of it is looked at, once
			continue
		}
		lately := strings.Contains(q, "INDEXED BY current_at") // some that are few
		for _, line := range plan {
			if grows.MatchString(line) || strings.Contains(line, "TEMP B-TREE") && strings.Contains(q, "FROM current") && !lately {
				t.Errorf("%s\n\t%s", q, strings.Join(plan, "\n\t"))
			}
			seen++
		}
	}
	if seen < 30 || !slices.ContainsFunc(slices.Collect(maps.Keys(plans)), func(q string) bool { return strings.Contains(q, "entries_type") }) {
		t.Errorf("only %d steps were looked at", seen)
	}
}
