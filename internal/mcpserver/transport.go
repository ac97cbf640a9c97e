package mcpserver

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
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
	stop <-chan struct{} // nothing more is read once it is closed
	open *openCalls
	idle *idler // is told of every message

	writeMu sync.Mutex
	broken  chan struct{} // closed when an answer couldn't be written
	breaks  sync.Once

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
	t.msgs, t.closed, t.broken = make(chan read), make(chan struct{}), make(chan struct{})
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
		var long *longLineError
		if err != nil && !errors.As(err, &long) {
			return
		}
	}
}

// Read implements mcp.Connection. The end of input, a broken output and a stop
// look alike to the SDK, and come to it when the calls that were read have been
// answered: its own end would cancel them.
func (t *stdio) Read(context.Context) (jsonrpc.Message, error) {
	for {
		if len(t.queue) > 0 {
			m := t.queue[0]
			t.queue[0], t.queue = nil, t.queue[1:] // or the array holds on to it
			return m, nil
		}
		select { // before a message that is there as well
		case <-t.stop:
			return nil, t.end()
		case <-t.broken:
			return nil, t.end()
		default:
		}
		select {
		case <-t.closed:
			return nil, io.EOF
		case <-t.stop:
		case <-t.broken:
		case r := <-t.msgs:
			if err := t.received(r); err != nil {
				return nil, err
			}
		}
	}
}

func (t *stdio) received(r read) error {
	defer t.idle.busy()()
	if long, ok := errors.AsType[*longLineError](r.err); ok {
		t.refuse(long.id, jsonrpc.CodeInvalidRequest, long.Error())
		return nil
	}
	if r.err != nil { // the end of input, or a broken one
		return t.end()
	}
	t.take(r.line)
	return nil
}

func (t *stdio) end() error {
	t.open.drain(t.closed)
	return io.EOF
}

// take queues the messages of one line: one, or a batch of an older protocol.
func (t *stdio) take(line []byte) {
	why := ""
	switch {
	case !utf8.Valid(line):
		why = "the message is not valid UTF-8"
	case !json.Valid(line):
		why = "the message is not valid JSON, or nested too deeply"
	}
	if why != "" {
		t.refuse(idOf(line, nil), jsonrpc.CodeParseError, why)
		return
	}
	raws := []json.RawMessage{line}
	if line[0] == '[' {
		if err := json.Unmarshal(line, &raws); err != nil || len(raws) == 0 {
			t.refuse(nil, jsonrpc.CodeInvalidRequest, "the batch is empty")
			return
		}
	}
	for _, raw := range raws {
		m, err := jsonrpc.DecodeMessage(raw)
		if err != nil {
			t.refuse(idOf(raw, raw[max(0, len(raw)-edge):]), jsonrpc.CodeInvalidRequest, "the message is not a JSON-RPC 2.0 message, or nested too deeply")
			continue
		}
		t.open.read(m)
		t.queue = append(t.queue, m)
	}
}

// refuse answers a message that can't be read. Without an id the answer has
// none, as JSON-RPC asks.
func (t *stdio) refuse(id json.RawMessage, code int, why string) {
	if id == nil {
		id = json.RawMessage("null")
	}
	line, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": id, "error": map[string]any{"code": code, "message": why}})
	if err == nil {
		err = t.writeLine(line)
	}
	if err != nil {
		t.breaks.Do(func() { close(t.broken) })
	}
}

// Write implements mcp.Connection. An output that breaks is no error to the
// SDK, which would cancel the calls in flight: they are finished, and nothing
// more is read. A notification that can't be written ends nothing: a call may
// stand in the input behind it, whose client died when it had sent it.
func (t *stdio) Write(_ context.Context, m jsonrpc.Message) error {
	line, err := jsonrpc.EncodeMessage(m)
	if err != nil {
		return fmt.Errorf("encode message: %w", err)
	}
	err = t.writeLine(line)
	resp, ok := m.(*jsonrpc.Response)
	if !ok {
		return nil
	}
	if err != nil {
		t.breaks.Do(func() { close(t.broken) })
	}
	t.open.answered(resp.ID)
	return nil
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
