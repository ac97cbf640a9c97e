package web

import (
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	"holdfast/internal/durable"
	"holdfast/internal/ledger"
	"holdfast/internal/project"
)

// house is one machine with one project and its running view.
type house struct {
	t      testing.TB
	root   string
	dir    string
	w      *project.World
	s      *Server
	stop   func()
	c      *http.Client
	caller *project.Caller                 // who serves; nil: a person
	wrap   func(http.Handler) http.Handler // around what serves; nil: nothing
}

var (
	person = project.Caller{Actor: ledger.Actor{Kind: ledger.Person, Via: ledger.ViaView}}
	codex  = project.MCPCaller("codex", "1.0")
)

// newHouse makes a project in a repository. Nothing serves it yet.
func newHouse(t testing.TB) *house {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	h := &house{t: t, root: root, dir: filepath.Join(root, "project")}
	for _, d := range []string{h.dir, filepath.Join(root, "home"), filepath.Join(root, "temp")} {
		if err := os.Mkdir(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	h.w = &project.World{Now: time.Now, Rand: rand.Reader, Env: []string{"PATH=" + os.Getenv("PATH"), "SYSTEMROOT=" + os.Getenv("SYSTEMROOT"), "HOME=" + filepath.Join(root, "home"), "GIT_CONFIG_NOSYSTEM=1"},
		Dir: h.dir, Home: filepath.Join(root, "home"), Temp: filepath.Join(root, "temp"), OS: runtime.GOOS, PID: os.Getpid(), Host: "host", Start: "now",
		Layer: &durable.Layer{}, Version: "test", CPUs: 2}
	h.git("init", "-q", "-b", "main")
	h.git("-c", "user.name=T", "-c", "user.email=t@example.test", "commit", "-q", "--allow-empty", "-m", "first")
	return h
}

func (h *house) git(args ...string) {
	h.t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir, cmd.Env = h.dir, h.w.Env
	if out, err := cmd.CombinedOutput(); err != nil {
		h.t.Fatalf("git %v: %v\n%s", args, err, out)
	}
}

func (h *house) open(c project.Caller) *project.Project {
	h.t.Helper()
	p, err := project.Open(context.Background(), h.w, project.Options{Dir: h.dir, Caller: c})
	if err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(func() {
		if err := p.Close(context.Background()); err != nil {
			h.t.Log("close:", err)
		}
	})
	return p
}

// serve starts the view at a port, 0 for a free one.
func (h *house) serve(port int) *house {
	h.t.Helper()
	who := person
	if h.caller != nil {
		who = *h.caller
	}
	s, err := Listen(Options{Project: h.open(who), Port: port, Now: time.Now, Rand: rand.Reader, LookTime: time.Minute})
	if err != nil {
		h.t.Fatal(err)
	}
	if h.wrap != nil {
		s.http.Handler = h.wrap(s.http.Handler)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx) }()
	ended := false
	h.s, h.stop = s, func() {
		if ended {
			return
		}
		ended = true
		cancel()
		if err := <-done; err != nil {
			h.t.Error("serve:", err)
		}
	}
	h.t.Cleanup(h.stop)
	h.c = nil
	return h
}

func str(s string) *string { return &s }

func request(kind, id, text string) project.RecordRequest {
	q := project.RecordRequest{ID: id, Kind: kind, Text: &text, Source: str("a test")}
	if kind == ledger.KindAnswer {
		q.Answer = str("yes")
	}
	return q
}

// agent saves as an agent.
func (h *house) agent(reqs ...project.RecordRequest) project.Saved {
	h.t.Helper()
	s, err := h.open(codex).Record(context.Background(), reqs)
	if err != nil {
		h.t.Fatal("record:", err)
	}
	return s
}

func (h *house) correct(id, text string, rev int64) project.Saved {
	h.t.Helper()
	return h.agent(project.RecordRequest{ID: id, Text: &text, ExpectedRevision: &rev})
}

func (h *house) shown(id string) project.Shown {
	h.t.Helper()
	s, err := h.open(person).Show(context.Background(), id, true)
	if err != nil {
		h.t.Fatal(err)
	}
	return s
}

func (h *house) branchOf(id string) string {
	h.t.Helper()
	entries, _, err := h.open(person).Log(context.Background(), project.LogRequest{Limit: 50})
	if err != nil {
		h.t.Fatal(err)
	}
	for _, e := range entries {
		if len(e.IDs) > 0 && e.IDs[0] == id {
			return e.Branch
		}
	}
	return ""
}

func (h *house) at(path string) string { return h.s.gate.origin() + h.s.gate.prefix + path }

// client is a plain client that logged in.
func (h *house) client() *http.Client {
	h.t.Helper()
	if h.c != nil {
		return h.c
	}
	jar, err := cookiejar.New(nil)
	if err != nil {
		h.t.Fatal(err)
	}
	c := &http.Client{Jar: jar, Timeout: 20 * time.Second}
	res, err := c.PostForm(h.s.gate.origin()+"/login", url.Values{"code": {h.s.Code()}})
	if err != nil {
		h.t.Fatal(err)
	}
	res.Body.Close()
	if res.StatusCode != http.StatusOK {
		h.t.Fatalf("login: %d", res.StatusCode)
	}
	h.c = c
	return c
}

func (h *house) get(path string) (int, string) {
	h.t.Helper()
	res, err := h.client().Get(h.at(path))
	if err != nil {
		h.t.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		h.t.Fatal(err)
	}
	return res.StatusCode, string(b)
}

func (h *house) post(path string, v url.Values) (int, string) {
	h.t.Helper()
	res, err := h.client().PostForm(h.at(path), v)
	if err != nil {
		h.t.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		h.t.Fatal(err)
	}
	return res.StatusCode, string(b)
}

var inputs = regexp.MustCompile(`<input type="hidden" name="([^"]+)" value="([^"]*)">`)

// form is what the first form of a page would send, text fields aside.
func form(page string) url.Values {
	v := url.Values{}
	for _, m := range inputs.FindAllStringSubmatch(page, -1) {
		if !v.Has(m[1]) {
			v.Set(m[1], m[2])
		}
	}
	return v
}

func wants(t testing.TB, page string, texts ...string) {
	t.Helper()
	for _, s := range texts {
		if !strings.Contains(page, s) {
			t.Errorf("the page lacks %q:\n%s", s, page)
		}
	}
}

// filled is a project with a bit of everything.
func filled(t testing.TB, n int) *house {
	h := newHouse(t)
	if err := os.WriteFile(filepath.Join(h.dir, "writer.go"), []byte("package p\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	cite := []string{"writer.go"}
	decision := request("decision", "d-writer", "One writer per file")
	decision.Why, decision.Cites = str("Two writers tore the first version, and a lock doesn't hold on every mount."), &cite
	decision.Rejected = &[]ledger.Rejected{{Option: "Locks", Why: "they break on network mounts"}}
	next := request("next", "n-importer", "Write the importer, as d-writer says, then its tests")
	next.DoneWhen = str("unit")
	h.agent(request("goal", "g-release", "Ship the first release"), next, request("next", "n-docs", "Describe the format for people who write other readers"),
		request("question", "q-licence", "Which licence do we ship under?"), decision, request("note", "t-clock", "The CI machine's clock is two minutes behind"))
	kinds := []string{"note", "next", "decision", "question"}
	p := h.open(codex)
	for i := 0; i < n; i += 100 {
		var reqs []project.RecordRequest
		for j := i; j < min(n, i+100); j++ {
			reqs = append(reqs, request(kinds[j%4], fmt.Sprintf("r-%06d", j), fmt.Sprintf("Record %d of many: keep the reader of part %d apart from the writer", j, j%97)))
		}
		if _, err := p.Record(context.Background(), reqs); err != nil {
			t.Fatal(err)
		}
	}
	return h
}
