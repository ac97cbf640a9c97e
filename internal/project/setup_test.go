package project

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"holdfast/internal/client"
	"holdfast/internal/durable"
	"holdfast/internal/ledger"
)

func plan(t *testing.T, p *Project, q SetupRequest) *SetupPlan {
	t.Helper()
	s, err := p.PlanSetup(context.Background(), q)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func setUp(t *testing.T, p *Project, q SetupRequest) SetupAnswer {
	t.Helper()
	a, err := p.ApplySetup(context.Background(), plan(t, p, q))
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// tree is every file of the project but the ledger and git.
func (b *bench) tree() map[string]string {
	b.t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(b.dir, func(path string, e os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if e.Name() == ".holdfast" || e.Name() == ".git" {
			return filepath.SkipDir
		}
		rel, _ := filepath.Rel(b.dir, path)
		out[rel] = ""
		if e.Type().IsRegular() {
			data, err := os.ReadFile(path)
			out[rel] = string(data)
			return err
		}
		return nil
	})
	if err != nil {
		b.t.Fatal(err)
	}
	return out
}

func people(b *bench) {
	b.write("AGENTS.md", "# House rules\n")
	b.write(".mcp.json", "{\n   \"mcpServers\": {} // none\n}")
}

func TestSetupIsFramed(t *testing.T) {
	b := newBench(t)
	people(b)
	before := map[string]string{"AGENTS.md": fileSum(client.File{Exists: true, Data: []byte("# House rules\n")})}
	p := b.open(person)
	setUp(t, p, SetupRequest{Clients: []string{"claude"}})
	entries, _, err := p.Log(context.Background(), LogRequest{})
	if err != nil {
		t.Fatal(err)
	}
	var kinds []string
	for _, e := range entries {
		kinds = append(kinds, e.Type)
	}
	if d := cmp.Diff([]string{ledger.TypeOpEnd, ledger.TypeOpBegin, ledger.TypeLedger}, kinds); d != "" {
		t.Fatal(d)
	}
	begin, end := opOf(t, p, 1), opOf(t, p, 2)
	if len(begin.Files) != 4 || end.Begin != 1 || len(end.Files) != 4 {
		t.Fatalf("begin %+v\nend %+v", begin, end)
	}
	for _, f := range begin.Files {
		data, err := os.ReadFile(filepath.Join(b.dir, f.Path))
		if err != nil || f.After != fileSum(client.File{Exists: true, Data: data}) || f.Before != before[f.Path] && f.Path != ".mcp.json" {
			t.Errorf("%s: %+v, %v", f.Path, f, err)
		}
	}
	if b := brief(t, p); strings.Contains(strings.Join(b.Notices, " "), "interrupted") {
		t.Errorf("it counts as interrupted: %v", b.Notices)
	}
}

func opOf(t *testing.T, p *Project, rev int64) (b opBody) {
	t.Helper()
	e, err := p.log.Entry(context.Background(), rev)
	if err != nil {
		t.Fatal(err)
	}
	body, ok, err := e.Body()
	if err != nil || !ok || json.Unmarshal(body.Op, &b) != nil {
		t.Fatalf("revision %d: %v", rev, err)
	}
	return b
}

// TestCaseC005_FaultAtEveryCallOfASetup: whatever call of the file layer fails
// while files are written, every file is as before or as after, somebody is
// told, and the next run completes it or takes it back.
func TestCaseC005_FaultAtEveryCallOfASetup(t *testing.T) {
	t.Parallel()
	reached := 0
	step := 1
	if os.Getenv("HOLDFAST_TORTURE") == "" {
		step = 11
	}
	for n := 1; ; n += step {
		f := &faulty{n: n, err: syscall.EIO}
		setupUnderFault(t, f)
		if f.calls < n {
			break
		}
		reached = n
	}
	if reached < 100 {
		t.Errorf("only %d calls: setup doesn't go through the layer", reached)
	}
	t.Logf("%d calls of the file layer", reached)
}

func setupUnderFault(t *testing.T, f *faulty) {
	t.Helper()
	b := newBench(t)
	people(b)
	before := b.tree()
	p := b.open(person)
	q := SetupRequest{Clients: []string{"claude", "codex"}}
	s := plan(t, p, q)
	after := map[string]string{}
	for _, ch := range s.changes {
		after[ch.Path] = string(ch.New.Data)
	}
	b.w.Layer.Fault = f.hook
	a, err := p.ApplySetup(context.Background(), s)
	b.w.Layer.Fault = nil
	for path, text := range b.tree() {
		if text != before[path] && text != after[path] && !litter(path) {
			t.Errorf("%s of %s failed, call %d: %s is neither as before nor as after:\n%s", f.op, f.name, f.n, path, text)
		}
	}
	refused := slices.ContainsFunc(a.Clients, func(c ClientSetup) bool { return c.State == Partly })
	fresh := b.open(claude)
	told, terr := fresh.Resume(context.Background(), ResumeRequest{})
	if terr != nil {
		t.Fatalf("%s of %s failed, call %d: %v", f.op, f.name, f.n, terr)
	}
	_, begun := errors.AsType[*interruptedSetup](err)
	_, unknown := errors.AsType[*ledger.UnknownOutcomeError](err) // op.end may stand
	if begun && !unknown && !strings.Contains(strings.Join(told.Notices, " "), "interrupted") {
		t.Errorf("%s of %s failed, call %d: interrupted (%v), and resume doesn't say so: %v", f.op, f.name, f.n, err, told.Notices)
	}
	for path, text := range after {
		if err == nil && !refused && b.tree()[path] != text {
			t.Errorf("%s of %s failed, call %d: %s is not written, and nobody was told", f.op, f.name, f.n, path)
		}
	}
	fresh = b.open(person)
	setUp(t, fresh, q)
	for path, text := range after {
		if b.tree()[path] != text {
			t.Errorf("%s of %s failed, call %d: the next run left %s", f.op, f.name, f.n, path)
		}
	}
	setUp(t, fresh, SetupRequest{Remove: true})
	left := b.tree()
	for path := range left {
		if litter(path) {
			delete(left, path)
		}
	}
	if d := cmp.Diff(before, left); d != "" && f.op != "remove" {
		t.Errorf("%s of %s failed, call %d: not taken back:\n%s", f.op, f.name, f.n, d)
	}
}

func litter(path string) bool { return durable.IsTemporary(filepath.Base(path)) }

func TestSetupSeesWhatChangedMeanwhile(t *testing.T) {
	b := newBench(t)
	people(b)
	p := b.open(person)
	s := plan(t, p, SetupRequest{Clients: []string{"claude", "codex"}})
	b.write(".mcp.json", "{}")
	b.write(".codex/hooks.json", "{}")
	a, err := p.ApplySetup(context.Background(), s)
	if err != nil {
		t.Fatal(err)
	}
	if got := b.tree(); got[".mcp.json"] != "{}" || got[".codex/hooks.json"] != "{}" || !strings.Contains(got["AGENTS.md"], "holdfast:begin") {
		t.Errorf("%v", got)
	}
	if !a.Findings() {
		t.Error("nobody was told")
	}
	setUp(t, p, SetupRequest{Clients: []string{"claude", "codex"}})
	setUp(t, p, SetupRequest{Remove: true})
	if got := b.tree(); got[".mcp.json"] != "{}" || got[".codex/hooks.json"] != "{}" || got["AGENTS.md"] != "# House rules\n" {
		t.Errorf("%v", got)
	}
}

// interrupted is a setup for Claude Code that a person ended behind its first file.
func interrupted(t *testing.T, b *bench) error {
	t.Helper()
	p := b.open(person)
	s := plan(t, p, SetupRequest{Clients: []string{"claude"}})
	ctx, cancel := context.WithCancel(context.Background())
	b.w.Layer.Trace = func(op durable.Op, name string) {
		if op == durable.OpRename && filepath.Base(name) == ".mcp.json" {
			cancel()
		}
	}
	_, err := p.ApplySetup(ctx, s)
	b.w.Layer.Trace = nil
	if err == nil {
		t.Fatal("not interrupted")
	}
	return err
}

func TestInterruptedSetupIsTold(t *testing.T) {
	b := newBench(t)
	people(b)
	err := interrupted(t, b)
	u, uerr := b.open(claude).UnfinishedSetup(context.Background())
	if uerr != nil || u == nil || len(u.Missing) == 0 {
		t.Fatalf("%v: %+v, %v", err, u, uerr)
	}
	if e := Explain(err); !strings.Contains(e.Message, "interrupted") || strings.Contains(e.Message, "nothing was saved") || !strings.Contains(e.Next, "setup") {
		t.Errorf("%+v", e)
	}
	// A run about other files doesn't hide it.
	setUp(t, b.open(person), SetupRequest{Clients: []string{"vscode"}})
	if u, err := b.open(claude).UnfinishedSetup(context.Background()); err != nil || u == nil || len(u.Missing) == 0 {
		t.Errorf("%+v, %v", u, err)
	}
	setUp(t, b.open(person), SetupRequest{Clients: []string{"cursor"}})
	if u, err := b.open(claude).UnfinishedSetup(context.Background()); err != nil || u == nil || len(u.Missing) == 0 {
		t.Errorf("%+v, %v", u, err)
	}
	setUp(t, b.open(person), SetupRequest{Clients: []string{"claude"}})
	if u, err := b.open(claude).UnfinishedSetup(context.Background()); err != nil || u != nil {
		t.Errorf("%+v, %v", u, err)
	}
}

func TestInterruptedSetupIsTakenBack(t *testing.T) {
	b := newBench(t)
	people(b)
	before := b.tree()
	_ = interrupted(t, b) // its words are another test's
	setUp(t, b.open(person), SetupRequest{Remove: true})
	if d := cmp.Diff(before, b.tree()); d != "" {
		t.Errorf("not taken back:\n%s", d)
	}
	if u, err := b.open(claude).UnfinishedSetup(context.Background()); err != nil || u != nil {
		t.Errorf("%+v, %v", u, err)
	}
}

// TestRemoveWithoutALedger is a fresh clone of a project that was set up: what
// is ours goes by its value, containers stay.
func TestRemoveWithoutALedger(t *testing.T) {
	b := newBench(t)
	people(b)
	setUp(t, b.open(person), SetupRequest{Clients: []string{"claude", "codex"}})
	b.dir = filepath.Join(filepath.Dir(b.dir), "clone")
	for path, text := range (&bench{t: t, dir: filepath.Join(filepath.Dir(b.dir), "project")}).tree() {
		if text != "" {
			b.write(path, text)
		}
	}
	p := b.open(person)
	setUp(t, p, SetupRequest{Remove: true})
	got := b.tree()
	for path, text := range got {
		if strings.Contains(text, "holdfast") {
			t.Errorf("%s: %s", path, text)
		}
	}
	if got["AGENTS.md"] != "# House rules\n" || !strings.Contains(got[".mcp.json"], "// none") {
		t.Errorf("%v", got)
	}
}

func TestSetupInAWorktree(t *testing.T) {
	b := newBench(t).repo()
	b.git("worktree", "add", "-q", "../linked")
	setUp(t, b.open(person), SetupRequest{Clients: []string{"vscode"}})
	main := b.tree()
	linked := *b
	linked.dir = filepath.Join(filepath.Dir(b.dir), "linked")
	p := linked.open(person)
	if s := plan(t, p, SetupRequest{Remove: true}); s.Pending() {
		t.Error("it would remove what is in another worktree")
	}
	setUp(t, p, SetupRequest{Clients: []string{"codex"}})
	setUp(t, p, SetupRequest{Remove: true})
	if d := cmp.Diff(main, b.tree()); d != "" {
		t.Errorf("the other worktree changed:\n%s", d)
	}
	if len(linked.tree()) != 1 {
		t.Errorf("left: %v", linked.tree())
	}
	setUp(t, b.open(person), SetupRequest{Remove: true})
	if len(b.tree()) != 1 {
		t.Errorf("left: %v", b.tree())
	}
}
