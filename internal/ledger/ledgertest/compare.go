package ledgertest

import (
	"context"
	"fmt"
	"slices"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"holdfast/internal/ledger"
)

// Compare asks two readers of h everything that can be asked, for every place
// to read from, and gives the first difference; empty when there is none. A
// nil and an empty list are the same answer.
func Compare(ctx context.Context, h History, a, b ledger.Reader) (string, error) {
	for _, r := range append([]Reader{{Name: "anybody"}}, h.Readers()...) {
		x, err := answers(ctx, h, r, a)
		if err != nil {
			return "", fmt.Errorf("first reader, %s: %w", r.Name, err)
		}
		y, err := answers(ctx, h, r, b)
		if err != nil {
			return "", fmt.Errorf("second reader, %s: %w", r.Name, err)
		}
		for i := range x {
			if diff := cmp.Diff(x[i], y[i], cmpopts.EquateEmpty()); diff != "" {
				return fmt.Sprintf("%s: %s:\n%s", r.Name, x[i].Question, diff), nil
			}
		}
	}
	return "", nil
}

type answer struct {
	Question string
	Value    any
}

type asking struct {
	out []answer
	err error
}

func (q *asking) add(question string, v any, err error) {
	q.out = append(q.out, answer{question, v})
	if q.err == nil && err != nil {
		q.err = fmt.Errorf("%s: %w", question, err)
	}
}

func answers(ctx context.Context, h History, r Reader, x ledger.Reader) ([]answer, error) {
	var q asking
	if r == (Reader{Name: "anybody"}) {
		q.whole(ctx, h, x)
		return q.out, q.err
	}
	scope, err := Scope(ctx, x, r.Place, r.Code)
	if err != nil {
		return nil, err
	}
	for _, query := range queries(scope) {
		page, err := x.Find(ctx, query)
		q.add(fmt.Sprintf("find state %d, kinds %v, since %q, limit %d", query.State, query.Kinds, query.Since, query.Limit), page, err)
	}
	elsewhere, err := x.Elsewhere(ctx, scope)
	q.add("elsewhere", elsewhere, err)
	return q.out, q.err
}

// whole asks what doesn't depend on a place, also about every record and every
// key of h, and about some that it doesn't have.
func (q *asking) whole(ctx context.Context, h History, x ledger.Reader) {
	q.add("head", x.Head(), nil)
	q.add("id and recovery", []string{x.LedgerID(), x.Recovery()}, nil)
	newer, err := x.Newer(ctx)
	q.add("newer", newer, err)
	commits, err := x.Commits(ctx)
	q.add("commits", commits, err)
	carries, err := x.Carries(ctx)
	q.add("carries", carries, err)
	allows, err := x.Allows(ctx)
	q.add("allows", allows, err)
	for _, query := range []ledger.EventQuery{
		{Since: -1}, {}, {Since: 3, Before: 20}, {Since: -1, Branch: "feature/x"}, {Since: -1, Kind: ledger.KindNext},
		{Since: -1, Kind: ledger.TypeCarry, Limit: 2}, {Since: -1, Limit: 5}, {Since: -1, Before: 20, Branch: "main", Limit: 3},
	} {
		events, err := x.Events(ctx, query)
		q.add(fmt.Sprintf("events %+v", query), events, err)
	}
	ids, keys := []string{"nobody's"}, []string{"never used"}
	for _, d := range h.Drafts {
		for _, r := range d.Body.Records {
			ids = append(ids, r.ID)
		}
		if d.Key != "" {
			keys = append(keys, d.Key)
		}
	}
	slices.Sort(ids)
	for _, id := range slices.Compact(ids) {
		vs, err := x.Versions(ctx, id)
		q.add("versions of "+id, vs, err)
	}
	slices.Sort(keys)
	for _, key := range slices.Compact(keys) {
		use, ok, err := x.KeyUse(ctx, ledger.KeyHash(key))
		q.add(fmt.Sprintf("use of %s (%v)", key, ok), use, err)
	}
}

func queries(s *ledger.Scope) []ledger.Query {
	var out []ledger.Query
	for _, f := range []ledger.FindState{ledger.FindOpen, ledger.FindFinished, ledger.FindRetracted, ledger.FindAny} {
		out = append(out,
			ledger.Query{Scope: s, State: f},
			ledger.Query{Scope: s, State: f, Limit: 2, Kinds: []string{ledger.KindNext, ledger.KindDecision}},
			ledger.Query{Scope: s, State: f, Since: At(10).Format(ledger.TimeLayout)})
	}
	return out
}
