package mcpserver

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"regexp"
	"sync"

	"holdfast/internal/project"
)

// longLineError is a message over the limit. It was skipped to its end.
type longLineError struct{ id json.RawMessage } // nil: not told in a usual place

func (*longLineError) Error() string { return "the message is larger than 4 MiB" }

// lineReader reads newline-delimited messages in bounded memory. The stream
// goes on behind a line that is too long.
type lineReader struct {
	r     *bufio.Reader
	limit int // bytes of a line
}

func newLineReader(r io.Reader) *lineReader {
	return &lineReader{bufio.NewReaderSize(r, 64<<10), project.MaxRequest + len("\r\n")}
}

// next gives the next line that isn't blank, without its end. The last line of
// a stream need not have one. The error is a *longLineError, or the stream's.
func (l *lineReader) next() ([]byte, error) {
	for {
		line, err := l.line()
		if t := bytes.TrimSpace(line); len(t) > 0 || err != nil {
			return t, err
		}
	}
}

// edge is how much of the start and the end of a long line is kept.
const edge = 4 << 10

func (l *lineReader) line() ([]byte, error) {
	var line, head, tail []byte
	var n nesting
	long := false
	for {
		part, err := l.r.ReadSlice('\n')
		if !long && len(line)+len(part) > l.limit {
			long, head, tail = true, bytes.Clone(line[:min(len(line), edge)]), bytes.Clone(line[max(0, len(line)-edge):])
			n.scan(line)
			line = nil
		}
		if long {
			n.scan(part)
			tail = append(tail, part[max(0, len(part)-edge):]...)
			tail = append(tail[:0], tail[max(0, len(tail)-edge):]...)
		} else {
			line = append(line, part...)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case long && (err == nil || errors.Is(err, io.EOF)):
			if n.depth != 0 {
				tail = nil
			}
			return nil, &longLineError{idOf(head, bytes.TrimSpace(tail))}
		case errors.Is(err, io.EOF) && len(bytes.TrimSpace(line)) > 0:
			return line, nil // the end is met at the next call
		}
		return line, err
	}
}

// nesting follows how deep in objects and arrays a text is.
type nesting struct {
	depth          int
	inText, escape bool
}

func (n *nesting) scan(part []byte) {
	for _, b := range part {
		switch {
		case n.escape:
			n.escape = false
		case n.inText:
			n.escape, n.inText = b == '\\', b != '"'
		case b == '"':
			n.inText = true
		case b == '{', b == '[':
			n.depth++
		case b == '}', b == ']':
			n.depth--
		}
	}
}

// Where encoders write a message's id: in front, before or behind the version,
// or as the last member. Inside of text a quote is escaped, so neither pattern
// can match there. Compiling them takes longer than a short command: only who needs
// them pays.
var (
	idFirst = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?"id"\s*:\s*(-?\d{1,18}|"[^"\\]{0,200}")\s*[,}]`)
	})
	idLast = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`[,{]\s*"id"\s*:\s*(-?\d{1,18}|"[^"\\]{0,200}")\s*\}$`)
	})
)

// idOf finds the id of a message that can't be decoded, so that its sender
// needn't wait for ever: by its first bytes, and by the last ones where the
// whole is known to be one object.
func idOf(head, tail []byte) json.RawMessage {
	m := idFirst().FindSubmatch(head)
	if m == nil {
		m = idLast().FindSubmatch(tail)
	}
	if m == nil || !json.Valid(m[1]) {
		return nil
	}
	return json.RawMessage(bytes.Clone(m[1]))
}
