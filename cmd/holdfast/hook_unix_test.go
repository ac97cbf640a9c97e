//go:build unix

package main

import (
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
)

func TestHookWaitsForNobody(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	b.must(0, "record", "goal", "ship-1", "--text", "Ship it now", "--source", "s")
	for _, name := range []string{b.path(".holdfast/lock"), strings.TrimSuffix(b.sessionsFile(), "jsonl") + "lock"} {
		f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); err != nil {
			t.Fatal(err)
		}
	}
	if a := b.hook(starts["claude"].stdin, "claude", "SessionStart"); !strings.Contains(a.out, "Ship it now") {
		t.Errorf("nothing is told while others hold the locks: %s", a.out)
	}
	b.hook(strings.ReplaceAll(stopInput, "%v", "false"), "claude", "Stop", "--remind")
}

func TestHookWithClosedStreams(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	b.must(0, "record", "goal", "ship-1", "--text", "Ship it now", "--source", "s")
	for _, line := range []string{
		"holdfast hook claude SessionStart <&-", "holdfast hook claude SessionStart >&-", "holdfast hook claude SessionStart 2>&-", "holdfast hook claude SessionStart <&- >&- 2>&-",
		"holdfast hook claude Stop <&- >&- 2>&-", "holdfast hook claude SessionStart </dev/null >/dev/full", "holdfast hook claude SessionStart <. ", "echo '{}' | holdfast hook claude SessionStart | true",
		"cd / && holdfast hook claude SessionStart </dev/null", "mkdir gone && cd gone && rmdir ../gone && holdfast hook claude SessionStart </dev/null",
	} {
		cmd := exec.Command("sh", "-c", line)
		cmd.Dir, cmd.Env = b.dir, b.env
		out, err := cmd.Output()
		if err != nil {
			t.Errorf("%s: %v", line, err)
		}
		nothingOrObject(t, string(out))
	}
}
