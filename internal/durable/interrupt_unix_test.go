//go:build unix

package durable

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"
)

func platformChildren() map[string]func([]string) error {
	return map[string]func([]string) error{
		"owners": childOwners,
		"append": childAppend,
		"save":   childSave,
	}
}

// Every n-th step is interrupted before it is done.
func TestCaseC014_InterruptedSteps(t *testing.T) {
	for every := 2; every <= 5; every++ {
		n := 0
		l := &Layer{Fault: func(op Op, _ string) error {
			if n++; n%every == 0 {
				return errSignal
			}
			return nil
		}}
		if err := walkAll(l, t.TempDir()); err != nil {
			t.Errorf("every %d. step: %v", every, err)
		}
	}
}

// A step that is interrupted for ever ends in an error, not in a loop.
func TestCaseC014_InterruptedForEver(t *testing.T) {
	d, tmp := tempDir(t, nil)
	d.l = &Layer{Fault: func(op Op, _ string) error {
		if op == OpLink {
			return errSignal
		}
		return nil
	}}
	_, err := d.Publish(tmp, "x", nil, 0o600)
	var unknown *UnknownOutcomeError
	if !errors.As(err, &unknown) || !errors.Is(err, syscall.EINTR) {
		t.Fatalf("got %v", err)
	}
	wantNoTemporaries(t, d.Path())
}

// The kernel itself, by strace, interrupts every third call of each kind.
func TestCaseC014_InterruptedSystemCalls(t *testing.T) {
	strace, err := exec.LookPath("strace")
	if err != nil {
		t.Skip("strace is not installed: interrupted system calls are only tried through the seam")
	}
	// The loader of a dynamically linked test binary, which is not ours, gives
	// up when it is interrupted: its calls are let pass.
	kinds := map[string]int{"openat": 12, "read": 12, "pread64": 4, "newfstatat": 12, "fstat": 12, "write": 0,
		"pwrite64": 0, "fsync": 0, "flock": 0, "linkat": 0, "renameat": 0, "renameat2": 0, "unlinkat": 0,
		"mkdirat": 0, "getdents64": 0, "ftruncate": 0, "fchmod": 0}
	interrupted := 0
	for kind, skip := range kinds {
		for _, when := range []struct{ first, every int }{{1, 3}, {2, 2}} {
			log := t.TempDir() + "/log"
			cmd := child(t, "walk", t.TempDir())
			// "?": not every architecture has every call.
			inject := fmt.Sprintf("inject=?%s:error=EINTR:when=%d+%d", kind, skip+when.first, when.every)
			cmd.Args = append([]string{strace, "-f", "-qq", "-o", log, "-e", "trace=?" + kind, "-e", inject, cmd.Path}, cmd.Args[1:]...)
			cmd.Path = strace
			err := cmd.Run()
			text, rerr := os.ReadFile(log)
			check(t, rerr)
			if err != nil && len(text) == 0 {
				t.Skip("strace can't trace here:", err)
			}
			if err != nil {
				t.Errorf("%s %v: %v", kind, when, err)
			}
			n := strings.Count(string(text), "EINTR (Interrupted system call) (INJECTED)")
			t.Logf("%s %v: %d interrupted", kind, when, n)
			interrupted += n
		}
	}
	if interrupted < 50 {
		t.Errorf("only %d calls were interrupted: the test shows little", interrupted)
	}
}

// What a save costs in flushes, counted by the kernel: the temporary and the
// folder for Publish, the file for Append.
func TestFlushesOfASave(t *testing.T) {
	strace, err := exec.LookPath("strace")
	if err != nil {
		t.Skip("strace is not installed: flushes are only counted through the seam")
	}
	count := func(part string) int {
		log := t.TempDir() + "/log"
		dir := t.TempDir()
		check(t, os.Mkdir(dir+"/tmp", 0o700))
		put(t, dir+"/mirror", "line\n")
		cmd := child(t, part, dir, "x")
		cmd.Args = append([]string{strace, "-f", "-qq", "-o", log, "-e", "trace=fsync,fdatasync,sync,syncfs", cmd.Path}, cmd.Args[1:]...)
		cmd.Path = strace
		if err := cmd.Run(); err != nil {
			t.Skip("strace can't trace here:", err)
		}
		text, err := os.ReadFile(log)
		check(t, err)
		return strings.Count(string(text), "sync(")
	}
	if n := count("publish"); n != 50*2 {
		t.Errorf("50 publishings took %d flushes", n)
	}
	if n := count("append"); n != 50 {
		t.Errorf("50 appends took %d flushes", n)
	}
}

// childAppend appends 50 lines to an existing file.
func childAppend(args []string) error {
	d, err := (*Layer)(nil).OpenDir(args[0])
	if err != nil {
		return err
	}
	for range 50 {
		if err := d.Append("mirror", []byte("line\n"), 0o600); err != nil {
			return err
		}
	}
	return nil
}

func TestCaseC014_SignalsDuringEverything(t *testing.T) {
	stop := signalOurselves(t)
	defer stop()
	for range 20 {
		if err := walkAll(nil, t.TempDir()); err != nil {
			t.Error(err)
		}
		time.Sleep(time.Millisecond)
	}
}
