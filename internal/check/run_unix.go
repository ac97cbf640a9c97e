//go:build !windows

package check

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// process is a command in a process group of its own, so that all of it can be
// ended.
type process struct {
	cmd        *exec.Cmd
	foreground *os.File // the terminal that was given to it; nil: none
	back       int      // the group that had the terminal before
}

func startGroup(cmd *exec.Cmd) (*process, error) {
	p := &process{cmd: cmd}
	attr := &syscall.SysProcAttr{Setpgid: true}
	// At a terminal the command becomes the foreground group, or it could
	// neither read from it nor be told of Ctrl-C.
	if f, ok := cmd.Stdin.(*os.File); ok && f != nil {
		if pgrp, err := unix.IoctlGetInt(int(f.Fd()), unix.TIOCGPGRP); err == nil && pgrp == unix.Getpgrp() {
			attr.Foreground, attr.Ctty = true, int(f.Fd())
			p.foreground, p.back = f, pgrp
		}
	}
	cmd.SysProcAttr = attr
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	return p, nil
}

func (p *process) signal(s syscall.Signal) {
	// The group may be gone already, which is what is wanted.
	_ = syscall.Kill(-p.cmd.Process.Pid, s)
}

func (p *process) terminate() {
	p.signal(syscall.SIGTERM)
	p.signal(syscall.SIGCONT)
}

func (p *process) kill() { p.signal(syscall.SIGKILL) }

// sweep ends what the command left of its group: it has what remains of the
// grace to tidy up. over is the grace that runs already; nil: none does.
func (p *process) sweep(over <-chan time.Time, grace time.Duration) {
	if over == nil {
		t := time.NewTimer(grace)
		defer t.Stop()
		over = t.C
	}
	look := time.NewTicker(10 * time.Millisecond)
	defer look.Stop()
	for syscall.Kill(-p.cmd.Process.Pid, 0) == nil {
		select {
		case <-over:
			p.kill()
			return
		case <-look.C:
		}
	}
}

// maxPipe is the most that a pipe holds. Source: pipe(7), pipe-max-size.
const maxPipe = 1 << 20

// drain takes what stands in a pipe, without waiting for more.
func drain(from *os.File, buf []byte, to io.Writer) {
	conn, err := from.SyscallConn()
	if err != nil || from.SetReadDeadline(time.Time{}) != nil {
		return
	}
	_ = conn.Read(func(fd uintptr) bool {
		for taken := 0; taken < maxPipe; {
			n, err := syscall.Read(int(fd), buf)
			if errors.Is(err, syscall.EINTR) {
				continue
			}
			if n <= 0 {
				break
			}
			_, _ = to.Write(buf[:n])
			taken += n
		}
		return true
	})
}

func (p *process) pass(s os.Signal) {
	if n, ok := s.(syscall.Signal); ok {
		p.signal(n)
	}
}

// giveBack makes the caller's group the terminal's foreground group again.
func (p *process) giveBack() {
	if p.foreground == nil {
		return
	}
	// SIGTTOU would stop a background process that sets this. Failing leaves it to
	// the shell, which does the same.
	signal.Ignore(syscall.SIGTTOU)
	defer signal.Reset(syscall.SIGTTOU)
	_ = unix.IoctlSetPointerInt(int(p.foreground.Fd()), unix.TIOCSPGRP, p.back)
}

func endedBy(s *os.ProcessState) (int, string) {
	w, ok := s.Sys().(syscall.WaitStatus)
	if !ok || !w.Signaled() {
		return 0, ""
	}
	return int(w.Signal()), unix.SignalName(w.Signal())
}

func executable(path string) error {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, syscall.ENOTDIR):
		return fs.ErrNotExist
	case err != nil:
		return err
	case info.IsDir():
		return fs.ErrPermission
	}
	return unix.Access(path, unix.X_OK)
}

func notRunnable(err error) bool {
	return errors.Is(err, syscall.ENOEXEC) || errors.Is(err, syscall.EACCES) || errors.Is(err, syscall.E2BIG)
}

func extensions([]string) []string  { return []string{""} }
func sameVariable(a, b string) bool { return a == b }
