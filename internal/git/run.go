package git

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"time"
)

const (
	queryLimit = 20 * time.Second // a question about refs and history
	scanLimit  = 2 * time.Minute  // a walk over the worktree
	exitGrace  = 2 * time.Second  // after a kill, for pipes that somebody else holds
	maxStderr  = 4 << 10
	maxRecord  = 64 << 10 // one line or record of an answer
	maxAnswer  = 1 << 30  // bytes of one answer, streamed
)

// call is one run of git.
type call struct {
	args     []string
	stdin    io.Reader
	settings []setting
	limit    time.Duration // queryLimit if zero
	at       string        // folder to discover the repository from; "" names it outright
}

// exitError is a git process that ended with a status other than zero. It
// holds nothing that git printed: that may be a repository's text.
type exitError struct {
	verb   string
	code   int
	broken bool // git said "error:", as where an object can't be read, and went on
}

func (e *exitError) Error() string { return fmt.Sprintf("git %s: exit status %d", e.verb, e.code) }

// exitCode is the status in err's chain, -1 without one.
func exitCode(err error) int {
	if e, ok := errors.AsType[*exitError](err); ok {
		return e.code
	}
	return -1
}

// run starts git once and streams its answer to out.
func (r *Repo) run(ctx context.Context, c call, out io.Writer) error {
	if c.at == "" {
		if err := r.checkOwner(ctx); err != nil {
			return err
		}
	}
	bin, err := r.binary()
	if err != nil {
		return err
	}
	limit := c.limit
	if limit == 0 {
		limit = queryLimit
	}
	tctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	cmd := exec.CommandContext(tctx, bin, r.argv(c)...)
	cmd.Env = r.env.childVars(c.settings)
	cmd.Dir = r.workDir(c)
	cmd.Stdin = c.stdin
	cmd.WaitDelay = exitGrace
	sink := &stopper{out: out, stop: cancel}
	errs := &tail{}
	cmd.Stdout, cmd.Stderr = sink, errs
	err = cmd.Run()
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case sink.err != nil:
		return sink.err
	case tctx.Err() != nil:
		return ErrTimeout
	case err == nil:
		return nil
	}
	return classify(c.args[0], err, errs.buf.Bytes())
}

// argv puts before the verb what must hold for each of our calls. core.fsmonitor
// and core.hooksPath name programs; the rest of what a repository can configure
// is answered by the choice of verbs and their options.
func (r *Repo) argv(c call) []string {
	argv := []string{
		"--no-pager", "--no-optional-locks", "--literal-pathspecs",
		"-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null",
	}
	if c.at == "" {
		argv = append(argv, "--git-dir="+r.GitDir)
		if r.Top != "" {
			argv = append(argv, "--work-tree="+r.Top)
		}
	}
	return append(argv, c.args...)
}

func (r *Repo) workDir(c call) string {
	switch {
	case c.at != "":
		return c.at
	case r.Top != "":
		return r.Top
	}
	return r.GitDir
}

// classify turns an exit into an error that says what to do about it.
func classify(verb string, err error, stderr []byte) error {
	exit, ok := errors.AsType[*exec.ExitError](err)
	if !ok {
		return fmt.Errorf("run git %s: %w", verb, err)
	}
	if bytes.Contains(stderr, []byte("dubious ownership")) || bytes.Contains(stderr, []byte("unsafe repository")) {
		return ErrRefused
	}
	return &exitError{verb: verb, code: exit.ExitCode(), broken: bytes.Contains(stderr, []byte("error: "))}
}

// line runs a query whose answer is one line.
func (r *Repo) line(ctx context.Context, args ...string) (string, error) {
	return r.lineOf(ctx, call{args: args})
}

func (r *Repo) lineOf(ctx context.Context, c call) (string, error) {
	var b strings.Builder
	err := r.run(ctx, c, &b)
	return strings.TrimSuffix(strings.TrimSuffix(b.String(), "\n"), "\r"), err
}

// lines runs git and hands over each line of its answer.
func (r *Repo) lines(ctx context.Context, c call, visit func(string) error) error {
	return r.records(ctx, c, '\n', visit)
}

// records runs git and hands over each piece of its answer that ends with sep.
func (r *Repo) records(ctx context.Context, c call, sep byte, visit func(string) error) error {
	s := &splitter{sep: sep, visit: visit}
	if err := r.run(ctx, c, s); err != nil {
		return err
	}
	if len(s.rest) > 0 {
		return ErrMalformed
	}
	return nil
}

// splitter cuts a stream into records.
type splitter struct {
	sep   byte
	visit func(string) error
	rest  []byte
}

func (s *splitter) Write(p []byte) (int, error) {
	n := len(p)
	for {
		i := bytes.IndexByte(p, s.sep)
		piece := i
		if i < 0 {
			piece = len(p)
		}
		if len(s.rest)+piece > maxRecord {
			return 0, ErrTooMuch
		}
		if i < 0 {
			s.rest = append(s.rest, p...)
			return n, nil
		}
		rec := string(append(s.rest, p[:i]...))
		s.rest, p = s.rest[:0], p[i+1:]
		if err := s.visit(rec); err != nil {
			return 0, err
		}
	}
}

// stopper passes an answer on, within bounds, and ends git once nobody wants more.
type stopper struct {
	out  io.Writer
	stop func()
	n    int64
	err  error
}

func (s *stopper) Write(p []byte) (int, error) {
	if s.err != nil {
		return 0, s.err
	}
	if s.n += int64(len(p)); s.n > maxAnswer {
		s.err = ErrTooMuch
	} else {
		_, s.err = s.out.Write(p)
	}
	if s.err != nil {
		s.stop()
		return 0, s.err
	}
	return len(p), nil
}

// tail keeps the beginning of what is written to it.
type tail struct{ buf bytes.Buffer }

func (t *tail) Write(p []byte) (int, error) {
	if room := maxStderr - t.buf.Len(); room > 0 {
		t.buf.Write(p[:min(room, len(p))])
	}
	return len(p), nil
}
