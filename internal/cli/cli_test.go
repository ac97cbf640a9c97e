package cli

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"holdfast/internal/ledger"
	"holdfast/internal/project"
)

func rootForTest() *cobra.Command { return newRoot(&app{w: &project.World{}}) }

// TestCommandsExplainThemselves: each has a summary, help that ends in its exit
// statuses, examples that use its real name, and flags that say what they do.
func TestCommandsExplainThemselves(t *testing.T) {
	root := rootForTest()
	for _, c := range append([]*cobra.Command{root}, root.Commands()...) {
		if c.Name() == "help" || c.Hidden && c.Name() != "man" {
			continue
		}
		name := c.CommandPath()
		_, exits, found := strings.Cut(c.Long, "\n\nEXIT STATUS\n")
		if !found || !strings.HasPrefix(exits, "  0  ") || strings.HasSuffix(c.Long, "\n") {
			t.Errorf("%s: help does not end in EXIT STATUS", name)
		}
		if c.Short == "" || strings.HasSuffix(c.Short, ".") {
			t.Errorf("%s: summary is %q", name, c.Short)
		}
		for _, line := range strings.Split(c.Example, "\n") {
			if !strings.HasPrefix(line, "  ") || !strings.Contains(line, name) {
				t.Errorf("%s: example %q", name, line)
			}
			checkExample(t, root, line)
		}
		for _, line := range strings.Split(c.Long, "\n") {
			if len(line) > 90 {
				t.Errorf("%s: a line of %d columns: %s", name, len(line), line)
			}
		}
		c.Flags().VisitAll(func(f *pflag.Flag) {
			if f.Usage == "" || strings.HasSuffix(f.Usage, ".") {
				t.Errorf("%s --%s: usage is %q", name, f.Name, f.Usage)
			}
		})
	}
}

// checkExample: the flags of an example exist.
func checkExample(t *testing.T, root *cobra.Command, line string) {
	line, _, _ = strings.Cut(line, " -- ") // what follows is another command's
	t.Helper()
	_, rest, _ := strings.Cut(line, "holdfast")
	words := strings.Fields(rest)
	cmd, _, err := root.Find(words[:min(1, len(words))])
	if err != nil {
		t.Errorf("%s: %v", line, err)
		return
	}
	for _, w := range words {
		if name, ok := strings.CutPrefix(w, "--"); ok && cmd.Flag(name) == nil {
			t.Errorf("%s: no flag --%s", line, name)
		}
	}
}

// TestRecordHasEveryField: each field of a request has a flag, and stands in
// the help.
func TestRecordHasEveryField(t *testing.T) {
	record, _, err := rootForTest().Find([]string{"record"})
	if err != nil {
		t.Fatal(err)
	}
	other := map[string]string{"cites": "cite", "expected_revision": "expect-revision", "expected_recovery": "expect-recovery"}
	typ := reflect.TypeFor[project.RecordRequest]()
	for i := range typ.NumField() {
		name, _, _ := strings.Cut(typ.Field(i).Tag.Get("json"), ",")
		if !strings.Contains(recordLong, name) {
			t.Errorf("the help of record does not name %s", name)
		}
		flag := strings.ReplaceAll(name, "_", "-")
		if o := other[name]; o != "" {
			flag = o
		}
		if name != "id" && name != "kind" && record.Flag(flag) == nil && record.InheritedFlags().Lookup(flag) == nil {
			t.Errorf("no flag --%s for %s", flag, name)
		}
	}
}

func TestEveryExitStatusHasAMeaning(t *testing.T) {
	seen := map[string]int{}
	for _, c := range allExits {
		m := exitMeaning(c)
		if other, twice := seen[m]; twice || m == "" {
			t.Errorf("status %d means %q, as does %d", c, m, other)
		}
		seen[m] = c
	}
	if !slices.IsSorted(allExits) || len(allExits) != project.ExitRefused+1 {
		t.Errorf("statuses are %v", allExits)
	}
}

// TestManPages: man(7) has nothing to say against them, and no part of the help
// is lost.
func TestManPages(t *testing.T) {
	root := rootForTest()
	for _, c := range documented(root) {
		page := manPage(c)
		if page != manPage(c) {
			t.Errorf("%s: two pages differ", c.CommandPath())
		}
		for _, part := range []string{".SH \"NAME\"", ".SH \"SYNOPSIS\"", ".SH \"DESCRIPTION\"", ".SH \"OPTIONS\"", ".SH \"EXIT STATUS\"\n.TP\n.B \"0\"\n", ".SH \"EXAMPLES\""} {
			if !strings.Contains(page, part) {
				t.Errorf("%s: no %s", c.CommandPath(), part)
			}
		}
		checkTroff(t, c.CommandPath(), page)
	}
}

func checkTroff(t *testing.T, name, page string) {
	t.Helper()
	groff, err := exec.LookPath("groff")
	if err != nil {
		t.Log("groff is not here: pages are not formatted")
		return
	}
	cmd := exec.Command(groff, "-man", "-ww", "-z")
	cmd.Stdin = strings.NewReader(page)
	if out, err := cmd.CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("%s: %v\n%s", name, err, out)
	}
}

func TestPrintable(t *testing.T) {
	for word, shown := range map[string]bool{
		"resum": true, "expected_revision": true, "n-1": true, "v1.2": true,
		"": false, "a b": false, "\x1b[31m": false, "ghp_" + strings.Repeat("a", 36): false, "AKIA0123456789ABCDEF": false, "ünder": false,
	} {
		if got := printable(word) == word; got != shown {
			t.Errorf("%q: shown %v, want %v", word, got, shown)
		}
	}
}

func TestNearest(t *testing.T) {
	flags := []string{"text", "answer", "expect-revision", "expect-recovery", "rejected"}
	for word, want := range map[string]string{
		"txt": "text", "tekst": "text", "expected-revision": "expect-revision", "expect-rev": "expect-revision", "rejected": "rejected", "colour": "", "x": "",
	} {
		if got := nearest(word, flags); got != want {
			t.Errorf("%q: %q, want %q", word, got, want)
		}
	}
	if d := distance("kitten", "sitting"); d != 3 {
		t.Errorf("kitten to sitting takes %d", d)
	}
}

func TestRejectedFlag(t *testing.T) {
	var got *[]ledger.Rejected
	f := rejectedFlag{&got}
	for _, s := range []string{"Postgres: needs a server", "std::map: slow: very", "C", "a:b"} {
		if err := f.Set(s); err != nil {
			t.Fatal(err)
		}
	}
	want := []ledger.Rejected{{Option: "Postgres", Why: "needs a server"}, {Option: "std::map", Why: "slow: very"}, {Option: "C"}, {Option: "a:b"}}
	if d := cmp.Diff(want, *got); d != "" {
		t.Error(d)
	}
	if err := f.Set(""); err == nil {
		t.Error("an empty one among others is taken")
	}
	got = nil
	if err := f.Set(""); err != nil || got == nil || len(*got) != 0 {
		t.Errorf("an empty one alone gives %v, %v", got, err)
	}
}

func TestTable(t *testing.T) {
	p := &printer{width: 40}
	p.table([][]string{{"a", "long-id", "short"}, {"bbb", "é", "a text that does not fit in the line"}}, nil)
	want := "a    long-id  short\nbbb  é        a text that does not fit …\n"
	if d := cmp.Diff(want, p.String()); d != "" {
		t.Error(d)
	}
}

// failing is a stream that takes nothing.
type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }

func TestOutputErrors(t *testing.T) {
	h := newHouse(t)
	for _, c := range []struct {
		args   []string
		err    error
		status int
		says   string
	}{
		{[]string{"record", "note", "a", "--text", "A", "--source", "s"}, syscall.ENOSPC, project.ExitBusy, "the save stands as revision 1"},
		{[]string{"record", "note", "b", "--text", "B", "--source", "s", "--json"}, io.ErrShortWrite, project.ExitBusy, "the save stands as revision 2"},
		{[]string{"list"}, syscall.EPIPE, project.ExitBusy, ""},
		{[]string{"list", "--json"}, syscall.EPIPE, project.ExitBusy, ""},
		{[]string{"--help"}, syscall.EPIPE, project.ExitBusy, ""},
		{[]string{"done", "nosuch", "--json"}, syscall.EPIPE, project.ExitUsage, "there is no record nosuch"},
	} {
		var errs bytes.Buffer
		got := Main(context.Background(), h.world(agent), c.args, Streams{In: strings.NewReader(""), Out: failing{c.err}, Err: &errs})
		if got != c.status || !strings.Contains(errs.String(), c.says) || c.says == "" && errs.Len() > 0 {
			t.Errorf("%v: status %d, says %q", c.args, got, errs.String())
		}
	}
	if r := h.must(agent, "list"); !strings.Contains(r.out, "a*") || !strings.Contains(r.out, "b*") {
		t.Errorf("the saves are not there:\n%s", r.out)
	}
}

// TestAnswerComesFirst: when the answer of a save is written, the preview of
// before still stands; it follows the answer.
func TestAnswerComesFirst(t *testing.T) {
	h := newHouse(t)
	h.must(agent, "record", "note", "a", "--text", "First", "--source", "s")
	preview := filepath.Join(h.dir, ".holdfast", "HANDOFF.md")
	before, err := os.ReadFile(preview)
	if err != nil {
		t.Fatal(err)
	}
	var then []byte
	out := writerFunc(func(b []byte) (int, error) {
		then, err = os.ReadFile(preview)
		return len(b), err
	})
	h.now = h.now.Add(time.Minute)
	if got := Main(context.Background(), h.world(agent), []string{"record", "note", "b", "--text", "Second", "--source", "s"},
		Streams{In: strings.NewReader(""), Out: out, Err: io.Discard}); got != 0 {
		t.Fatal(got)
	}
	after, err := os.ReadFile(preview)
	if err != nil || !bytes.Equal(before, then) || !bytes.Contains(after, []byte("Second")) {
		t.Errorf("%v\nbefore:\n%s\nwhile answering:\n%s\nafter:\n%s", err, before, then, after)
	}
}

// TestInterruptedInput: a command that waits for its input can be ended.
func TestInterruptedInput(t *testing.T) {
	h := newHouse(t)
	ctx, cancel := context.WithCancel(context.Background())
	in, keep := io.Pipe()
	defer keep.Close()
	var errs bytes.Buffer
	done := make(chan int)
	go func() {
		done <- Main(ctx, h.world(agent), []string{"record", "--file", "-"}, Streams{In: in, Out: io.Discard, Err: &errs})
	}()
	if _, err := keep.Write([]byte(`{"id":`)); err != nil { // it is reading by now
		t.Fatal(err)
	}
	cancel()
	if got := <-done; got != project.ExitBusy || !strings.Contains(errs.String(), "interrupted; nothing was saved") {
		t.Errorf("status %d, says %q", got, errs.String())
	}
	if _, err := os.Lstat(filepath.Join(h.dir, ".holdfast")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a ledger was made: %v", err)
	}
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(b []byte) (int, error) { return f(b) }

func TestProgress(t *testing.T) {
	var errs bytes.Buffer
	a := &app{w: &project.World{}, Streams: Streams{Err: &errs, ErrTTY: true}}
	stop := a.progress()
	stop()
	stop()
	if errs.Len() > 0 {
		t.Errorf("a quick command says %q", errs.String())
	}
	said := make(chan string, 2)
	a.Err = writerFunc(func(b []byte) (int, error) { said <- string(b); return len(b), nil })
	stop = a.progress()
	if got := <-said; got != "holdfast: working..." {
		t.Errorf("a slow command says %q", got)
	}
	stop()
	if got := <-said; got != "\r\x1b[K" {
		t.Errorf("and takes it away with %q", got)
	}
	for _, quiet := range []*app{
		{w: &project.World{}, Streams: Streams{Err: failing{errors.New("written to")}}},
		{w: &project.World{Env: []string{"TERM=dumb"}}, Streams: Streams{Err: failing{errors.New("written to")}, ErrTTY: true}},
		{w: &project.World{}, Streams: Streams{Err: failing{errors.New("written to")}, ErrTTY: true}, json: true},
	} {
		if quiet.showsProgress() {
			t.Errorf("%+v shows progress", quiet)
		}
	}
}

func TestAncestors(t *testing.T) {
	if runtime.GOOS != "linux" && runtime.GOOS != "darwin" && runtime.GOOS != "windows" {
		t.Skip("no way to ask on this system")
	}
	self := strings.TrimSuffix(filepath.Base(os.Args[0]), ".exe")
	names := ancestors(os.Getpid())
	if !slices.ContainsFunc(names, func(n string) bool { return strings.HasPrefix(self, strings.TrimSuffix(n, ".exe")) }) || len(names) < 2 {
		t.Errorf("the ancestors of %s are %q", self, names)
	}
	if got := ancestors(-1); got != nil {
		t.Errorf("no process has the ancestors %q", got)
	}
}

// FuzzArgs: whatever the command line, the status is one of the documented
// ones, and --json answers with one object.
func FuzzArgs(f *testing.F) {
	for _, s := range []string{"list", "record goal a --text b --source c", "done a --expect-revision 1", "--json show a", "help list", "log --since 0", "resume --budget 9", "\xff --\x00"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, line string) {
		if strings.Contains(line, "project") || strings.Contains(line, "output") || strings.Contains(line, "mcp") || strings.Contains(line, "file") {
			t.Skip() // would reach out of the test's folder, or read for ever
		}
		h := &house{t: t, dir: t.TempDir(), home: t.TempDir(), now: time.Unix(1800000000, 0)}
		h.rand = newRand()
		r := h.run(agent, strings.Split(line, " ")...)
		if r.status < 0 || r.status > project.ExitRefused {
			t.Errorf("%q: status %d", line, r.status)
		}
		if strings.ContainsRune(r.err, '\x1b') {
			t.Errorf("%q: an escape sequence on standard error", line)
		}
	})
}
