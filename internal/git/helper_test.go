package git

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// world is a machine of its own: a home folder, an environment, a place for
// repositories that isn't below the home folder.
type world struct {
	t    testing.TB
	dir  string // real path
	home string
	env  Env
}

func newWorld(t testing.TB) *world {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	w := &world{t: t, dir: dir, home: filepath.Join(dir, "home")}
	must(t, os.Mkdir(w.home, 0o755))
	w.env = Env{
		Vars: []string{
			"HOME=" + w.home, "PATH=" + os.Getenv("PATH"), "GIT_CONFIG_NOSYSTEM=1",
			"XDG_CONFIG_HOME=" + filepath.Join(w.home, ".config"), "TMPDIR=" + os.TempDir(),
		},
		Path: os.Getenv("PATH"),
	}
	w.write("home/.gitconfig", "[user]\n name = Ana\n email = ana@example.com\n[init]\n defaultBranch = main\n[protocol \"file\"]\n allow = always\n[advice]\n detachedHead = false\n")
	return w
}

func (w *world) path(p string) string { return filepath.Join(w.dir, filepath.FromSlash(p)) }

func (w *world) write(p, content string) {
	w.t.Helper()
	must(w.t, os.MkdirAll(filepath.Dir(w.path(p)), 0o755))
	must(w.t, os.WriteFile(w.path(p), []byte(content), 0o644))
}

// try runs real git, as a person would.
func (w *world) try(dir string, args ...string) (string, error) {
	cmd := exec.Command("git", args...)
	cmd.Dir = w.path(dir)
	cmd.Env = append(append([]string{}, w.env.Vars...),
		"GIT_AUTHOR_DATE=2026-11-30T20:00:00Z", "GIT_COMMITTER_DATE=2026-11-30T20:00:00Z", "GIT_EDITOR=true")
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	if err != nil {
		return errs.String(), err
	}
	return strings.TrimRight(out.String(), "\n"), nil
}

func (w *world) git(dir string, args ...string) string {
	w.t.Helper()
	out, err := w.try(dir, args...)
	if err != nil {
		w.t.Fatalf("git %v in %s: %v\n%s", args, dir, err, out)
	}
	return out
}

// repo makes a repository with one commit of a.txt.
func (w *world) repo(dir string, initArgs ...string) {
	w.t.Helper()
	must(w.t, os.MkdirAll(w.path(dir), 0o755))
	w.git(dir, append([]string{"init", "-q"}, initArgs...)...)
	w.commit(dir, "a.txt", "one\n")
}

func (w *world) commit(dir, file, content string) string {
	w.t.Helper()
	w.write(dir+"/"+file, content)
	w.git(dir, "add", "--", file)
	w.git(dir, "commit", "-q", "-m", file)
	return w.git(dir, "rev-parse", "HEAD")
}

func (w *world) find(dir string) *Repo {
	w.t.Helper()
	r, err := Find(context.Background(), w.env, w.path(dir))
	if err != nil {
		w.t.Fatalf("find %s: %v (notes %q)", dir, err, r.Notes)
	}
	return r
}

func (w *world) head(dir string) Head {
	w.t.Helper()
	h, err := w.find(dir).Head(context.Background())
	must(w.t, err)
	return h
}

// noGit is the environment of a machine without git.
func (w *world) noGit() Env {
	e := w.env
	e.Path = w.path("no-programs-here")
	return e
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func fixture(t testing.TB, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", name))
	must(t, err)
	return string(b)
}
