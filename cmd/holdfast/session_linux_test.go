package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os/exec"
	"strings"
)

// session is an MCP server that stays open between calls.
type session struct {
	m     *machine
	cmd   *exec.Cmd
	in    io.WriteCloser
	out   *bufio.Reader
	calls int
}

// open starts a server for a client and waits until it is ready.
func (m *machine) open(client string) *session {
	m.t.Helper()
	s := &session{m: m, cmd: m.command(nil, "mcp")}
	in, err := s.cmd.StdinPipe()
	if err != nil {
		m.t.Fatal(err)
	}
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		m.t.Fatal(err)
	}
	s.in, s.out = in, bufio.NewReader(out)
	if err := s.cmd.Start(); err != nil {
		m.t.Fatal(err)
	}
	m.t.Cleanup(func() {
		in.Close()
		s.cmd.Wait()
	})
	s.ask("initialize", `{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"`+client+`","version":"1"}}`)
	s.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	return s
}

func (s *session) send(line string) {
	if _, err := io.WriteString(s.in, line+"\n"); err != nil {
		s.m.t.Fatal(err)
	}
}

// ask sends a request and waits for its answer.
func (s *session) ask(method, params string) string {
	s.m.t.Helper()
	s.calls++
	s.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`, s.calls, method, params))
	for {
		line, err := s.out.ReadString('\n')
		if err != nil {
			s.m.t.Fatalf("%s: %v", method, err)
		}
		var a struct {
			ID     json.Number
			Result json.RawMessage
		}
		if err := json.Unmarshal([]byte(line), &a); err != nil {
			s.m.t.Fatalf("%v: %s", err, line)
		}
		if a.ID.String() == fmt.Sprint(s.calls) {
			return string(a.Result)
		}
	}
}

func (s *session) call(tool, args string) string {
	s.m.t.Helper()
	return s.ask("tools/call", `{"name":"holdfast_`+tool+`","arguments":`+args+`}`)
}

// save saves a note and gives the code of the refusal, empty if it is durable.
func (s *session) save(id string) string {
	s.m.t.Helper()
	out := s.call("record", `{"kind":"note","id":"`+id+`","text":"text of `+id+`","source":"s"}`)
	var a struct {
		IsError           bool
		StructuredContent struct {
			Code    string
			Durable bool
		}
	}
	if err := json.Unmarshal([]byte(out), &a); err != nil {
		s.m.t.Fatalf("%v: %s", err, out)
	}
	if a.IsError == a.StructuredContent.Durable || a.IsError && !strings.Contains(out, "saved") {
		s.m.t.Errorf("answer says neither saved nor not saved: %s", out)
	}
	return a.StructuredContent.Code
}
