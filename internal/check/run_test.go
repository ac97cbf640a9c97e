//go:build unix

package check

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

var testEnv = []string{"PATH=/usr/local/bin:/usr/bin:/bin", "LC_ALL=C"}

// seen is a run with what came through.
type seen struct {
	*Run
	out, err string
}

func run(t *testing.T, c Command) seen {
	t.Helper()
	return runIn(t, t.Context(), c)
}

func runIn(t *testing.T, ctx context.Context, c Command) seen {
	t.Helper()
	var out, errs bytes.Buffer
	if c.Out == nil {
		c.Out = &out
	}
	if c.Err == nil {
		c.Err = &errs
	}
	if c.Dir == "" {
		c.Dir = t.TempDir()
	}
	if c.Env == nil {
		c.Env = testEnv
	}
	c.Now = time.Now
	r, err := Do(ctx, c)
	if err != nil {
		t.Fatal(err)
	}
	return seen{r, out.String(), errs.String()}
}

func sh(text string) []string { return []string{"/bin/sh", "-c", text} }

func script(t *testing.T, dir, name, text string, mode fs.FileMode) string {
	t.Helper()
	p := filepath.Join(dir, name)
	if err := os.WriteFile(p, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
	return p
}

func digestOf(out, err string) string {
	a, b := sha256.Sum256([]byte(out)), sha256.Sum256([]byte(err))
	both := sha256.Sum256(append(a[:], b[:]...))
	return hex.EncodeToString(both[:])
}

func TestStreamsPassUnchanged(t *testing.T) {
	binary := make([]byte, 300<<10)
	for i := range binary {
		binary[i] = byte(i * 7 % 256)
	}
	dir := t.TempDir()
	script(t, dir, "bin", string(binary), 0o644)
	for _, c := range []struct {
		name, text, out, err string
		lines                int64
	}{
		{"nothing", "true", "", "", 0},
		{"two streams", "echo out; echo err >&2; echo out2", "out\nout2\n", "err\n", 3},
		{"no final newline", "printf 'a\\nb'; printf x >&2", "a\nb", "x", 3},
		{"carriage returns and escapes", `printf 'a\r\n\033[31mred\033[0m\n'`, "a\r\n\x1b[31mred\x1b[0m\n", "", 2},
		{"binary", "cat bin", string(binary), "", int64(bytes.Count(binary, []byte("\n"))) + 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := run(t, Command{Argv: sh(c.text), Dir: dir})
			if got.out != c.out || got.err != c.err {
				t.Errorf("out %d bytes, err %q", len(got.out), got.err)
			}
			if o := got.Output; o.Bytes != int64(len(c.out)+len(c.err)) || o.Lines != c.lines || o.SHA256 != digestOf(c.out, c.err) {
				t.Errorf("%+v, want %d lines", o, c.lines)
			}
			if got.ExitCode != 0 || got.Tail != nil || got.OutErr != nil {
				t.Errorf("%+v", got.Run)
			}
		})
	}
}

func TestExitStatus(t *testing.T) {
	dir := t.TempDir()
	script(t, dir, "plain.txt", "text", 0o644)
	script(t, dir, "garbage", "\x00\x01\x02", 0o755)
	script(t, dir, "ok.sh", "#!/bin/sh\nexit 7\n", 0o755)
	script(t, dir, "lost.sh", "#!/nowhere/interpreter\n", 0o755)
	big := "x" + strings.Repeat("y", 4<<20)
	for _, c := range []struct {
		argv     []string
		code     int
		signal   string
		notFound bool
	}{
		{sh("exit 0"), 0, "", false}, {sh("exit 1"), 1, "", false}, {sh("exit 255"), 255, "", false},
		{[]string{"./ok.sh"}, 7, "", false}, {[]string{filepath.Join(dir, "ok.sh")}, 7, "", false},
		{[]string{"no-such-program-here"}, 127, "", true}, {[]string{"./missing"}, 127, "", true}, {[]string{"plain.txt/x"}, 127, "", true},
		{[]string{"./plain.txt"}, 126, "", true}, {[]string{"./garbage"}, 126, "", true}, {[]string{dir}, 126, "", true}, {[]string{"./lost.sh"}, 127, "", true},
		{[]string{"/bin/sh", "-c", "true", big}, 126, "", true},
		{sh("kill -KILL $$"), 137, "SIGKILL", false}, {sh("kill -TERM $$"), 143, "SIGTERM", false}, {sh("kill -SEGV $$"), 139, "SIGSEGV", false},
		{sh("no-such-program-here"), 127, "", false},
	} {
		got := run(t, Command{Argv: c.argv, Dir: dir})
		name := c.argv[0] + " " + c.argv[len(c.argv)-1][:min(30, len(c.argv[len(c.argv)-1]))]
		if got.ExitCode != c.code || got.Signal != c.signal || got.NotFound != c.notFound || got.TimedOut || got.Interrupted {
			t.Errorf("%s: %d %q not found %v, want %d %q %v", name, got.ExitCode, got.Signal, got.NotFound, c.code, c.signal, c.notFound)
		}
		if len(got.Output.SHA256) != 64 {
			t.Errorf("%s: no digest", name)
		}
	}
}

func TestFindFollowsPathAndNothingElse(t *testing.T) {
	dir, other := t.TempDir(), t.TempDir()
	script(t, dir, "tool", "#!/bin/sh\n", 0o755)
	script(t, other, "tool", "", 0o644)
	if got, err := Find("tool", dir, []string{"PATH=" + other + ":" + dir}); err != nil || got != filepath.Join(dir, "tool") {
		t.Errorf("%q %v: one that can't be run isn't passed over", got, err)
	}
	if _, err := Find("tool", dir, []string{"PATH=" + other}); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("%v", err)
	}
	for _, path := range []string{"PATH=", "PATH=.", "PATH=:", "X=1"} {
		if _, err := Find("tool", dir, []string{path}); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: found in the working directory: %v", path, err)
		}
	}
	if got, err := Find("tool", dir, []string{"PATH=" + other, "PATH=" + dir}); err != nil || got != filepath.Join(dir, "tool") {
		t.Errorf("the last of two isn't the one that counts: %q %v", got, err)
	}
}

func TestNoResultOfTheCommandIsAnError(t *testing.T) {
	for _, c := range []Command{{}, {Argv: []string{""}}, {Argv: sh("true"), Dir: filepath.Join(t.TempDir(), "gone")}} {
		c.Now = time.Now
		if r, err := Do(t.Context(), c); err == nil {
			t.Errorf("%+v: %+v", c.Argv, r)
		}
	}
}

func TestTheFolderAndTheEnvironmentAreThoseGiven(t *testing.T) {
	dir := t.TempDir()
	got := run(t, Command{Argv: sh("pwd -P; echo $PWD; echo $A; cat"), Dir: dir, Env: append(testEnv, "A=b", "PWD=/elsewhere")})
	real, _ := filepath.EvalSymlinks(dir)
	if want := real + "\n" + dir + "\nb\n"; got.out != want {
		t.Errorf("%q, want %q", got.out, want)
	}
}

// alive reports whether a process is there and no zombie.
func alive(pid int) bool {
	if syscall.Kill(pid, 0) != nil {
		return false
	}
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err != nil && runtime.GOOS != "linux" || err == nil && !bytes.Contains(b, []byte(") Z "))
}

func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for range 1000 {
		if ok() {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Error(what)
}

func pids(t *testing.T, file string) []int {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var out []int
	for _, f := range strings.Fields(string(b)) {
		n, err := strconv.Atoi(f)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, n)
	}
	return out
}

func TestTimeOutEndsTheWholeGroup(t *testing.T) {
	for name, trap := range map[string]string{"ends at TERM": "", "ignores TERM": "trap '' TERM; "} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			text := trap + "echo $$ >> pids; (" + trap + "sh -c 'echo $$ >> pids; sleep 600'; true) & sleep 600 & echo $! >> pids; echo before; wait"
			got := run(t, Command{Argv: sh(text), Dir: dir, Timeout: 500 * time.Millisecond, Grace: 300 * time.Millisecond})
			if !got.TimedOut || got.ExitCode != ExitTimedOut || got.out != "before\n" {
				t.Errorf("%+v %q", got.Run, got.out)
			}
			all := pids(t, filepath.Join(dir, "pids"))
			if len(all) != 3 {
				t.Fatalf("%v", all)
			}
			for _, pid := range all {
				eventually(t, fmt.Sprintf("process %d outlived the time-out", pid), func() bool { return !alive(pid) })
			}
		})
	}
}

func TestAfterTheTimeOutChildrenHaveTheGraceToTidyUp(t *testing.T) {
	dir := t.TempDir()
	// The leader ends at TERM at once; its child takes a moment to tidy up.
	text := "sh -c 'trap \"sleep 0.3; echo tidy > tidied; exit\" TERM; echo x > ready; while :; do sleep 0.05; done' & while [ ! -e ready ]; do sleep 0.02; done; wait"
	got := run(t, Command{Argv: sh(text), Dir: dir, Timeout: time.Second, Grace: 20 * time.Second})
	if !got.TimedOut {
		t.Errorf("%+v", got.Run)
	}
	if _, err := os.Stat(filepath.Join(dir, "tidied")); err != nil {
		t.Error("a child was killed before its grace was over")
	}
}

func TestACommandThatEndsWellAtTheTimeOutStillTimedOut(t *testing.T) {
	got := run(t, Command{Argv: sh("trap 'exit 0' TERM; while :; do sleep 0.05; done"), Timeout: 300 * time.Millisecond})
	if !got.TimedOut || got.ExitCode != 124 || Outcome(got.Run, true, true, got.Told) != "timed_out" {
		t.Errorf("%+v", got.Run)
	}
}

func TestSignalsArePassedOn(t *testing.T) {
	ready, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer ready.Close()
	defer w.Close()
	signals := make(chan os.Signal, 1)
	go func() {
		var b [1]byte
		if _, err := ready.Read(b[:]); err == nil {
			signals <- syscall.SIGINT
		}
	}()
	got := run(t, Command{Argv: sh("trap 'echo caught; exit 3' INT; echo r; while :; do sleep 0.05; done"), Out: io.MultiWriter(w), Signals: signals})
	if !got.Interrupted || got.ExitCode != 3 || Outcome(got.Run, true, true, got.Told) != "killed" {
		t.Errorf("%+v", got.Run)
	}
}

func TestAClosedChannelOfSignalsIsNone(t *testing.T) {
	signals := make(chan os.Signal)
	close(signals)
	if got := run(t, Command{Argv: sh("sleep 0.2"), Signals: signals}); got.Interrupted || got.ExitCode != 0 {
		t.Errorf("%+v", got.Run)
	}
}

func TestACancelledContextEndsIt(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(200*time.Millisecond, cancel)
	got := runIn(t, ctx, Command{Argv: sh("sleep 600 & wait"), Grace: 200 * time.Millisecond})
	if !got.Interrupted || got.Signal != "SIGTERM" || got.ExitCode != 143 {
		t.Errorf("%+v", got.Run)
	}
}

func TestAProcessLeftBehindDoesNotHoldTheRun(t *testing.T) {
	dir := t.TempDir()
	got := run(t, Command{Argv: sh("(while :; do echo tick; sleep 0.1; done) & echo $! > pids; echo done; exit 4"), Dir: dir})
	pid := pids(t, filepath.Join(dir, "pids"))[0]
	defer syscall.Kill(pid, syscall.SIGKILL)
	if got.ExitCode != 4 || !strings.Contains(got.out, "done\n") || !alive(pid) {
		t.Errorf("%+v %q alive %v", got.Run, got.out, alive(pid))
	}
}

// slow is a reader such as a pager: it takes its time before each piece.
type slow struct {
	bytes.Buffer
	wait time.Duration
}

func (s *slow) Write(b []byte) (int, error) {
	time.Sleep(s.wait)
	return s.Buffer.Write(b)
}

func TestASlowReaderGetsAllOfIt(t *testing.T) {
	out := &slow{wait: left + 500*time.Millisecond}
	got := run(t, Command{Argv: sh("head -c 100000 /dev/zero; echo end"), Out: out})
	if out.Len() != 100004 || got.Output.Bytes != 100004 {
		t.Errorf("%d bytes came through, %d were counted", out.Len(), got.Output.Bytes)
	}
}

// leaver takes some bytes and then leaves, as head does.
type leaver struct{ left int }

func (l *leaver) Write(b []byte) (int, error) {
	if l.left -= len(b); l.left < 0 {
		return 0, syscall.EPIPE
	}
	return len(b), nil
}

func TestAReaderThatLeftEndsNeitherTheCommandNorTheOtherStream(t *testing.T) {
	var errs bytes.Buffer
	got := run(t, Command{Argv: sh("head -c 1000000 /dev/zero; sleep 0.2; echo still here >&2; exit 5"), Out: &leaver{left: 10}, Err: &errs})
	if got.ExitCode != 5 || !errors.Is(got.OutErr, syscall.EPIPE) || got.Output.Bytes != 1000011 {
		t.Errorf("%+v", got.Run)
	}
	if errs.String() != "still here\n" {
		t.Errorf("standard error was cut: %q", errs.String())
	}
}

func TestBigOutputStaysSmallInMemory(t *testing.T) {
	const size = 256 << 20
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	got := run(t, Command{Argv: sh("head -c " + strconv.Itoa(size) + " /dev/zero"), Out: io.Discard, Tail: 4096})
	runtime.ReadMemStats(&after)
	if got.Output.Bytes != size || got.Output.Lines != 1 || len(got.Tail) != 4096 {
		t.Errorf("%+v", got.Output)
	}
	if grown := after.TotalAlloc - before.TotalAlloc; grown > 8<<20 {
		t.Errorf("%d bytes were allocated", grown)
	}
}

func TestTailKeepsTheEndOfBothStreams(t *testing.T) {
	got := run(t, Command{Argv: sh("seq 1 5000; sleep 0.2; echo last >&2"), Tail: 64})
	if s := string(got.Tail); len(s) != 64 || !strings.HasSuffix(s, "4999\n5000\nlast\n") {
		t.Errorf("%q", s)
	}
	if got := run(t, Command{Argv: sh("printf ab"), Tail: 64}); string(got.Tail) != "ab" {
		t.Errorf("%q", got.Tail)
	}
}

func TestInputReachesTheCommand(t *testing.T) {
	f := script(t, t.TempDir(), "in", "hello\n", 0o644)
	in, err := os.Open(f)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	if got := run(t, Command{Argv: []string{"cat"}, In: in}); got.out != "hello\n" {
		t.Errorf("%q", got.out)
	}
}
