//go:build unix

package surface

import (
	"net"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// TestLookSpecial: what is no file, folder or link is there, has another type,
// and is never opened: a look that opened a FIFO would never end.
func TestLookSpecial(t *testing.T) {
	dir := project(t)
	if err := os.Mkdir(filepath.Join(dir, "d"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, p := range []string{"fifo", "d/fifo"} {
		if err := syscall.Mkfifo(filepath.Join(dir, p), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	l, err := net.Listen("unix", filepath.Join(dir, "sock"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	o := observer(dir)
	for _, s := range []string{"file:fifo", "dir:fifo", "file:sock"} {
		if l := lookOne(t, o, Want{Surface: s, Worktree: "main", Whole: true}); l.State != Present || l.Facts["type"] != "other" {
			t.Errorf("%s: %+v", s, l)
		}
	}
	if l := lookOne(t, o, Want{Surface: "dir:d", Worktree: "main", Whole: true, Names: []string{"fifo"}}); l.State != Present || l.Names["fifo"]["type"] != "other" {
		t.Errorf("in a folder: %+v", l)
	}
	dev := observer(dir, func(o *Options) { o.Outside = true })
	p, err := dev.Place("file:/dev/zero", []string{"/dev"})
	if err != nil {
		t.Fatal(err)
	}
	if l := lookOne(t, dev, Want{Surface: p.Surface, Worktree: "main", Outside: true, Roots: []string{"/dev"}}); l.Facts["type"] != "other" {
		t.Errorf("a device: %+v", l)
	}
	if all, err := o.Originals(t.Context(), Want{Surface: "file:fifo", Worktree: "main"}); err != nil || len(all) != 0 {
		t.Errorf("originals at a FIFO: %v, %v", all, err)
	}
}

// TestFIFOSwappedIn: a file that becomes a FIFO between the stat and the open
// doesn't stop the look.
func TestFIFOSwappedIn(t *testing.T) {
	dir := project(t)
	write(t, dir, "f", "x")
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	h, err := openFolder(root, ".")
	if err != nil {
		t.Fatal(err)
	}
	defer h.close()
	st, err := h.stat("f")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(dir, "f")); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(filepath.Join(dir, "f"), 0o644); err != nil {
		t.Fatal(err)
	}
	v := &visit{o: observer(dir), ctx: t.Context(), w: &Want{}}
	if _, err := v.sum(h, "f", &st); err != errChanging {
		t.Errorf("got %v", err)
	}
}

func TestLookUnreadable(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("root reads everything; link loops stand in for it in TestLookFile")
	}
	dir := project(t)
	write(t, dir, "f", "x")
	write(t, dir, "d/x", "x")
	for _, p := range []string{"f", "d/x"} {
		if err := os.Chmod(filepath.Join(dir, p), 0); err != nil {
			t.Fatal(err)
		}
	}
	o := observer(dir)
	for _, w := range []Want{{Surface: "file:f"}, {Surface: "dir:d", Whole: true}} {
		w.Worktree = "main"
		if l := lookOne(t, o, w); l.State != Unknown || l.Why != "permission denied" {
			t.Errorf("%s: %+v", w.Surface, l)
		}
	}
	if l := lookOne(t, o, Want{Surface: "dir:d", Worktree: "main", Names: []string{"x"}}); l.Names["x"]["state"] != Unknown {
		t.Errorf("an entry: %+v", l)
	}
}
