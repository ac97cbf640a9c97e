package check

import (
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
	cancelled, signals := ctx.Done(), c.Signals
	end := func() {
		p.terminate()
		t := time.NewTimer(grace)
		kill = t.C
	}
	for {
		select {
		case err := <-done:
			if r.TimedOut || r.Interrupted {
				p.sweep(kill, grace) // what it left of its group
			}
			r.status(p, err)
			return
		case <-over:
			r.TimedOut, over = true, nil
			end()
		case <-kill:
			kill = nil
			p.kill()
		case sig, ok := <-signals:
			if !ok {
				signals = nil
				continue
			}
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
