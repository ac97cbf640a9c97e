package check

import (
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestTTYGivesATerminal(t *testing.T) {
	got := run(t, Command{Argv: sh("for fd in 0 1 2; do test -t $fd && echo yes; done; stty size; echo err >&2; exit 3"), TTY: true})
	if got.ExitCode != 3 || got.err != "" {
		t.Errorf("%+v %q", got.Run, got.err)
	}
	if want := "yes\r\nyes\r\nyes\r\n50 120\r\nerr\r\n"; got.out != want {
		t.Errorf("%q, want %q", got.out, want)
	}
}

func TestTTYTimeOutAndLongOutput(t *testing.T) {
	got := run(t, Command{Argv: sh("seq 1 20000; sleep 600 & wait"), TTY: true, Timeout: 2 * time.Second, Grace: 200 * time.Millisecond})
	if !got.TimedOut || !strings.HasSuffix(got.out, "19999\r\n20000\r\n") {
		t.Errorf("%+v ...%q", got.Run, got.out[max(0, len(got.out)-30):])
	}
}

func TestTTYOfAMissingProgram(t *testing.T) {
	if got := run(t, Command{Argv: []string{"./missing"}, TTY: true}); got.ExitCode != 127 || !got.NotFound {
		t.Errorf("%+v", got.Run)
	}
}

func TestTTYLeftBehind(t *testing.T) {
	dir := t.TempDir()
	got := run(t, Command{Argv: sh("trap '' HUP; sleep 600 & echo $! > pids; echo done"), Dir: dir, TTY: true})
	defer syscall.Kill(pids(t, dir+"/pids")[0], syscall.SIGKILL)
	if got.ExitCode != 0 || got.out != "done\r\n" {
		t.Errorf("%+v %q", got.Run, got.out)
	}
}
