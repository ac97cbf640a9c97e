package ledger_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"holdfast/internal/ledger"
	"holdfast/internal/ledger/ledgertest"
)

func TestEmptyState(t *testing.T) {
	var s ledger.State
	if s.Head() != (ledger.Pos{}) || s.LedgerID() != "" || s.Recovery() != "" || !s.Live(0) {
		t.Errorf("zero state: head %v, id %q, recovery %q", s.Head(), s.LedgerID(), s.Recovery())
	}
	if got := find(t, &s, ledger.Query{State: ledger.FindAny}); len(got) != 0 {
		t.Errorf("records = %v", got)
	}
	if _, used := keyUse(t, &s, "k"); used {
		t.Error("a key is used")
	}
	if vs, err := s.Versions(t.Context(), "n-1"); len(vs) != 0 || err != nil {
		t.Errorf("versions = %v, %v", vs, err)
	}
}

func TestLedgerID(t *testing.T) {
	s := fold(t)
	if s.LedgerID() != ledgertest.LedgerID || s.Head().Rev != 0 {
		t.Errorf("id = %q, head %v", s.LedgerID(), s.Head())
	}
	if s = fold(t, ledgertest.Adopt("")); s.LedgerID() != ledgertest.LedgerID {
		t.Errorf("adopting the ledger as it is changed its id to %q", s.LedgerID())
	}
	if s = fold(t, ledgertest.Adopt("other")); s.LedgerID() != "other" {
		t.Errorf("id after adopting a copy = %q", s.LedgerID())
	}
}

// A correction is a version of its own; the text before it stays in history.
func TestCorrection(t *testing.T) {
	first := ledgertest.Record("d-1", ledger.KindDecision, "Use SQLite")
	first.Why, first.Rejected = "fast", []ledger.Rejected{{Option: "files", Why: "slow"}}
	second := ledgertest.Record("d-1", ledger.KindDecision, "Use files")
	second.Replaces = 1
	d := ledgertest.Save(second)
	d.Body.Actor = ledgertest.Person()
	s := fold(t, ledgertest.Save(first), d)

	vs, err := s.Versions(t.Context(), "d-1")
	if err != nil || len(vs) != 2 {
		t.Fatalf("%d versions, %v", len(vs), err)
	}
	if diff := cmp.Diff(first, vs[0].Record); diff != "" {
		t.Errorf("first version:\n%s", diff)
	}
	if diff := cmp.Diff(second, vs[1].Record); diff != "" {
		t.Errorf("second version:\n%s", diff)
	}
	for i, v := range vs {
		if v.Rev != int64(i+1) || v.ContentRev != v.Rev || v.Event != ledger.TypeRecord || v.Actor != v.Author || v.SealKey != ledgertest.Key().KeyID() {
			t.Errorf("version %d: %+v", i, v)
		}
	}
	if cur, _ := current(t, s, "d-1", ledger.All()); cur.Rev != 2 || cur.Author.Kind != ledger.Person {
		t.Errorf("current = %+v", cur)
	}
}

// Done, dropped, retracted and back: each a version with the text of the one
// before, written by whom the text was written by.
func TestStatusRetractRestore(t *testing.T) {
	r := ledgertest.Record("n-1", ledger.KindNext, "Write the reader")
	r.DoneWhen, r.Cites = "unit", []ledger.Cite{{Path: "a.go", SHA256: "x"}}
	done := ledgertest.Status("n-1", 1, ledger.StatusDone)
	done.Body.Change.WithoutEvidence = "the check is broken"
	done.Body.Actor = ledgertest.Person()
	es := ledgertest.Entries(ledgertest.Key(), ledgertest.First(), ledgertest.Save(r), done,
		ledgertest.Status("n-1", 2, ledger.StatusOpen), ledgertest.Retract("n-1", 3), ledgertest.Status("n-1", 4, ledger.StatusDropped), ledgertest.Restore("n-1", 5))
	open, finished, retracted := ledger.Query{}, ledger.Query{State: ledger.FindFinished}, ledger.Query{State: ledger.FindRetracted}
	n1 := []string{"n-1"}
	for _, step := range []struct {
		rev                       int64
		event, status             string
		open, finished, retracted []string
	}{
		{1, ledger.TypeRecord, "", n1, nil, nil},
		{2, ledger.TypeStatus, ledger.StatusDone, nil, n1, nil},
		{3, ledger.TypeStatus, ledger.StatusOpen, n1, nil, nil},
		{4, ledger.TypeRetract, ledger.StatusOpen, nil, nil, n1},
		{5, ledger.TypeStatus, ledger.StatusDropped, nil, nil, n1},
		{6, ledger.TypeRestore, ledger.StatusDropped, nil, n1, nil},
	} {
		s := apply(t, es[:step.rev+1]...)
		cur, ok := current(t, s, "n-1", ledger.All())
		if !ok || cur.Rev != step.rev || cur.Event != step.event || cur.Status != step.status {
			t.Errorf("at %d: %+v", step.rev, cur.Version)
		}
		if cur.Text != r.Text || cur.DoneWhen != "unit" || !cmp.Equal(cur.Cites, r.Cites) || cur.ContentRev != 1 || cur.Author != ledgertest.Agent() || cur.Vouched() {
			t.Errorf("at %d the text is not that of revision 1: %+v", step.rev, cur.Version)
		}
		if (cur.WithoutEvidence != "") != (step.rev == 2) || (cur.Actor.Kind == ledger.Person) != (step.rev == 2) {
			t.Errorf("at %d: without evidence %q, actor %s", step.rev, cur.WithoutEvidence, cur.Actor.Kind)
		}
		if len(cur.Diverged) != 0 {
			t.Errorf("at %d: diverged", step.rev)
		}
		if diff := cmp.Diff([][]string{step.open, step.finished, step.retracted}, [][]string{find(t, s, open), find(t, s, finished), find(t, s, retracted)}); diff != "" {
			t.Errorf("at %d: open, finished, retracted:\n%s", step.rev, diff)
		}
	}
	// A retracted record that is corrected is back.
	s := apply(t, ledgertest.Extend(es[:5], ledgertest.Key(), correction(4, "Write the reader well"))...)
	if got := find(t, s, open); !cmp.Equal(got, n1) {
		t.Errorf("open after the correction = %v", got)
	}
}

// A change of a version whose body is gone keeps the id and nothing else.
func TestChangeOfRedactedVersion(t *testing.T) {
	es := ledgertest.Entries(ledgertest.Key(), ledgertest.First(), note("n-1"), ledgertest.Retract("n-1", 1), ledgertest.Redact(ledger.Ref{ID: "n-1", Rev: 1}))
	es[1] = es[1].Erase()
	s := apply(t, es...)
	cur, ok := current(t, s, "n-1", ledger.All())
	if !ok || !cur.Redacted || !cur.Retracted || cur.Text != "" || cur.ContentRev != 1 || cur.Vouched() {
		t.Errorf("current = %+v, %v", cur.Version, ok)
	}
	if got := find(t, s, ledger.Query{State: ledger.FindRetracted}); !cmp.Equal(got, []string{"n-1"}) {
		t.Errorf("retracted = %v", got)
	}
	if got := find(t, apply(t, ledgertest.Extend(es, ledgertest.Key(), ledgertest.Restore("n-1", 2))...), ledger.Query{}); len(got) != 0 {
		t.Errorf("a record without text is open: %v", got)
	}
}

func TestConfirm(t *testing.T) {
	confirm := func(id string, rev int64) ledger.Draft { return ledgertest.Confirm(ledger.Ref{ID: id, Rev: rev}) }
	for _, c := range []struct {
		name   string
		drafts []ledger.Draft // behind n-1 at revision 1
		by     int64
	}{
		{"not at all", nil, 0},
		{"its revision", []ledger.Draft{confirm("n-1", 1)}, 2},
		{"twice", []ledger.Draft{confirm("n-1", 1), confirm("n-1", 1)}, 3},
		{"another record of the same revision", []ledger.Draft{confirm("n-2", 1)}, 0},
		{"another revision", []ledger.Draft{confirm("n-1", 2)}, 0},
		{"then done: the text is the same", []ledger.Draft{confirm("n-1", 1), ledgertest.Status("n-1", 1, ledger.StatusDone)}, 2},
		{"done, then the text confirmed", []ledger.Draft{ledgertest.Status("n-1", 1, ledger.StatusDone), confirm("n-1", 1)}, 3},
		{"done, then that version confirmed", []ledger.Draft{ledgertest.Status("n-1", 1, ledger.StatusDone), confirm("n-1", 2)}, 3},
		{"then corrected: another text", []ledger.Draft{confirm("n-1", 1), correction(1, "b")}, 0},
		{"then recovered behind it", []ledger.Draft{confirm("n-1", 1), ledgertest.Recover("gen-1", 1)}, 0},
		{"on another branch", []ledger.Draft{onBranch("x", confirm("n-1", 1))}, 2},
		{"several at once", []ledger.Draft{ledgertest.Confirm(ledger.Ref{ID: "n-0", Rev: 1}, ledger.Ref{ID: "n-1", Rev: 1})}, 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := fold(t, append([]ledger.Draft{correction(0, "a")}, c.drafts...)...)
			cur, ok := current(t, s, "n-1", ledger.All())
			if !ok || cur.Confirmed != c.by || cur.Vouched() != (c.by > 0) {
				t.Errorf("confirmed by %d, vouched %v; want %d", cur.Confirmed, cur.Vouched(), c.by)
			}
		})
	}
}

func TestSupersedes(t *testing.T) {
	by := func(id, old string) ledger.Record {
		r := ledgertest.Record(id, ledger.KindDecision, "Text of "+id)
		r.Supersedes = old
		return r
	}
	old := ledgertest.Save(ledgertest.Record("d-1", ledger.KindDecision, "Old"))
	for _, c := range []struct {
		name   string
		drafts []ledger.Draft
		want   []string
	}{
		{"the old one leaves", []ledger.Draft{old, ledgertest.Save(by("d-2", "d-1"))}, []string{"d-2"}},
		{"in one save", []ledger.Draft{ledgertest.Save(by("d-1", ""), by("d-2", "d-1"))}, []string{"d-2"}},
		{"in a chain", []ledger.Draft{old, ledgertest.Save(by("d-2", "d-1")), ledgertest.Save(by("d-3", "d-2"))}, []string{"d-3"}},
		{"retracted: the old one is back", []ledger.Draft{old, ledgertest.Save(by("d-2", "d-1")), ledgertest.Retract("d-2", 2)}, []string{"d-1"}},
		{"elsewhere: the old one stays", []ledger.Draft{old, onBranch("x", ledgertest.Save(by("d-2", "d-1")))}, []string{"d-1"}},
		{"something that isn't there", []ledger.Draft{old, ledgertest.Save(by("d-2", "d-9"))}, []string{"d-2", "d-1"}},
		{"corrected so that it doesn't any more", []ledger.Draft{old, ledgertest.Save(by("d-2", "d-1")), ledgertest.Save(func() ledger.Record { r := by("d-2", ""); r.Replaces = 2; return r }())}, []string{"d-2", "d-1"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := fold(t, c.drafts...)
			q := ledger.Query{Scope: ledger.NewScope(ledger.Place{Git: ledger.Git{Branch: "main"}, Default: "main"}, nil, nil, nil)}
			if got := find(t, s, q); !cmp.Equal(got, c.want) {
				t.Errorf("open = %v, want %v", got, c.want)
			}
		})
	}
}

func TestFind(t *testing.T) {
	person := note("p-1")
	person.Body.Actor = ledgertest.Person()
	s := fold(t, person, note("a-1"), ledgertest.Save(ledgertest.Record("g-1", ledger.KindGoal, "Ship"), ledgertest.Record("g-2", ledger.KindGoal, "Sail")),
		note("a-2"), ledgertest.Confirm(ledger.Ref{ID: "a-1", Rev: 2}), ledgertest.Status("g-2", 3, ledger.StatusDone))
	for _, c := range []struct {
		name  string
		q     ledger.Query
		want  []string
		total int
	}{
		{"vouched first, then newest", ledger.Query{}, []string{"a-1", "p-1", "a-2", "g-1"}, 4},
		{"limited", ledger.Query{Limit: 2}, []string{"a-1", "p-1"}, 4},
		{"a kind", ledger.Query{Kinds: []string{ledger.KindGoal}}, []string{"g-1"}, 1},
		{"kinds", ledger.Query{Kinds: []string{ledger.KindGoal, ledger.KindNote}}, []string{"a-1", "p-1", "a-2", "g-1"}, 4},
		{"finished", ledger.Query{State: ledger.FindFinished}, []string{"g-2"}, 1},
		{"any", ledger.Query{State: ledger.FindAny}, []string{"a-1", "p-1", "g-2", "a-2", "g-1"}, 5},
		{"since", ledger.Query{Since: ledgertest.At(3).Format(ledger.TimeLayout)}, []string{"a-2", "g-1"}, 2},
		{"none", ledger.Query{Kinds: []string{ledger.KindQuestion}}, nil, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := find(t, s, c.q); !cmp.Equal(got, c.want) {
				t.Errorf("found %v, want %v", got, c.want)
			}
			c.q.Scope = ledger.All()
			if page, _ := s.Find(t.Context(), c.q); page.Total != c.total {
				t.Errorf("total = %d, want %d", page.Total, c.total)
			}
		})
	}
}

func TestElsewhere(t *testing.T) {
	w := ledgertest.NewWorld("main")
	w.Fork("x", "main")
	w.Commit("x")
	s := fold(t, ledgertest.On(note("m-1"), w.Git("main")), ledgertest.On(note("x-1"), w.Git("x")), ledgertest.On(note("x-2"), w.Git("x")),
		onBranch("y", note("y-1")), ledgertest.On(note("d-1"), w.GitDetached(1)), ledgertest.On(ledgertest.Retract("m-1", 1), w.Git("x")))
	p, c := w.On("main")
	scope, err := ledgertest.Scope(t.Context(), s, p, c)
	if err != nil {
		t.Fatal(err)
	}
	got, err := s.Elsewhere(t.Context(), scope)
	if diff := cmp.Diff(map[string]int{"x": 2, "y": 1, "": 1}, got); diff != "" || err != nil {
		t.Errorf("elsewhere (%v):\n%s", err, diff)
	}
	if got := find(t, s, ledger.Query{Scope: scope}); !cmp.Equal(got, []string{"m-1"}) {
		t.Errorf("in force on main = %v: what x retracted stands here", got)
	}
	if got, _ := s.Elsewhere(t.Context(), ledger.All()); len(got) != 0 {
		t.Errorf("elsewhere of everything = %v", got)
	}
}

func TestAllows(t *testing.T) {
	d := ledgertest.Allow("not a secret")
	s := fold(t, d, ledgertest.Recover("gen-1", 0))
	got, err := s.Allows(t.Context())
	if diff := cmp.Diff([]ledger.Allow{*d.Body.Allow}, got); diff != "" || err != nil {
		t.Errorf("allows (%v):\n%s", err, diff)
	}
}

// An entry whose body isn't what its type has is an error that names the
// revision and holds no text, and the state stays as it was.
func TestApplyRefusesForeignBody(t *testing.T) {
	es := ledgertest.Entries(nil, ledgertest.First(), note("n-1"))
	bad := forge(es[1], func(h *ledger.Head) {}, `{"salt":"","actor":"owner","records":"all of them"}`)
	s := apply(t, es[0])
	err := s.Apply(bad)
	if _, ok := err.(*ledger.EntryError); !ok {
		t.Fatalf("error = %v", err)
	}
	if err.Error() != "unreadable entry 1: its body is not what its type has" || s.Head() != es[0].Pos() {
		t.Errorf("error %q, head %v", err, s.Head())
	}
	if err := s.Apply(es[1]); err != nil || s.Head().Rev != 1 {
		t.Errorf("the right entry after that: %v", err)
	}
}
