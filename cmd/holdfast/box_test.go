package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// box is a project and a home of its own in which the program is run.
type box struct {
	t    *testing.T
	dir  string
	home string
	env  []string
}

// newBox makes one. The program is on its PATH, as TestMain puts it there.
func newBox(t *testing.T) *box {
	t.Helper()
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	b := &box{t: t, dir: filepath.Join(top, "work", "p"), home: filepath.Join(top, "home")}
	for _, d := range []string{b.dir, b.home} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	b.env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + b.home, "USERPROFILE=" + b.home, "TMPDIR=" + top, "TERM=dumb"}
	return b
}

// answer is how a run ended.
type answer struct {
	out, err string
	code     int
}

func (b *box) run(args ...string) answer { b.t.Helper(); return b.feed(nil, args...) }

func (b *box) feed(stdin io.Reader, args ...string) answer {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	path, err := exec.LookPath("holdfast")
	if err != nil {
		b.t.Fatal(err)
	}
	cmd := exec.CommandContext(ctx, path, args...)
	var out, errb bytes.Buffer
	cmd.Dir, cmd.Env, cmd.Stdin, cmd.Stdout, cmd.Stderr = b.dir, b.env, stdin, &out, &errb
	err = cmd.Run()
	a := answer{out: out.String(), err: errb.String()}
	if e, ok := errors.AsType[*exec.ExitError](err); ok {
		a.code = e.ExitCode()
	} else if err != nil && !errors.Is(err, exec.ErrWaitDelay) {
		b.t.Fatalf("run %v: %v", args, err)
	}
	return a
}

// must is a run that has to end with the given status.
func (b *box) must(code int, args ...string) answer {
	b.t.Helper()
	a := b.run(args...)
	if a.code != code {
		b.t.Fatalf("holdfast %v: status %d, want %d\n%s%s", args, a.code, code, a.out, a.err)
	}
	return a
}

// fixture is a case's file, with our name in it.
func (b *box) fixture(name string) []byte {
	b.t.Helper()
	data, err := os.ReadFile(filepath.Join("..", "..", "internal", "client", "testdata", "cases", filepath.FromSlash(name)))
	if err != nil {
		b.t.Fatal(err)
	}
	return bytes.ReplaceAll(data, []byte("TOOL"), []byte("holdfast"))
}

func (b *box) path(name string) string { return filepath.Join(b.dir, filepath.FromSlash(name)) }

func (b *box) write(name string, data []byte) {
	b.t.Helper()
	if err := os.MkdirAll(filepath.Dir(b.path(name)), 0o755); err != nil {
		b.t.Fatal(err)
	}
	if err := os.WriteFile(b.path(name), data, 0o644); err != nil {
		b.t.Fatal(err)
	}
}

func (b *box) read(name string) []byte {
	b.t.Helper()
	data, err := os.ReadFile(b.path(name))
	if err != nil {
		b.t.Fatal(err)
	}
	return data
}

// snapshot is every file of the project but the ledger, with mode and, where
// asked for, the time of its last write.
func (b *box) snapshot(times bool) map[string]string {
	b.t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(b.dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if e.Name() == ".holdfast" || e.Name() == ".git" {
			return filepath.SkipDir
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		s := info.Mode().String()
		switch {
		case info.Mode()&fs.ModeSymlink != 0:
			to, _ := os.Readlink(path)
			s += " -> " + to
		case info.Mode().IsRegular():
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			s += " " + string(data)
			if times {
				s += info.ModTime().String()
			}
		}
		rel, _ := filepath.Rel(b.dir, path)
		out[filepath.ToSlash(rel)] = s
		return nil
	})
	if err != nil {
		b.t.Fatal(err)
	}
	return out
}

// same holds that a snapshot is what it was.
func (b *box) same(what string, want, got map[string]string) {
	b.t.Helper()
	if d := cmp.Diff(want, got); d != "" {
		b.t.Errorf("%s: not as before (-was +is):\n%s", what, d)
	}
}

// absent holds that no file anywhere holds a text.
func (b *box) absent(text string) {
	b.t.Helper()
	err := filepath.WalkDir(filepath.Dir(filepath.Dir(b.dir)), func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		data, err := os.ReadFile(path)
		if bytes.Contains(data, []byte(text)) {
			b.t.Errorf("%s holds it", path)
		}
		return err
	})
	if err != nil {
		b.t.Fatal(err)
	}
}

// setupAnswer is what is looked at of setup's JSON.
type setupAnswer struct {
	Clients []struct {
		Client string
		State  string
		Files  []struct {
			Path, Change, Why, Snippet string
			Line                       int
			Items                      []struct{ ID, State, Action string }
		}
		Todo     []string
		Verified *struct {
			OK    bool
			Tools int
		}
	}
	Applied bool
	Diff    string
	Notices []string
}

func (a answer) setup(t *testing.T) (s setupAnswer) {
	t.Helper()
	if err := json.Unmarshal([]byte(a.out), &s); err != nil || strings.Count(a.out, "\n") != 1 {
		t.Fatalf("not one JSON object (%v): %s%s", err, a.out, a.err)
	}
	return s
}

// changes lists what became of each file.
func (s *setupAnswer) changes() map[string]string {
	out := map[string]string{}
	for _, c := range s.Clients {
		for _, f := range c.Files {
			out[f.Path] = f.Change
		}
	}
	return out
}

// whyOf is the reason for which a file was refused.
func (s *setupAnswer) whyOf(path string) (why, snippet string, line int) {
	for _, c := range s.Clients {
		for _, f := range c.Files {
			if f.Path == path && f.Change == "refused" {
				return f.Why, f.Snippet, f.Line
			}
		}
	}
	return "", "", 0
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

func itoa(n int64) string { return strconv.FormatInt(n, 10) }
