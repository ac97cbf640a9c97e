package check

import (
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// startTTY runs the command on a pseudo-terminal of its own, whose output is
// counted as standard output. Source: pts(4).
func (s *streams) startTTY(cmd *exec.Cmd, _ *Command) (*process, error) {
	control, tty, err := openTTY()
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNoTTY, err)
	}
	if cmd.Stdin == nil {
		cmd.Stdin = tty
	}
	cmd.Stdout, cmd.Stderr = tty, tty
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true, Ctty: 1}
	err = cmd.Start()
	tty.Close()
	if err != nil {
		control.Close()
		return nil, err
	}
	s.copy(control, s.out)
	return &process{cmd: cmd}, nil
}

func openTTY() (control, tty *os.File, err error) {
	control, err = os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, nil, err
	}
	conn, err := control.SyscallConn()
	if err != nil {
		control.Close()
		return nil, nil, err
	}
	var n uint32
	cerr := conn.Control(func(fd uintptr) {
		if err = unix.IoctlSetPointerInt(int(fd), unix.TIOCSPTLCK, 0); err == nil {
			n, err = unix.IoctlGetUint32(int(fd), unix.TIOCGPTN)
		}
		if err == nil {
			err = unix.IoctlSetWinsize(int(fd), unix.TIOCSWINSZ, &unix.Winsize{Row: 50, Col: 120})
		}
	})
	if err == nil {
		err = cerr
	}
	if err == nil {
		tty, err = os.OpenFile("/dev/pts/"+strconv.FormatUint(uint64(n), 10), os.O_RDWR|unix.O_NOCTTY, 0)
	}
	if err != nil {
		control.Close()
		return nil, nil, err
	}
	return control, tty, nil
}
