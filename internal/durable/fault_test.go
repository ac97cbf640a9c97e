package durable

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// scene is one write on a small folder, for the walk over all its steps.
type scene struct {
	name string
	way  string // the only way of publishing that works
	do   func(d, tmp *Dir) error
	done map[string]string // what the folder gains when it is done; "" is removed
}

// gone marks a file that is not there any more.
const gone = "\x00gone"

func scenes() []scene {
	publish := func(d, tmp *Dir) error {
		_, err := d.Publish(tmp, "new", []byte("line 3\n"), 0o400)
		return err
	}
	made := map[string]string{"new": "line 3\n"}
	lock := func(d, tmp *Dir) error {
		k, err := d.Lock(context.Background(), "lock", 0, "me\n")
		return errors.Join(err, k.Unlock())
	}
	return []scene{
		{"publish", ByLink, publish, made},
		{"publish by rename", ByRename, publish, made},
		{"publish by create", ByCreate, publish, made},
		{"replace", ByLink, func(d, tmp *Dir) error { return d.Replace(tmp, "old", []byte("other"), 0o644) },
			map[string]string{"old": "other"}},
		{"replace bit by bit", ByLink, func(d, tmp *Dir) error {
			return d.ReplaceFrom(tmp, "old", 0o644, func(w io.Writer) error {
				_, err := io.WriteString(w, "oth")
				if err == nil {
					_, err = io.WriteString(w, "er")
				}
				return err
			})
		}, map[string]string{"old": "other"}},
		{"replace keeping", ByLink, func(d, tmp *Dir) error { return d.ReplaceKeeping(nil, "old", []byte("other")) },
			map[string]string{"old": "other"}},
		{"append", ByLink, func(d, tmp *Dir) error { return d.Append("old", []byte("line 3\n"), 0o600) },
			map[string]string{"old": "line 1\nline 2\nline 3\n"}},
		{"append to a torn file", ByLink, func(d, tmp *Dir) error { return d.Append("torn", []byte("line 3\n"), 0o600) },
			map[string]string{"torn": "line 1\nli\nline 3\n"}},
		{"append to a new file", ByLink, func(d, tmp *Dir) error { return d.Append("new", []byte("line 3\n"), 0o600) }, made},
		{"write in place, longer", ByLink, func(d, tmp *Dir) error { return d.WriteInPlace("old", []byte("a much longer content\n")) },
			map[string]string{"old": "a much longer content\n"}},
		{"write in place, shorter", ByLink, func(d, tmp *Dir) error { return d.WriteInPlace("old", []byte("short\n")) },
			map[string]string{"old": "short\n"}},
		{"rename", ByLink, func(d, tmp *Dir) error { return d.Rename("old", tmp, "new") },
			map[string]string{"old": gone, "tmp/new": "line 1\nline 2\n"}},
		{"remove", ByLink, func(d, tmp *Dir) error { return d.RemoveSync("old") }, map[string]string{"old": gone}},
		{"lock", ByLink, lock, map[string]string{"lock": "me\n"}},
	}
}

// after is the folder once the scene is done.
func (s scene) after(before map[string]string) map[string]string {
	all := maps.Clone(before)
	for name, content := range s.done {
		all[name] = content
		if content == gone {
			delete(all, name)
		}
	}
	return all
}

// Every step of every write fails in every way, once and for ever: the error
// reaches the caller, old content stays byte for byte, nothing half done and
// no temporary stays, and without the fault the same write then works.
func TestCaseC005_EveryErrorReachesTheCaller(t *testing.T) {
	faults := []error{errIO, errFull, errReadOnly, errBusy, errDenied, &ShortWrite{N: 3, Err: errFull}}
	for _, s := range scenes() {
		for _, fault := range faults {
			for _, forever := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s/%v/%v", s.name, fault, forever), func(t *testing.T) {
					walk(t, s, fault, forever)
				})
			}
		}
	}
}

func walk(t *testing.T, s scene, fault error, forever bool) {
	for n := 1; ; n++ {
		d, tmp := tempDir(t, nil)
		put(t, d.join("old"), "line 1\nline 2\n")
		put(t, d.join("torn"), "line 1\nli")
		before := snapshot(t, d.Path())
		f := &failing{n: n, err: fault, forever: forever}
		base := without(s.way)
		l := &Layer{Sleep: func(time.Duration) {}, Fault: func(op Op, path string) error {
			if err := base.Fault(op, path); err != nil {
				return err
			}
			return f.fault(op, path)
		}}
		d.l, tmp.l = l, l
		err := s.do(d, tmp)
		if f.fired == 0 {
			check(t, err)
			wantState(t, d, s.after(before))
			return
		}
		judgeFault(t, s, f, d, before, err)
		if t.Failed() {
			t.Fatalf("step %d (%s), answer: %v", n, f.op, err)
		}
		d.Close()
		tmp.Close()
	}
}

func wantState(t *testing.T, d *Dir, want ...map[string]string) {
	t.Helper()
	got := snapshot(t, d.Path())
	for _, w := range want {
		if cmp.Equal(w, got) {
			return
		}
	}
	t.Errorf("the folder is in a state of its own: %s", cmp.Diff(want[0], got))
}

func judgeFault(t *testing.T, s scene, f *failing, d *Dir, before map[string]string, err error) {
	t.Helper()
	after := s.after(before)
	empty := maps.Clone(before) // a file made for an append or a lock stays, empty
	for name := range after {
		if _, ok := before[name]; !ok && f.op != OpLink {
			empty[name] = ""
		}
	}
	var unknown *UnknownOutcomeError
	switch {
	case err == nil:
		wantState(t, d, after, empty)
		if !tolerated(s, f) {
			t.Error("the error was dropped")
		}
	case errors.As(err, &unknown) && strings.HasPrefix(s.name, "write in place") && f.forever:
		// What can't be written can't be put back; the answer says so.
	case errors.As(err, &unknown):
		wantState(t, d, before, after, empty)
	case s.name == "lock": // Unlock fails after the text was written
		wantState(t, d, before, after, empty)
	default:
		wantState(t, d, before, empty)
	}
	if err != nil && !errors.Is(err, f.err) {
		t.Errorf("the answer hides the cause: %v", err)
	}
	if left := temporaries(t, d.Path()); len(left) > 0 && f.op != OpRemove {
		t.Errorf("temporary files stay: %v", left)
	}
}

// tolerated are the failed steps after which a write may still say that it is
// done: a way of publishing that is refused (the next one is taken), and the
// temporary's removal (a warning).
func tolerated(s scene, f *failing) bool {
	switch {
	case f.op == OpLink, f.op == OpRename:
		return hasNoExclusiveRename(f.err)
	case f.op == OpRemove:
		return s.name != "remove"
	case s.name == "lock": // its text is for messages
		return f.op == OpWrite || f.op == OpTruncate || f.op == OpChmod || f.op == OpStat
	}
	return false
}

func TestPublishWarnsWhenTheTemporaryStays(t *testing.T) {
	d, tmp := tempDir(t, nil)
	d.l = &Layer{Fault: func(op Op, _ string) error {
		if op == OpRemove {
			return errBusy
		}
		return nil
	}}
	tmp.l = d.l
	pub, err := d.Publish(tmp, "1", []byte("x"), 0o400)
	check(t, err)
	if len(pub.Warnings) != 1 || !errors.Is(pub.Warnings[0], errBusy) {
		t.Errorf("warnings: %v", pub.Warnings)
	}
	if _, err := d.Open("1"); !errors.Is(err, ErrUnsafe) {
		t.Errorf("a file with two names was opened: %v", err)
	}
	f, err := d.OpenLinked("1")
	check(t, err)
	f.Close()
	if got, err := d.ReadLinked("1", 10); err != nil || string(got) != "x" {
		t.Error(got, err)
	}
}
