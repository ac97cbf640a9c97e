package cli

import (
	"bytes"
	"context"
	"flag"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"holdfast/internal/durable"
	"holdfast/internal/project"
)

var update = flag.Bool("update", false, "rewrite testdata/*.golden")

// house is one machine with one project, and a clock that steps 20 seconds with
// every command.
type house struct {
	t    *testing.T
	dir  string // project
	home string
	now  time.Time
	rand *rand.ChaCha8
}

func newHouse(t *testing.T) *house {
	t.Helper()
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	h := &house{
		t: t, dir: filepath.Join(top, "p"), home: filepath.Join(top, "home"),
		now: time.Date(2026, 11, 30, 20, 0, 0, 0, time.UTC), rand: newRand(),
	}
	for _, d := range []string{h.dir, h.home} {
		if err := os.Mkdir(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	h.git("init", "-q", "-b", "main")
	h.git("-c", "user.name=T", "-c", "user.email=t@example.com", "commit", "-q", "--allow-empty", "-m", "first")
	return h
}

func newRand() *rand.ChaCha8 { return rand.NewChaCha8([32]byte{1}) }

func (h *house) git(args ...string) {
	h.t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir, cmd.Env = h.dir, h.env()
	if out, err := cmd.CombinedOutput(); err != nil {
		h.t.Fatalf("git %v: %v\n%s", args, err, out)
	}
}

func (h *house) env(more ...string) []string {
	return append([]string{
		"HOME=" + h.home, "PATH=" + os.Getenv("PATH"), "SYSTEMROOT=" + os.Getenv("SYSTEMROOT"), "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_DATE=2026-11-01T00:00:00Z", "GIT_COMMITTER_DATE=2026-11-01T00:00:00Z", "TERM=xterm",
	}, more...)
}

// actor is who runs a command, and on what.
type actor struct {
	person bool // at a terminal
	tty    bool // standard output is a terminal too
	env    []string
	stdin  string
	width  int
}

// result is what a command did.
type result struct {
	status   int
	out, err string
}

func (h *house) run(by actor, args ...string) result {
	h.t.Helper()
	h.now = h.now.Add(20 * time.Second)
	var out, errs bytes.Buffer
	status := Main(context.Background(), h.world(by), args, Streams{
		In: strings.NewReader(by.stdin), Out: &out, Err: &errs, OutTTY: by.tty, ErrTTY: by.tty, Width: by.width,
	})
	return result{status, out.String(), errs.String()}
}

func (h *house) world(by actor) *project.World {
	return &project.World{
		Now:  func() time.Time { return h.now },
		Rand: h.rand, Env: h.env(by.env...), Dir: h.dir, Home: h.home, Temp: filepath.Dir(h.dir), OS: runtime.GOOS,
		PID: 1, Host: "host", Start: "2026-11-30T20:00:00Z", Terminal: by.person, Layer: &durable.Layer{}, Version: "v0.0.0-test", CPUs: 2,
	}
}

// must runs a command that is there to make something for others.
func (h *house) must(by actor, args ...string) result {
	h.t.Helper()
	r := h.run(by, args...)
	if r.status != 0 {
		h.t.Fatalf("%v: status %d\n%s%s", args, r.status, r.out, r.err)
	}
	return r
}

var (
	agent  = actor{env: []string{"CODEX_SANDBOX=1"}}
	human  = actor{person: true}
	masked = []struct {
		pattern *regexp.Regexp
		with    string
	}{
		{regexp.MustCompile(`\b[0-9a-f]{64}\b`), "<hash>"},
		{regexp.MustCompile(`\b[0-9a-f]{40}\b`), "<commit>"},
		{regexp.MustCompile(`\b[0-9a-f]{32}\b`), "<ledger>"},
		{regexp.MustCompile(`stored text [0-9a-f]{16}`), "stored text <fence>"},
		{regexp.MustCompile(`\bat [0-9a-f]{12}\b`), "at <commit>"},
		{regexp.MustCompile(`"cursor":"[^"]{8,}"`), `"cursor":"<cursor>"`},
		{regexp.MustCompile(`"bytes":\d+`), `"bytes":<n>`},
		{regexp.MustCompile(`T\d\d:\d\d:\d\d(\.\d{3})?Z`), "T<time>Z"},
	}
)

// mask takes out what differs from run to run.
func (h *house) mask(s string) string {
	s = strings.ReplaceAll(s, filepath.ToSlash(filepath.Dir(h.dir)), "$TOP")
	for _, m := range masked {
		s = m.pattern.ReplaceAllString(s, m.with)
	}
	return s
}

// golden compares with testdata/name.golden.
func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name+".golden")
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), got); d != "" {
		t.Errorf("%s (-want +got, -update rewrites):\n%s", file, d)
	}
}
