//go:build unix

package durable

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// swapAt is a layer on which swap happens between the look at a path and its
// opening, once or every time.
func swapAt(path string, always bool, swap func()) *Layer {
	done := false
	return &Layer{Trace: func(op Op, p string) {
		if op == OpOpen && p == path && (always || !done) {
			done = true
			swap()
		}
	}}
}

func TestFolderSwappedForALinkBetweenLookAndOpen(t *testing.T) {
	base := t.TempDir()
	for _, name := range []string{"ours", "other"} {
		check(t, os.Mkdir(filepath.Join(base, name), 0o700))
	}
	path := filepath.Join(base, "ours")
	swap := func() {
		check(t, os.Rename(path, path+".moved"))
		check(t, os.Symlink("other", path))
	}
	back := func() {
		check(t, os.Remove(path))
		check(t, os.Rename(path+".moved", path))
	}
	_, err := swapAt(path, false, swap).OpenDir(path)
	wantIs(t, err, ErrUnsafe)
	back()
	parent := openDir(t, swapAt(path, false, swap), base)
	_, err = parent.Sub("ours")
	wantIs(t, err, ErrUnsafe)
	back()
	sub, err := parent.Sub("ours")
	check(t, err)
	check(t, sub.Close())
}

func TestFileSwappedBetweenLookAndOpen(t *testing.T) {
	for name, replace := range map[string]func(path string) error{
		"FIFO":          func(path string) error { return unix.Mkfifo(path, 0o600) },
		"link":          func(path string) error { return os.Symlink("beside", path) },
		"dangling link": func(path string) error { return os.Symlink("nowhere", path) },
		"second name":   func(path string) error { return os.Link(filepath.Join(filepath.Dir(path), "beside"), path) },
		"folder":        func(path string) error { return os.Mkdir(path, 0o700) },
	} {
		for _, write := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				d, _ := tempDir(t, nil)
				put(t, d.join("x"), "ours\n")
				put(t, d.join("beside"), "secret\n")
				d.l = swapAt(d.join("x"), false, func() {
					check(t, os.Remove(d.join("x")))
					check(t, replace(d.join("x")))
				})
				var err error
				if write {
					err = d.Append("x", []byte("evil\n"), 0o600)
				} else {
					_, err = d.ReadFile("x", 100)
				}
				if err == nil && (name != "second name" || write) {
					t.Error("it was opened")
				}
				wantFile(t, d.join("beside"), "secret\n")
				wantMissing(t, d.join("nowhere"))
			})
		}
	}
}

// A file that is replaced whole meanwhile, as HANDOFF.md is, is no attack: the
// new one is read. One that never holds still is given up.
func TestFileReplacedBetweenLookAndOpen(t *testing.T) {
	d, _ := tempDir(t, nil)
	put(t, d.join("x"), "first")
	replace := func() {
		put(t, d.join("next"), "second")
		check(t, os.Rename(d.join("next"), d.join("x")))
	}
	d.l = swapAt(d.join("x"), false, replace)
	got, err := d.ReadFile("x", 100)
	check(t, err)
	if string(got) != "second" {
		t.Errorf("read %q", got)
	}
	d.l = swapAt(d.join("x"), true, replace)
	_, err = d.ReadFile("x", 100)
	wantIs(t, err, ErrUnsafe)
}
