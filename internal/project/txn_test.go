package project

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"holdfast/internal/ledger"
	"holdfast/internal/secret"
	"holdfast/internal/txn"
)

func hash(s string) string {
	h := sha256.Sum256([]byte(s))
	return hex.EncodeToString(h[:])
}

// fileOp is a write whose target is that file has text.
func fileOp(file, text string) string {
	return fmt.Sprintf(`{"label":%q,"kind":"write","destination":%q,"postconditions":[{"surface":%q,"expect":{"sha256":%q}}]}`,
		"write "+filepath.Base(file), "file:"+file, "file:"+file, hash(text))
}

func beginJSON(ops ...string) []byte {
	return []byte(`{"intent":"a test","operations":[` + strings.Join(ops, ",") + `]}`)
}

func (b *bench) put(name, text string) {
	b.t.Helper()
	path := filepath.Join(b.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		b.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) has(name, text string) {
	b.t.Helper()
	got, err := os.ReadFile(filepath.Join(b.dir, name))
	if err != nil || string(got) != text {
		b.t.Errorf("%s: %q, %v; want %q", name, got, err, text)
	}
}

// steps are calls that must not fail.
type steps struct {
	*testing.T
	p *Project
}

func (s steps) begin(ops ...string) txn.BeginAnswer {
	s.Helper()
	a, err := s.p.TxnBegin(s.Context(), beginJSON(ops...), nil)
	if err != nil {
		s.Fatalf("begin: %v", err)
	}
	return a
}

func (s steps) attempt(id string, op int) txn.AttemptAnswer {
	s.Helper()
	a, err := s.p.TxnAttempt(s.Context(), fmt.Appendf(nil, `{"transaction":%q,"operation":%d}`, id, op))
	if err != nil {
		s.Fatalf("attempt: %v", err)
	}
	return a
}

func (s steps) report(id, attempt, outcome string) txn.ObserveAnswer {
	s.Helper()
	a, err := s.p.TxnReport(s.Context(), fmt.Appendf(nil, `{"transaction":%q,"attempt":%q,"outcome":%q}`, id, attempt, outcome))
	if err != nil {
		s.Fatalf("report: %v", err)
	}
	return a
}

func (s steps) observe(id string) txn.ObserveAnswer {
	s.Helper()
	a, err := s.p.TxnObserve(s.Context(), fmt.Appendf(nil, `{"transaction":%q}`, id))
	if err != nil {
		s.Fatalf("observe: %v", err)
	}
	return a
}

// block makes a transaction that ends as blocked, and gives its id.
func (s steps) block(ops ...string) string {
	s.Helper()
	id := s.begin(ops...).Transaction
	for range 2 {
		a := s.attempt(id, 0)
		if !a.Granted {
			s.Fatalf("refused: %+v", a)
		}
		s.report(id, a.Attempt, "failed")
	}
	if o := s.observe(id); o.State != txn.StateBlocked {
		s.Fatalf("state %s, want blocked", o.State)
	}
	return id
}

func wantTxnCode(t *testing.T, err error, code string) {
	t.Helper()
	if got := Explain(err); err == nil || got.Code != code {
		t.Errorf("code %q (%v), want %q", got.Code, err, code)
	}
}

// A person puts originals back by preview and fingerprint: what changed in
// between is refused, what is there is kept, and each preview works once.
func TestCaseC058_RestoreIsBoundToItsPreview(t *testing.T) {
	b := newBench(t)
	b.put("a.txt", "old a")
	b.put("d/b.txt", "old b")
	agent, human := steps{t, b.open(claude)}, b.open(person)
	id := agent.begin(fileOp("a.txt", "new a"), fileOp("d/b.txt", "new b")).Transaction
	b.put("a.txt", "half")
	if err := os.RemoveAll(filepath.Join(b.dir, "d")); err != nil {
		t.Fatal(err)
	}
	preview, err := human.TxnRestore(t.Context(), TxnRestoreRequest{Transaction: id})
	if err != nil || len(preview.Files) != 2 || preview.Files[0].Change != restoreWrite || preview.Files[1].Change != restoreCreate {
		t.Fatalf("preview %+v, %v", preview, err)
	}
	b.has("a.txt", "half")
	q := TxnRestoreRequest{Transaction: id, Expect: preview.Fingerprint}
	_, err = agent.p.TxnRestore(t.Context(), q)
	if !errors.Is(err, ErrPersonOnly) {
		t.Errorf("an agent: %v", err)
	}
	b.put("a.txt", "changed behind the preview")
	_, err = human.TxnRestore(t.Context(), q)
	if _, ok := errors.AsType[*FingerprintError](err); !ok {
		t.Fatalf("an old preview: %v", err)
	}
	b.has("a.txt", "changed behind the preview")
	b.put("a.txt", "half")
	done, err := human.TxnRestore(t.Context(), q)
	if err != nil || !done.Applied {
		t.Fatalf("restore: %+v, %v", done, err)
	}
	b.has("a.txt", "old a")
	b.has("d/b.txt", "old b")
	b.has(filepath.Join(".holdfast", "quarantine", id, hash("half")), "half")
	_, err = human.TxnRestore(t.Context(), q)
	if _, ok := errors.AsType[*FingerprintError](err); !ok {
		t.Errorf("a used preview: %v", err)
	}
	wantTxnCode(t, second(human.TxnRestore(t.Context(), TxnRestoreRequest{Transaction: "t-000000000000"})), txn.CodeNoTransaction)
}

// An original whose parent became a link, and a list that was edited, are left alone.
func TestRestoreFollowsNothing(t *testing.T) {
	b := newBench(t)
	b.put("d/b.txt", "old b")
	agent, human := steps{t, b.open(claude)}, b.open(person)
	id := agent.begin(fileOp("d/b.txt", "new b")).Transaction
	victim := t.TempDir()
	if err := errors.Join(os.RemoveAll(filepath.Join(b.dir, "d")), os.Symlink(victim, filepath.Join(b.dir, "d"))); err != nil {
		t.Fatal(err)
	}
	r, err := human.TxnRestore(t.Context(), TxnRestoreRequest{Transaction: id})
	if err != nil || r.Files[0].Change != restoreCannot {
		t.Fatalf("%+v, %v", r, err)
	}
	if r, err = human.TxnRestore(t.Context(), TxnRestoreRequest{Transaction: id, Expect: r.Fingerprint}); err != nil {
		t.Fatal(err)
	}
	if list, err := os.ReadDir(victim); err != nil || len(list) > 0 {
		t.Fatalf("something was written through a link: %v, %v", list, err)
	}
	lists, err := filepath.Glob(filepath.Join(b.dir, ".holdfast", "quarantine", id, "*.json"))
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range lists {
		if err := os.WriteFile(l, []byte(`[]`), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := human.TxnRestore(t.Context(), TxnRestoreRequest{Transaction: id}); err == nil {
		t.Error("an edited list was taken")
	}
}

// Content that git has at HEAD is noted and comes back from there.
func TestRestoreFromGit(t *testing.T) {
	b := newBench(t)
	b.put("a.txt", "committed")
	for _, args := range [][]string{{"init", "-q"}, {"add", "a.txt"}, {"-c", "user.name=n", "-c", "user.email=e@example.org", "commit", "-qm", "m"}} {
		b.git(args...)
	}
	agent, human := steps{t, b.open(claude)}, b.open(person)
	a := agent.begin(fileOp("a.txt", "new"))
	if len(a.Preserved) != 1 || !strings.HasPrefix(a.Preserved[0].Where, keptInGit) {
		t.Fatalf("preserved %+v", a.Preserved)
	}
	if err := os.Remove(filepath.Join(b.dir, "a.txt")); err != nil {
		t.Fatal(err)
	}
	r, err := human.TxnRestore(t.Context(), TxnRestoreRequest{Transaction: a.Transaction})
	if err != nil {
		t.Fatal(err)
	}
	if _, err = human.TxnRestore(t.Context(), TxnRestoreRequest{Transaction: a.Transaction, Expect: r.Fingerprint}); err != nil {
		t.Fatal(err)
	}
	b.has("a.txt", "committed")
}

// A blocked transaction is released by a person with a reason, once.
func TestCaseC060_OnlyAPersonReleases(t *testing.T) {
	b := newBench(t)
	agent, human := steps{t, b.open(claude)}, b.open(person)
	id := agent.block(fileOp("a.txt", "new"))
	ctx := t.Context()
	wantTxnCode(t, second(agent.p.TxnReopen(ctx, id, "please")), txn.CodePersonOnly)
	wantTxnCode(t, second(agent.p.TxnAbandon(ctx, id, "please")), txn.CodePersonOnly)
	wantTxnCode(t, second(agent.p.TxnAllow(ctx, id, 0, "please")), txn.CodePersonOnly)
	if _, err := human.TxnReopen(ctx, id, ""); err == nil {
		t.Error("reopened without a reason")
	}
	wantTxnCode(t, second(agent.p.TxnBegin(ctx, beginJSON(fileOp("a.txt", "new")), nil)), txn.CodeOverlapsBlocked)
	next, err := human.TxnReopen(ctx, id, "the disk has space again")
	if err != nil || next.State != txn.StateOpen || next.Budget.RecoveriesUsed != 0 {
		t.Fatalf("reopen: %+v, %v", next, err)
	}
	wantTxnCode(t, second(human.TxnReopen(ctx, id, "again")), txn.CodeReopened)
	if s, err := agent.p.TxnShow(ctx, id); err != nil || s.State != txn.StateBlocked || s.FollowedBy != next.Transaction {
		t.Errorf("the old one: %+v, %v", s, err)
	}
	a := agent.attempt(next.Transaction, 0)
	b.put("a.txt", "new")
	if o := agent.report(next.Transaction, a.Attempt, "succeeded"); o.State != txn.StateComplete {
		t.Errorf("after reopening: %+v", o)
	}
	if s, _ := agent.p.TxnShow(ctx, id); s.State != txn.StateBlocked {
		t.Errorf("the old one became %s", s.State)
	}
}

// A repeated begin with its key gives the first answer and begins nothing.
func TestCaseC052_TheSameKeyBeginsOnce(t *testing.T) {
	b := newBench(t)
	p := b.open(claude)
	req := func(text string) []byte {
		return []byte(`{"intent":"a test","key":"k-1","operations":[` + fileOp("a.txt", text) + `]}`)
	}
	first, err := p.TxnBegin(t.Context(), req("new"), nil)
	if err != nil {
		t.Fatal(err)
	}
	again, err := b.open(codex).TxnBegin(t.Context(), req("new"), nil)
	if err != nil || again.Transaction != first.Transaction {
		t.Errorf("again: %+v, %v", again, err)
	}
	_, err = p.TxnBegin(t.Context(), req("other"), nil)
	if _, ok := errors.AsType[*KeyError](err); !ok {
		t.Errorf("the key for something else: %v", err)
	}
}

// No field of any call takes a secret, and none is repeated in the answer.
func TestTransactionsTakeNoSecret(t *testing.T) {
	b := newBench(t)
	p := b.open(claude)
	id := steps{t, p}.begin(fileOp("a.txt", "new")).Transaction
	token := "ghp_" + "x9Kd02LmQ7vTzR4bN8sWc1YhJ5uPfA3eG6iO"
	ask := func(f func(context.Context, []byte) error, req string) {
		t.Helper()
		err := f(t.Context(), []byte(strings.ReplaceAll(req, "TOKEN", token)))
		if _, ok := errors.AsType[*secret.FoundError](err); !ok || strings.Contains(err.Error()+Explain(err).Message, token) {
			t.Errorf("%s: %v", req, err)
		}
	}
	begin := func(ctx context.Context, r []byte) error { return second(p.TxnBegin(ctx, r, nil)) }
	for _, req := range []string{
		`{"intent":"TOKEN","operations":[` + fileOp("b", "x") + `]}`,
		`{"intent":"i","operations":[` + strings.Replace(fileOp("b", "x"), "write b", "TOKEN", 1) + `]}`,
		`{"intent":"i","operations":[` + fileOp("TOKEN", "x") + `]}`,
		`{"intent":"i","key":"TOKEN","operations":[` + fileOp("b", "x") + `]}`,
		`{"intent":"i","operations":[` + fileOp("b", "x") + `],"reported":{"n":{"etag":"TOKEN"}}}`,
		`{"intent":"i","operations":[{"kind":"upload","postconditions":[{"surface":"reported:n","expect":{"version":"TOKEN"}}]}]}`,
	} {
		ask(begin, req)
	}
	reported := `,"reported":{"n":{"etag":"TOKEN"}}}`
	ask(func(ctx context.Context, r []byte) error { return second(p.TxnObserve(ctx, r)) }, `{"transaction":"`+id+`"`+reported)
	ask(func(ctx context.Context, r []byte) error { return second(p.TxnAttempt(ctx, r)) }, `{"transaction":"`+id+`","operation":0`+reported)
	ask(func(ctx context.Context, r []byte) error { return second(p.TxnReport(ctx, r)) }, `{"transaction":"`+id+`","attempt":"a-1","outcome":"failed","detail":"TOKEN"}`)
	if _, err := b.open(person).TxnAbandon(t.Context(), id, token); err == nil {
		t.Error("a reason with a secret was taken")
	}
}

// Clients that race for one grant: one gets it.
func TestRaceForAGrant(t *testing.T) {
	b := newBench(t)
	id := steps{t, b.open(claude)}.begin(fileOp("a.txt", "new")).Transaction
	const clients = 6
	var wg sync.WaitGroup
	answers := make([]txn.AttemptAnswer, clients)
	for i := range clients {
		p := b.open(MCPCaller("client", fmt.Sprint(i)))
		wg.Go(func() {
			var err error
			if answers[i], err = p.TxnAttempt(t.Context(), fmt.Appendf(nil, `{"transaction":%q,"operation":0}`, id)); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	granted := 0
	for _, a := range answers {
		if a.Granted {
			granted++
		} else if a.Code != txn.CodeInFlight {
			t.Errorf("refused with %s", a.Code)
		}
	}
	if granted != 1 {
		t.Errorf("%d grants", granted)
	}
}

// What a new session must know comes first, whatever the budget.
func TestBriefingStartsWithBlocked(t *testing.T) {
	b := newBench(t)
	agent := steps{t, b.open(claude)}
	id := agent.block(fileOp("a.txt", "new"))
	open := agent.begin(fileOp("b.txt", "new")).Transaction
	for _, budget := range []int{1, 0, 2000} {
		r, err := agent.p.Resume(t.Context(), ResumeRequest{Budget: budget})
		if err != nil {
			t.Fatal(err)
		}
		if len(r.Transactions) == 0 || r.Transactions[0].Transaction != id {
			t.Fatalf("budget %d: %+v", budget, r.Transactions)
		}
		one, err := json.Marshal(r.Transactions[0])
		if err != nil || len(one) > 700 || r.Transactions[0].Reason == "" || r.Transactions[0].Next == "" {
			t.Errorf("budget %d: %s, %v", budget, one, err)
		}
		if budget == 2000 && (len(r.Transactions) != 2 || r.Transactions[1].Transaction != open) {
			t.Errorf("%+v", r.Transactions)
		}
		text := r.Text("")
		at, goals := strings.Index(text, id), strings.Index(text, "no records")
		if at < 0 || !strings.Contains(text, "BLOCKED / NOT COMPLETE") || goals >= 0 && goals < at {
			t.Errorf("the text doesn't start with it:\n%s", text)
		}
	}
	if h, err := os.ReadFile(filepath.Join(b.dir, ".holdfast", "HANDOFF.md")); err == nil && !strings.Contains(string(h), id) {
		t.Errorf("HANDOFF.md doesn't name it:\n%s", h)
	}
}

// Probes run at the command line alone, and only if they were given here.
func TestProbesRunOnlyAtTheCommandLine(t *testing.T) {
	b := newBench(t)
	cli, mcp := b.open(Caller{Actor: ledger.Actor{Kind: ledger.Agent, Client: "codex", Via: ledger.ViaCLI}}), steps{t, b.open(claude)}
	req := []byte(`{"intent":"i","operations":[{"kind":"write","postconditions":[{"surface":"probe:there","expect":{"exit":0}}]}],"probes":{"there":{"argv":["test","-f","ran"]}}}`)
	wantTxnCode(t, second(mcp.p.TxnBegin(t.Context(), req, nil)), "field")
	a, err := cli.TxnBegin(t.Context(), req, nil)
	if err != nil || a.State != txn.StateOpen {
		t.Fatalf("%+v, %v", a, err)
	}
	if got := mcp.attempt(a.Transaction, 0); got.Granted || got.Code != "unknown_state" {
		t.Errorf("over MCP: %+v", got)
	}
	b.put("ran", "")
	if o := mcp.observe(a.Transaction); o.State != txn.StateOpen {
		t.Errorf("over MCP: %+v", o)
	}
	if o := (steps{t, cli}).observe(a.Transaction); o.State != txn.StateComplete {
		t.Errorf("at the command line: %+v", o)
	}
}
