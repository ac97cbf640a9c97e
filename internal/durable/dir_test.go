package durable

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestDirMovedOrReplaced(t *testing.T) {
	base := t.TempDir()
	path := filepath.Join(base, "ours")
	check(t, os.Mkdir(path, 0o700))
	d := openDir(t, nil, path)
	check(t, d.Same())
	check(t, os.Rename(path, path+".moved"))
	wantIs(t, d.Same(), ErrReplaced)
	check(t, os.Mkdir(path, 0o700))
	wantIs(t, d.Same(), ErrReplaced)

	// What is written goes to the folder that was opened.
	_, err := d.Publish(nil, "x", []byte("x"), 0o600)
	check(t, err)
	wantFile(t, filepath.Join(path+".moved", "x"), "x")
	wantMissing(t, filepath.Join(path, "x"))
	names, err := d.Names()
	check(t, err)
	if diff := cmp.Diff([]string{"x"}, names); diff != "" {
		t.Error(diff)
	}

	check(t, os.Remove(path))
	if err := os.Symlink(path+".moved", path); err != nil {
		t.Skip("no symbolic links here:", err)
	}
	wantIs(t, d.Same(), ErrReplaced)
	_, err = (*Layer)(nil).OpenDir(path)
	wantIs(t, err, ErrUnsafe)
}

func TestClosedDir(t *testing.T) {
	d, tmp := tempDir(t, nil)
	check(t, d.Close())
	check(t, d.Close())
	_, err := d.Publish(tmp, "x", nil, 0o600)
	wantIs(t, err, os.ErrClosed)
	_, err = d.Names()
	wantIs(t, err, os.ErrClosed)
	wantNoTemporaries(t, tmp.Path())
}

func TestMissing(t *testing.T) {
	d, _ := tempDir(t, nil)
	_, err := (*Layer)(nil).OpenDir(d.join("none"))
	wantIs(t, err, fs.ErrNotExist)
	_, err = d.Sub("none")
	wantIs(t, err, fs.ErrNotExist)
	_, err = d.Open("none")
	wantIs(t, err, fs.ErrNotExist)
	_, err = d.ReadFile("none", 1)
	wantIs(t, err, fs.ErrNotExist)
	wantIs(t, d.Remove("none"), fs.ErrNotExist)
	wantIs(t, d.Rename("none", d, "x"), fs.ErrNotExist)
	wantIs(t, d.Chmod("none", 0o600), fs.ErrNotExist)
	wantIs(t, d.WriteInPlace("none", nil), fs.ErrNotExist)
}

func TestNamesThatLeadElsewhere(t *testing.T) {
	d, tmp := tempDir(t, nil)
	put(t, d.join("x"), "x")
	for _, name := range []string{"", ".", "..", "../x", "tmp/x", "/x", "x\x00", "tmp/../x"} {
		if _, err := d.Lstat(name); !errors.Is(err, ErrUnsafe) {
			t.Errorf("Lstat(%q): %v", name, err)
		}
		_, openErr := d.Open(name)
		_, subErr := d.Sub(name)
		_, makeErr := d.MakeSub(name, 0o700)
		_, pubErr := d.Publish(tmp, name, nil, 0o600)
		for _, err := range []error{openErr, subErr, makeErr, pubErr, d.Replace(tmp, name, nil, 0o600),
			d.ReplaceKeeping(tmp, name, nil), d.Append(name, nil, 0o600), d.Remove(name),
			d.Rename(name, d, "y"), d.Rename("x", d, name), d.Chmod(name, 0o600)} {
			if !errors.Is(err, ErrUnsafe) {
				t.Errorf("%q: %v", name, err)
			}
		}
	}
	wantFile(t, d.join("x"), "x")
}

func TestMkdirAll(t *testing.T) {
	base := t.TempDir()
	path := filepath.Join(base, "a", "b", "c")
	for range 2 {
		check(t, (*Layer)(nil).MkdirAll(path, 0o700))
		openDir(t, nil, path)
	}
	put(t, filepath.Join(base, "file"), "")
	if err := (*Layer)(nil).MkdirAll(filepath.Join(base, "file", "x"), 0o700); err == nil {
		t.Error("a file was taken for a folder")
	}
	if err := os.Symlink(filepath.Join(base, "a"), filepath.Join(base, "link")); err != nil {
		t.Skip("no symbolic links here:", err)
	}
	check(t, (*Layer)(nil).MkdirAll(filepath.Join(base, "link", "x", "y"), 0o700))
	openDir(t, nil, filepath.Join(base, "a", "x", "y"))
}

func TestMakeSub(t *testing.T) {
	d, _ := tempDir(t, nil)
	for range 2 {
		s, err := d.MakeSub("new", 0o700)
		check(t, err)
		if s.Path() != d.join("new") {
			t.Error(s.Path())
		}
		check(t, s.Close())
	}
}

func TestReadFileLimit(t *testing.T) {
	d, _ := tempDir(t, nil)
	put(t, d.join("x"), "12345")
	for limit, ok := range map[int64]bool{0: false, 4: false, 5: true, 6: true, 1 << 40: true} {
		data, err := d.ReadFile("x", limit)
		var big *TooLargeError
		if ok && (err != nil || string(data) != "12345") || !ok && !errors.As(err, &big) {
			t.Errorf("limit %d: %q, %v", limit, data, err)
		}
	}
	put(t, d.join("empty"), "")
	if data, err := d.ReadFile("empty", 0); err != nil || len(data) != 0 {
		t.Error(data, err)
	}
}

func TestReadFileThatGrows(t *testing.T) {
	d, _ := tempDir(t, nil)
	put(t, d.join("x"), strings.Repeat("a", 100))
	reads := 0
	d.l = &Layer{Trace: func(op Op, path string) {
		if op == OpRead && reads < 3 {
			reads++
			f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
			check(t, err)
			f.WriteString(strings.Repeat("b", 1000))
			f.Close()
		}
	}}
	data, err := d.ReadFile("x", 1<<20)
	check(t, err)
	if len(data) != 3100 {
		t.Errorf("read %d bytes", len(data))
	}
	reads = 0
	_, err = d.ReadFile("x", 3200)
	var big *TooLargeError
	if !errors.As(err, &big) {
		t.Errorf("got %v", err)
	}
}

func TestRename(t *testing.T) {
	d, tmp := tempDir(t, nil)
	put(t, d.join("file"), "file")
	check(t, os.Mkdir(d.join("folder"), 0o700))
	put(t, filepath.Join(d.join("folder"), "in"), "in")
	put(t, tmp.join("taken"), "taken")
	wantIs(t, d.Rename("file", tmp, "taken"), ErrExists)
	wantIs(t, d.Rename("folder", tmp, "taken"), ErrExists)
	check(t, d.Rename("file", tmp, "new"))
	check(t, d.Rename("folder", tmp, "new folder"))
	wantFile(t, tmp.join("new"), "file")
	wantFile(t, filepath.Join(tmp.join("new folder"), "in"), "in")
	wantFile(t, tmp.join("taken"), "taken")
	wantMissing(t, d.join("file"))
	wantMissing(t, d.join("folder"))
}

// A rename whose reply was lost is done all the same; one that may or may not
// have been done says so.
func TestRenameLostReply(t *testing.T) {
	d, tmp := tempDir(t, nil)
	put(t, d.join("a"), "a")
	put(t, d.join("b"), "b")
	d.l = &Layer{Fault: func(op Op, path string) error {
		if op == OpRename && filepath.Base(path) == "a" {
			check(t, os.Rename(d.join("a"), path))
			return errIO
		}
		if op == OpRename {
			check(t, os.Rename(d.join("b"), d.join("aside")))
			return errIO
		}
		return nil
	}}
	check(t, d.Rename("a", tmp, "a"))
	var unknown *UnknownOutcomeError
	if err := d.Rename("b", tmp, "b"); !errors.As(err, &unknown) {
		t.Errorf("got %v", err)
	}
}

// The same for a replacement.
func TestReplaceLostReply(t *testing.T) {
	d, tmp := tempDir(t, nil)
	put(t, d.join("x"), "old")
	d.l = &Layer{Fault: func(op Op, path string) error {
		if op == OpRename {
			names, err := tmp.Names()
			check(t, err)
			check(t, os.Rename(tmp.join(names[0]), path))
			return errIO
		}
		return nil
	}}
	check(t, d.Replace(tmp, "x", []byte("new"), 0o600))
	wantFile(t, d.join("x"), "new")
}

// Where the flag for an exclusive rename is unknown.
func TestRenameWithoutTheFlag(t *testing.T) {
	for _, links := range []bool{true, false} {
		d, tmp := tempDir(t, nil)
		put(t, d.join("file"), "file")
		check(t, os.Mkdir(d.join("folder"), 0o700))
		put(t, tmp.join("taken"), "taken")
		refused := false
		d.l = &Layer{Fault: func(op Op, path string) error {
			if op == OpRename && !refused || op == OpLink && !links {
				refused = true
				return errNoSuchWay
			}
			return nil
		}}
		for _, name := range []string{"file", "folder"} {
			refused = false
			wantIs(t, d.Rename(name, tmp, "taken"), ErrExists)
			refused = false
			check(t, d.Rename(name, tmp, name))
			wantMissing(t, d.join(name))
			if _, err := tmp.Lstat(name); err != nil {
				t.Error(err)
			}
		}
		wantFile(t, tmp.join("taken"), "taken")
	}
}

func TestChmod(t *testing.T) {
	d, _ := tempDir(t, nil)
	put(t, d.join("x"), "x")
	check(t, d.Chmod("x", 0o400))
	check(t, d.Chmod("tmp", 0o500))
	for name, want := range map[string]fs.FileMode{"x": 0o400, "tmp": 0o500} {
		info, err := d.Lstat(name)
		check(t, err)
		if ownerless := d.uid < 0; !ownerless && info.Mode().Perm() != want {
			t.Errorf("%s: %v", name, info.Mode())
		}
	}
	check(t, d.Chmod("tmp", 0o700))
}

func TestSweep(t *testing.T) {
	d, _ := tempDir(t, nil)
	name := func() string {
		n, err := d.l.tempName()
		check(t, err)
		return n
	}
	old, young, folder := name(), name(), name()
	hour := time.Now().Add(-time.Hour)
	for _, n := range []string{old, young, "other.tmp", ".holdfast-short.tmp"} {
		put(t, d.join(n), "x")
		if n != young {
			check(t, os.Chtimes(d.join(n), hour, hour))
		}
	}
	check(t, os.Mkdir(d.join(folder), 0o700))
	check(t, os.Chtimes(d.join(folder), hour, hour))
	n, err := d.Sweep(time.Now().Add(-time.Minute))
	check(t, err)
	if n != 1 {
		t.Errorf("swept %d", n)
	}
	wantMissing(t, d.join(old))
	names, err := d.Names()
	check(t, err)
	if len(names) != 5 { // young, folder, two others, tmp
		t.Errorf("left: %v", names)
	}
}

func TestNotWritableAndDiskFull(t *testing.T) {
	for _, err := range []error{errReadOnly, fs.ErrPermission} {
		if wrapped := (&UnknownOutcomeError{"x", &fs.PathError{Op: "open", Path: "x", Err: err}}); !NotWritable(wrapped) {
			t.Errorf("%v counts as writable", err)
		}
	}
	if NotWritable(errIO) || NotWritable(nil) || DiskFull(errIO) || DiskFull(nil) || !DiskFull(errFull) {
		t.Error("wrong class")
	}
}

func TestRandomSource(t *testing.T) {
	broken := openDir(t, &Layer{Rand: strings.NewReader("short")}, t.TempDir())
	_, err := broken.Publish(nil, "x", nil, 0o600)
	wantIs(t, err, io.ErrUnexpectedEOF)

	same := make([]byte, 64) // two equal names, then others
	copy(same[32:], "another name than before, please")
	d := openDir(t, &Layer{Rand: bytes.NewReader(same)}, t.TempDir())
	d.l.Fault = func(op Op, _ string) error {
		if op == OpRemove {
			return errIO // the first name stays
		}
		return nil
	}
	_, err = d.Publish(nil, "1", []byte("1"), 0o600)
	check(t, err)
	_, err = d.Publish(nil, "2", []byte("2"), 0o600)
	check(t, err)
	wantFile(t, d.join("1"), "1")
	wantFile(t, d.join("2"), "2")
}
