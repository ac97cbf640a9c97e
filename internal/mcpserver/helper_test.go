package mcpserver

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"holdfast/internal/durable"
	"holdfast/internal/project"
)

// asServer in the environment makes the test binary a server with one tool more
// than the real one, which panics; with the value plain, without it.
const asServer = "HOLDFAST_TEST_SERVER"

// asClient makes it a client of the server that the value names.
const asClient = "HOLDFAST_TEST_CLIENT"

func actAsClient(server string) {
	cmd := exec.Command(server, "mcp")
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		panic(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		panic(err)
	}
	if err := cmd.Start(); err != nil {
		panic(err)
	}
	p := &proc{in: in, out: bufio.NewReader(out), errs: &bytes.Buffer{}}
	p.initialize()
	key := os.Getenv("KEY")
	p.write(call("save", "holdfast_record", note("n-"+key, "key", key)))
	fmt.Println("sent")
	select {}
}

func TestMain(m *testing.M) {
	if server := os.Getenv(asClient); server != "" {
		actAsClient(server)
	}
	if os.Getenv(asServer) != "" {
		w := &project.World{Now: time.Now, Rand: &counter{n: uint64(os.Getpid()) << 32}, Env: os.Environ(), Home: os.Getenv("HOME"), Temp: os.Getenv("TMPDIR"),
			OS: runtime.GOOS, PID: os.Getpid(), Layer: &durable.Layer{}, Version: "test", CPUs: 2}
		w.Dir, _ = os.Getwd()
		ts := tools()
		if os.Getenv(asServer) != "plain" {
			ts = append(ts, panicking)
		}
		err := run(context.Background(), w, project.Options{}, Streams{os.Stdin, os.Stdout, os.Stderr}, ts)
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	code := m.Run()
	if built.dir != "" {
		os.RemoveAll(built.dir)
	}
	os.Exit(code)
}

var panicking = tool{name: "panics", schema: "checks", output: "checks array",
	call: func(*handlers, context.Context, *project.Project, json.RawMessage) (answer, error) {
		fmt.Println("a stray line on standard output") // a library might
		panic("forced by a test")
	}}

// counter gives bytes that are the same in every run.
type counter struct {
	mu sync.Mutex
	n  uint64
}

func (c *counter) Read(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := range p {
		c.n = c.n*6364136223846793005 + 1442695040888963407
		p[i] = byte(c.n >> 56)
	}
	return len(p), nil
}

var built struct {
	once sync.Once
	dir  string
	err  error
}

// binary builds the shipped program, once.
func binary(t testing.TB) string {
	t.Helper()
	built.once.Do(func() {
		if built.dir, built.err = os.MkdirTemp("", "holdfast-bin"); built.err != nil {
			return
		}
		cmd := exec.Command("go", "build", "-o", filepath.Join(built.dir, "holdfast.exe"), "holdfast/cmd/holdfast")
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := cmd.CombinedOutput(); err != nil {
			built.err = fmt.Errorf("build: %w\n%s", err, out)
		}
	})
	if built.err != nil {
		t.Fatal(built.err)
	}
	return filepath.Join(built.dir, "holdfast.exe")
}

// bed is a machine with one project for a test.
type bed struct {
	t         testing.TB
	root, dir string
	home      string
}

func newBed(t testing.TB) *bed {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	b := &bed{t: t, root: root, dir: filepath.Join(root, "work", "project"), home: filepath.Join(root, "home")}
	for _, d := range []string{b.dir, b.home, filepath.Join(root, "temp")} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return b
}

// env is as little as some clients give a server.
func (b *bed) env() []string {
	return []string{"HOME=" + b.home, "PATH=" + os.Getenv("PATH"), "LANG=C", "TMPDIR=" + filepath.Join(b.root, "temp"), "SYSTEMROOT=" + os.Getenv("SYSTEMROOT")}
}

func (b *bed) world() *project.World {
	return &project.World{Now: time.Now, Rand: &counter{n: 7}, Dir: b.dir, Home: b.home, Temp: filepath.Join(b.root, "temp"), OS: "linux",
		PID: os.Getpid(), Host: "host", Start: "now", Layer: &durable.Layer{}, Version: "test", CPUs: 2, Env: b.env()}
}

func (b *bed) git(args ...string) {
	b.t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = b.dir
	cmd.Env = append(b.env(), "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.test", "GIT_AUTHOR_DATE=2026-11-30T12:00:00Z",
		"GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.test", "GIT_COMMITTER_DATE=2026-11-30T12:00:00Z")
	if out, err := cmd.CombinedOutput(); err != nil {
		b.t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

// proc is a running server with real pipes.
type proc struct {
	t    testing.TB
	cmd  *exec.Cmd
	in   io.WriteCloser
	out  *bufio.Reader
	errs *bytes.Buffer
	id   int
}

func (b *bed) command(args ...string) *exec.Cmd {
	cmd := exec.Command(binary(b.t), args...)
	cmd.Dir, cmd.Env = b.dir, b.env()
	return cmd
}

// start starts the shipped program as a server.
func (b *bed) start(more ...string) *proc {
	b.t.Helper()
	cmd := b.command("mcp")
	cmd.Env = append(cmd.Env, more...)
	return b.run(cmd)
}

// startTest starts the test binary as a server.
func (b *bed) startTest(more ...string) *proc {
	b.t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Dir, cmd.Env = b.dir, append(b.env(), asServer+"=1")
	cmd.Env = append(cmd.Env, more...)
	return b.run(cmd)
}

func (b *bed) run(cmd *exec.Cmd) *proc {
	b.t.Helper()
	p := &proc{t: b.t, cmd: cmd, errs: &bytes.Buffer{}}
	var err error
	if p.in, err = cmd.StdinPipe(); err != nil {
		b.t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		b.t.Fatal(err)
	}
	cmd.Stderr = p.errs
	p.out = bufio.NewReaderSize(out, 1<<20)
	if err := cmd.Start(); err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() {
		p.in.Close()
		if cmd.ProcessState == nil {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		}
	})
	return p
}

func (p *proc) help() {
	if p.t != nil {
		p.t.Helper()
	}
}

func (p *proc) write(s string) {
	p.help()
	if _, err := io.WriteString(p.in, s); err != nil {
		p.t.Fatalf("write: %v\n%s", err, p.errs)
	}
}

// message is what a server may write: nothing else.
type message struct {
	JSONRPC string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Method  string          `json:"method"`
	Params  json.RawMessage `json:"params"`
	Result  json.RawMessage `json:"result"`
	Error   *struct {
		Code    int             `json:"code"`
		Message string          `json:"message"`
		Data    json.RawMessage `json:"data"`
	} `json:"error"`
	raw string
}

// read gives the next line, which must be a message.
func (p *proc) read() message {
	p.help()
	m, err := p.next()
	if err != nil {
		p.t.Fatalf("read: %v\n%s", err, p.errs)
	}
	return m
}

func (p *proc) next() (message, error) {
	line, err := p.out.ReadString('\n')
	if err != nil {
		return message{}, err
	}
	return parse(line)
}

func parse(line string) (message, error) {
	m := message{raw: line}
	d := json.NewDecoder(strings.NewReader(line))
	d.DisallowUnknownFields()
	if err := d.Decode(&m); err != nil || m.JSONRPC != "2.0" {
		return m, fmt.Errorf("not a JSON-RPC message: %.200q", line)
	}
	return m, nil
}

// rest reads to the end of the output and waits for the process.
func (p *proc) rest() []message {
	p.t.Helper()
	var ms []message
	for {
		m, err := p.next()
		if err == io.EOF {
			break
		}
		if err != nil {
			p.t.Fatal(err)
		}
		ms = append(ms, m)
	}
	if err := p.cmd.Wait(); err != nil {
		p.t.Fatalf("the server ended with %v\n%s", err, p.errs)
	}
	return ms
}

func (p *proc) initialize() {
	p.help()
	p.write(`{"jsonrpc":"2.0","id":"i","method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"codex","version":"1"}}}` + "\n")
	if m := p.read(); m.Error != nil {
		p.t.Fatalf("initialize: %s", m.raw)
	}
	p.write(`{"jsonrpc":"2.0","method":"notifications/initialized"}` + "\n")
}

// call is a line that calls a tool.
func call(id any, name string, args any) string {
	j, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": map[string]any{"name": name, "arguments": args}})
	if err != nil {
		panic(err)
	}
	return string(j) + "\n"
}

func note(id string, more ...string) map[string]any {
	m := map[string]any{"id": id, "kind": "note", "text": "text of " + id, "source": "a test"}
	for i := 0; i+1 < len(more); i += 2 {
		m[more[i]] = more[i+1]
	}
	return m
}

// result of a tool call, decoded as far as tests look.
type result struct {
	IsError bool
	Content []struct{ Text string }
	Data    json.RawMessage `json:"structuredContent"`
	size    int
}

func (r result) text() string {
	if len(r.Content) == 0 {
		return ""
	}
	return r.Content[0].Text
}

// field is one member of the structured content.
func (r result) field(name string) any {
	var m map[string]any
	_ = json.Unmarshal(r.Data, &m) // an absent one is nil
	return m[name]
}

func (m message) tool(t testing.TB) result {
	t.Helper()
	if m.Error != nil || m.Result == nil {
		t.Fatalf("no result: %.500s", m.raw)
	}
	r := result{size: len(m.raw)}
	if err := json.Unmarshal(m.Result, &r); err != nil {
		t.Fatal(err)
	}
	return r
}

// ask calls a tool and waits for its answer.
func (p *proc) ask(name string, args any) result {
	p.t.Helper()
	p.id++
	p.write(call(p.id, name, args))
	want := fmt.Sprint(p.id)
	for {
		if m := p.read(); string(m.ID) == want {
			return m.tool(p.t)
		}
	}
}

// must is ask, for a call that must not be refused.
func (p *proc) must(name string, args any) result {
	p.t.Helper()
	r := p.ask(name, args)
	if r.IsError {
		p.t.Fatalf("%s refused: %s", name, r.text())
	}
	return r
}

// closed closes the input and gives what the server still says.
func (p *proc) closed() []message {
	p.t.Helper()
	if err := p.in.Close(); err != nil {
		p.t.Fatal(err)
	}
	return p.rest()
}
