package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

const hasPTY = true

// person runs a command as a person at a terminal would: standard input and
// error are a pseudo-terminal, whose output goes to standard error. With -t
// standard output is the terminal too; with -i TEXT the person types a line. It
// returns the command's exit status.
func person(args []string) int {
	all := len(args) > 0 && args[0] == "-t"
	if all {
		args = args[1:]
	}
	typed := ""
	if len(args) > 2 && args[0] == "-i" {
		typed, args = args[1]+"\n", args[2:]
	}
	control, tty, err := openPTY()
	if err != nil {
		fmt.Fprintln(os.Stderr, "person:", err)
		return 99
	}
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = tty, os.Stdout, tty
	if all {
		cmd.Stdout = tty
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := cmd.Start(); err != nil {
		fmt.Fprintln(os.Stderr, "person:", err)
		return 99
	}
	tty.Close()
	_, _ = io.WriteString(control, typed) // the terminal keeps it until it is read
	_, _ = io.Copy(os.Stderr, control)    // ends with EIO when the last holder of the terminal is gone
	err = cmd.Wait()
	if e, ok := errors.AsType[*exec.ExitError](err); ok {
		return e.ExitCode()
	}
	if err != nil {
		return 99
	}
	return 0
}

// openPTY opens a pseudo-terminal. Source: pts(4).
func openPTY() (control, tty *os.File, err error) {
	control, err = os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		return nil, nil, err
	}
	fd := int(control.Fd())
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		return nil, nil, err
	}
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err != nil {
		return nil, nil, err
	}
	tty, err = os.OpenFile("/dev/pts/"+strconv.Itoa(n), os.O_RDWR|unix.O_NOCTTY, 0)
	return control, tty, err
}
