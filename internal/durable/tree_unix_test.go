//go:build unix

package durable

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
)

// TestRemoveTree: everything below goes, nothing that a link leads to does, and a
// fault at any step is told and leaves nothing that can't be removed again.
func TestRemoveTree(t *testing.T) {
	top := t.TempDir()
	at := func(name string) string { return filepath.Join(top, filepath.FromSlash(name)) }
	build := func() {
		t.Helper()
		for _, err := range []error{
			os.MkdirAll(at("tree/a/b"), 0o700), os.WriteFile(at("tree/a/b/f"), []byte("x"), 0o400), os.WriteFile(at("keep"), []byte("x"), 0o600),
			os.Symlink(at("keep"), at("tree/link")), os.Symlink("..", at("tree/a/up")), syscall.Mkfifo(at("tree/fifo"), 0o600), os.Chmod(at("tree/a/b"), 0o500),
		} {
			if err != nil && !errors.Is(err, os.ErrExist) {
				t.Fatal(err)
			}
		}
	}
	build()
	calls := 0
	d, err := (&Layer{Trace: func(Op, string) { calls++ }}).OpenDir(top)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	files, err := d.Tree("tree")
	var names []string
	for _, f := range files {
		names = append(names, f.Name)
	}
	if want := []string{"a/b/f", "a/up", "fifo", "link"}; err != nil || !slices.Equal(names, want) {
		t.Errorf("%q, %v", names, err)
	}
	calls = 0
	if err := d.RemoveTree("tree"); err != nil {
		t.Fatal(err)
	}
	if err := d.RemoveTree("tree"); err != nil {
		t.Error("one that is gone:", err)
	}
	for n := range calls {
		build()
		left := n
		broken := errors.New("broken")
		f, err := (&Layer{}).OpenDir(top)
		if err != nil {
			t.Fatal(err)
		}
		f.l.Fault = func(Op, string) error {
			if left--; left == -1 {
				return broken
			}
			return nil
		}
		if err := f.RemoveTree("tree"); left < 0 && !errors.Is(err, broken) {
			t.Errorf("step %d: %v", n, err)
		}
		f.Close()
		if err := d.RemoveTree("tree"); err != nil {
			t.Fatal(err)
		}
	}
	if entries, err := os.ReadDir(top); err != nil || len(entries) != 1 || entries[0].Name() != "keep" {
		t.Errorf("left: %v, %v", entries, err)
	}
}
