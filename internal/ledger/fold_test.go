package ledger_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"holdfast/internal/ledger"
	"holdfast/internal/ledger/ledgertest"
)

// fold applies drafts, sealed, behind revision 0: the first draft is revision 1.
func fold(t *testing.T, drafts ...ledger.Draft) *ledger.State {
	t.Helper()
	return apply(t, ledgertest.Entries(ledgertest.Key(), append([]ledger.Draft{ledgertest.First()}, drafts...)...)...)
}

func apply(t *testing.T, es ...ledger.Entry) *ledger.State {
	t.Helper()
	var s ledger.State
	for _, e := range es {
		if err := s.Apply(e); err != nil {
			t.Fatalf("apply revision %d: %v", e.Rev, err)
		}
	}
	return &s
}

func current(t *testing.T, s *ledger.State, id string, scope *ledger.Scope) (ledger.Current, bool) {
	t.Helper()
	vs, err := s.Versions(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return ledger.CurrentOf(vs, scope)
}

func find(t *testing.T, s *ledger.State, q ledger.Query) []string {
	t.Helper()
	if q.Scope == nil {
		q.Scope = ledger.All()
	}
	page, err := s.Find(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for _, cur := range page.Items {
		ids = append(ids, cur.ID)
	}
	return ids
}

func keyUse(t *testing.T, s *ledger.State, key string) (ledger.KeyUse, bool) {
	t.Helper()
	u, ok, err := s.KeyUse(t.Context(), ledger.KeyHash(key))
	if err != nil {
		t.Fatal(err)
	}
	return u, ok
}

func note(id string) ledger.Draft {
	return ledgertest.Save(ledgertest.Record(id, ledger.KindNote, "Text of "+id))
}

// What stands in a body that the entry's type doesn't have means nothing.
func TestBodyPartsOfOtherTypesMeanNothing(t *testing.T) {
	r := note("n-1")
	r.Body.Change = &ledger.Change{ID: "n-0", Replaces: 1, Status: ledger.StatusDone}
	r.Body.Carry = &ledger.Carry{Branches: []string{"x"}}
	r.Body.Confirms = []ledger.Ref{{ID: "n-0", Rev: 1}}
	r.Body.Allow = ledgertest.Allow("v").Body.Allow
	r.Body.Receipt = ledgertest.Check("unit", ledger.Passed).Body.Receipt
	check := ledgertest.Check("unit", ledger.Passed)
	check.Body.Records = note("n-2").Body.Records
	check.Body.Change = &ledger.Change{ID: "n-0", Replaces: 1}
	s := fold(t, note("n-0"), r, check)

	if got := find(t, s, ledger.Query{}); !cmp.Equal(got, []string{"n-1", "n-0"}) {
		t.Errorf("records = %v, want n-1 and n-0", got)
	}
	if cur, _ := current(t, s, "n-0", ledger.All()); cur.Rev != 1 || cur.Vouched() || cur.Closed() {
		t.Errorf("n-0 was changed: %+v", cur)
	}
	if c, _ := s.Carries(t.Context()); len(c) != 0 {
		t.Errorf("carries = %v", c)
	}
	if a, _ := s.Allows(t.Context()); len(a) != 0 {
		t.Errorf("allows = %v", a)
	}
	es, _ := s.Events(t.Context(), ledger.EventQuery{Since: -1})
	if got := es[1].IDs; !cmp.Equal(got, []string{"n-1"}) {
		t.Errorf("ids of the event = %v, want n-1", got)
	}
}

// An entry that needs a seal and has none does nothing at all.
func TestVoidEntriesDoNothing(t *testing.T) {
	g := ledger.Git{Branch: "x", Commit: ledgertest.ID(1), Base: ledgertest.ID(0)}
	base := ledgertest.Entries(ledgertest.Key(), ledgertest.First(), note("n-1"), note("n-2"))
	person := ledgertest.TxnBegin("t-1")
	person.Txn.Person = true
	for _, d := range []ledger.Draft{
		ledgertest.Confirm(ledger.Ref{ID: "n-1", Rev: 1}), ledgertest.Recover("gen", 1),
		ledgertest.Allow("v"), ledgertest.Adopt("other"), ledgertest.Redact(ledger.Ref{ID: "n-1", Rev: 1}), person,
	} {
		es := ledgertest.Extend(base, nil, ledgertest.On(ledgertest.WithKey(d, "k"), g))
		s := apply(t, es...)
		if !es[3].Void() {
			t.Errorf("%s without a seal is not void", d.Type)
		}
		if s.Recovery() != "" || s.LedgerID() != ledgertest.LedgerID || !s.Live(2) {
			t.Errorf("a void %s changed the ledger", d.Type)
		}
		if cur, _ := current(t, s, "n-1", ledger.All()); cur.Vouched() || cur.Redacted {
			t.Errorf("a void %s changed a record", d.Type)
		}
		if a, _ := s.Allows(t.Context()); len(a) != 0 {
			t.Errorf("a void %s allowed something", d.Type)
		}
		if _, used := keyUse(t, s, "k"); used {
			t.Errorf("a void %s used up a key", d.Type)
		}
		if c, _ := s.Commits(t.Context()); len(c) != 0 {
			t.Errorf("a void %s says where its branch was: %v", d.Type, c)
		}
		if ev, _ := s.Events(t.Context(), ledger.EventQuery{Since: 2}); len(ev) != 1 || ev[0].Type != d.Type {
			t.Errorf("a void %s is not in the timeline: %v", d.Type, ev)
		}
		if s.Head() != es[3].Pos() {
			t.Errorf("head = %v", s.Head())
		}
	}
}

// A recovery takes back what records say. What describes the world, or a
// person's decision, stands: its keys stay used, its events stay live.
func TestRecoverTakesBackRecordsOnly(t *testing.T) {
	back := []ledger.Draft{
		note("n-1"), ledgertest.Check("unit", ledger.Passed), ledgertest.Carry("x"),
		ledgertest.Status("n-0", 1, ledger.StatusDone), ledgertest.Retract("n-0", 1), ledgertest.Restore("n-0", 1),
		ledgertest.Confirm(ledger.Ref{ID: "n-0", Rev: 1}),
	}
	merge := note("n-2")
	merge.Type = ledger.TypeMerge
	back = append(back, merge)
	stands := []ledger.Draft{
		ledgertest.TxnBegin("t-1"), ledgertest.Allow("v"), ledgertest.Adopt("id-2"),
		{Type: ledger.TypeOpBegin}, {Type: ledger.TypeTxnAttempt}, {Type: ledger.TypeTxnEnd}, {Type: ledger.TypeOpEnd},
		ledgertest.Redact(), ledgertest.Recover("gen-1", 1),
	}
	for i, d := range append(back, stands...) {
		want := i >= len(back)
		s := fold(t, note("n-0"), ledgertest.WithKey(d, "k"), ledgertest.Recover("gen-2", 1))
		if _, used := keyUse(t, s, "k"); used != want {
			t.Errorf("%s: its key counts as used after the recovery: %v, want %v", d.Type, used, want)
		}
		ev, _ := s.Events(t.Context(), ledger.EventQuery{Since: 1, Before: 3})
		if len(ev) != 1 || ev[0].Live != want {
			t.Errorf("%s: event after the recovery: %+v, want live %v", d.Type, ev, want)
		}
		if d.Type == ledger.TypeAllow {
			if a, _ := s.Allows(t.Context()); len(a) != 1 {
				t.Errorf("allow was taken back")
			}
		}
		if d.Type == ledger.TypeAdopt && s.LedgerID() != "id-2" {
			t.Errorf("adopt was taken back: id %s", s.LedgerID())
		}
		if s.Recovery() != "gen-2" {
			t.Errorf("recovery generation = %q", s.Recovery())
		}
		if cur, _ := current(t, s, "n-0", ledger.All()); cur.Rev != 1 || cur.Confirmed != 0 {
			t.Errorf("%s: n-0 is not back: %+v", d.Type, cur)
		}
	}
}

// A key whose first save is hidden can be used again, and then counts.
func TestKeyUsedAgainAfterRecover(t *testing.T) {
	s := fold(t, note("n-0"), ledgertest.WithKey(note("n-1"), "k"), ledgertest.Recover("gen-1", 1), ledgertest.WithKey(note("n-2"), "k"))
	if u, ok := keyUse(t, s, "k"); !ok || u.Rev != 4 || u.Request == "" {
		t.Errorf("key is used by %+v, %v; want revision 4", u, ok)
	}
	if _, ok := keyUse(t, s, "other"); ok {
		t.Error("an unused key is used")
	}
}

// After a redaction a key answers without a request to compare with.
func TestKeyOfRedactedSave(t *testing.T) {
	es := ledgertest.Entries(ledgertest.Key(), ledgertest.First(), ledgertest.WithKey(note("n-1"), "k"), ledgertest.Redact(ledger.Ref{ID: "n-1", Rev: 1}))
	es[1] = es[1].Erase()
	s := apply(t, es...)
	if u, ok := keyUse(t, s, "k"); !ok || u.Rev != 1 || u.Request != "" {
		t.Errorf("key is used by %+v, %v; want revision 1 without a request", u, ok)
	}
}
