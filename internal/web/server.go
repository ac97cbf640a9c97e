package web

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"syscall"
	"time"

	"holdfast/internal/project"
)

// lookTime is Options.LookTime where none is given.
const lookTime = 60 * time.Millisecond

// Options of Listen.
type Options struct {
	Project *project.Project
	Port    int // 0: a free one
	Now     func() time.Time
	Rand    io.Reader
	// LookTime is how long the first page may look at what checks rest on; 0: 60 ms.
	// The page of checks takes the time that it needs.
	LookTime time.Duration
}

// Server serves one project until it is told to stop.
type Server struct {
	p         *project.Project
	now       func() time.Time
	lookTime  time.Duration
	gate      *gate
	pages     *pages
	http      http.Server
	listeners []net.Listener
	pulse     *pulses
}

// PortError: the port that was asked for can't be had.
type PortError struct {
	Port int
	Err  error
}

func (e *PortError) Error() string { return fmt.Sprintf("port %d can't be used: %v", e.Port, e.Err) }
func (e *PortError) Unwrap() error { return e.Err }

// Listen binds the loopback addresses and makes the secrets of this run. The
// error is a *PortError where the port can't be had.
func Listen(o Options) (*Server, error) {
	ls, port, err := listen(o.Port)
	if err != nil {
		return nil, err
	}
	s := &Server{p: o.Project, now: o.Now, lookTime: cmp.Or(o.LookTime, lookTime), listeners: ls}
	if s.gate, err = newGate(o.Rand, o.Now, port); err == nil {
		s.pages, err = parsePages()
	}
	if err != nil {
		s.closeListeners()
		return nil, err
	}
	s.pulse = newPulses(o.Project)
	s.http = http.Server{
		Handler: s.handler(), ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 30 * time.Second,
		IdleTimeout: time.Minute, MaxHeaderBytes: 32 << 10,
	}
	return s, nil
}

// listen binds 127.0.0.1 and, where the machine has it, ::1 at one port. Both,
// so that nobody else can answer for "localhost" at it.
func listen(want int) ([]net.Listener, int, error) {
	var err error
	for range 10 {
		var v4, v6 net.Listener
		if v4, err = net.Listen("tcp4", net.JoinHostPort("127.0.0.1", strconv.Itoa(want))); err != nil {
			break
		}
		port := v4.Addr().(*net.TCPAddr).Port
		v6, err = net.Listen("tcp6", net.JoinHostPort("::1", strconv.Itoa(port)))
		switch {
		case err == nil:
			return []net.Listener{v4, v6}, port, nil
		case !errors.Is(err, syscall.EADDRINUSE):
			return []net.Listener{v4}, port, nil // a machine without IPv6
		}
		_ = v4.Close() // another port is tried
		if want != 0 {
			break
		}
	}
	return nil, 0, &PortError{want, err}
}

func (s *Server) closeListeners() {
	for _, l := range s.listeners {
		_ = l.Close() // nothing was accepted yet
	}
}

// Link is the address to open. It holds this run's secret in its fragment, which
// a browser never sends.
func (s *Server) Link() string { return s.gate.origin() + "/#" + s.gate.code }

// Opener is a link for a program's command line, which other users of the
// machine may be able to read: it works once, and only for a minute. Used a
// second time it ends the session that it began.
func (s *Server) Opener() string { return s.gate.origin() + "/#" + s.gate.makeOpener() }

// Code is this run's secret, for the form.
func (s *Server) Code() string { return s.gate.code }

// Port is the port that was bound.
func (s *Server) Port() int { return s.gate.port }

// Serve answers until ctx ends. Saves that were begun are finished.
func (s *Server) Serve(ctx context.Context) error {
	run, stop := context.WithCancel(ctx)
	defer stop()
	s.http.BaseContext = func(net.Listener) context.Context { return run }
	errs := make(chan error, len(s.listeners))
	for _, l := range s.listeners {
		go func() { errs <- s.http.Serve(l) }()
	}
	go s.pulse.run(run)
	var err error
	select {
	case <-ctx.Done():
	case err = <-errs:
		err = fmt.Errorf("serve: %w", err)
	}
	stop() // the streams of events end
	late, cancel := context.WithTimeout(context.WithoutCancel(ctx), 6*time.Second)
	defer cancel()
	if serr := s.http.Shutdown(late); serr != nil && err == nil {
		err = fmt.Errorf("stop serving: %w", serr)
	}
	return err
}
