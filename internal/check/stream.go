package check

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"errors"
	"hash"
	"io"
	"os"
	"os/exec"
	"sync"
	"time"

	"holdfast/internal/ledger"
)

// stream counts, hashes and passes on one of the command's streams.
type stream struct {
	to      io.Writer
	sum     hash.Hash
	bytes   int64
	lines   int64
	last    byte
	closing Closing
	tail    *tail
	err     error // of the first write to to that failed
}

func (s *stream) Write(b []byte) (int, error) {
	s.sum.Write(b)
	s.bytes += int64(len(b))
	s.lines += int64(countLines(b))
	if len(b) > 0 {
		s.last = b[len(b)-1]
	}
	_, _ = s.closing.Write(b)
	if s.tail != nil {
		s.tail.add(b)
	}
	// A reader that left doesn't end the command: its status is still wanted.
	if s.to != nil && s.err == nil {
		_, s.err = s.to.Write(b)
	}
	return len(b), nil
}

// tail keeps the last bytes of both streams, as they came.
type tail struct {
	sync.Mutex
	keep int
	b    []byte
}

func (t *tail) add(b []byte) {
	t.Lock()
	defer t.Unlock()
	if len(b) > t.keep {
		b = b[len(b)-t.keep:]
	}
	t.b = append(t.b, b...)
	if len(t.b) > 4*t.keep {
		t.b = append(t.b[:0], t.b[len(t.b)-t.keep:]...)
	}
}

type streams struct {
	out, err *stream
	wg       sync.WaitGroup
	tail     *tail
	after    []*os.File // to be closed at the end
}

func newStreams(c *Command) *streams {
	s := &streams{}
	if c.Tail > 0 {
		s.tail = &tail{keep: c.Tail}
	}
	s.out = &stream{to: c.Out, sum: sha256.New(), tail: s.tail}
	s.err = &stream{to: c.Err, sum: sha256.New(), tail: s.tail}
	return s
}

const pieces = 64 << 10

func (s *streams) copy(from *os.File, to *stream) {
	s.after = append(s.after, from)
	s.wg.Go(func() {
		buf := make([]byte, pieces)
		for {
			n, err := from.Read(buf)
			_, _ = to.Write(buf[:n])
			if errors.Is(err, os.ErrDeadlineExceeded) {
				drain(from, buf, to)
			}
			if err != nil { // io.EOF; EIO where a terminal's last holder is gone
				return
			}
		}
	})
}

// left is how long output is waited for after the command's end: a process that
// it left behind may hold the pipes. What stands in them then is still taken.
const left = 2 * time.Second

func (s *streams) finish() {
	done := make(chan struct{})
	go func() { s.wg.Wait(); close(done) }()
	t := time.NewTimer(left)
	defer t.Stop()
	select {
	case <-done:
	case <-t.C:
		for _, f := range s.after {
			_ = f.SetReadDeadline(time.Unix(1, 0))
		}
		<-done
	}
	for _, f := range s.after {
		f.Close()
	}
}

func (s *streams) result(r *Run) {
	o := ledger.Output{Bytes: s.out.bytes + s.err.bytes, SHA256: joined(s.out.sum, s.err.sum), Lines: s.out.whole() + s.err.whole()}
	r.Output, r.Told = o, Read(&s.out.closing, &s.err.closing)
	r.OutErr = cmp.Or(s.out.err, s.err.err)
	if s.tail != nil {
		r.Tail = s.tail.b[max(0, len(s.tail.b)-s.tail.keep):]
	}
}

// whole counts a last line without an end, too.
func (s *stream) whole() int64 {
	if s.bytes > 0 && s.last != '\n' {
		return s.lines + 1
	}
	return s.lines
}

func countLines(b []byte) int { return bytes.Count(b, []byte{'\n'}) }

// start gives the command its streams and starts it.
func (s *streams) start(cmd *exec.Cmd, c *Command) (*process, error) {
	if c.TTY {
		return s.startTTY(cmd, c)
	}
	outR, outW, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	errR, errW, err := os.Pipe()
	if err != nil {
		outR.Close()
		outW.Close()
		return nil, err
	}
	cmd.Stdout, cmd.Stderr = outW, errW
	p, err := startGroup(cmd)
	outW.Close()
	errW.Close()
	if err != nil {
		outR.Close()
		errR.Close()
		return nil, err
	}
	s.copy(outR, s.out)
	s.copy(errR, s.err)
	return p, nil
}
