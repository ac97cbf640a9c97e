//go:build unix

package main

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
)

func TestCaseC049_TheLockIsTheKernels(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	b.must(0, "record", "note", "n-0", "--text", "first", "--source", "s")
	sleeper := exec.Command("sleep", "600")
	if err := sleeper.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { sleeper.Process.Kill(); sleeper.Wait() }()
	for i, text := range []string{
		"pid 999999, started 2020-01-01T00:00:00Z, on here: holdfast", fmt.Sprintf("pid %d, started 2020-01-01T00:00:00Z, on here", sleeper.Process.Pid), fmt.Sprintf("pid %d", os.Getpid()),
		"pid 1", "pid 7, on another-host", "pid 7, started 2999-01-01T00:00:00Z", "", "\x00\xff garbage", strings.Repeat("x", 100_000),
	} {
		if err := os.WriteFile(b.path(".holdfast/lock"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		b.must(0, "record", "note", fmt.Sprintf("n-%d", i+1), "--text", "t", "--source", "s")
	}
	// A holder that was stopped is waited for, then named, and keeps its lock.
	f, err := os.OpenFile(b.path(".holdfast/lock"), os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(b.path(".holdfast/lock"), []byte("pid 4711, started yesterday, on here"), 0o600); err != nil {
		t.Fatal(err)
	}
	b.env = append(b.env, "HOLDFAST_LOCK_TIMEOUT=100ms")
	if a := b.must(6, "record", "note", "n-x", "--text", "t", "--source", "s"); !strings.Contains(a.err, "pid 4711") {
		t.Errorf("the holder is not named: %s", a.err)
	}
	if out := b.must(0, "resume").out; strings.Contains(out, "n-x") || !strings.Contains(out, "n-9") {
		t.Errorf("%s", out)
	}
}
