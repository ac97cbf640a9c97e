package project

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"holdfast/internal/ledger"
)

func TestHandoffFromOneAgentToAnother(t *testing.T) {
	b := newBench(t).repo()
	first := b.open(codex)
	save(t, first, request("goal", "g-1", "Ship the importer"))
	save(t, first, request("decision", "d-1", "Use one writer"), request("next", "n-1", "Write the reader"), request("question", "q-1", "Which port?"))
	second := b.open(claude)
	got := brief(t, second)
	if ids(got) != "g-1 n-1 q-1 d-1" {
		t.Errorf("resumed %s", ids(got))
	}
	if got.Records[0].Actor.Client != "codex" || got.Records[0].Confirmed {
		t.Errorf("actor %+v, confirmed %v", got.Records[0].Actor, got.Records[0].Confirmed)
	}
	if got.LastSave == nil || len(got.LastSave.Others) != 1 {
		t.Errorf("last save %+v", got.LastSave)
	}
	if got.Branch != "main" || got.Revision != 2 {
		t.Errorf("branch %s, revision %d", got.Branch, got.Revision)
	}
}

func TestCaseC007_ReplacingNeedsTheRevision(t *testing.T) {
	b := newBench(t)
	a, c := b.open(codex), b.open(claude)
	for _, kind := range []string{"goal", "next", "answer", "decision"} {
		id := kind + "-1"
		first := save(t, a, request(kind, id, "old"))
		// A replaces it.
		r := request(kind, id, "A's text")
		r.ExpectedRevision = num(first.Revision)
		second := save(t, a, r)
		// B replaces what it read.
		r = request(kind, id, "B's text")
		r.ExpectedRevision = num(first.Revision)
		_, err := c.Record(context.Background(), []RecordRequest{r})
		p := refused(t, err, "conflict")
		cur := p.Current.(map[string]any)
		if cur["revision"] != second.Revision || cur["record"].(ledger.Record).Text != "A's text" {
			t.Errorf("%s: conflict carries %v", kind, cur)
		}
		// B names no revision.
		r.ExpectedRevision = nil
		_, err = c.Record(context.Background(), []RecordRequest{r})
		refused(t, err, "conflict")
		// B looks, and replaces what stands there: both texts stay in history.
		r.ExpectedRevision = num(second.Revision)
		save(t, c, r)
		s, err := c.Show(context.Background(), id, true)
		if err != nil || len(s.History) != 3 || s.Text != "B's text" || s.History[1].Text != "A's text" {
			t.Errorf("%s: history %+v, %v", kind, s, err)
		}
	}
}

func TestCorrectionGivesOnlyWhatChanges(t *testing.T) {
	b := newBench(t)
	p := b.open(codex)
	r := request("decision", "d-1", "Use PostgreSQL")
	r.Why, r.Rejected = str("it is there"), &[]ledger.Rejected{{Option: "MySQL", Why: "not there"}}
	s := save(t, p, r)
	save(t, p, RecordRequest{ID: "d-1", Text: str("Use PostgreSQL 18"), ExpectedRevision: num(s.Revision)})
	got, err := p.Show(context.Background(), "d-1", false)
	if err != nil || got.Text != "Use PostgreSQL 18" || got.Why != "it is there" || len(got.Rejected) != 1 {
		t.Fatalf("got %+v, %v", got, err)
	}
	save(t, p, RecordRequest{ID: "d-1", Why: str(""), Rejected: &[]ledger.Rejected{}, ExpectedRevision: num(got.Revision)})
	got, err = p.Show(context.Background(), "d-1", false)
	if err != nil || got.Why != "" || len(got.Rejected) != 0 || got.Source != "a test" {
		t.Fatalf("cleared: %+v, %v", got, err)
	}
	_, err = p.Record(context.Background(), []RecordRequest{{ID: "d-1", Kind: "note", ExpectedRevision: num(got.Revision)}})
	refused(t, err, "field")
}

func TestQuestionBecomesAnswer(t *testing.T) {
	p := newBench(t).open(codex)
	s := save(t, p, request("question", "q-1", "Which port?"))
	save(t, p, RecordRequest{ID: "q-1", Kind: "answer", Answer: str("8080"), ExpectedRevision: num(s.Revision)})
	got := brief(t, p)
	if len(got.Records) != 1 || got.Records[0].Kind != "answer" || got.Records[0].Answer != "8080" {
		t.Errorf("got %+v", got.Records)
	}
}

func TestIdempotencyKeys(t *testing.T) {
	b := newBench(t)
	p := b.open(codex)
	r := request("note", "n-1", "a fact")
	r.Key = "k-1"
	first := save(t, p, r)
	again := save(t, b.open(codex), r)
	if !again.Replayed || again.Revision != first.Revision || again.Hash != first.Hash {
		t.Errorf("replay %+v, first %+v", again, first)
	}
	// Guards are not part of what a key stands for.
	r.ExpectedRevision = num(7)
	if got := save(t, p, r); !got.Replayed {
		t.Errorf("with a guard: %+v", got)
	}
	r.Text = str("another fact")
	_, err := p.Record(context.Background(), []RecordRequest{r})
	refused(t, err, "key")
}

func TestDoneDropAndConfirm(t *testing.T) {
	b := newBench(t)
	agent, human := b.open(codex), b.open(person)
	s := save(t, agent, request("next", "n-1", "Write the reader"))
	_, err := agent.Done(context.Background(), ChangeRequest{ID: "n-1"})
	refused(t, err, "conflict")
	if _, err := agent.Done(context.Background(), ChangeRequest{ID: "n-1", ExpectedRevision: num(s.Revision)}); err != nil {
		t.Fatal(err)
	}
	got := brief(t, agent)
	if len(got.Records) != 1 || got.Records[0].Status != "done" {
		t.Errorf("got %+v", got.Records)
	}
	save(t, agent, request("decision", "d-1", "Skip the tests"))
	_, err = agent.Confirm(context.Background(), ConfirmRequest{IDs: []string{"d-1"}})
	refused(t, err, "person")
	if _, err := human.Confirm(context.Background(), ConfirmRequest{IDs: []string{"d-1"}}); err != nil {
		t.Fatal(err)
	}
	shown, err := agent.Show(context.Background(), "d-1", false)
	if err != nil || !shown.Confirmed {
		t.Errorf("shown %+v, %v", shown, err)
	}
	save(t, agent, request("goal", "g-1", "x"))
	if _, err := human.Drop(context.Background(), ChangeRequest{ID: "g-1"}); err != nil {
		t.Errorf("a person need not name the revision: %v", err)
	}
}

func TestRetractAndRestore(t *testing.T) {
	p := newBench(t).open(codex)
	s := save(t, p, request("note", "n-1", "wrong"))
	r, err := p.Retract(context.Background(), ChangeRequest{ID: "n-1", ExpectedRevision: num(s.Revision)})
	if err != nil {
		t.Fatal(err)
	}
	if got := ids(brief(t, p)); got != "" {
		t.Errorf("after retract: %s", got)
	}
	_, err = p.Record(context.Background(), []RecordRequest{{ID: "n-1", Text: str("x"), ExpectedRevision: num(r.Revision)}})
	refused(t, err, "state")
	if _, err := p.Restore(context.Background(), ChangeRequest{ID: "n-1", ExpectedRevision: num(r.Revision)}); err != nil {
		t.Fatal(err)
	}
	if got := ids(brief(t, p)); got != "n-1" {
		t.Errorf("after restore: %s", got)
	}
}

func TestSupersededLeavesResume(t *testing.T) {
	p := newBench(t).open(codex)
	save(t, p, request("decision", "d-1", "Use MySQL"))
	r := request("decision", "d-2", "Use PostgreSQL")
	r.Supersedes = str("d-1")
	save(t, p, r)
	if got := ids(brief(t, p)); got != "d-2" {
		t.Errorf("got %s", got)
	}
}

func TestCitesTurnStale(t *testing.T) {
	b := newBench(t)
	b.write("src/a.go", "one")
	p := b.open(codex)
	r := request("note", "n-1", "a.go has one writer")
	r.Cites = &[]string{"src/a.go"}
	save(t, p, r)
	if got := brief(t, p); len(got.Records[0].CitesChanged) != 0 {
		t.Errorf("fresh: %+v", got.Records[0])
	}
	b.write("src/a.go", "two")
	if got := brief(t, p); len(got.Records[0].CitesChanged) != 1 {
		t.Errorf("stale: %+v", got.Records[0])
	}
	for _, bad := range []string{"../x", "/etc/passwd", "missing", ".holdfast/FORMAT", ""} {
		r := request("note", "n-2", "x")
		r.Cites = &[]string{bad}
		_, err := p.Record(context.Background(), []RecordRequest{r})
		refused(t, err, "field")
	}
}

func TestArraySavesAllOrNothing(t *testing.T) {
	p := newBench(t).open(codex)
	bad := request("note", "n-2", "")
	_, err := p.Record(context.Background(), []RecordRequest{request("note", "n-1", "ok"), bad})
	prob := refused(t, err, "field")
	if !strings.Contains(prob.Message, "records[1].text") {
		t.Errorf("message %q", prob.Message)
	}
	if got := ids(brief(t, p)); got != "" {
		t.Errorf("half saved: %s", got)
	}
	s := save(t, p, request("note", "n-1", "ok"), request("note", "n-2", "ok"))
	if len(s.Records) != 2 || s.ID != "" {
		t.Errorf("answer %+v", s)
	}
}

func TestSecretsReachNoFile(t *testing.T) {
	b := newBench(t)
	p := b.open(codex)
	save(t, p, request("note", "n-0", "clean"))
	token := "ghp_" + "4r6bSr0pFBOPCWBRDFOxEzf5FJtRBZRAJyu5"
	r := request("note", "n-1", "it printed "+token+" in the log")
	_, err := p.Record(context.Background(), []RecordRequest{r})
	prob := refused(t, err, "secret")
	if strings.Contains(prob.Message, token[4:]) || !strings.Contains(prob.Message, "text") {
		t.Errorf("message %q", prob.Message)
	}
	err = filepath.Walk(filepath.Dir(filepath.Dir(b.dir)), func(path string, info os.FileInfo, err error) error {
		if err != nil || !info.Mode().IsRegular() {
			return err
		}
		text, err := os.ReadFile(path)
		if err == nil && strings.Contains(string(text), token[4:]) {
			t.Errorf("found in %s", path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestNoPlaceForAProject(t *testing.T) {
	b := newBench(t)
	for _, dir := range []string{"/", b.w.Home, b.w.Temp, filepath.Join(b.dir, "missing")} {
		_, err := Open(context.Background(), b.w, Options{Dir: dir, Caller: codex})
		refused(t, err, "no_project")
	}
	b.w.Dir = ""
	_, err := Open(context.Background(), b.w, Options{Caller: codex})
	refused(t, err, "no_project")
}

func TestWorktreesShareOneLedger(t *testing.T) {
	b := newBench(t).repo()
	other := filepath.Join(filepath.Dir(b.dir), "feature")
	b.git("worktree", "add", "-q", "-b", "feature", other)
	p, err := Open(context.Background(), b.w, Options{Dir: other, Caller: codex})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close(context.Background())
	save(t, b.open(codex), request("goal", "g-1", "Ship it"))
	got := brief(t, p)
	if ids(got) != "g-1" || got.Branch != "feature" || got.Path != filepath.Join(b.dir, ".holdfast") {
		t.Errorf("got %s on %s at %s", ids(got), got.Branch, got.Path)
	}
	save(t, p, request("note", "n-1", "only on feature"))
	if got := brief(t, b.open(codex)); ids(got) != "g-1" || got.Omitted["on other branches"] != 1 {
		t.Errorf("main sees %s, omitted %v", ids(got), got.Omitted)
	}
	_, err = b.open(codex).Record(context.Background(), []RecordRequest{request("note", "n-1", "x")})
	refused(t, err, "elsewhere")
}

func TestHandoffFileFollows(t *testing.T) {
	b := newBench(t)
	p := b.open(person)
	save(t, p, request("goal", "g-1", "Ship *the* <b>importer</b>"))
	if err := p.Settle(context.Background()); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(b.dir, ".holdfast", "HANDOFF.md"))
	if err != nil || !strings.Contains(string(text), `Ship \*the\* \<b\>importer\</b\>`) {
		t.Errorf("%s, %v", text, err)
	}
}

func TestDeletedLedgerStopsWriting(t *testing.T) {
	b := newBench(t).repo()
	p := b.open(codex)
	save(t, p, request("goal", "g-1", "Ship it"))
	b.git("clean", "-fdxq")
	for _, p := range []*Project{p, b.open(claude)} {
		_, err := p.Record(context.Background(), []RecordRequest{request("note", "n-1", "x")})
		refused(t, err, "lost")
		_, err = p.Resume(context.Background(), ResumeRequest{})
		refused(t, err, "lost")
	}
}
