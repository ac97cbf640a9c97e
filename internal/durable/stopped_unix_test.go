//go:build unix

package durable

import (
	"errors"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A stopped holder is waited for, then named; once it goes on and lets go the
// lock is free. Stray signals in between don't end the wait.
func TestCaseC049_StoppedHolderIsWaitedForThenNamed(t *testing.T) {
	d, _ := tempDir(t, nil)
	text := "pid 77, started 2026-11-30T20:00:00Z, host box"
	cmd, in := hold(t, d, text+"\n")
	check(t, cmd.Process.Signal(syscall.SIGSTOP))
	stop := signalOurselves(t)
	_, err := d.Lock(bg, "lock", 100*time.Millisecond, "me\n")
	stop()
	var busy *BusyError
	if !errors.As(err, &busy) || busy.Holder != text {
		t.Fatalf("got %v", err)
	}
	if !strings.Contains(err.Error(), text) {
		t.Errorf("the message doesn't name the holder: %v", err)
	}
	got := make(chan error)
	go func() {
		k, err := d.Lock(bg, "lock", time.Hour, "me\n")
		got <- errors.Join(err, k.Unlock())
	}()
	check(t, in.Close())
	check(t, cmd.Process.Signal(syscall.SIGCONT))
	check(t, <-got)
}

// signalOurselves sends this process a stream of harmless signals.
func signalOurselves(t *testing.T) (stop func()) {
	quit, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-quit:
				return
			case <-time.After(time.Millisecond):
				if err := syscall.Kill(os.Getpid(), syscall.SIGWINCH); err != nil {
					t.Error(err)
				}
			}
		}
	}()
	return func() { close(quit); <-done }
}
