package project

import (
	"context"
	"crypto/rand"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"holdfast/internal/durable"
	"holdfast/internal/ledger"
)

// bench is a machine with one project for a test: folders, a clock that
// moves only when told, and callers.
type bench struct {
	t   testing.TB
	w   *World
	dir string // the project
	now time.Time
}

func newBench(t testing.TB) *bench {
	t.Helper()
	root := resolved(t.TempDir())
	b := &bench{t: t, dir: filepath.Join(root, "work", "project"), now: time.Date(2026, 11, 30, 20, 0, 0, 0, time.UTC)}
	for _, d := range []string{b.dir, filepath.Join(root, "home"), filepath.Join(root, "temp")} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	b.w = &World{
		Now: func() time.Time { return b.now }, Rand: rand.Reader, Dir: b.dir, Home: filepath.Join(root, "home"),
		Temp: filepath.Join(root, "temp"), OS: "linux", PID: os.Getpid(), Host: "host", Start: "now", Layer: &durable.Layer{}, Version: "test", CPUs: 2,
		Env: []string{"PATH=" + os.Getenv("PATH"), "HOME=" + filepath.Join(root, "home")},
	}
	return b
}

var (
	person = Caller{Actor: ledger.Actor{Kind: ledger.Person, Via: ledger.ViaCLI}, Asked: true}
	codex  = MCPCaller("codex", "1.0")
	claude = MCPCaller("claude-code", "2.0")
)

func (b *bench) open(c Caller) *Project {
	b.t.Helper()
	p, err := Open(context.Background(), b.w, Options{Dir: b.dir, Caller: c})
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() {
		if err := p.Close(context.Background()); err != nil {
			b.t.Log("close:", err)
		}
	})
	return p
}

func (b *bench) git(args ...string) string {
	b.t.Helper()
	return b.gitIn(b.dir, args...)
}

func (b *bench) gitIn(dir string, args ...string) string {
	b.t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	cmd.Env = append(b.w.Env, "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.test", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.test", "GIT_CONFIG_NOSYSTEM=1")
	out, err := cmd.CombinedOutput()
	if err != nil {
		b.t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}

func (b *bench) repo() *bench {
	b.git("init", "-q", "-b", "main")
	b.commit("start")
	return b
}

func (b *bench) commit(msg string) {
	b.git("commit", "-q", "--allow-empty", "-m", msg)
}

func (b *bench) write(name, text string) {
	b.t.Helper()
	path := filepath.Join(b.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		b.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		b.t.Fatal(err)
	}
}

func str(s string) *string { return &s }
func num(n int64) *int64   { return &n }

func request(kind, id, text string) RecordRequest {
	r := RecordRequest{ID: id, Kind: kind, Text: &text, Source: str("a test")}
	if kind == ledger.KindAnswer {
		r.Answer = str("yes")
	}
	return r
}

func save(t testing.TB, p *Project, reqs ...RecordRequest) Saved {
	t.Helper()
	s, err := p.Record(context.Background(), reqs)
	if err != nil {
		t.Fatalf("record: %v", err)
	}
	if !s.Durable || !s.Protected || len(s.Warnings) > 0 {
		t.Fatalf("save: %+v", s)
	}
	return s
}

func brief(t testing.TB, p *Project) Briefing {
	t.Helper()
	b, err := p.Resume(context.Background(), ResumeRequest{})
	if err != nil {
		t.Fatalf("resume: %v", err)
	}
	return b
}

func ids(b Briefing) string {
	var out []string
	for _, r := range b.Records {
		out = append(out, r.ID)
	}
	return strings.Join(out, " ")
}

// refused checks that err is refused with the code.
func refused(t testing.TB, err error, code string) Problem {
	t.Helper()
	if err == nil {
		t.Fatalf("not refused, want code %s", code)
	}
	p := Explain(err)
	if p.Code != code {
		t.Fatalf("refused with %s (%v), want %s", p.Code, err, code)
	}
	if p.Message == "" || p.Next == "" {
		t.Fatalf("%s: message %q, next %q", code, p.Message, p.Next)
	}
	return p
}
