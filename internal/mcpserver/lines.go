package mcpserver

import (
	"bufio"
	"bytes"
	"errors"
	"io"

	"holdfast/internal/project"
)

var errLineTooLong = errors.New("the message is larger than 4 MiB")

// lineReader reads newline-delimited messages in bounded memory. A line over
// the limit is skipped to its end and told as errLineTooLong; the stream goes
// on behind it.
type lineReader struct{ r *bufio.Reader }

func newLineReader(r io.Reader) *lineReader { return &lineReader{bufio.NewReaderSize(r, 64<<10)} }

// next gives the next line that isn't blank, without its end. The last line of
// a stream need not have one.
func (l *lineReader) next() ([]byte, error) {
	for {
		line, err := l.line()
		if t := bytes.TrimSpace(line); len(t) > 0 || err != nil {
			return t, err
		}
	}
}

func (l *lineReader) line() ([]byte, error) {
	var line []byte
	long := false
	for {
		part, err := l.r.ReadSlice('\n')
		if len(line)+len(part) > project.MaxRequest+2 {
			long, line = true, nil
		}
		if !long {
			line = append(line, part...)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case long && (err == nil || errors.Is(err, io.EOF)):
			return nil, errLineTooLong
		case errors.Is(err, io.EOF) && len(bytes.TrimSpace(line)) > 0:
			return line, nil // the end is met at the next call
		}
		return line, err
	}
}
