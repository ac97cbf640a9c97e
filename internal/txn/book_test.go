package txn_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"holdfast/internal/ledger"
	"holdfast/internal/ledger/ledgertest"
	"holdfast/internal/txn"
)

// TestRedaction: what the heads keep is enough to refuse.
func TestRedaction(t *testing.T) {
	a := newAct(t)
	a.write("f", "old")
	a.begin(fileOp("f", "new"))
	a.granted(0, txn.RoleInitial)
	a.report("failed")
	erase := func(revs ...int64) {
		a.h.log.(*ledgertest.Memory).Erase(revs...)
		a.h.book = txn.Book{}
		if err := a.h.sync(); err != nil {
			t.Fatal(err)
		}
	}
	all := func() (revs []int64) {
		for r := int64(1); r <= a.h.book.At.Rev; r++ {
			revs = append(revs, r)
		}
		return revs
	}
	t.Run("the attempt alone", func(t *testing.T) {
		b := *a
		b.T = t
		erase(2, 3)
		x := b.try(0)
		b.want("granted", x.Granted, true)
		b.want("role", x.Role, txn.RoleRecovery)
	})
	a.attempt = a.h.book.Txns[a.id].Attempts[1].ID
	a.want("state", a.report("failed").State, txn.StateBlocked)
	erase(all()...)
	tx := a.h.book.Txns[a.id]
	a.want("state", tx.State, txn.StateBlocked)
	a.want("erased", tx.Erased, true)
	a.want("recoveries", a.h.eng.BudgetOf(&a.h.book, tx).RecoveriesUsed, 1)
	a.refused(0, txn.CodeBlocked, txn.StateBlocked)
	_, err := a.tryBegin(fileOp("f", "new"))
	a.want("the same operation again", code(err), txn.CodeOverlapsBlocked)
	a.h.person = true
	_, err = a.h.reopen(a.id, "because")
	a.want("reopening", code(err), txn.CodeErased)
	if err := a.h.decide(func(c txn.Call) (*ledger.Draft, error) { return a.h.eng.Abandon(&a.h.book, c, a.id, "because") }); err != nil {
		t.Fatal(err)
	}
	a.h.person = false
	a.begin(fileOp("f", "new"))
	a.want("state after it was given up", a.h.book.Txns[a.id].State, txn.StateOpen)
}

// TestVoidWithoutSeal: a person's decision that nobody sealed changes nothing.
func TestVoidWithoutSeal(t *testing.T) {
	a := newAct(t)
	a.h.log = ledgertest.NewMemory(ledgertest.Options{Entries: ledgertest.Entries(nil, ledgertest.First())})
	a.write("f", "old")
	a.begin(fileOp("f", "new"))
	a.granted(0, txn.RoleInitial)
	a.report("failed")
	a.granted(0, txn.RoleRecovery)
	a.want("state", a.report("failed").State, txn.StateBlocked)
	a.h.person = true
	if _, err := a.h.reopen(a.id, "because"); err != nil {
		t.Fatal(err)
	}
	if err := a.h.decide(func(c txn.Call) (*ledger.Draft, error) { return a.h.eng.Abandon(&a.h.book, c, a.id, "because") }); err != nil {
		t.Fatal(err)
	}
	a.h.person = false
	a.want("state", a.h.book.Txns[a.id].State, txn.StateBlocked)
	a.want("followed by", a.h.book.Txns[a.id].FollowedBy, "")
	a.want("transactions", len(a.h.book.Txns), 1)
	a.refused(0, txn.CodeBlocked, txn.StateBlocked)
}

// TestForgedEntries: entries that no engine would make don't open what is closed.
func TestForgedEntries(t *testing.T) {
	a := newAct(t)
	a.begin(fileOp("f", "new"))
	a.granted(0, txn.RoleInitial)
	a.report("failed")
	a.granted(0, txn.RoleRecovery)
	a.want("state", a.report("failed").State, txn.StateBlocked)
	op := 5
	for _, head := range []ledger.TxnHead{
		{Transaction: a.id, State: txn.StateOpen},
		{Transaction: a.id, State: txn.StateComplete},
		{Transaction: a.id, State: txn.StateAbandoned},
		{Transaction: a.id, Attempt: "a99", Operation: &op, Role: txn.RoleInitial, State: txn.StateOpen},
		{Transaction: "unknown", State: txn.StateOpen},
		{Transaction: "t99", Follows: a.id, State: txn.StateOpen}, // no person
	} {
		for _, typ := range []string{ledger.TypeTxnBegin, ledger.TypeTxnAttempt, ledger.TypeTxnReport, ledger.TypeTxnObserve, ledger.TypeTxnEnd} {
			if err := a.h.save(&ledger.Draft{Type: typ, At: a.clock, HeadFields: ledger.HeadFields{Txn: &head}}); err != nil {
				t.Fatal(err)
			}
			a.want(fmt.Sprintf("state after %s %+v", typ, head), a.h.book.Txns[a.id].State, txn.StateBlocked)
			a.want("followed by", a.h.book.Txns[a.id].FollowedBy, "")
		}
	}
	a.refused(0, txn.CodeBlocked, txn.StateBlocked)
}

// TestSnapshot: a book written as JSON and read back answers the same, at every
// revision.
func TestSnapshot(t *testing.T) {
	for seed := range uint64(40) {
		s := seeded(t, seed+1, txn.Engine{}, false)
		if fault := s.run(40); fault != "" {
			t.Fatal(fault)
		}
		var whole, cached txn.Book
		for e, err := range s.hubs[0].log.Entries(context.Background(), ledger.Pos{}) {
			if err != nil {
				t.Fatal(err)
			}
			d, err := ledger.ReadDelta(&e)
			if err != nil {
				t.Fatal(err)
			}
			raw, err := json.Marshal(&cached)
			if err != nil {
				t.Fatal(err)
			}
			cached = txn.Book{}
			if err := json.Unmarshal(raw, &cached); err != nil {
				t.Fatal(err)
			}
			if err := errors.Join(whole.Apply(d), cached.Apply(d)); err != nil {
				t.Fatal(err)
			}
		}
		if diff := cmp.Diff(&whole, &cached, cmpopts.IgnoreUnexported(txn.Transaction{}), cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("seed %d (-whole +cached):\n%s", seed, diff)
		}
	}
}

// TestEngineIsPure: a question leaves the book as it was; only entries change it.
func TestEngineIsPure(t *testing.T) {
	for seed := range uint64(30) {
		s := seeded(t, seed+500, txn.Engine{}, false)
		s.run(20)
		h := s.hubs[0]
		if err := h.sync(); err != nil {
			t.Fatal(err)
		}
		before, err := json.Marshal(&h.book)
		if err != nil {
			t.Fatal(err)
		}
		for _, id := range h.book.Order {
			seen, err := h.looks(id)
			if err != nil {
				t.Fatal(err)
			}
			op := 0
			c := h.call("x")
			c.Person = true
			h.eng.Attempt(&h.book, c, &txn.AttemptRequest{Transaction: id, Operation: &op}, seen)
			h.eng.Observe(&h.book, c, &txn.ObserveRequest{Transaction: id}, seen)
			h.eng.Reopen(&h.book, c, id, "because", txn.ReopenInput{Seen: seen, Kept: &txn.Kept{}})
			h.eng.Abandon(&h.book, c, id, "because")
			h.eng.Peek(&h.book, c, id, seen)
			for _, a := range h.book.Txns[id].Attempts {
				h.eng.Report(&h.book, c, &txn.ReportRequest{Transaction: id, Attempt: a.ID, Outcome: "succeeded"}, seen)
			}
		}
		h.book.Briefs()
		if after, err := json.Marshal(&h.book); err != nil || string(after) != string(before) {
			t.Fatalf("seed %d: asking changed the book (%v)", seed, err)
		}
	}
}

// TestRejoin: after two sides of a ledger were joined, what either had spent is
// spent, and what either had blocked is blocked.
func TestRejoin(t *testing.T) {
	a := newAct(t)
	a.write("f", "old")
	a.write("g", "old")
	a.begin(fileOp("f", "new"), fileOp("g", "new"))
	a.granted(0, txn.RoleInitial)
	a.report("failed")
	fork := a.h.book.At
	entries := a.h.log.(*ledgertest.Memory).Snapshot()

	a.granted(0, txn.RoleRecovery) // the side that will be lost
	a.want("state", a.report("failed").State, txn.StateBlocked)
	other := a.h.log

	a.h.log = ledgertest.NewMemory(ledgertest.Options{Sealer: ledgertest.Key(), Entries: entries})
	a.h.book = txn.Book{}
	a.want("state on this side", a.observe().State, txn.StateOpen)
	for e, err := range other.Entries(context.Background(), fork) {
		if err != nil {
			t.Fatal(err)
		}
		d, err := ledger.ReadDelta(&e)
		if err != nil {
			t.Fatal(err)
		}
		draft, ok := txn.Rejoin(&d)
		if !ok {
			t.Fatalf("revision %d is not told", e.Rev)
		}
		if err := a.h.save(&draft); err != nil {
			t.Fatal(err)
		}
	}
	a.want("state after joining", a.h.book.Txns[a.id].State, txn.StateBlocked)
	a.want("recoveries", a.observe().Budget.RecoveriesUsed, 1)
	a.refused(1, txn.CodeBlocked, txn.StateBlocked)
}

func TestBriefs(t *testing.T) {
	a := newAct(t)
	a.begin(fileOp("open", "1"))
	open := a.id
	a.begin(fileOp("flight", "1"))
	flight := a.id
	a.granted(0, txn.RoleInitial)
	a.begin(fileOp("blocked", "1"))
	a.granted(0, txn.RoleInitial)
	a.report("failed")
	a.granted(0, txn.RoleRecovery)
	a.report("failed")
	blocked := a.id
	a.write("done", "1")
	a.begin(fileOp("done", "1"))
	list := a.h.book.Briefs()
	var got []string
	for _, x := range list {
		got = append(got, fmt.Sprint(x.Transaction, " ", x.State, " ", x.Interrupted))
		if x.Next == "" || x.Intent == "" {
			t.Errorf("%+v says too little", x)
		}
	}
	want := []string{blocked + " blocked false", flight + " open true", open + " open false"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if list[0].Reason == "" {
		t.Error("the block has no reason")
	}
}

// TestBlockTells: a block holds all that a person needs to decide.
func TestBlockTells(t *testing.T) {
	a := newAct(t)
	a.write("f", "old")
	a.begin(fileOp("f", "new"))
	a.granted(0, txn.RoleInitial)
	a.report("timed_out")
	a.granted(0, txn.RoleRecovery)
	x := a.report("succeeded")
	tx := a.h.book.Txns[a.id]
	want := &txn.End{
		Code: "no_progress", Reason: x.Reason, Progress: "no_progress", Decision: tx.End.Decision,
		Mismatches: []txn.Mismatch{{
			Surface: "file:f", Severity: 1, Expected: map[string]string{"sha256": sha("new")},
			Observed: map[string]string{"type": "file", "sha256": sha("old"), "size": "3", "mode": "0644"},
		}},
		Before: []string{"file:f sha256 (1)"},
		Attempts: []txn.Told{
			{Attempt: tx.Attempts[0].ID, Role: "initial", Outcome: "timed_out", Classification: "no_effect"},
			{Attempt: tx.Attempts[1].ID, Role: "recovery", Outcome: "succeeded", Classification: "no_effect", Progress: "no_progress"},
		},
		Kept: &txn.Kept{Count: 1},
	}
	if diff := cmp.Diff(want, tx.End); diff != "" || want.Decision == "" || x.Reason == "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	y := a.try(0)
	a.want("reason", y.Reason, x.Reason)
	for _, next := range []string{x.Next, y.Next, tx.Brief().Next} {
		for _, part := range []string{"holdfast txn show " + a.id, "holdfast txn reopen " + a.id, "holdfast txn abandon " + a.id} {
			if !strings.Contains(next, part) {
				t.Errorf("%q doesn't say %q", next, part)
			}
		}
	}
}
