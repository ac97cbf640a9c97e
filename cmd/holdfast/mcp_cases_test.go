package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// server is a running `holdfast mcp`.
type server struct {
	t   *testing.T
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
	err bytes.Buffer
	id  int
}

func (b *box) serve(env ...string) *server {
	b.t.Helper()
	path, err := exec.LookPath("holdfast")
	if err != nil {
		b.t.Fatal(err)
	}
	s := &server{t: b.t, cmd: exec.Command(path, "mcp")}
	s.cmd.Dir, s.cmd.Env, s.cmd.Stderr = b.dir, append(b.env, env...), &s.err
	in, err := s.cmd.StdinPipe()
	if err != nil {
		b.t.Fatal(err)
	}
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		b.t.Fatal(err)
	}
	if err := s.cmd.Start(); err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() { s.cmd.Process.Kill(); s.cmd.Wait() })
	s.in, s.out = in, bufio.NewReaderSize(out, 1<<20)
	s.send(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"tester","version":"1"}}}`)
	s.answer(0)
	s.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	return s
}

func (s *server) send(line string) {
	s.t.Helper()
	if _, err := io.WriteString(s.in, line+"\n"); err != nil {
		s.t.Fatalf("send: %v\n%s", err, s.err.String())
	}
}

// message is one line of the server: whatever else stands there is a fault.
type message struct {
	JSONRPC string `json:"jsonrpc"`
	ID      any
	Method  string
	Error   *struct{ Message string }
	Result  struct {
		IsError           bool
		Content           []struct{ Text string }
		StructuredContent json.RawMessage
	}
	size int
}

// answer reads up to the answer with an id. Answers to no request are passed over.
func (s *server) answer(id int) message {
	s.t.Helper()
	for {
		line, err := s.out.ReadBytes('\n')
		var m message
		if err != nil || json.Unmarshal(line, &m) != nil || m.JSONRPC != "2.0" {
			s.t.Fatalf("no message on standard output (%v): %.300q\n%s", err, line, s.err.String())
		}
		if n, ok := m.ID.(float64); ok && int(n) == id {
			m.size = len(line)
			return m
		}
	}
}

func (s *server) call(tool, args string) message {
	s.t.Helper()
	s.id++
	s.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q,"arguments":%s}}`, s.id, tool, args))
	return s.answer(s.id)
}

func (s *server) end() string {
	s.in.Close()
	rest, _ := io.ReadAll(s.out)
	if err := s.cmd.Wait(); err != nil {
		s.t.Errorf("end: %v\n%s", err, s.err.String())
	}
	return string(rest)
}

var readTools = []string{"holdfast_resume", "holdfast_search", "holdfast_checks"}

func TestCaseC045_TheBinaryPrintsOnlyMessages(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(b *box){
		"sound": func(*box) {}, "damaged": func(b *box) { os.RemoveAll(b.path(".holdfast/gen")) }, "foreign": func(b *box) { os.RemoveAll(filepath.Join(b.home, ".local")) },
		"not a folder": func(b *box) { os.RemoveAll(b.path(".holdfast")); b.write(".holdfast", nil) },
	} {
		t.Run(name, func(t *testing.T) {
			b := newBox(t)
			b.must(0, "record", "goal", "ship-1", "--text", "Ship", "--source", "s")
			spoil(b)
			s := b.serve("DEBUG=*", "NO_COLOR=1", "TERM=xterm-256color", "GODEBUG=", "HOLDFAST_LOCK_TIMEOUT=50ms", "XDG_CACHE_HOME="+b.path("no/such"))
			for _, tool := range append(readTools, "holdfast_record", "holdfast_retract", "no_such_tool") {
				for _, args := range []string{`{}`, `{"id":"ship-1"}`, `{"nope":1}`, `{"id":"n","kind":"note","text":"\u0000","source":"s"}`, `[]`, `{"id":"x","kind":"note","text":"t","source":"s"}`} {
					s.call(tool, args)
				}
			}
			if rest := s.end(); rest != "" {
				t.Errorf("printed at its end: %q", rest)
			}
		})
	}
}

func TestCaseC046_TheBinaryReadsLinesOfEverySize(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	s := b.serve()
	n := 0
	works := func(what string) {
		t.Helper()
		n++
		if m := s.call("holdfast_record", fmt.Sprintf(`{"id":"after-%d","kind":"note","text":"after %s","source":"s"}`, n, what)); m.Result.IsError || m.Error != nil {
			t.Fatalf("after %s: %+v", what, m)
		}
	}
	padded := func(size int) string {
		s.id++
		head := fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/list","params":{"x":"`, s.id)
		return head + strings.Repeat("x", max(0, size-len(head)-3)) + `"}}`
	}
	for _, size := range []int{64<<10 - 1, 64 << 10, 64<<10 + 1, 1 << 20, 4<<20 - 100} {
		s.send(padded(size))
		if m := s.answer(s.id); m.Error != nil && size < 4<<20 {
			t.Errorf("%d bytes: %+v", size, m.Error)
		}
		works("a large one")
	}
	for what, line := range map[string]string{
		"16 MiB": padded(16 << 20), "not UTF-8": "{\"jsonrpc\":\"2.0\",\"id\":\"u\",\"method\":\"\xff\"}", "a NUL": "{\"jsonrpc\":\"2.0\",\"id\":\"n\",\"method\":\"a\x00\"}",
		"deep": strings.Repeat("[", 10_000) + strings.Repeat("]", 10_000), "a batch": `[{"jsonrpc":"2.0","id":"b1","method":"ping"},{"jsonrpc":"2.0","id":"b2","method":"ping"}]`,
		"no JSON": "hello", "an empty line": "", "CR LF": `{"jsonrpc":"2.0","id":"c","method":"ping"}` + "\r",
	} {
		s.send(line)
		works(what)
	}
	s.end()
}

func TestCaseC048_TheBinaryAnswersInBounds(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	for i := range 8 {
		var recs []string
		for j := range 60 {
			recs = append(recs, fmt.Sprintf(`{"id":"r-%d-%d","kind":%q,"text":%q,"source":"s"}`, i, j, []string{"note", "question", "next", "decision"}[j%4], strings.Repeat("word ", 380)))
		}
		if a := b.feed(strings.NewReader("["+strings.Join(recs, ",")+"]"), "record", "--file", "-"); a.code != 0 {
			t.Fatalf("%s", a.err)
		}
	}
	s := b.serve()
	for _, c := range []struct {
		tool, args string
		most       int
	}{
		{"holdfast_resume", `{}`, 16 << 10}, {"holdfast_search", `{"query":"word"}`, 16 << 10}, {"holdfast_checks", `{}`, 16 << 10},
		{"holdfast_resume", `{"all":true}`, 64 << 10}, {"holdfast_resume", `{"budget":1000000}`, 64 << 10}, {"holdfast_search", `{"query":"word","limit":1000000}`, 64 << 10},
		{"holdfast_search", `{"query":"word","limit":100}`, 64 << 10}, {"holdfast_search", `{"id":"r-1-1"}`, 64 << 10},
	} {
		m := s.call(c.tool, c.args)
		for _, part := range []int{len(m.Result.StructuredContent), textSize(m)} {
			if part > c.most {
				t.Errorf("%s %s: %d bytes, at most %d", c.tool, c.args, part, c.most)
			}
		}
	}
	if m := s.call("holdfast_resume", `{}`); !strings.Contains(m.Result.Content[0].Text, "Left out: ") {
		t.Errorf("what was left out isn't said: %s", m.Result.Content[0].Text)
	}
	s.end()
}

func textSize(m message) (n int) {
	for _, c := range m.Result.Content {
		n += len(c.Text)
	}
	return n
}
