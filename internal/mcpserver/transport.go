package mcpserver

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// stdio is the transport over a pair of streams. Other than the SDK's own it
// keeps the stream in step behind a message that can't be read, and holds the
// end of input back until every call that was read is answered: the SDK drops
// calls in flight at the end of input (go-sdk issue 1061; of 50 runs that sent a
// save and closed the pipe, 50 lost it).
type stdio struct {
	in   *lineReader
	out  io.Writer
	wait time.Duration // how long the end is held back at most

	writeMu sync.Mutex
	mu      sync.Mutex
	pending map[string]bool // ids of calls read and not answered
	drained chan struct{}   // closed when nothing is pending after the end
	ended   bool

	msgs   chan read
	queue  []jsonrpc.Message
	closed chan struct{}
	once   sync.Once
}

type read struct {
	line []byte
	err  error
}

// Connect implements mcp.Transport.
func (t *stdio) Connect(context.Context) (mcp.Connection, error) {
	t.pending, t.drained = map[string]bool{}, make(chan struct{})
	t.msgs, t.closed = make(chan read), make(chan struct{})
	go t.readLoop()
	return t, nil
}

func (t *stdio) readLoop() {
	for {
		line, err := t.in.next()
		select {
		case t.msgs <- read{line, err}:
		case <-t.closed:
			return
		}
		if err != nil && !errors.Is(err, errLineTooLong) {
			return
		}
	}
}

// Read implements mcp.Connection.
func (t *stdio) Read(ctx context.Context) (jsonrpc.Message, error) {
	for {
		if len(t.queue) > 0 {
			m := t.queue[0]
			t.queue = t.queue[1:]
			t.noteRead(m)
			return m, nil
		}
		var r read
		select {
		case <-ctx.Done():
			t.drain()
			return nil, io.EOF
		case <-t.closed:
			return nil, io.EOF
		case r = <-t.msgs:
		}
		switch {
		case errors.Is(r.err, errLineTooLong):
			if err := t.refuse(jsonrpc.CodeInvalidRequest, errLineTooLong.Error()); err != nil {
				return nil, err
			}
		case r.err != nil: // the end of input, or a broken one
			t.drain()
			return nil, io.EOF
		default:
			if err := t.take(r.line); err != nil {
				return nil, err
			}
		}
	}
}

// take queues the messages of one line: one, or a batch of the older protocol.
func (t *stdio) take(line []byte) error {
	if !utf8.Valid(line) {
		return t.refuse(jsonrpc.CodeParseError, "the message is not valid UTF-8")
	}
	raws := []json.RawMessage{line}
	if line[0] == '[' {
		if err := json.Unmarshal(line, &raws); err != nil || len(raws) == 0 {
			return t.refuse(jsonrpc.CodeParseError, "the message is not valid JSON")
		}
	} else if !json.Valid(line) {
		return t.refuse(jsonrpc.CodeParseError, "the message is not valid JSON")
	}
	for _, raw := range raws {
		m, err := jsonrpc.DecodeMessage(raw)
		if err != nil {
			if err := t.refuse(jsonrpc.CodeInvalidRequest, "the message is not a JSON-RPC 2.0 message"); err != nil {
				return err
			}
			continue
		}
		t.queue = append(t.queue, m)
	}
	return nil
}

// refuse answers a message whose id can't be told.
func (t *stdio) refuse(code int, why string) error {
	line, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": nil, "error": map[string]any{"code": code, "message": why}})
	if err != nil {
		return fmt.Errorf("encode refusal: %w", err)
	}
	return t.writeLine(line)
}

func (t *stdio) noteRead(m jsonrpc.Message) {
	req, ok := m.(*jsonrpc.Request)
	if !ok {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if req.IsCall() {
		if req.Method != "subscriptions/listen" { // answered only when it ends
			t.pending[idKey(req.ID)] = true
		}
		return
	}
	if req.Method == "notifications/cancelled" {
		var p struct {
			ID any `json:"requestId"`
		}
		if json.Unmarshal(req.Params, &p) == nil {
			if id, err := jsonrpc.MakeID(p.ID); err == nil {
				t.answered(idKey(id))
			}
		}
	}
}

func idKey(id jsonrpc.ID) string { return fmt.Sprintf("%T %v", id.Raw(), id.Raw()) }

// answered takes a call off the list. t.mu is held.
func (t *stdio) answered(key string) {
	delete(t.pending, key)
	if t.ended && len(t.pending) == 0 {
		select {
		case <-t.drained:
		default:
			close(t.drained)
		}
	}
}

// drain waits until every call that was read is answered, for a bounded time.
func (t *stdio) drain() {
	t.mu.Lock()
	t.ended = true
	left := len(t.pending)
	t.mu.Unlock()
	if left == 0 {
		return
	}
	timer := time.NewTimer(t.wait)
	defer timer.Stop()
	select {
	case <-t.drained:
	case <-timer.C:
	case <-t.closed:
	}
}

// Write implements mcp.Connection. It answers even when ctx has ended: what was
// saved must be told.
func (t *stdio) Write(_ context.Context, m jsonrpc.Message) error {
	line, err := jsonrpc.EncodeMessage(m)
	if err != nil {
		return fmt.Errorf("encode message: %w", err)
	}
	err = t.writeLine(line)
	if resp, ok := m.(*jsonrpc.Response); ok {
		t.mu.Lock()
		t.answered(idKey(resp.ID))
		t.mu.Unlock()
	}
	return err
}

func (t *stdio) writeLine(line []byte) error {
	t.writeMu.Lock()
	defer t.writeMu.Unlock()
	if _, err := t.out.Write(append(bytes.Clone(line), '\n')); err != nil {
		return fmt.Errorf("write message: %w", err)
	}
	return nil
}

// Close implements mcp.Connection.
func (t *stdio) Close() error {
	t.once.Do(func() { close(t.closed) })
	return nil
}

// SessionID implements mcp.Connection: there is none.
func (t *stdio) SessionID() string { return "" }
