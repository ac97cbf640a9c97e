package project

import (
	"context"
	"io"
	"strings"
	"testing"

	"holdfast/internal/check"
	"holdfast/internal/ledger"
)

// A check and a record may have one name: each is hidden and brought back by
// itself, under the revision that was seen.
func TestRetractAndRestoreACheck(t *testing.T) {
	b := newBench(t)
	ctx := context.Background()
	p := b.open(codex)
	save(t, p, request(ledger.KindNote, "unit", "a note of that name"))
	out, err := p.mutate(ctx, mutation{kind: ledger.TypeCheck, request: "unit",
		build: func(context.Context, *reading) (ledger.Draft, error) {
			return ledger.Draft{Body: ledger.Body{Receipt: &ledger.Receipt{ID: "unit", Outcome: "passed"}}}, nil
		}})
	if err != nil {
		t.Fatal(err)
	}
	check := func(q ChangeRequest) ChangeRequest { q.ID, q.Category = "unit", ledger.CategoryCheck; return q }
	state := func() checkState {
		t.Helper()
		var s checkState
		err := b.open(claude).look(ctx, "", func(r *reading) (err error) {
			s, _, err = p.checkStateOf(ctx, r, "unit")
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	refused(t, second(p.Retract(ctx, check(ChangeRequest{}))), "conflict")
	refused(t, second(p.Retract(ctx, check(ChangeRequest{ExpectedRevision: num(1)}))), "conflict")
	refused(t, second(p.Restore(ctx, check(ChangeRequest{ExpectedRevision: num(out.Rev)}))), "state")
	refused(t, second(p.Done(ctx, check(ChangeRequest{ExpectedRevision: num(out.Rev)}))), "usage")
	s, err := p.Retract(ctx, check(ChangeRequest{ExpectedRevision: num(out.Rev)}))
	if err != nil {
		t.Fatal(err)
	}
	if got := state(); got != (checkState{Rev: s.Revision, Receipt: out.Rev, Retracted: true}) {
		t.Errorf("retracted: %+v", got)
	}
	if got := ids(brief(t, p)); got != "unit" {
		t.Errorf("the record of that name: %q", got)
	}
	refused(t, second(p.Retract(ctx, check(ChangeRequest{ExpectedRevision: num(s.Revision)}))), "state")
	if s, err = p.Restore(ctx, check(ChangeRequest{ExpectedRevision: num(s.Revision)})); err != nil {
		t.Fatal(err)
	}
	if got := state(); got != (checkState{Rev: s.Revision, Receipt: out.Rev}) {
		t.Errorf("restored: %+v", got)
	}
	if _, err = p.Retract(ctx, ChangeRequest{ID: "unit", ExpectedRevision: num(1)}); err != nil {
		t.Fatal(err)
	}
	if got := state(); got != (checkState{Rev: s.Revision, Receipt: out.Rev}) {
		t.Errorf("the record was retracted: %+v", got)
	}
	refused(t, second(p.Retract(ctx, ChangeRequest{ID: "none", Category: ledger.CategoryCheck, ExpectedRevision: num(1)})), "not_found")
}

// TestNoTimeToLook: a look at a check that is cut short says that it was, and
// nothing about what changed.
func TestNoTimeToLook(t *testing.T) {
	bn := newBench(t).repo()
	bn.put("a.txt", "one\n")
	p := bn.open(person)
	if _, err := p.RunCheck(t.Context(), CheckRequest{ID: "unit", Argv: []string{"true"}, Inputs: []string{"a.txt"}, Out: io.Discard, Err: io.Discard}); err != nil {
		t.Fatal(err)
	}
	var items []CheckItem
	if err := p.look(t.Context(), "", func(r *reading) (err error) { items, err = p.checkItems(t.Context(), r, ""); return err }); err != nil {
		t.Fatal(err)
	}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	p.judgeAll(over, items)
	if c := items[0]; c.Freshness != check.Unknown || len(c.Changed) != 1 || strings.Contains(c.Changed[0], "program") {
		t.Errorf("%s %q", c.Freshness, c.Changed)
	}
	p.judgeAll(t.Context(), items)
	if c := items[0]; c.Freshness != check.Fresh || len(c.Changed) != 0 {
		t.Errorf("%s %q", c.Freshness, c.Changed)
	}
}
