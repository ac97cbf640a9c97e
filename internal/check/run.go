package check

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"hash"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"holdfast/internal/ledger"
)

// Command is what is to be run.
type Command struct {
	Argv    []string
	Dir     string // absolute
	Env     []string
	In      *os.File // nil: nothing to read
	Out     io.Writer
	Err     io.Writer
	TTY     bool          // give it a pseudo-terminal; output and error are then one stream
	Timeout time.Duration // 0: none
	Grace   time.Duration // from TERM to KILL; 0: DefaultGrace
	Tail    int           // bytes of output to keep; 0: none
	// Signals are those that the caller got and passes on.
	Signals <-chan os.Signal
	Now     func() time.Time
}

// DefaultGrace is how long a command has to end after TERM.
const DefaultGrace = 5 * time.Second

// Exit statuses where the command's own is not to be had, as timeout(1) and
// sh(1) have them.
const (
	ExitTimedOut      = 124
	ExitNotExecutable = 126
	ExitNotFound      = 127
	exitSignal        = 128
)

// Run is what was seen of a command.
type Run struct {
	Started     time.Time
	Duration    time.Duration
	ExitCode    int
	Signal      string // the name of the one that ended it, such as SIGKILL
	TimedOut    bool
	Interrupted bool // a signal was passed on
	NotFound    bool // it could not be started: ExitCode is 127 or 126
	Shell       bool // it went through a shell text
	Program     string
	Output      ledger.Output
	Told        Told
	Tail        []byte // unscreened
	OutErr      error  // of a write to Out or Err: a reader that left
}

// Find resolves a program's name as the command will: by path relative to dir,
// or along PATH. The error matches fs.ErrNotExist or fs.ErrPermission.
func Find(name, dir string, env []string) (string, error) {
	if strings.ContainsAny(name, `/\`) {
		full := name
		if !filepath.IsAbs(full) {
			full = filepath.Join(dir, name)
		}
		return full, executable(full)
	}
	problem := fs.ErrNotExist
	for _, d := range filepath.SplitList(variable(env, "PATH")) {
		if d == "" || !filepath.IsAbs(d) {
			continue // a program of the working directory is named by a path
		}
		for _, ext := range extensions(env) {
			full := filepath.Join(d, name+ext)
			err := executable(full)
			if err == nil {
				return full, nil
			}
			if errors.Is(err, fs.ErrPermission) {
				problem = fs.ErrPermission
			}
		}
	}
	return "", &fs.PathError{Op: "find", Path: name, Err: problem}
}

func variable(env []string, name string) string {
	for i := len(env) - 1; i >= 0; i-- {
		if k, v, ok := strings.Cut(env[i], "="); ok && sameVariable(k, name) {
			return v
		}
	}
	return ""
}

// Do runs the command and waits for its end and that of its output. It returns
// an error only for what is no result of the command: a folder that is gone, no
// pseudo-terminal.
func Do(ctx context.Context, c Command) (*Run, error) {
	r := &Run{Started: c.Now()}
	if len(c.Argv) == 0 || c.Argv[0] == "" {
		return nil, errors.New("there is no command")
	}
	_, _, r.Shell = shellIn(c.Argv)
	if info, err := os.Stat(c.Dir); err != nil || !info.IsDir() {
		return nil, &fs.PathError{Op: "enter", Path: c.Dir, Err: fs.ErrNotExist}
	}
	program, err := Find(c.Argv[0], c.Dir, c.Env)
	if err != nil {
		r.refuse(err)
		return r, nil
	}
	r.Program = program
	cmd := exec.Command(program, c.Argv[1:]...)
	cmd.Args[0] = c.Argv[0]
	cmd.Dir, cmd.Env = c.Dir, append(c.Env[:len(c.Env):len(c.Env)], "PWD="+c.Dir)
	if c.In != nil {
		cmd.Stdin = c.In
	}
	s := newStreams(&c)
	start := c.Now()
	p, err := s.start(cmd, &c)
	if err != nil {
		if notRunnable(err) || errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
			r.refuse(err)
			return r, nil
		}
		return nil, err
	}
	r.await(ctx, p, &c)
	p.giveBack()
	s.finish()
	r.Duration = c.Now().Sub(start)
	s.result(r)
	return r, nil
}

func shellIn(argv []string) (string, options, bool) {
	for i, a := range argv {
		if text, o, ok := shellText(argv[i:]); ok && isShell(a) {
			return text, o, true
		}
	}
	return "", options{}, false
}

func (r *Run) refuse(err error) {
	r.NotFound, r.ExitCode = true, ExitNotExecutable
	if errors.Is(err, fs.ErrNotExist) {
		r.ExitCode = ExitNotFound
	}
	r.Output.SHA256 = emptySum()
}

func emptySum() string {
	return joined(sha256.New(), sha256.New())
}

// joined is the one digest of both streams: SHA-256 over the digests of
// standard output and of standard error. The order in which two pipes are read
// is chance, so that a digest of what came when would not say anything.
func joined(out, err hash.Hash) string {
	h := sha256.New()
	h.Write(out.Sum(nil))
	h.Write(err.Sum(nil))
	return hex.EncodeToString(h.Sum(nil))
}

// await waits for the command, ends its process group when its time is over,
// and passes signals on.
func (r *Run) await(ctx context.Context, p *process, c *Command) {
	done := make(chan error, 1)
	go func() { done <- p.cmd.Wait() }()
	var over, kill <-chan time.Time
	if c.Timeout > 0 {
		t := time.NewTimer(c.Timeout)
		defer t.Stop()
		over = t.C
	}
	grace := c.Grace
	if grace == 0 {
		grace = DefaultGrace
	}
	cancelled := ctx.Done()
	end := func() {
		p.terminate()
		t := time.NewTimer(grace)
		kill = t.C
	}
	for {
		select {
		case err := <-done:
			if r.TimedOut || r.Interrupted {
				p.sweep() // what it left of its group
			}
			r.status(p, err)
			return
		case <-over:
			r.TimedOut, over = true, nil
			end()
		case <-kill:
			kill = nil
			p.kill()
		case sig := <-c.Signals:
			r.Interrupted = true
			p.pass(sig)
		case <-cancelled:
			cancelled = nil
			if c.Signals == nil {
				r.Interrupted = true
				end()
			}
		}
	}
}

func (r *Run) status(p *process, err error) {
	state := p.cmd.ProcessState
	r.ExitCode = state.ExitCode()
	if n, name := endedBy(state); n > 0 {
		r.Signal, r.ExitCode = name, exitSignal+n
	}
	if r.TimedOut {
		r.ExitCode = ExitTimedOut
	}
	if r.ExitCode < 0 { // waiting itself failed
		r.ExitCode = exitSignal + 9
	}
	_ = err // what Wait says beyond the state is about streams, which are counted for themselves
}

// stream counts, hashes and passes on one of the command's streams.
type stream struct {
	to      io.Writer
	sum     hash.Hash
	bytes   int64
	lines   int64
	last    byte
	closing Closing
	tail    *tail
	err     *atomic.Pointer[error]
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
	if s.to != nil && s.err.Load() == nil {
		if _, err := s.to.Write(b); err != nil {
			s.err.CompareAndSwap(nil, &err)
		}
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
	bad      atomic.Pointer[error]
	wg       sync.WaitGroup
	tail     *tail
	after    []*os.File // to be closed at the end
}

func newStreams(c *Command) *streams {
	s := &streams{}
	if c.Tail > 0 {
		s.tail = &tail{keep: c.Tail}
	}
	s.out = &stream{to: c.Out, sum: sha256.New(), tail: s.tail, err: &s.bad}
	s.err = &stream{to: c.Err, sum: sha256.New(), tail: s.tail, err: &s.bad}
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
			if err != nil { // io.EOF; EIO where a terminal's last holder is gone
				return
			}
		}
	})
}

// left is how long output is waited for after the command's end: a process that
// it left behind may hold the pipes.
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
	if e := s.bad.Load(); e != nil {
		r.OutErr = *e
	}
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
