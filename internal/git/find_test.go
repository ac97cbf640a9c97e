package git

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// facts compares what Find promises, with paths relative to the world.
func facts(w *world, r *Repo) Repo {
	rel := func(p string) string {
		if p == "" {
			return ""
		}
		s, err := filepath.Rel(w.dir, p)
		must(w.t, err)
		return filepath.ToSlash(s)
	}
	return Repo{
		Top: rel(r.Top), GitDir: rel(r.GitDir), CommonDir: rel(r.CommonDir), MainTop: rel(r.MainTop),
		Bare: r.Bare, Linked: r.Linked, WorktreeName: r.WorktreeName, Submodule: r.Submodule, Notes: r.Notes,
	}
}

// rel is the top as a path in the world.
func (r *Repo) rel(w *world) string {
	p, err := filepath.Rel(w.dir, r.Top)
	must(w.t, err)
	return p
}

func equal(t *testing.T, want, got any) {
	t.Helper()
	if d := cmp.Diff(want, got, cmpopts.IgnoreUnexported(Repo{}), cmpopts.EquateEmpty()); d != "" {
		t.Errorf("differs (-want +got):\n%s", d)
	}
}

// shapes makes one repository of each shape.
func shapes(t *testing.T) *world {
	w := newWorld(t)
	w.repo("plain")
	w.write("plain/sub/deep/x", "")
	w.git("plain", "worktree", "add", "-q", "-b", "side", "../linked")
	w.write("linked/sub/x", "")
	w.git("plain", "worktree", "add", "-q", "-b", "odd", "../elsewhere/main")
	w.repo("lib")
	w.repo("super")
	w.git("super", "submodule", "add", "-q", "../lib", "vendor/lib")
	w.git("super", "commit", "-q", "-m", "sub")
	w.git("super/vendor/lib", "worktree", "add", "-q", "-b", "wt", w.path("libwt"))
	w.git(".", "clone", "-q", "--bare", "plain", "bare.git")
	w.git("bare.git", "worktree", "add", "-q", "../barewt", "side")
	w.write("proj/x", "")
	w.git(".", "clone", "-q", "--bare", "plain", "proj/.bare")
	w.write("proj/.git", "gitdir: ./.bare\n")
	w.git("proj", "worktree", "add", "-q", "main", "main")
	w.git("bare.git", "config", "extensions.worktreeConfig", "true")
	w.git("bare.git", "config", "--worktree", "core.bare", "true")
	w.git("bare.git", "config", "--file", "config", "--unset", "core.bare")
	w.repo("hooked")
	w.git("hooked", "config", "core.hooksPath", "/nonexistent/hooks")
	w.git(".", "init", "-q", "--separate-git-dir", w.path("sep.git"), w.path("sep"))
	w.commit("sep", "a", "a")
	must(t, os.Symlink(w.path("plain"), w.path("alias")))
	w.repo("moved/here")
	must(t, os.Symlink(w.path("moved/here/.git"), w.path("moved/.git")))
	return w
}

// TestCaseC023_Shapes: each shape of repository is recognized by files alone,
// without git installed, and git agrees about its folders.
func TestCaseC023_Shapes(t *testing.T) {
	w := shapes(t)
	for _, c := range []struct {
		at   string
		want Repo
	}{
		{"plain", Repo{Top: "plain", GitDir: "plain/.git", CommonDir: "plain/.git", MainTop: "plain", WorktreeName: "main"}},
		{"plain/sub/deep", Repo{Top: "plain", GitDir: "plain/.git", CommonDir: "plain/.git", MainTop: "plain", WorktreeName: "main"}},
		{"alias/sub", Repo{Top: "plain", GitDir: "plain/.git", CommonDir: "plain/.git", MainTop: "plain", WorktreeName: "main"}},
		{"linked/sub", Repo{Top: "linked", GitDir: "plain/.git/worktrees/linked", CommonDir: "plain/.git", MainTop: "plain", Linked: true, WorktreeName: "linked"}},
		{"elsewhere/main", Repo{Top: "elsewhere/main", GitDir: "plain/.git/worktrees/main", CommonDir: "plain/.git", MainTop: "plain", Linked: true, WorktreeName: "worktrees/main"}},
		{"super", Repo{Top: "super", GitDir: "super/.git", CommonDir: "super/.git", MainTop: "super", WorktreeName: "main"}},
		{"super/vendor/lib", Repo{Top: "super/vendor/lib", GitDir: "super/.git/modules/vendor/lib", CommonDir: "super/.git/modules/vendor/lib", MainTop: "super/vendor/lib", WorktreeName: "main", Submodule: true}},
		{"libwt", Repo{Top: "libwt", GitDir: "super/.git/modules/vendor/lib/worktrees/libwt", CommonDir: "super/.git/modules/vendor/lib", MainTop: "super/vendor/lib", Linked: true, WorktreeName: "libwt", Submodule: true}},
		{"bare.git", Repo{GitDir: "bare.git", CommonDir: "bare.git", Bare: true}},
		{"barewt", Repo{Top: "barewt", GitDir: "bare.git/worktrees/barewt", CommonDir: "bare.git", Bare: true, Linked: true, WorktreeName: "barewt"}},
		{"proj", Repo{GitDir: "proj/.bare", CommonDir: "proj/.bare", Bare: true}},
		{"proj/main", Repo{Top: "proj/main", GitDir: "proj/.bare/worktrees/main", CommonDir: "proj/.bare", Bare: true, Linked: true, WorktreeName: "main"}},
		{"hooked", Repo{Top: "hooked", GitDir: "hooked/.git", CommonDir: "hooked/.git", MainTop: "hooked", WorktreeName: "main"}},
		{"sep", Repo{Top: "sep", GitDir: "sep.git", CommonDir: "sep.git", MainTop: "sep", WorktreeName: "main"}},
		{"moved", Repo{Top: "moved", GitDir: "moved/here/.git", CommonDir: "moved/here/.git", MainTop: "moved", WorktreeName: "main"}},
		{"plain/.git/refs", Repo{Top: "plain", GitDir: "plain/.git", CommonDir: "plain/.git", MainTop: "plain", WorktreeName: "main"}},
	} {
		t.Run(c.at, func(t *testing.T) {
			r := w.find(c.at)
			equal(t, c.want, facts(w, r))
			if len(r.Notes) != 0 {
				t.Errorf("notes: %q", r.Notes)
			}
			without, err := Find(context.Background(), w.noGit(), w.path(c.at))
			must(t, err)
			if len(without.Notes) != 1 || !strings.Contains(without.Notes[0], "not installed") {
				t.Errorf("without git: notes %q", without.Notes)
			}
			without.Notes = nil
			equal(t, c.want, facts(w, without))
			if strings.Contains(c.at, ".git/") {
				return
			}
			equal(t, w.git(c.at, "rev-parse", "--absolute-git-dir"), r.GitDir)
			if r.Top != "" {
				equal(t, w.git(c.at, "rev-parse", "--show-toplevel"), r.Top)
			}
			h, err := r.Head(context.Background())
			must(t, err)
			equal(t, w.git(c.at, "rev-parse", "HEAD"), h.Commit)
			first, err := r.FirstCommit(context.Background())
			must(t, err)
			equal(t, w.git(c.at, "rev-list", "--max-parents=0", "HEAD"), first)
			worktreeFacts(t, w, r)
		})
	}
}

// worktreeFacts asks what needs a worktree, and compares with git.
func worktreeFacts(t *testing.T, w *world, r *Repo) {
	files, err := r.Files(context.Background())
	if r.Top == "" {
		if !errors.Is(err, ErrNoWorktree) {
			t.Errorf("files of a bare repository: %v", err)
		}
		return
	}
	must(t, err)
	if len(files) == 0 {
		t.Error("no files")
	}
	status, err := r.Status(context.Background())
	must(t, err)
	equal(t, w.git(r.rel(w), "status", "--porcelain") != "", status.Dirty)
	_, err = r.DirtyDigest(context.Background())
	must(t, err)
}

// TestCaseC023_PointerFiles: the fixtures, CRLF and a dangling pointer included.
func TestCaseC023_PointerFiles(t *testing.T) {
	w := newWorld(t)
	w.repo("lib")
	w.repo("super")
	w.git("super", "submodule", "add", "-q", "--name", "vendor-lib", "../lib", "vendor")
	for _, f := range []string{"dot-git-submodule", "dot-git-crlf"} {
		w.write("super/vendor/.git", fixture(t, f))
		r := w.find("super/vendor")
		equal(t, w.path("super/.git/modules/vendor-lib"), r.GitDir)
		if !r.Submodule || r.Top != w.path("super/vendor") {
			t.Errorf("%s: %+v", f, r)
		}
	}
	for _, f := range []string{"dot-git-dangling", "dot-git-worktree"} {
		w.write("super/gone/deep/x", "")
		w.write("super/gone/.git", fixture(t, f))
		r, err := Find(context.Background(), w.env, w.path("super/gone/deep"))
		if !errors.Is(err, ErrDangling) || !errors.Is(err, ErrNone) {
			t.Fatalf("%s: %v", f, err)
		}
		if r.Top != w.path("super/gone") || r.GitDir != "" || len(r.Notes) != 1 {
			t.Errorf("%s: %+v", f, r)
		}
	}
	for _, text := range []string{"", "gitdir:", "gitdir: \n", "x", "gitdir: a\x00b\n", strings.Repeat("g", maxPointer+1)} {
		w.write("super/gone/.git", text)
		if _, err := Find(context.Background(), w.env, w.path("super/gone")); !errors.Is(err, ErrDangling) {
			t.Errorf("%.20q: %v", text, err)
		}
	}
}

// TestCaseC023_NoRepository: no git at all is no error but a fact.
func TestCaseC023_NoRepository(t *testing.T) {
	w := newWorld(t)
	w.write("work/a/b/x", "")
	r, err := Find(context.Background(), w.env, w.path("work/a/b"))
	if !errors.Is(err, ErrNone) || errors.Is(err, ErrDangling) || r == nil || len(r.Notes) != 0 {
		t.Errorf("%+v, %v", r, err)
	}
	must(t, os.Mkdir(w.path("work/.git"), 0o755)) // an empty folder is no repository
	if _, err := Find(context.Background(), w.env, w.path("work/a")); !errors.Is(err, ErrNone) {
		t.Error(err)
	}
	if r, err := Find(context.Background(), w.env, w.path("gone")); !errors.Is(err, ErrNone) || !errors.Is(err, fs.ErrNotExist) || r == nil {
		t.Error(err)
	}
}

// TestCaseC029_WalkStops: neither the home folder nor anything above it is ever
// taken for the project.
func TestCaseC029_WalkStops(t *testing.T) {
	w := newWorld(t)
	w.repo(".") // around the home folder
	w.repo("home")
	w.write("home/code/x", "")
	w.repo("home/code/proj")
	for _, at := range []string{"home", "home/code"} {
		r, err := Find(context.Background(), w.env, w.path(at))
		if !errors.Is(err, ErrNone) || len(r.Notes) != 1 {
			t.Errorf("%s: %+v, %v", at, r, err)
		}
	}
	equal(t, w.path("home/code/proj"), w.find("home/code/proj").Top)
	must(t, os.Symlink(w.home, w.path("home2")))
	e := w.env
	e.Vars = append(e.Vars, "HOME="+w.path("home2")) // another spelling of it
	if _, err := Find(context.Background(), e, w.path("home/code")); !errors.Is(err, ErrNone) {
		t.Error(err)
	}
	if _, err := Find(context.Background(), w.env, "/"); !errors.Is(err, ErrNone) {
		t.Error(err)
	}
	w.write("outside/deep/x", "")
	equal(t, w.dir, w.find("outside/deep").Top)
	e.Vars = append(w.env.Vars, "GIT_CEILING_DIRECTORIES="+w.path("outside"))
	if _, err := Find(context.Background(), e, w.path("outside/deep")); !errors.Is(err, ErrNone) {
		t.Error(err)
	}
}

// TestCaseC023_GitDirSet: GIT_DIR counts where it fits the folder.
func TestCaseC023_GitDirSet(t *testing.T) {
	w := newWorld(t)
	w.repo("here")
	w.write("here/sub/x", "")
	w.repo("there")
	w.repo("here/inner")
	w.write("work/tree/sub/x", "")
	w.git(".", "clone", "-q", "--bare", "there", "meta.git")
	for _, c := range []struct {
		name, at string
		vars     []string
		gitDir   string // "" for none
		top      string
		notes    int
	}{
		{"hook", "here", []string{"GIT_DIR=.git"}, "here/.git", "here", 0},
		{"hook, sub-folder", "here/sub", []string{"GIT_DIR=.git"}, "here/.git", "here", 0},
		{"same, absolute", "here/sub", []string{"GIT_DIR=" + w.path("here/.git")}, "here/.git", "here", 0},
		{"another repository", "here", []string{"GIT_DIR=" + w.path("there/.git")}, "here/.git", "here", 1},
		{"outer from inner", "here/inner", []string{"GIT_DIR=" + w.path("here/.git")}, "here/inner/.git", "here/inner", 1},
		{"nonsense", "here", []string{"GIT_DIR=/nonexistent"}, "here/.git", "here", 1},
		{"another, from nowhere", "work", []string{"GIT_DIR=" + w.path("there/.git")}, "", "", 1},
		{"bare without worktree", "work/tree", []string{"GIT_DIR=" + w.path("meta.git")}, "", "", 1},
		{"with worktree", "work/tree/sub", []string{"GIT_DIR=" + w.path("meta.git"), "GIT_WORK_TREE=" + w.path("work/tree")}, "meta.git", "work/tree", 0},
		{"worktree is home", "home", []string{"GIT_DIR=" + w.path("meta.git"), "GIT_WORK_TREE=" + w.home}, "", "", 1},
		{"separate for the same top", "here", []string{"GIT_DIR=" + w.path("meta.git"), "GIT_WORK_TREE=" + w.path("here")}, "meta.git", "here", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := w.env
			e.Vars = append(append([]string{}, e.Vars...), c.vars...)
			r, err := Find(context.Background(), e, w.path(c.at))
			if c.gitDir == "" {
				if !errors.Is(err, ErrNone) {
					t.Errorf("%+v, %v", r, err)
				}
			} else {
				must(t, err)
				equal(t, w.path(c.gitDir), r.GitDir)
				equal(t, w.path(c.top), r.Top)
				if _, err := r.Status(context.Background()); err != nil {
					t.Error(err)
				}
			}
			if len(r.Notes) != c.notes {
				t.Errorf("notes: %q", r.Notes)
			}
		})
	}
}

// TestFindNotes: odd worktrees are told, and a checkout can't name another
// folder as its main worktree.
func TestFindNotes(t *testing.T) {
	w := newWorld(t)
	w.repo("main")
	w.git("main", "worktree", "add", "-q", "-b", "side", "../wt")
	must(t, os.CopyFS(w.path("copy"), os.DirFS(w.path("wt"))))
	if n := w.find("copy").Notes; len(n) != 1 || !strings.Contains(n[0], "copy") {
		t.Errorf("copy: %q", n)
	}
	must(t, os.Rename(w.path("wt"), w.path("wt2")))
	if n := w.find("wt2").Notes; len(n) != 1 || !strings.Contains(n[0], "moved") {
		t.Errorf("moved: %q", n)
	}
	w.repo("victim")
	w.git("main", "config", "core.worktree", w.path("victim"))
	r := w.find("wt2")
	if r.MainTop != "" || len(r.Notes) != 2 {
		t.Errorf("victim taken: %+v", r)
	}
	if r := w.find("main"); r.Top != w.path("main") || len(r.Notes) != 1 {
		t.Errorf("core.worktree: %+v", r)
	}
}

// TestFindNoWaiting: FIFOs in the place of git's files never block.
func TestFindNoWaiting(t *testing.T) {
	w := newWorld(t)
	for _, file := range []string{"HEAD", "commondir", "config", "packed-refs", "refs/heads/main", "refs/heads/x", "BISECT_START"} {
		w.repo("r")
		os.Remove(w.path("r/.git/" + file))
		fifo(t, w.path("r/.git/"+file))
		r, err := Find(context.Background(), w.noGit(), w.path("r"))
		if err == nil {
			r.Head(context.Background())
			r.RefTips(context.Background())
			r.DefaultBranch(context.Background())
		}
		must(t, os.RemoveAll(w.path("r")))
	}
	must(t, os.Mkdir(w.path("f"), 0o755))
	fifo(t, w.path("f/.git"))
	if _, err := Find(context.Background(), w.env, w.path("f")); !errors.Is(err, ErrNone) {
		t.Error(err)
	}
}
