package txn_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"holdfast/internal/ledger"
	"holdfast/internal/txn"
)

// caseSteps reads the fixture of a case from the field. Its steps are words,
// which each test turns into calls in its own way; a word that the test doesn't
// know fails it.
func caseSteps(t *testing.T, file string) []map[string]any {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", "cases", filepath.FromSlash(file)))
	if err != nil {
		t.Fatal(err)
	}
	var f struct{ Steps []map[string]any }
	if err := json.Unmarshal(b, &f); err != nil || len(f.Steps) == 0 {
		t.Fatalf("%s: %v", file, err)
	}
	return f.Steps
}

// act is one agent at work in a test.
type act struct {
	*testing.T
	d       *disk
	h       *hub
	clock   time.Time
	id      string
	attempt string // the last that was granted
}

func newAct(t *testing.T) *act {
	d := newDisk(t, "main")
	a := &act{T: t, d: d, h: newHub(t, d, ledger.ViaMCP), clock: time.Now()}
	a.h.now = func() time.Time { return a.clock }
	a.h.up = func() time.Duration { return time.Duration(a.clock.UnixNano()) }
	return a
}

func (a *act) write(p, text string) {
	a.Helper()
	a.d.change(a, &change{Write: map[string]string{p: text}})
}
func (a *act) remove(p string) { a.Helper(); a.d.change(a, &change{Remove: []string{p}}) }

// begin begins a transaction of operations in JSON.
func (a *act) begin(ops ...string) txn.BeginAnswer {
	a.Helper()
	x, err := a.tryBegin(ops...)
	if err != nil {
		a.Fatalf("begin: %v", err)
	}
	a.id = x.Transaction
	return x
}

func (a *act) tryBegin(ops ...string) (txn.BeginAnswer, error) {
	a.Helper()
	x, err := a.h.ask("begin", []byte(hashed(`{"intent":"a test","operations":[`+strings.Join(ops, ",")+`]}`)))
	if err != nil {
		return txn.BeginAnswer{}, err
	}
	return x.(txn.BeginAnswer), nil
}

// hashed replaces {{TEXT}} by TEXT's digest.
func hashed(s string) string {
	for {
		before, rest, ok := strings.Cut(s, "{{")
		text, after, ok2 := strings.Cut(rest, "}}")
		if !ok || !ok2 {
			return s
		}
		s = before + sha(text) + after
	}
}

// fileOp is an operation that writes text to a file.
func fileOp(p, text string) string {
	return hashed(`{"kind":"write","destination":"file:` + p + `","postconditions":[{"surface":"file:` + p + `","expect":{"sha256":"{{` + text + `}}"}}]}`)
}

func (a *act) try(op int) txn.AttemptAnswer {
	a.Helper()
	x, err := a.h.attempt(&txn.AttemptRequest{Transaction: a.id, Operation: &op})
	if err != nil {
		a.Fatalf("attempt: %v", err)
	}
	if x.Granted {
		a.attempt = x.Attempt
	}
	return x
}

func (a *act) granted(op int, role string) {
	a.Helper()
	if x := a.try(op); !x.Granted || x.Role != role {
		a.Fatalf("attempt of %d: %s, %s (%s), want a grant as %s", op, x.Role, x.Code, x.Reason, role)
	}
}

func (a *act) refused(op int, code, state string) {
	a.Helper()
	if x := a.try(op); x.Granted || x.Code != code || x.State != state {
		a.Fatalf("attempt of %d: granted %v, %s, %s; want refused %s, %s", op, x.Granted, x.Code, x.State, code, state)
	}
}

func (a *act) report(outcome string) txn.ObserveAnswer {
	a.Helper()
	x, err := a.h.report(&txn.ReportRequest{Transaction: a.id, Attempt: a.attempt, Outcome: outcome})
	if err != nil {
		a.Fatalf("report: %v", err)
	}
	return x
}

func (a *act) observe() txn.ObserveAnswer {
	a.Helper()
	x, err := a.h.observe(&txn.ObserveRequest{Transaction: a.id})
	if err != nil {
		a.Fatalf("observe: %v", err)
	}
	return x
}

func (a *act) want(what string, got, want any) {
	a.Helper()
	if got != want {
		a.Fatalf("%s is %v, want %v", what, got, want)
	}
}

func TestCaseC051_AppliedButReportedFailed(t *testing.T) {
	a := newAct(t)
	a.write("f", "X")
	var last txn.ObserveAnswer
	for _, s := range caseSteps(t, "C051/applied-but-reported-failed.json") {
		switch s["do"] {
		case "begin":
			a.begin(fileOp("f", "Y"))
		case "observe":
			last = a.observe()
			a.want("number of mismatches", len(last.Mismatches), len(s["mismatch"].([]any)))
		case "attempt":
			a.granted(0, txn.RoleInitial)
			a.write("f", "Y") // "error: X not found", but it had been applied
		case "retry-same":
			a.refused(0, txn.CodeInFlight, txn.StateOpen)
		case "close":
			a.want("state", last.State, txn.StateComplete)
			a.want("recoveries", last.Budget.RecoveriesUsed, 0)
			a.want("attempts", len(a.h.book.Txns[a.id].Attempts), 1)
		default:
			t.Fatalf("unknown step %v", s)
		}
	}
	a.refused(0, txn.CodeAlreadySatisfied, txn.StateComplete)
}

func TestCaseC052_AcceptedThenTimeout(t *testing.T) {
	a := newAct(t)
	job := `{"kind":"create","destination":"file:jobs","settle_ms":90000,"postconditions":[{"surface":"file:jobs","expect":{"sha256":"{{nightly}}"}}]}`
	recovered := false
	for _, s := range caseSteps(t, "C052/accepted-then-timeout.json") {
		switch s["do"] {
		case "begin":
			a.begin(job)
		case "attempt":
			a.granted(0, txn.RoleInitial)
			x := a.report("timed_out")
			a.want("classification", x.Classification, "pending") // unknown, never failed
			a.refused(0, txn.CodeObservationNeeded, txn.StateOpen)
		case "state":
			a.want("state", a.observe().State, txn.StateOpen)
		case "observe":
			if s["world"] == "two jobs" {
				a.write("jobs", "nightly nightly")
				a.want("state", a.report("succeeded").State, txn.StateOpen) // still within the settle time
				a.clock = a.clock.Add(2 * time.Minute)
			}
			x := a.observe()
			a.want("number of mismatches", len(x.Mismatches), len(s["mismatch"].([]any)))
		case "recover":
			if !recovered {
				a.refused(0, txn.CodeObservationNeeded, txn.StateOpen) // too early to look
				a.clock = a.clock.Add(2 * time.Minute)
				a.granted(0, txn.RoleRecovery)
				recovered = true
				continue
			}
			if x := a.try(0); x.Granted || x.State != txn.StateBlocked {
				t.Fatalf("a duplicate is mended automatically: %+v", x)
			}
		default:
			t.Fatalf("unknown step %v", s)
		}
	}
}

func TestCaseC054_PerTransactionCap(t *testing.T) {
	a := newAct(t)
	two := func(dir string) string {
		return `{"kind":"write","destination":"dir:` + dir + `","postconditions":[{"surface":"dir:` + dir + `","expect":{"contains":{"1":"{{1}}","2":"{{1}}"}}}]}`
	}
	index := map[string]int{"A": 0, "A'": 1, "B": 2, "C": 3}
	for _, s := range caseSteps(t, "C054/per-transaction-cap.json") {
		switch {
		case s["do"] == "begin" && s["tx"] == "T1":
			a.begin(two("A"), fileOp("clean", "1"), two("B"), fileOp("C", "1"))
		case s["do"] == "begin":
			_, err := a.tryBegin(fileOp("C", "1"))
			a.want("same goal in a new transaction", code(err), txn.CodeOverlapsBlocked)
		case s["fp"] == "A'":
			a.granted(index["A'"], txn.RoleInitial)
			a.write("clean", "1")
			a.want("classification", a.report("succeeded").Classification, "reached")
		case s["fp"] == "C":
			a.granted(index["C"], txn.RoleInitial)
			a.report("failed")
			a.refused(index["C"], txn.CodeBudgetSpent, txn.StateBlocked)
		case s["do"] == "op": // the first attempt has no effect, the recovery half of it
			fp := s["fp"].(string)
			a.granted(index[fp], txn.RoleInitial)
			a.report("failed")
			a.granted(index[fp], txn.RoleRecovery)
			a.write(fp+"/1", "1")
			a.want("progress", a.report("succeeded").Progress, "decreased")
		default:
			t.Fatalf("unknown step %v", s)
		}
	}
}

func TestCaseC055_StrictlyDecreasing(t *testing.T) {
	var before []any
	for _, s := range caseSteps(t, "C055/strictly-decreasing.json") {
		name, isCase := s["case"].(string)
		if !isCase {
			if s["do"] == "observe" {
				before = s["mismatch"].([]any)
			}
			continue
		}
		t.Run(name, func(t *testing.T) {
			a := newAct(t)
			set := func(unmet []any) {
				for _, m := range []string{"m1", "m2", "m3", "m4", "m9"} {
					a.write("d/"+m, "ok")
				}
				for _, m := range unmet {
					a.write("d/"+m.(string), "old")
				}
			}
			set(before)
			a.begin(`{"kind":"write","destination":"dir:d","postconditions":[{"surface":"dir:d","expect":{"contains":{"m1":"{{ok}}","m2":"{{ok}}","m3":"{{ok}}","m4":"{{ok}}","m9":"{{ok}}"}}}]}`)
			a.granted(0, txn.RoleInitial)
			a.report("failed")
			a.granted(0, txn.RoleRecovery)
			set(s["observe"].([]any))
			x := a.report("succeeded")
			if want := s["expect"].(string); strings.HasPrefix(want, "progress") {
				a.want("progress", x.Progress, "decreased")
				a.want("state", x.State, txn.StateOpen)
			} else {
				a.want("state", x.State, txn.StateBlocked)
				if end := a.h.book.Txns[a.id].End; len(end.Before) != len(before) || len(end.Mismatches) == 0 {
					t.Fatalf("the block doesn't show both sets: %+v", end)
				}
			}
		})
	}
}

func TestCaseC057_Oscillation(t *testing.T) {
	prepare := func(t *testing.T) *act {
		a := newAct(t)
		a.write("s", "A")
		a.begin(`{"kind":"write","destination":"file:s","postconditions":[{"surface":"file:s","expect":{"sha256":"{{target}}"}}],"ignore":["json:/t"]}`)
		a.granted(0, txn.RoleInitial)
		return a
	}
	for _, s := range caseSteps(t, "C057/oscillation.json") {
		variant, _ := s["variant"].(string)
		switch {
		case variant == "A->B->C->A":
			t.Run(variant, func(t *testing.T) {
				a := prepare(t)
				a.write("s", "B")
				a.report("failed")
				a.write("s", "C")
				a.observe()
				a.write("s", "A")
				a.refused(0, txn.CodeOscillated, txn.StateBlocked)
			})
		case variant == "A->A (no change)":
			t.Run(variant, func(t *testing.T) {
				a := prepare(t)
				a.report("failed")
				a.granted(0, txn.RoleRecovery)
				a.want("progress", a.report("succeeded").Progress, "no_progress")
			})
		case strings.HasPrefix(variant, "A->B, B differs"):
			t.Run("timestamp", func(t *testing.T) {
				a := newAct(t)
				a.write("s", `{"v":1,"t":"10:00"}`)
				a.begin(`{"kind":"write","destination":"file:s","postconditions":[{"surface":"file:s","expect":{"sha256":"{{{"v":2} }}"}}],"ignore":["json:/t"]}`)
				a.granted(0, txn.RoleInitial)
				a.write("s", `{"v":1,"t":"10:01"}`)
				a.want("classification", a.report("failed").Classification, "no_effect")
			})
		case s["do"] == "recover" && s["expect"] != nil:
			t.Run("outside writer", func(t *testing.T) {
				a := prepare(t)
				a.write("s", "B") // by the agent
				a.report("failed")
				a.write("s", "A") // by the formatter
				a.refused(0, txn.CodeOscillated, txn.StateBlocked)
				if cycle := a.h.book.Txns[a.id].End.Cycle; len(cycle) != 3 {
					t.Errorf("the cycle is not shown: %v", cycle)
				}
			})
		}
	}
}

func TestCaseC060_Release(t *testing.T) {
	a := newAct(t)
	a.write("A", "old")
	block := func() {
		a.granted(0, txn.RoleInitial)
		a.report("failed")
		a.granted(0, txn.RoleRecovery)
		a.want("state", a.report("failed").State, txn.StateBlocked)
	}
	for _, s := range caseSteps(t, "C060/release.json") {
		switch s["do"] {
		case "state":
			a.begin(fileOp("A", "new"))
			block()
		case "restart the tool":
			a.h.restart()
			a.refused(0, txn.CodeBlocked, txn.StateBlocked)
		case "agent calls release":
			_, err := a.h.reopen(a.id, "please")
			a.want("release by an agent", code(err), txn.CodePersonOnly)
		case "person runs release with a reason in the CLI":
			old := a.id
			a.h.person = true
			x, err := a.h.reopen(a.id, "the login is mended")
			a.h.person = false
			if err != nil {
				t.Fatal(err)
			}
			a.id = x.Transaction
			a.want("old state", a.h.book.Txns[old].State, txn.StateBlocked)
			a.want("reason", a.h.book.Txns[a.id].Reason, "the login is mended")
			a.want("recoveries", x.Budget.RecoveriesUsed, 0)
			block() // one fresh budget, not an unlimited one
			_, err = a.h.reopen(old, "again")
			a.want("release by an agent", code(err), txn.CodePersonOnly)
			a.h.person = true
			_, err = a.h.reopen(old, "again")
			a.want("a second release of the same one", code(err), txn.CodeReopened)
			if x, err = a.h.reopen(a.id, "once more"); err != nil {
				t.Fatal(err)
			}
			a.h.person, a.id = false, x.Transaction
			a.granted(0, txn.RoleInitial)
			a.write("A", "new")
			a.want("state", a.report("succeeded").State, txn.StateComplete)
		case "3 normal finished rounds of op A in T2..T4":
			for range 3 {
				a.write("A", "changed since")
				a.begin(fileOp("A", "new"))
				a.granted(0, txn.RoleInitial)
				a.write("A", "new")
				x := a.report("succeeded")
				a.want("state", x.State, txn.StateComplete)
				a.want("recoveries", x.Budget.RecoveriesUsed, 0)
			}
		default:
			t.Fatalf("unknown step %v", s)
		}
	}
}
