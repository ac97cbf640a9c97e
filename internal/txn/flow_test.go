package txn_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"holdfast/internal/ledger"
	"holdfast/internal/txn"
)

// TestFingerprint: what is no identity doesn't change it, what is one does.
func TestFingerprint(t *testing.T) {
	a := newAct(t)
	a.d.change(t, &change{Mkdir: []string{"sub", "real"}, Symlink: map[string]string{"link": "real"}})
	of := func(op string) string {
		t.Helper()
		r, err := txn.ParseBegin([]byte(hashed(`{"intent":"x","operations":[`+op+`]}`)), true)
		if err != nil {
			t.Fatal(err)
		}
		p, err := a.h.eng.Resolve(r, a.h.worktree, func(s string) (txn.Place, error) { return a.d.place(s, nil) })
		if err != nil {
			t.Fatal(err)
		}
		return p.Operations[0].Fingerprint
	}
	base := of(`{"kind":"move","source":"file:real/a","destination":"file:b","postconditions":[{"surface":"file:real/a","expect":{"state":"absent"}},{"surface":"file:b","expect":{"sha256":"{{A}}","mode":"0644"}}]}`)
	for name, op := range map[string]string{
		"label":             `{"label":"try again","kind":"move","source":"file:real/a","destination":"file:b","postconditions":[{"surface":"file:real/a","expect":{"state":"absent"}},{"surface":"file:b","expect":{"sha256":"{{A}}","mode":"0644"}}]}`,
		"order, spacing":    ` { "postconditions":[ {"expect":{"mode":"644","sha256":"{{A}}"},"surface":"file:b"}, {"surface":"file:real/a","expect":{"state":"absent"}}], "destination":"file:b","source":"file:real/a","kind":"move" } `,
		"split, repeated":   `{"kind":"move","source":"file:real/a","destination":"file:b","postconditions":[{"surface":"file:b","expect":{"sha256":"{{A}}"}},{"surface":"file:b","expect":{"mode":"0644"}},{"surface":"file:real/a","expect":{"state":"absent"}},{"surface":"file:b","expect":{"mode":"0644"}}]}`,
		"spelling":          `{"kind":"move","source":"file:./sub/../real//a","destination":"file:real/../b","postconditions":[{"surface":"file:link/a","expect":{"state":"absent"}},{"surface":"file:./b","expect":{"sha256":"{{A}}","mode":"0644"}}]}`,
		"absolute":          `{"kind":"move","source":"file:` + a.d.dir + `/link/a","destination":"file:b","postconditions":[{"surface":"file:real/a","expect":{"state":"absent"}},{"surface":"file:b","expect":{"sha256":"{{A}}","mode":"0644"}}]}`,
		"letters of digits": strings.ReplaceAll(hashed(`{"kind":"move","source":"file:real/a","destination":"file:b","postconditions":[{"surface":"file:real/a","expect":{"state":"absent"}},{"surface":"file:b","expect":{"sha256":"{{A}}","mode":"0644"}}]}`), sha("A"), strings.ToUpper(sha("A"))),
		"settle, ignore":    `{"settle_ms":100,"ignore":["json:/x"],"kind":"move","source":"file:real/a","destination":"file:b","postconditions":[{"surface":"file:real/a","expect":{"state":"absent"}},{"surface":"file:b","expect":{"sha256":"{{A}}","mode":"0644"}}]}`,
	} {
		if of(op) != base {
			t.Errorf("%s: another fingerprint", name)
		}
	}
	for name, op := range map[string]string{
		"kind":        `{"kind":"rename","source":"file:real/a","destination":"file:b","postconditions":[{"surface":"file:real/a","expect":{"state":"absent"}},{"surface":"file:b","expect":{"sha256":"{{A}}","mode":"0644"}}]}`,
		"source":      `{"kind":"move","source":"file:a","destination":"file:b","postconditions":[{"surface":"file:real/a","expect":{"state":"absent"}},{"surface":"file:b","expect":{"sha256":"{{A}}","mode":"0644"}}]}`,
		"destination": `{"kind":"move","source":"file:real/a","destination":"file:c","postconditions":[{"surface":"file:real/a","expect":{"state":"absent"}},{"surface":"file:b","expect":{"sha256":"{{A}}","mode":"0644"}}]}`,
		"content":     `{"kind":"move","source":"file:real/a","destination":"file:b","postconditions":[{"surface":"file:real/a","expect":{"state":"absent"}},{"surface":"file:b","expect":{"sha256":"{{B}}","mode":"0644"}}]}`,
		"one less":    `{"kind":"move","source":"file:real/a","destination":"file:b","postconditions":[{"surface":"file:real/a","expect":{"state":"absent"}},{"surface":"file:b","expect":{"sha256":"{{A}}"}}]}`,
	} {
		if of(op) == base {
			t.Errorf("%s: the same fingerprint", name)
		}
	}
	main := of(fileOp("b", "x"))
	a.h.worktree = "side"
	a.d.obs = newDisk(t, "side").obs
	if of(fileOp("b", "x")) == main {
		t.Error("another worktree has the same fingerprint")
	}
}

func TestContradictions(t *testing.T) {
	a := newAct(t)
	post := func(posts ...string) string {
		return `{"kind":"write","postconditions":[` + strings.Join(posts, ",") + `]}`
	}
	bad := map[string][]string{
		"two contents":            {fileOp("a", "1"), fileOp("./a", "2")},
		"there and gone":          {fileOp("a", "1"), post(`{"surface":"file:a","expect":{"state":"absent"}}`)},
		"file and folder":         {fileOp("a", "1"), post(`{"surface":"dir:a","expect":{"state":"present"}}`)},
		"in what is gone":         {fileOp("d/a", "1"), post(`{"surface":"dir:d","expect":{"state":"absent"}}`)},
		"below a file":            {fileOp("d", "1"), fileOp("d/a", "1")},
		"a name with two digests": {fileOp("d/a", "1"), post(`{"surface":"dir:d","expect":{"contains":{"a":"{{2}}"}}}`)},
		"a name that must go":     {post(`{"surface":"file:d/a","expect":{"state":"absent"}}`), post(`{"surface":"dir:d","expect":{"contains":{"a":"{{2}}"}}}`)},
		"two refs":                {post(`{"surface":"git:ref:main","expect":{"oid":"` + strings.Repeat("a", 40) + `"}}`), post(`{"surface":"git:ref:refs/heads/main","expect":{"oid":"` + strings.Repeat("b", 40) + `"}}`)},
	}
	for name, ops := range bad {
		var field *ledger.FieldError
		if _, err := a.tryBegin(ops...); !errors.As(err, &field) || !strings.Contains(field.Why, "contradicts") {
			t.Errorf("%s: %v", name, err)
		}
	}
	_, err := a.tryBegin(fileOp("a", "1"), strings.Replace(fileOp("./a", "1"), `"kind"`, `"label":"again","kind"`, 1))
	a.want("one operation twice", code(err), txn.CodeSameOperation)
	if _, err := a.tryBegin(fileOp("d/a", "1"), post(`{"surface":"dir:d","expect":{"state":"present","contains":{"a":"{{1}}","b/c":"{{2}}"}}}`), post(`{"surface":"file:d/a","expect":{"mode":"0600","size":1}}`)); err != nil {
		t.Errorf("nothing contradicts: %v", err)
	}
}

// TestDestructive: content that came after the beginning is nobody's to destroy.
func TestDestructive(t *testing.T) {
	t.Run("written since", func(t *testing.T) {
		a := newAct(t)
		a.write("f", "old")
		a.begin(fileOp("f", "new"))
		a.write("f", "a person's work")
		a.refused(0, txn.CodeDestructive, txn.StateOpen)
		_, err := allow(a, 0, false)
		a.want("an agent allows it", code(err), txn.CodePersonOnly)
		if _, err := allow(a, 0, true); err != nil {
			t.Fatal(err)
		}
		a.granted(0, txn.RoleInitial)
	})
	t.Run("left by its own attempt", func(t *testing.T) {
		a := newAct(t)
		a.write("f", "old")
		a.begin(fileOp("f", "new"))
		a.granted(0, txn.RoleInitial)
		a.write("f", "ne")
		a.want("classification", a.report("failed").Classification, "diverged")
		a.granted(0, txn.RoleRecovery)
	})
	t.Run("written over its own half", func(t *testing.T) {
		a := newAct(t)
		a.begin(fileOp("f", "new"))
		a.granted(0, txn.RoleInitial)
		a.write("f", "ne")
		a.report("failed")
		a.write("f", "a person's work")
		a.refused(0, txn.CodeDestructive, txn.StateOpen)
	})
	t.Run("what it doesn't touch", func(t *testing.T) {
		a := newAct(t)
		a.begin(fileOp("f", "new"), fileOp("g", "new"))
		a.write("g", "a person's work")
		a.granted(0, txn.RoleInitial)
	})
	t.Run("bits only", func(t *testing.T) {
		a := newAct(t)
		a.write("f", "x")
		a.begin(`{"kind":"chmod","destination":"file:f","postconditions":[{"surface":"file:f","expect":{"mode":"0755"}}]}`)
		a.write("f", "y")
		a.granted(0, txn.RoleInitial)
	})
	t.Run("a folder", func(t *testing.T) {
		a := newAct(t)
		a.d.change(t, &change{Write: map[string]string{"d/1": "x", "d/e/2": "y"}, Symlink: map[string]string{"d/l": "1"}})
		x := a.begin(`{"kind":"delete","source":"dir:d","postconditions":[{"surface":"dir:d","expect":{"state":"absent"}}]}`)
		a.want("originals", len(x.Preserved), 3)
		a.granted(0, txn.RoleInitial)
		a.remove("d/e")
		a.want("classification", a.report("interrupted").Classification, "partial")
		a.write("d/3", "new")
		a.refused(0, txn.CodeDestructive, txn.StateOpen)
	})
}

func allow(a *act, op int, person bool) (*ledger.Draft, error) {
	a.h.person = person
	defer func() { a.h.person = false }()
	var draft *ledger.Draft
	err := a.h.decide(func(c txn.Call) (d *ledger.Draft, err error) {
		draft, err = a.h.eng.Allow(&a.h.book, c, a.id, op, "it is a copy")
		return draft, err
	})
	return draft, err
}

// TestWhoCloses walks through who may close whose attempt by observing.
func TestWhoCloses(t *testing.T) {
	here := txn.Owner{Boot: "boot", Space: "ns", PID: 7, Start: "1"}
	for _, tt := range []struct {
		name     string
		via      string // of the grant
		observer txn.Owner
		observes string
		running  bool
		after    time.Duration
		holds    bool
		closed   bool
	}{
		{"its process is gone", ledger.ViaMCP, txn.Owner{Boot: "boot", Space: "ns", PID: 8}, ledger.ViaMCP, false, 0, false, true},
		{"its process is gone, seen at the command line", ledger.ViaMCP, txn.Owner{Boot: "boot", Space: "ns", PID: 8}, ledger.ViaCLI, false, 0, false, true},
		{"its process runs", ledger.ViaMCP, txn.Owner{Boot: "boot", Space: "ns", PID: 8}, ledger.ViaMCP, true, time.Hour, false, false},
		{"its process runs, and all holds", ledger.ViaMCP, txn.Owner{Boot: "boot", Space: "ns", PID: 8}, ledger.ViaMCP, true, 0, true, false},
		{"itself", ledger.ViaMCP, here, ledger.ViaMCP, true, time.Hour, false, false},
		{"itself, and all holds", ledger.ViaMCP, here, ledger.ViaMCP, true, 0, true, true},
		{"another boot", ledger.ViaMCP, txn.Owner{Boot: "other", Space: "ns", PID: 7, Start: "1"}, ledger.ViaMCP, false, 14 * time.Minute, false, false},
		{"another boot, later", ledger.ViaMCP, txn.Owner{Boot: "other", Space: "ns", PID: 7, Start: "1"}, ledger.ViaMCP, false, 15 * time.Minute, false, true},
		{"another namespace", ledger.ViaMCP, txn.Owner{Boot: "boot", Space: "box", PID: 7, Start: "1"}, ledger.ViaMCP, false, time.Minute, false, false},
		{"unknown boot", ledger.ViaMCP, txn.Owner{PID: 8}, ledger.ViaMCP, false, time.Minute, false, false},
		{"granted at the command line, seen there", ledger.ViaCLI, txn.Owner{Boot: "boot", Space: "ns", PID: 8}, ledger.ViaCLI, true, 0, false, true},
		{"granted at the command line, seen over MCP", ledger.ViaCLI, txn.Owner{Boot: "boot", Space: "ns", PID: 8}, ledger.ViaMCP, false, time.Hour, true, false},
		{"granted at the command line, seen in the view", ledger.ViaCLI, txn.Owner{Boot: "boot", Space: "ns", PID: 8}, ledger.ViaView, false, time.Hour, false, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a := newAct(t)
			a.h.owner, a.h.via = here, tt.via
			a.begin(fileOp("f", "new"))
			a.granted(0, txn.RoleInitial)
			if tt.holds {
				a.write("f", "new")
			}
			a.clock = a.clock.Add(tt.after)
			a.h.owner, a.h.via = tt.observer, tt.observes
			a.h.running = func(o txn.Owner) bool {
				if o != here {
					t.Errorf("asked whether %+v runs", o)
				}
				return tt.running
			}
			x := a.observe()
			if open := a.h.book.Txns[a.id].Attempts[0].Open; open == tt.closed {
				t.Fatalf("open %v, answer %+v", open, x)
			}
			if !tt.closed {
				a.want("attempt in flight", x.Attempt, a.attempt)
				a.want("state", x.State, txn.StateOpen)
				a.refused(0, txn.CodeInFlight, txn.StateOpen)
			}
			if tt.closed && !tt.holds {
				a.want("report after that", a.report("failed").State, txn.StateOpen) // kept as a note
				a.want("notes", len(a.h.book.Txns[a.id].Attempts[0].Notes), 1)
				a.report("failed")
				a.want("the same note again", len(a.h.book.Txns[a.id].Attempts[0].Notes), 1)
				a.granted(0, txn.RoleRecovery)
			}
		})
	}
}

// TestObserveWritesOnlyWhatIsNew: looking again costs no entry.
func TestObserveWritesOnlyWhatIsNew(t *testing.T) {
	a := newAct(t)
	a.begin(fileOp("f", "new"))
	rev := func() int64 { return a.h.book.At.Rev }
	was := rev()
	a.observe()
	a.observe()
	a.want("revision", rev(), was)
	a.write("f", "half")
	a.observe()
	a.want("revision", rev(), was+1)
	a.observe()
	a.want("revision", rev(), was+1)
	a.write("f", "new")
	a.want("state", a.observe().State, txn.StateComplete)
	a.want("revision", rev(), was+2)
	a.write("f", "changed")
	x := a.observe()
	a.want("state", x.State, txn.StateComplete)
	a.want("mismatches now", len(x.Mismatches), 1)
	a.want("revision", rev(), was+2)
}

// TestSettleByBootTime: a clock that is set forth doesn't end the waiting.
func TestSettleByBootTime(t *testing.T) {
	a := newAct(t)
	up := time.Minute
	a.h.up = func() time.Duration { return up }
	a.begin(strings.Replace(fileOp("f", "new"), `"kind"`, `"settle_ms":1000,"kind"`, 1))
	a.granted(0, txn.RoleInitial)
	a.want("classification", a.report("timed_out").Classification, "pending")
	a.clock = a.clock.Add(time.Hour)
	a.want("classification", a.observe().Classification, "pending")
	up += time.Second
	a.want("classification", a.observe().Classification, "no_effect")
	a.granted(0, txn.RoleRecovery)
	a.want("classification", a.report("timed_out").Classification, "pending")
	a.h.owner.Boot = "after a restart" // the wall clock decides
	a.want("classification", a.observe().Classification, "pending")
	a.clock = a.clock.Add(2 * time.Second)
	x := a.try(0) // asking is enough to judge
	a.want("state", x.State, txn.StateBlocked)
	a.want("code", x.Code, txn.CodeBlocked)
	a.want("reason", x.Reason, "The recovery did not make the mismatch smaller.")
}

// TestSizes: what is within the limits fits an entry, and what doesn't is
// refused before anything is saved.
func TestSizes(t *testing.T) {
	a := newAct(t)
	names := func(n, length int) string {
		var list []string
		for i := range n {
			name := fmt.Sprintf("%04d", i)
			list = append(list, fmt.Sprintf("%q:%q", name+strings.Repeat("x", length-len(name)), sha("1")))
		}
		return `{"kind":"write","destination":"dir:d","postconditions":[{"surface":"dir:d","expect":{"contains":{` + strings.Join(list, ",") + `}}}]}`
	}
	x := a.begin(names(1000, 20))
	a.want("names shown", len(x.Mismatches[0].Items), 20)
	a.want("names left out", x.Mismatches[0].Omitted, 980)
	if b, _ := json.Marshal(x); len(b) > 16<<10 {
		t.Errorf("the answer has %d bytes", len(b))
	}
	a.granted(0, txn.RoleInitial)
	a.report("failed")
	a.granted(0, txn.RoleRecovery)
	a.want("state", a.report("failed").State, txn.StateBlocked)

	rev := a.h.book.At
	var limit *ledger.LimitError
	if _, err := a.tryBegin(strings.ReplaceAll(names(1000, 240), "dir:d", "dir:e")); !errors.As(err, &limit) {
		t.Errorf("a transaction that no entry can hold: %v", err)
	}
	a.want("revision", a.h.book.At, rev)
}

// TestAlsoChanged: what changed outside the operation is always told.
func TestAlsoChanged(t *testing.T) {
	a := newAct(t)
	a.write("g", "1")
	a.begin(fileOp("f", "new"), fileOp("g", "2"))
	a.granted(0, txn.RoleInitial)
	a.write("f", "new")
	a.write("g", "0")
	x := a.report("succeeded")
	a.want("classification", x.Classification, "reached")
	if diff := cmp.Diff([]string{"file:g"}, x.AlsoChanged); diff != "" {
		t.Error(diff)
	}
}

// TestReported: a statement is evidence for its own surface and nothing else.
func TestReported(t *testing.T) {
	a := newAct(t)
	say := func(s string) map[string]json.RawMessage {
		return map[string]json.RawMessage{"drive/a": json.RawMessage(s)}
	}
	a.begin(`{"kind":"upload","destination":"reported:drive/a","postconditions":[{"surface":"reported:drive/a","expect":{"version":7}}]}`, fileOp("f", "1"))
	if _, err := a.h.observe(&txn.ObserveRequest{Transaction: a.id, Reported: map[string]json.RawMessage{"drive/b": json.RawMessage(`{"version":7}`)}}); err == nil {
		t.Error("a statement about something else is accepted")
	}
	rev := a.h.book.At.Rev
	for i, said := range []string{`{"version":6,"looked_at":"10:00"}`, `{"version":"6","looked_at":"10:05"}`} {
		if _, err := a.h.observe(&txn.ObserveRequest{Transaction: a.id, Reported: say(said)}); err != nil {
			t.Fatal(err)
		}
		a.want(fmt.Sprintf("revision after statement %d", i), a.h.book.At.Rev, rev+1) // times don't count
	}
	s := a.h.book.Txns[a.id].Reported["drive/a"]
	if s.Actor.Client != "test" || s.At == "" || string(s.Value) != `{"version":6,"looked_at":"10:00"}` {
		t.Errorf("kept: %+v", s)
	}
	a.write("f", "1")
	x, err := a.h.observe(&txn.ObserveRequest{Transaction: a.id, Reported: say(`{"version":7}`)})
	if err != nil {
		t.Fatal(err)
	}
	a.want("state", x.State, txn.StateCompleteReported)
}

func TestReadIsNeverGranted(t *testing.T) {
	a := newAct(t)
	a.begin(`{"kind":"verify","postconditions":[{"surface":"file:f","expect":{"state":"present"}}]}`)
	a.refused(0, txn.CodeNothingToMutate, txn.StateOpen)
	a.write("f", "")
	a.want("state", a.observe().State, txn.StateComplete)
}

func TestFindOperation(t *testing.T) {
	a := newAct(t)
	label := func(op, l string) string { return strings.Replace(op, `"kind"`, `"label":"`+l+`","kind"`, 1) }
	a.begin(label(fileOp("f", "1"), "first"), label(fileOp("g", "1"), "twice"), label(fileOp("h", "1"), "twice"))
	tx := a.h.book.Txns[a.id]
	for in, want := range map[string]string{"0": "0", "2": "2", "first": "0", "twice": "no_such_operation", "3": "no_such_operation", "": "no_such_operation"} {
		i, err := tx.FindOperation(in)
		got := fmt.Sprint(i)
		if err != nil {
			got = code(err)
		}
		a.want("operation "+in, got, want)
	}
}
