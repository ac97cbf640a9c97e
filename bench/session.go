package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os/exec"
	"time"
)

// session is a running holdfast mcp.
type session struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
	id  int
}

// open starts the server and completes the handshake. It gives the time from
// process start to the first answer.
func (b *bed) open(bin string, wrap ...string) (*session, time.Duration, error) {
	args := append(wrap, bin, "mcp")
	s := &session{cmd: b.command(args[0], args[1:]...)}
	var err error
	if s.in, err = s.cmd.StdinPipe(); err != nil {
		return nil, 0, err
	}
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		return nil, 0, err
	}
	s.out = bufio.NewReaderSize(out, 1<<20)
	begin := time.Now()
	if err := s.cmd.Start(); err != nil {
		return nil, 0, err
	}
	if _, err := s.ask("initialize", map[string]any{"protocolVersion": "2025-06-18", "capabilities": map[string]any{}, "clientInfo": map[string]any{"name": "bench", "version": "1"}}); err != nil {
		return nil, 0, err
	}
	first := time.Since(begin)
	_, err = io.WriteString(s.in, `{"jsonrpc":"2.0","method":"notifications/initialized"}`+"\n")
	return s, first, err
}

func (s *session) ask(method string, params any) (json.RawMessage, error) {
	s.id++
	line, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": s.id, "method": method, "params": params})
	if err != nil {
		return nil, err
	}
	if _, err := s.in.Write(append(line, '\n')); err != nil {
		return nil, err
	}
	for {
		line, err := s.out.ReadBytes('\n')
		if err != nil {
			return nil, fmt.Errorf("read answer: %w", err)
		}
		var a struct {
			ID     *int            `json:"id"`
			Result json.RawMessage `json:"result"`
			Error  json.RawMessage `json:"error"`
		}
		if err := json.Unmarshal(line, &a); err != nil {
			return nil, err
		}
		if a.ID == nil || *a.ID != s.id {
			continue
		}
		if a.Error != nil {
			return nil, fmt.Errorf("%s: %s", method, a.Error)
		}
		return a.Result, nil
	}
}

// call calls a tool and fails on a refusal.
func (s *session) call(name string, args any) (json.RawMessage, error) {
	res, err := s.ask("tools/call", map[string]any{"name": name, "arguments": args})
	if err != nil {
		return nil, err
	}
	var r struct {
		IsError bool            `json:"isError"`
		Data    json.RawMessage `json:"structuredContent"`
	}
	if err := json.Unmarshal(res, &r); err != nil {
		return nil, err
	}
	if r.IsError {
		return nil, fmt.Errorf("%s refused: %s", name, r.Data)
	}
	return r.Data, nil
}

func (s *session) save(id string) error {
	_, err := s.call("holdfast_record", map[string]any{"id": id, "kind": "note", "source": "bench",
		"text": "the importer keeps its place in a small file beside the source, since two writers tore the first version"})
	return err
}

func (s *session) close() error {
	s.in.Close()
	return s.cmd.Wait()
}
