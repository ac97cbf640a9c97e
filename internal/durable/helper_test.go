package durable

import (
	"bytes"
	"errors"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
)

// childEnv makes the test binary play a part in another process: see TestMain.
const childEnv = "HOLDFAST_DURABLE_CHILD"

// children are the parts; each file of tests adds its own here.
func children() map[string]func(args []string) error {
	parts := map[string]func([]string) error{
		"publish": childPublish,
		"lock":    childLock,
		"walk":    childWalk,
	}
	maps.Copy(parts, platformChildren())
	maps.Copy(parts, mountChildren())
	return parts
}

func TestMain(m *testing.M) {
	part := os.Getenv(childEnv)
	if part == "" {
		os.Exit(m.Run())
	}
	if err := children()[part](os.Args[1:]); err != nil {
		os.Stderr.WriteString(part + ": " + err.Error() + "\n")
		os.Exit(1)
	}
	os.Exit(0)
}

// child prepares another process that plays the part.
func child(t testing.TB, part string, args ...string) *exec.Cmd {
	t.Helper()
	exe, err := os.Executable()
	check(t, err)
	cmd := exec.Command(exe, args...)
	cmd.Env = append(os.Environ(), childEnv+"="+part)
	cmd.Stderr = os.Stderr
	return cmd
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func wantIs(t testing.TB, err, target error) {
	t.Helper()
	if !errors.Is(err, target) {
		t.Fatalf("got error %v, want %v", err, target)
	}
}

func openDir(t testing.TB, l *Layer, path string) *Dir {
	t.Helper()
	d, err := l.OpenDir(path)
	check(t, err)
	t.Cleanup(func() { d.Close() })
	return d
}

// tempDir is an opened temporary folder with an opened folder "tmp" in it.
func tempDir(t testing.TB, l *Layer) (d, tmp *Dir) {
	t.Helper()
	d = openDir(t, l, t.TempDir())
	check(t, os.Mkdir(d.join("tmp"), 0o700))
	tmp, err := d.Sub("tmp")
	check(t, err)
	t.Cleanup(func() { tmp.Close() })
	return d, tmp
}

func put(t testing.TB, path, content string) {
	t.Helper()
	check(t, os.WriteFile(path, []byte(content), 0o600))
}

func wantFile(t testing.TB, path, content string) {
	t.Helper()
	got, err := os.ReadFile(path)
	check(t, err)
	if string(got) != content {
		t.Fatalf("%s holds %d bytes, want %d other ones", filepath.Base(path), len(got), len(content))
	}
}

func wantMissing(t testing.TB, path string) {
	t.Helper()
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("%s is there (%v)", filepath.Base(path), err)
	}
}

// temporaries lists what is left of temporary files below dir.
func temporaries(t testing.TB, dir string) (left []string) {
	t.Helper()
	check(t, filepath.WalkDir(dir, func(p string, e fs.DirEntry, err error) error {
		if err == nil && IsTemporary(e.Name()) {
			left = append(left, p)
		}
		return err
	}))
	return left
}

func wantNoTemporaries(t testing.TB, dir string) {
	t.Helper()
	if left := temporaries(t, dir); len(left) > 0 {
		t.Fatalf("temporary files stay: %v", left)
	}
}

// snapshot is the content of every regular file below dir, temporaries apart.
func snapshot(t testing.TB, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	check(t, filepath.WalkDir(dir, func(p string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() || IsTemporary(e.Name()) {
			return err
		}
		data, err := os.ReadFile(p)
		rel, _ := filepath.Rel(dir, p)
		all[filepath.ToSlash(rel)] = string(data)
		return err
	}))
	return all
}

// recorder keeps the order of steps, as "op name" with "TEMP" for random names.
type recorder struct {
	mu    sync.Mutex
	steps []string
}

func (r *recorder) trace(op Op, path string) {
	name := filepath.Base(path)
	if IsTemporary(name) {
		name = "TEMP"
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.steps = append(r.steps, string(op)+" "+name)
}

// only keeps the steps of some kinds.
func (r *recorder) only(ops ...Op) (kept []string) {
	for _, s := range r.steps {
		for _, op := range ops {
			if op2, _, _ := bytes.Cut([]byte(s), []byte(" ")); string(op2) == string(op) {
				kept = append(kept, s)
			}
		}
	}
	return kept
}

// failing makes the n-th step fail, once, or for ever with all later steps of
// its kind.
type failing struct {
	mu      sync.Mutex
	n       int
	forever bool
	err     error

	seen  int
	op    Op // of the n-th step; empty: there were fewer
	fired int
}

func (f *failing) fault(op Op, _ string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.seen++
	if f.seen == f.n {
		f.op = op
	}
	if f.seen == f.n || f.forever && f.op == op {
		f.fired++
		return f.err
	}
	return nil
}
