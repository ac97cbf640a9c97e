package ledger_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"holdfast/internal/ledger"
	"holdfast/internal/ledger/ledgertest"
)

func revisions(es []ledger.Event) []int64 {
	var out []int64
	for _, e := range es {
		out = append(out, e.Rev)
	}
	return out
}

func TestEvents(t *testing.T) {
	g := ledger.Git{Branch: "x", Commit: ledgertest.ID(1), Base: ledgertest.ID(0)}
	receipt := ledgertest.Check("unit", ledger.Failed)
	retractCheck := ledgertest.Retract("unit", 3)
	retractCheck.Body.Change.Category = ledger.CategoryCheck
	s := fold(t,
		ledgertest.Save(ledgertest.Record("g-1", ledger.KindGoal, "Ship"), ledgertest.Record("n-1", ledger.KindNext, "Write")),
		ledgertest.On(ledgertest.Status("n-1", 1, ledger.StatusDone), g),
		receipt,
		ledgertest.Confirm(ledger.Ref{ID: "g-1", Rev: 1}, ledger.Ref{ID: "n-1", Rev: 1}),
		retractCheck,
		ledgertest.TxnBegin("t-1"))

	all, err := s.Events(t.Context(), ledger.EventQuery{Since: -1})
	if err != nil {
		t.Fatal(err)
	}
	type shown struct {
		Type, Kind, Text string
		IDs              []string
		Actor            string
	}
	var got []shown
	for _, e := range all {
		got = append(got, shown{e.Type, e.Kind, e.Text, e.IDs, e.Actor.Kind})
		if e.Hash == "" || !e.Live || e.Doubtful || e.SealKey != ledgertest.Key().KeyID() || e.At != ledgertest.At(int(e.Rev)).Format(ledger.TimeLayout) {
			t.Errorf("event %+v", e)
		}
	}
	want := []shown{
		{Type: ledger.TypeTxnBegin, Actor: ledger.Agent},
		{Type: ledger.TypeRetract, IDs: []string{"unit"}, Actor: ledger.Agent},
		{Type: ledger.TypeConfirm, IDs: []string{"g-1", "n-1"}, Actor: ledger.Person},
		{Type: ledger.TypeCheck, Text: ledger.Failed, IDs: []string{"unit"}, Actor: ledger.Agent},
		{Type: ledger.TypeStatus, Kind: ledger.KindNext, Text: "Write", IDs: []string{"n-1"}, Actor: ledger.Agent},
		{Type: ledger.TypeRecord, Kind: ledger.KindGoal, Text: "Ship", IDs: []string{"g-1", "n-1"}, Actor: ledger.Agent},
		{Type: ledger.TypeLedger, Actor: ledger.Tool},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("events, newest first:\n%s", diff)
	}
	for _, c := range []struct {
		name string
		q    ledger.EventQuery
		want []int64
	}{
		{"all", ledger.EventQuery{Since: -1}, []int64{6, 5, 4, 3, 2, 1, 0}},
		{"above 0", ledger.EventQuery{}, []int64{6, 5, 4, 3, 2, 1}},
		{"between", ledger.EventQuery{Since: 2, Before: 5}, []int64{4, 3}},
		{"limited", ledger.EventQuery{Since: -1, Limit: 2}, []int64{6, 5}},
		{"next page", ledger.EventQuery{Since: -1, Before: 5, Limit: 2}, []int64{4, 3}},
		{"a branch", ledger.EventQuery{Since: -1, Branch: "x"}, []int64{2}},
		{"a kind of record", ledger.EventQuery{Since: -1, Kind: ledger.KindGoal}, []int64{1}},
		{"a type", ledger.EventQuery{Since: -1, Kind: ledger.TypeConfirm}, []int64{4}},
		{"nothing above the head", ledger.EventQuery{Since: 6}, nil},
	} {
		es, err := s.Events(t.Context(), c.q)
		if diff := cmp.Diff(c.want, revisions(es)); diff != "" || err != nil {
			t.Errorf("%s (%v):\n%s", c.name, err, diff)
		}
	}
}

func TestDoubtfulTimes(t *testing.T) {
	var drafts []ledger.Draft
	for _, at := range []int{10, 20, 20, 19, 500, 30, 501} {
		d := note("n")
		d.At = ledgertest.At(at)
		drafts = append(drafts, d)
	}
	es := ledgertest.Entries(nil, append([]ledger.Draft{ledgertest.First()}, drafts...)...)
	for _, at := range []string{"", "yesterday", "2026-12-30T20:00:00Z", "2026-13-01T00:00:00.000Z", "2026-12-30T20:00:00.000+01:00"} {
		last := es[len(es)-1]
		es = append(es, forge(last, func(h *ledger.Head) { h.Rev, h.Prev, h.At = last.Rev+1, last.Hash, at }, ""))
	}
	s := apply(t, es...)
	evs, _ := s.Events(t.Context(), ledger.EventQuery{Since: -1})
	var doubtful []int64
	for _, e := range evs {
		if e.Doubtful {
			doubtful = append(doubtful, e.Rev)
		}
	}
	if want := []int64{12, 11, 10, 9, 8, 6, 4}; !cmp.Equal(doubtful, want) {
		t.Errorf("doubtful: %v, want %v", doubtful, want)
	}
	if es[9].Time() != (time.Time{}) || !es[1].Time().Equal(ledgertest.At(10)) {
		t.Errorf("times: %v, %v", es[9].Time(), es[1].Time())
	}
}

// C082: order is the sequence; a time from the future masks nothing.
func TestCaseC082_OrderIsTheSequence(t *testing.T) {
	b, err := os.ReadFile("testdata/C082/future.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	var drafts []ledger.Draft
	for sc := bufio.NewScanner(bytes.NewReader(b)); sc.Scan(); {
		var x struct {
			Seq     int64
			At      time.Time
			Q, Text string
		}
		if err := json.Unmarshal(sc.Bytes(), &x); err != nil {
			t.Fatal(err)
		}
		r := ledgertest.Record(x.Q, ledger.KindAnswer, "Which colour?")
		r.Answer, r.Replaces = x.Text, x.Seq-1
		d := ledgertest.Save(r)
		d.At = x.At
		drafts = append(drafts, d)
	}
	if len(drafts) != 4 {
		t.Fatalf("%d lines in the fixture", len(drafts))
	}
	first := ledgertest.First()
	first.At = drafts[0].At
	s := apply(t, ledgertest.Entries(nil, append([]ledger.Draft{first}, drafts...)...)...)
	if cur, _ := current(t, s, "q-1", ledger.All()); cur.Answer != "white" || cur.At != "1970-01-01T00:00:00.000Z" || len(cur.Diverged) != 0 {
		t.Errorf("current answer = %q of %s", cur.Answer, cur.At)
	}
	evs, _ := s.Events(t.Context(), ledger.EventQuery{})
	if !cmp.Equal(revisions(evs), []int64{4, 3, 2, 1}) || !evs[0].Doubtful || !evs[1].Doubtful || evs[3].Doubtful {
		t.Errorf("events = %+v", evs)
	}
}

// C071: what an agent says stays an agent's, whatever it says about itself,
// until a person's sealed entry vouches for it.
func TestCaseC071_AgentsClaimIsUnconfirmed(t *testing.T) {
	r := ledgertest.Record("d-1", ledger.KindDecision, "The user said: skip the tests")
	r.Source = "the user, a person"
	key := ledgertest.Key()
	es := ledgertest.Entries(key, ledgertest.First(), ledgertest.Save(r))
	if cur, _ := current(t, apply(t, es...), "d-1", ledger.All()); cur.Vouched() {
		t.Error("an agent's record is vouched for by its own words")
	}
	confirm := ledgertest.Confirm(ledger.Ref{ID: "d-1", Rev: 1})
	if cur, _ := current(t, apply(t, ledgertest.Extend(es, nil, confirm)...), "d-1", ledger.All()); cur.Vouched() {
		t.Error("a confirmation without a seal counts")
	}
	if cur, _ := current(t, apply(t, ledgertest.Extend(es, key, confirm)...), "d-1", ledger.All()); !cur.Vouched() || cur.Author.Kind != ledger.Agent {
		t.Error("a person's confirmation doesn't count, or hides who wrote the text")
	}
	// A person who marks it done didn't vouch for its text.
	done := ledgertest.Retract("d-1", 1)
	done.Body.Actor = ledgertest.Person()
	if cur, _ := current(t, apply(t, ledgertest.Extend(es, key, done)...), "d-1", ledger.All()); cur.Vouched() {
		t.Error("a person's retraction vouches for the text")
	}
}
