package surface

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"holdfast/internal/git"
)

func lookOne(tb testing.TB, o *Observer, w Want) Look {
	tb.Helper()
	w.Key = "key"
	ls, err := o.Look(context.Background(), []Want{w})
	if err != nil || len(ls) != 1 || ls[0].Key != "key" {
		tb.Fatalf("look at %s: %+v, %v", w.Surface, ls, err)
	}
	l := ls[0]
	l.Key = ""
	return l
}

func sum(s string) string { return sumHex([]byte(s)) }

func TestLookFile(t *testing.T) {
	dir := project(t)
	write(t, dir, "f", "text")
	write(t, dir, "d/x", "")
	link(t, dir, "l", "f")
	link(t, dir, "dangling", "nowhere")
	link(t, dir, "round", "round")
	if err := os.Chmod(filepath.Join(dir, "f"), 0o640); err != nil {
		t.Fatal(err)
	}
	o := observer(dir)
	for surface, want := range map[string]Look{
		"file:f":          {State: Present, Facts: map[string]string{"type": "file", "sha256": sum("text"), "size": "4", "mode": "0640"}},
		"file:missing":    {State: Absent},
		"file:f/x":        {State: Absent}, // below a file there is nothing
		"file:no/where":   {State: Absent},
		"file:l":          {State: Present, Facts: map[string]string{"type": "link", "link": "f"}},
		"dir:l":           {State: Present, Facts: map[string]string{"type": "link", "link": "f"}},
		"file:dangling":   {State: Present, Facts: map[string]string{"type": "link", "link": "nowhere"}},
		"file:d":          {State: Present, Facts: map[string]string{"type": "dir", "mode": "0755"}},
		"dir:f":           {State: Present, Facts: map[string]string{"type": "file", "sha256": sum("text"), "size": "4", "mode": "0640"}},
		"file:round/x":    {State: Unknown, Why: "its links go round in a circle"},
		"file:.git/x":     {State: Unknown, Why: "it is never looked at"},
		"file:../x":       {State: Unknown, Why: "it is never looked at"},
		"probe:tests":     {State: Unknown, Why: "the probe has no definition"},
		"record:x":        {State: Unknown, Why: "records can't be read here"},
		"git:ref:HEAD":    {State: Unknown, Why: "its repository can't be reached from here"},
		"somewhere:there": {State: Unknown, Why: "it is not a surface that this build knows"},
	} {
		l := lookOne(t, o, Want{Surface: surface, Worktree: "main"})
		l.Stamp = ""
		if diff := cmp.Diff(want, l); diff != "" {
			t.Errorf("%s (-want +got):\n%s", surface, diff)
		}
	}
	if l := lookOne(t, o, Want{Surface: "file:f", Worktree: "side"}); l.State != Unknown {
		t.Errorf("in a worktree that isn't here: %+v", l)
	}
}

// TestLookLinkSwap: a parent that became a link after the beginning doesn't
// lead the look out of the project.
func TestLookLinkSwap(t *testing.T) {
	dir, other := project(t), project(t)
	write(t, other, "secret", "x")
	write(t, dir, "in/secret", "mine")
	link(t, dir, "sub", other)
	link(t, dir, "sub2", "in")
	if l := lookOne(t, observer(dir), Want{Surface: "file:sub/secret", Worktree: "main"}); l.State != Unknown {
		t.Errorf("outside: %+v", l)
	}
	if l := lookOne(t, observer(dir), Want{Surface: "file:sub2/secret", Worktree: "main"}); l.Facts["sha256"] != sum("mine") {
		t.Errorf("inside: %+v", l)
	}
}

// treeByHand computes the digest of a folder as its comment says.
func treeByHand(t *testing.T, dir string, bits bool) string {
	t.Helper()
	var lines []string
	err := filepath.Walk(dir, func(p string, info os.FileInfo, err error) error {
		rel, _ := filepath.Rel(dir, p)
		if err != nil || rel == "." {
			return err
		}
		if reservedName(info.Name()) {
			return filepath.SkipDir
		}
		typ, mode, content := "f", fmt.Sprintf("%04o", info.Mode().Perm()), "-"
		switch {
		case info.IsDir():
			typ = "d"
		case info.Mode()&os.ModeSymlink != 0:
			target, err := os.Readlink(p)
			if err != nil {
				return err
			}
			typ, mode, content = "l", "-", sum(target)
		default:
			b, err := os.ReadFile(p)
			if err != nil {
				return err
			}
			content = sumHex(b)
		}
		if !bits {
			mode = "-"
		}
		lines = append(lines, filepath.ToSlash(rel)+"\x00"+typ+" "+mode+" "+content+" ")
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	sort.Strings(lines)
	h := sha256.New()
	for _, l := range lines {
		path, head, _ := strings.Cut(l, "\x00")
		io.WriteString(h, head+path+"\x00")
	}
	return hex.EncodeToString(h.Sum(nil))
}

func TestLookFolder(t *testing.T) {
	dir := project(t)
	for i := range 300 {
		write(t, dir, fmt.Sprintf("d/s%d/f%d", i%7, i), fmt.Sprint(i))
	}
	for _, p := range []string{"d/a", "d/a.b", "d/a/b", "d/.git/config", "d/s1/.holdfast/FORMAT"} {
		if p != "d/a" {
			write(t, dir, p, p)
		}
	}
	link(t, dir, "d/l", "s1")
	o := observer(dir)
	whole := Want{Surface: "dir:d", Worktree: "main", Whole: true, Names: []string{"a", "a.b", "a/b", "l", "l/f1", "none", "s1/f1"}}
	l := lookOne(t, o, whole)
	if l.State != Present || l.Facts["tree"] != treeByHand(t, filepath.Join(dir, "d"), true) || l.Facts["files"] != "303" {
		t.Errorf("whole: %+v", l.Facts)
	}
	if diff := cmp.Diff(map[string]map[string]string{
		"a":     {"type": "dir", "mode": "0755"},
		"a.b":   {"type": "file", "sha256": sum("d/a.b"), "size": "5", "mode": "0644"},
		"a/b":   {"type": "file", "sha256": sum("d/a/b"), "size": "5", "mode": "0644"},
		"l":     {"type": "link", "link": "s1"},
		"s1/f1": {"type": "file", "sha256": sum("1"), "size": "1", "mode": "0644"},
	}, l.Names); diff != "" {
		t.Errorf("names (-want +got):\n%s", diff)
	}
	noBits := whole
	noBits.Ignore = []string{"mode"}
	before := lookOne(t, o, noBits).Facts["tree"]
	if before != treeByHand(t, filepath.Join(dir, "d"), false) {
		t.Error("whole without bits")
	}
	if err := os.Chmod(filepath.Join(dir, "d/s1/f1"), 0o600); err != nil {
		t.Fatal(err)
	}
	if lookOne(t, o, noBits).Facts["tree"] != before || lookOne(t, o, whole).Facts["tree"] == l.Facts["tree"] {
		t.Error("permission bits")
	}
	if one, many := lookOne(t, observer(dir, func(o *Options) { o.Workers = 1 }), whole), lookOne(t, observer(dir, func(o *Options) { o.Workers = 16 }), whole); one.Facts["tree"] != many.Facts["tree"] {
		t.Error("the digest depends on how many look")
	}
}

// TestStamps: a stat tells whether a look still holds.
func TestStamps(t *testing.T) {
	dir := project(t)
	write(t, dir, "f", "1")
	write(t, dir, "d/e/x", "1")
	link(t, dir, "l", "f")
	o := observer(dir)
	var last []Look
	wants := []Want{
		{Key: "f", Surface: "file:f", Worktree: "main"},
		{Key: "d", Surface: "dir:d", Worktree: "main", Whole: true},
		{Key: "n", Surface: "dir:d", Worktree: "main", Names: []string{"e/x", "y"}},
		{Key: "l", Surface: "file:l", Worktree: "main"},
		{Key: "g", Surface: "file:g", Worktree: "main"},
	}
	stamps := func() (of []string) {
		t.Helper()
		looks, err := o.Look(context.Background(), wants)
		if err != nil {
			t.Fatal(err)
		}
		if same, err := o.Unchanged(context.Background(), wants, looks); err != nil || !same {
			t.Errorf("nothing changed, and the looks don't hold: %v", err)
		}
		for i := range looks {
			if looks[i].Stamp == "" {
				t.Errorf("%s has no stamp", wants[i].Key)
			}
			of = append(of, looks[i].Stamp)
		}
		if last != nil {
			same, err := o.Unchanged(context.Background(), wants, last)
			if err != nil || same != slices.EqualFunc(last, looks, func(a, b Look) bool { return a.Stamp == b.Stamp }) {
				t.Errorf("by stat alone: %v, %v", same, err)
			}
		}
		last = looks
		return of
	}
	changes := []struct {
		what string
		do   func()
		keys string
	}{
		{"nothing", func() {}, ""},
		{"the file", func() { write(t, dir, "f", "2") }, "f"},
		{"an entry", func() { write(t, dir, "d/e/x", "2") }, "d n"},
		{"a new entry", func() { write(t, dir, "d/e/z", "2") }, "d"},
		{"a new file", func() { write(t, dir, "g", "") }, "g"},
		{"the link", func() { os.Remove(filepath.Join(dir, "l")); link(t, dir, "l", "g") }, "l"},
		{"bits", func() { os.Chmod(filepath.Join(dir, "f"), 0o600) }, "f"},
	}
	before := stamps()
	for _, c := range changes {
		time.Sleep(10 * time.Millisecond) // a tick of the file system's clock
		c.do()
		after := stamps()
		var changed []string
		for i := range before {
			if before[i] != after[i] {
				changed = append(changed, wants[i].Key)
			}
		}
		if strings.Join(changed, " ") != c.keys {
			t.Errorf("%s: %v changed, want %s", c.what, changed, c.keys)
		}
		before = after
	}
}

// TestIgnoreJSON: parts that were declared volatile don't count, everything
// else does.
func TestIgnoreJSON(t *testing.T) {
	dir := project(t)
	o := observer(dir)
	at := func(text string) string {
		write(t, dir, "f", text)
		return lookOne(t, o, Want{Surface: "file:f", Worktree: "main", Ignore: []string{"json:/t", "json:/deep/list/0", "json:/a~1b"}}).Facts["sha256"]
	}
	base := at(`{"t":1,"v":1.50,"deep":{"list":[1,2]},"a/b":"x"}`)
	if base != sum(`{"deep":{"list":[null,2]},"v":1.50}`) {
		t.Error("not the digest of the compact form with sorted names")
	}
	for _, same := range []string{`{ "v":1.50, "t":2, "deep":{"list":[9,2]} }`, "{\"v\":1.50,\n\"deep\":{\"list\":[7,2]}}\n"} {
		if at(same) != base {
			t.Errorf("%s is another", same)
		}
	}
	for _, other := range []string{`{"t":1,"v":1.5,"deep":{"list":[1,2]}}`, `{"v":1.50,"deep":{"list":[1,3]}}`, `{"v":1.50}`, `[]`, `{"v":`, ``} {
		if at(other) == base {
			t.Errorf("%s is the same", other)
		}
	}
	if at(`{"v":`) != sum(`{"v":`) {
		t.Error("what is no JSON is not hashed as it is")
	}
}

// TestLookChanging: a file that never rests is unknown, and never half of one
// state and half of another.
func TestLookChanging(t *testing.T) {
	dir := project(t)
	states := []string{strings.Repeat("a", 3<<20), strings.Repeat("b", 3<<20+1)}
	write(t, dir, "f", states[0])
	stop, done := make(chan bool), make(chan bool)
	go func() {
		defer close(done)
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
				os.WriteFile(filepath.Join(dir, "f"), []byte(states[i%2]), 0o644)
			}
		}
	}()
	o := observer(dir)
	seen := map[string]int{}
	for range 30 {
		l := lookOne(t, o, Want{Surface: "file:f", Worktree: "main"})
		switch {
		case l.State == Unknown && l.Why == errChanging.Error():
			seen["unknown"]++
		case l.Facts["sha256"] == sum(states[0]), l.Facts["sha256"] == sum(states[1]), l.Facts["size"] == "0":
			seen["whole"]++
		case l.Facts["size"] != "0" && len(l.Facts["sha256"]) == 64:
			seen["partly written"]++ // a state of the file too: it was truncated before
		default:
			t.Errorf("%+v", l)
		}
	}
	close(stop)
	<-done
	t.Log(seen)
	if l := lookOne(t, o, Want{Surface: "file:f", Worktree: "main"}); l.State != Present {
		t.Errorf("at rest: %+v", l)
	}
}

func TestLookManyEntries(t *testing.T) {
	if testing.Short() {
		t.Skip("makes 100,000 files")
	}
	dir := project(t)
	if err := os.Mkdir(filepath.Join(dir, "d"), 0o755); err != nil {
		t.Fatal(err)
	}
	for i := range 100_000 {
		f, err := os.OpenFile(filepath.Join(dir, "d", fmt.Sprint(i)), os.O_CREATE|os.O_WRONLY, 0o644)
		if err != nil {
			t.Fatal(err)
		}
		f.Close()
	}
	if l := lookOne(t, observer(dir), Want{Surface: "dir:d", Worktree: "main", Whole: true}); l.Facts["files"] != "100000" {
		t.Errorf("%+v", l)
	}
}

// TestRefsRecordsProbes: what others read is taken as it is, and their failure
// is no absence.
func TestRefsRecordsProbes(t *testing.T) {
	dir := project(t)
	broken := errors.New("disk on fire")
	o := observer(dir, func(o *Options) {
		o.Refs = map[string]Refs{"main": refs{"refs/heads/main": "abc"}}
		o.Record = func(_ context.Context, id string) (Record, bool, error) {
			if id == "bad" {
				return Record{}, false, broken
			}
			return Record{Revision: 7, Status: "done"}, id == "here", nil
		}
		o.Probe = func(_ context.Context, name string, argv []string, timeout time.Duration) (int, string, error) {
			if name == "bad" {
				return 0, "", broken
			}
			if !slices.Equal(argv, []string{"go", "test"}) || timeout != 5*time.Second {
				t.Errorf("probe %s: %v, %v", name, argv, timeout)
			}
			return 3, "cafe", nil
		}
	})
	for surface, want := range map[string]Look{
		"git:ref:refs/heads/main": {State: Present, Facts: map[string]string{"type": "ref", "oid": "abc"}},
		"git:ref:refs/heads/none": {State: Absent},
		"git:ref:refs/heads/bad":  {State: Unknown, Why: "git's ref could not be read"},
		"record:here":             {State: Present, Facts: map[string]string{"type": "record", "revision": "7", "status": "done"}},
		"record:none":             {State: Absent},
		"record:bad":              {State: Unknown, Why: "the record could not be read"},
		"probe:tests":             {State: Present, Facts: map[string]string{"type": "probe", "exit": "3", "sha256": "cafe"}},
		"probe:bad":               {State: Unknown, Why: "the probe could not be run to its end"},
	} {
		l := lookOne(t, o, Want{Surface: surface, Worktree: "main", Argv: []string{"go", "test"}, TimeoutS: 5})
		if diff := cmp.Diff(want, l); diff != "" {
			t.Errorf("%s (-want +got):\n%s", surface, diff)
		}
	}
	if ls, err := o.Look(context.Background(), []Want{{Surface: "reported:x"}}); err != nil || len(ls) != 0 {
		t.Errorf("a reported surface is looked at: %v, %v", ls, err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := o.Look(ctx, []Want{{Surface: "file:x", Worktree: "main"}}); err != context.Canceled {
		t.Errorf("a cancelled look: %v", err)
	}
}

type refs map[string]string

func (r refs) Ref(_ context.Context, name string) (string, error) {
	if name == "refs/heads/bad" {
		return "", errors.New("cut short")
	}
	if oid, ok := r[name]; ok {
		return oid, nil
	}
	return "", git.ErrNoRef
}

func TestOriginals(t *testing.T) {
	dir := project(t)
	write(t, dir, "d/a", "A")
	write(t, dir, "d/e/b", "B")
	link(t, dir, "d/l", "a")
	write(t, dir, "j", `{"t":1}`)
	o := observer(dir)
	list := func(w Want) (out []string) {
		t.Helper()
		w.Worktree = "main"
		all, err := o.Originals(context.Background(), w)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range all {
			out = append(out, fmt.Sprint(f.Name, " ", f.SHA256[:min(4, len(f.SHA256))], " ", f.Link, " ", f.Size, " ", f.Mode))
			if f.Link != "" {
				continue
			}
			file, err := o.Open(&f)
			if err != nil {
				t.Fatal(err)
			}
			b, err := io.ReadAll(file)
			file.Close()
			if err != nil || sumHex(b) != f.SHA256 {
				t.Errorf("%s: read %q, %v", f.Name, b, err)
			}
		}
		return out
	}
	if diff := cmp.Diff([]string{"a " + sum("A")[:4] + "  1 0644", "e/b " + sum("B")[:4] + "  1 0644", "l  a 0 "}, list(Want{Surface: "dir:d", Whole: true})); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"e/b " + sum("B")[:4] + "  1 0644"}, list(Want{Surface: "dir:d", Names: []string{"e/b", "none"}})); diff != "" {
		t.Error(diff)
	}
	if list(Want{Surface: "file:none"}) != nil || list(Want{Surface: "file:d"}) != nil {
		t.Error("something where there is no file")
	}
	all, err := o.Originals(context.Background(), Want{Surface: "file:j", Worktree: "main", Ignore: []string{"json:/t"}})
	if err != nil || len(all) != 1 || all[0].SHA256 != sum(`{"t":1}`) || all[0].Seen != sum(`{}`) {
		t.Errorf("a file of which parts are ignored: %+v, %v", all, err)
	}
	os.Remove(filepath.Join(dir, "j"))
	write(t, dir, "j", "another file")
	link(t, dir, "k", "j")
	if f, err := o.Open(&all[0]); err == nil {
		f.Close()
		t.Log("the file system gave the new file the old one's number")
	}
	all[0].Surface = "file:k"
	if f, err := o.Open(&all[0]); err == nil {
		f.Close()
		t.Error("a link was opened in place of the original")
	}
}
