//go:build unix

package index_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"

	"holdfast/internal/index"
)

// A link, FIFO or folder where the file or its journal should be leads nowhere:
// what it names keeps its bytes.
func TestLinkInPlaceOfTheFile(t *testing.T) {
	es := logEntries(t, 20)
	for name, plant := range map[string]func(path, victim string) error{
		"link to a database": func(path, victim string) error { return os.Symlink(victim, path) },
		"link to nothing":    func(path, victim string) error { return os.Symlink(victim+"-none", path) },
		"link to itself":     func(path, victim string) error { return os.Symlink(filepath.Base(path), path) },
		"fifo":               func(path, victim string) error { return unix.Mkfifo(path, 0o600) },
		"journal is a link":  func(path, victim string) error { return os.Symlink(victim, path+"-journal") },
	} {
		t.Run(name, func(t *testing.T) {
			other := t.TempDir()
			follow(t, open(t, index.Options{Dir: other}), es[:10])
			victim := filepath.Join(other, index.FileName)
			before := read(t, victim)
			dir := t.TempDir()
			if err := plant(filepath.Join(dir, index.FileName), victim); err != nil {
				t.Fatal(err)
			}
			x := open(t, index.Options{Dir: dir})
			check(t, x, es)
			if !bytes.Equal(before, read(t, victim)) {
				t.Error("what the link names was changed")
			}
			if _, err := os.Lstat(victim + "-none"); err == nil {
				t.Error("a file was made through the link")
			}
			if name != "journal is a link" && x.Where() != index.InCache {
				t.Errorf("index is in %q", x.Where())
			}
		})
	}
}

func TestLinkInPlaceOfTheFolder(t *testing.T) {
	es := logEntries(t, 20)
	dir := t.TempDir()
	real := filepath.Join(dir, "real")
	link := filepath.Join(dir, "link")
	if err := os.Mkdir(real, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(real, link); err != nil {
		t.Fatal(err)
	}
	x := open(t, index.Options{Dir: link})
	check(t, x, es)
	if x.Where() != index.InMemory {
		t.Errorf("index is in %q", x.Where())
	}
	if names, err := os.ReadDir(real); err != nil || len(names) > 0 {
		t.Errorf("behind the link there are %v, %v", names, err)
	}
}

const readOnlyEnv = "HOLDFAST_TEST_READ_ONLY"

// TestOnReadOnlyMount is not a test by itself: it runs in a mount namespace in
// which the folder that the environment names can't be written.
func TestOnReadOnlyMount(t *testing.T) {
	dir := os.Getenv(readOnlyEnv)
	if dir == "" {
		t.Skip("runs only as a process of TestReadOnlyMount")
	}
	if err := os.WriteFile(filepath.Join(dir, "x"), nil, 0o600); err == nil {
		t.Fatal("the folder can be written")
	}
	es := logEntries(t, 60)
	for sub, want := range map[string]string{"half": index.InReadOnly, "behind": index.InReadOnly, "version": index.InTemp, "spoilt": index.InTemp, "filling": index.InTemp, "none": index.InTemp} {
		x := open(t, index.Options{Dir: filepath.Join(dir, sub), TempDir: t.TempDir(), Ledger: id})
		check(t, x, es)
		check(t, x, es)
		if x.Where() != want {
			t.Errorf("%s: index is in %q, want %q", sub, x.Where(), want)
		}
	}
}

// A cache on a file system that can't be written is used as it is, if it is
// good. Needs the right to mount.
func TestReadOnlyMount(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("mounts as Linux has them")
	}
	dir := t.TempDir()
	es := logEntries(t, 60)
	for _, sub := range []string{"half", "behind", "version", "spoilt", "filling"} {
		x := open(t, index.Options{Dir: filepath.Join(dir, sub), Ledger: id})
		if sub != "filling" {
			follow(t, x, es[:30])
		}
	}
	sqlOn(t, filepath.Join(dir, "version", index.FileName), "PRAGMA user_version(99)")
	truncate(t, filepath.Join(dir, "spoilt", index.FileName), 10000)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := exec.Command("unshare", "--mount", "sh", "-c", `mount --bind "$0" "$0" && mount -o remount,bind,ro "$0" || exit 77; exec "$1" -test.v -test.run='^TestOnReadOnlyMount$'`, dir, self)
	c.Env = append(os.Environ(), readOnlyEnv+"="+dir)
	out, err := c.CombinedOutput()
	if c.ProcessState == nil || c.ProcessState.ExitCode() == 77 || bytes.Contains(out, []byte("unshare failed")) {
		t.Skipf("may not mount here: %v %s", err, out)
	}
	if err != nil || !bytes.Contains(out, []byte("--- PASS: TestOnReadOnlyMount")) {
		t.Errorf("%v\n%s", err, out)
	}
}
