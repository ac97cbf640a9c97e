package durable

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

var bg = context.Background()

func TestLock(t *testing.T) {
	d, _ := tempDir(t, nil)
	k, err := d.Lock(bg, "lock", 0, "pid 1\nmore\n")
	check(t, err)
	wantFile(t, d.join("lock"), "pid 1\nmore\n")

	_, err = d.Lock(bg, "lock", time.Millisecond, "pid 2\n")
	var busy *BusyError
	if !errors.As(err, &busy) || busy.Holder != "pid 1" || busy.Path != d.join("lock") {
		t.Fatalf("got %#v", err)
	}
	wantFile(t, d.join("lock"), "pid 1\nmore\n")
	check(t, k.Unlock())
	check(t, k.Unlock())

	k, err = d.Lock(bg, "lock", 0, "p 3\n") // shorter text
	check(t, err)
	wantFile(t, d.join("lock"), "p 3\n")
	check(t, k.Unlock())
	var none *Lock
	check(t, none.Unlock())
}

func TestLockEndsWithTheContext(t *testing.T) {
	d, _ := tempDir(t, nil)
	k, err := d.Lock(bg, "lock", 0, "me")
	check(t, err)
	defer k.Unlock()
	ctx, cancel := context.WithCancel(bg)
	pauses := 0
	d2 := openDir(t, &Layer{Sleep: func(time.Duration) {
		if pauses++; pauses == 3 {
			cancel()
		}
	}}, d.Path())
	_, err = d2.Lock(ctx, "lock", time.Hour, "other")
	var busy *BusyError
	if !errors.As(err, &busy) || !errors.Is(err, context.Canceled) || pauses != 3 {
		t.Fatalf("after %d pauses: %v", pauses, err)
	}
	_, err = d2.Lock(ctx, "free", time.Hour, "other")
	wantIs(t, err, context.Canceled)
	wantMissing(t, d.join("free"))
}

func TestLockPausesGrowUpToTheWait(t *testing.T) {
	d, _ := tempDir(t, nil)
	k, err := d.Lock(bg, "lock", 0, "me")
	check(t, err)
	defer k.Unlock()
	var sum, last time.Duration
	shorter := 0 // once: when the turn is kept
	d2 := openDir(t, &Layer{Sleep: func(p time.Duration) {
		if p < last {
			shorter++
		}
		sum, last = sum+p, p
	}}, d.Path())
	_, err = d2.Lock(bg, "lock", 5*time.Minute, "other")
	var busy *BusyError
	if !errors.As(err, &busy) || sum < 5*time.Minute || sum > 5*time.Minute+maxPause || shorter != 1 || last != maxPause {
		t.Fatalf("waited %v: %v", sum, err)
	}
}

func TestLockFollowsTheName(t *testing.T) {
	for _, how := range []string{"replaced", "removed"} {
		t.Run(how, func(t *testing.T) {
			d, _ := tempDir(t, nil)
			k, err := d.Lock(bg, "lock", 0, "first")
			check(t, err)
			l := &Layer{}
			d2 := openDir(t, l, d.Path())
			l.Sleep = func(time.Duration) { // while the second one waits
				check(t, os.Rename(d.join("lock"), d.join("aside")))
				if how == "replaced" {
					put(t, d.join("lock"), "another file")
				}
				check(t, k.Unlock())
			}
			k2, err := d2.Lock(bg, "lock", time.Hour, "second")
			check(t, err)
			defer k2.Unlock()
			wantFile(t, d.join("lock"), "second")
			wantFile(t, d.join("aside"), "first")
			_, err = d.Lock(bg, "lock", 0, "third")
			var busy *BusyError
			if !errors.As(err, &busy) {
				t.Fatalf("two hold the lock: %v", err)
			}
		})
	}
}

func TestHolderIsScreened(t *testing.T) {
	for _, tc := range []struct{ text, want string }{
		{"pid 7, started 12:00, host a, holdfast mcp\nmore", "pid 7, started 12:00, host a, holdfast mcp"},
		{"windows\r\n", "windows"},
		{strings.Repeat("x", 200), strings.Repeat("x", 200)},
		{strings.Repeat("x", 201), ""},
		{"", ""},
		{"\n", ""},
		{"esc \x1b[31m", ""},
		{"bidi \u202e", ""},
		{"\xff\xfe", ""},
		{"nul \x00", ""},
		{"größe", "größe"},
	} {
		d, _ := tempDir(t, nil)
		k, err := d.Lock(bg, "lock", 0, tc.text)
		check(t, err)
		_, err = d.Lock(bg, "lock", 0, "other")
		var busy *BusyError
		if !errors.As(err, &busy) || busy.Holder != tc.want {
			t.Errorf("%q: got %v", tc.text, err)
		}
		check(t, k.Unlock())
	}
}

// Whatever a crash left in the lock's text takes no part in who holds it.
func TestCaseC049_StaleTextOfAnyFormIsTakenOverAtOnce(t *testing.T) {
	sleeper := child(t, "lock", "sleep")
	in, err := sleeper.StdinPipe()
	check(t, err)
	check(t, sleeper.Start())
	defer func() { in.Close(); sleeper.Wait() }()
	dead := child(t, "lock", "exit")
	check(t, dead.Run())

	line := func(pid int, start, host string) string {
		return fmt.Sprintf("pid %d, started %s, host %s\n", pid, start, host)
	}
	host, _ := os.Hostname()
	now, past := "2026-11-30T20:00:00Z", "2001-01-01T00:00:00Z"
	for name, text := range map[string]string{
		"dead pid":           line(dead.Process.Pid, now, host),
		"pid of a sleep":     line(sleeper.Process.Pid, now, host),
		"our own pid":        line(os.Getpid(), now, host),
		"pid 1":              line(1, now, host),
		"another start time": line(os.Getpid(), past, host),
		"another host":       line(os.Getpid(), now, "elsewhere"),
		"future time":        line(os.Getpid(), "2999-01-01T00:00:00Z", host),
		"empty":              "",
		"garbage":            "\x00\xff\x1b{{{" + strings.Repeat("z", 5000),
		"no newline":         "42",
	} {
		t.Run(name, func(t *testing.T) {
			d, _ := tempDir(t, nil)
			put(t, d.join("lock"), text)
			k, err := d.Lock(bg, "lock", 0, "me\n") // no wait at all
			check(t, err)
			wantFile(t, d.join("lock"), "me\n")
			check(t, k.Unlock())
		})
	}
	t.Run("a folder", func(t *testing.T) {
		d, _ := tempDir(t, nil)
		check(t, os.Mkdir(d.join("lock"), 0o700))
		_, err := d.Lock(bg, "lock", 0, "me\n")
		var unsafe *UnsafeFileError
		if !errors.As(err, &unsafe) || unsafe.Path != d.join("lock") || unsafe.Why != "a folder in place of a file" {
			t.Fatalf("got %v", err)
		}
	})
}

// childLock is a process around a lock:
//
//	exit | sleep          end at once | wait for the end of input
//	hold DIR TEXT         take the lock, say "held", wait for the end of input
//	count DIR N           N times: lock, add one to the number in a file, unlock
func childLock(args []string) error {
	switch args[0] {
	case "exit":
		return nil
	case "sleep":
		_, err := io.Copy(io.Discard, os.Stdin)
		return err
	}
	d, err := (*Layer)(nil).OpenDir(args[1])
	if err != nil {
		return err
	}
	if args[0] == "hold" {
		k, err := d.Lock(bg, "lock", time.Minute, args[2])
		if err != nil {
			return err
		}
		fmt.Println("held")
		io.Copy(io.Discard, os.Stdin)
		return k.Unlock()
	}
	n, err := strconv.Atoi(args[2])
	for range n {
		if err == nil {
			err = countOne(d)
		}
	}
	return err
}

// countOne is a plain read-modify-write that only the lock makes safe.
func countOne(d *Dir) error {
	k, err := d.Lock(bg, "lock", time.Hour, "counter\n")
	if err != nil {
		return err
	}
	data, err := os.ReadFile(d.join("number"))
	n := 0
	if err == nil {
		n, err = strconv.Atoi(string(data))
	}
	if err == nil {
		err = os.WriteFile(d.join("number"), []byte(strconv.Itoa(n+1)), 0o600)
	}
	return errors.Join(err, k.Unlock())
}

func TestLockExcludesProcessesAndGoroutines(t *testing.T) {
	d, _ := tempDir(t, nil)
	put(t, d.join("number"), "0")
	const procs, each = 4, 100
	var wg sync.WaitGroup
	for range procs {
		wg.Go(func() {
			if err := child(t, "lock", "count", d.Path(), strconv.Itoa(each)).Run(); err != nil {
				t.Error(err)
			}
		})
		wg.Go(func() {
			for range each {
				if err := countOne(d); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	wantFile(t, d.join("number"), strconv.Itoa(2*procs*each))
}

// hold starts a process that holds the lock in d.
func hold(t *testing.T, d *Dir, text string) (*exec.Cmd, io.Closer) {
	t.Helper()
	cmd := child(t, "lock", "hold", d.Path(), text)
	in, err := cmd.StdinPipe()
	check(t, err)
	out, err := cmd.StdoutPipe()
	check(t, err)
	check(t, cmd.Start())
	t.Cleanup(func() { in.Close(); cmd.Process.Kill(); cmd.Wait() })
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "held\n" {
		t.Fatalf("the holder says %q, %v", line, err)
	}
	return cmd, in
}

func TestLockOfAKilledProcessIsFree(t *testing.T) {
	d, _ := tempDir(t, nil)
	cmd, _ := hold(t, d, "pid of one that gets killed\n")
	_, err := d.Lock(bg, "lock", 0, "me")
	var busy *BusyError
	if !errors.As(err, &busy) {
		t.Fatalf("got %v", err)
	}
	check(t, cmd.Process.Kill())
	cmd.Wait()
	k, err := d.Lock(bg, "lock", 0, "me")
	check(t, err)
	check(t, k.Unlock())
}
