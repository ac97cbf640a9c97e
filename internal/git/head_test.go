package git

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestCaseC026_Head: detached, unborn and "the branch git will return to" are
// values of their own; no word of git's is ever taken for a branch. Each is
// read without git installed.
func TestCaseC026_Head(t *testing.T) {
	w := newWorld(t)
	w.repo("r")
	one := w.git("r", "rev-parse", "HEAD")
	w.git("r", "checkout", "-q", "-b", "feature/a")
	two := w.commit("r", "a.txt", "two\n")
	w.git("r", "checkout", "-q", "main")
	three := w.commit("r", "a.txt", "three\n")
	check := func(what string, want Head) {
		t.Helper()
		for _, env := range []Env{w.env, w.noGit()} {
			r, err := Find(context.Background(), env, w.path("r"))
			must(t, err)
			got, err := r.Head(context.Background())
			must(t, err)
			if got != want {
				t.Errorf("%s: got %+v, want %+v", what, got, want)
			}
		}
	}
	check("branch", Head{Branch: "main", Commit: three})

	w.git("r", "checkout", "-q", "feature/a")
	if _, err := w.try("r", "rebase", "main"); err == nil {
		t.Fatal("the rebase was meant to stop")
	}
	check("rebase (merge)", Head{Commit: three, Detached: true, Returning: "feature/a"})
	w.git("r", "rebase", "--abort")
	if _, err := w.try("r", "rebase", "--apply", "main"); err == nil {
		t.Fatal("the rebase was meant to stop")
	}
	check("rebase (apply)", Head{Commit: three, Detached: true, Returning: "feature/a"})
	w.git("r", "rebase", "--abort")
	check("aborted", Head{Branch: "feature/a", Commit: two})
	w.git("r", "branch", "-m", "feature/a", "b")
	check("renamed", Head{Branch: "b", Commit: two})

	w.git("r", "checkout", "-q", "main")
	four := w.commit("r", "a.txt", "four\n")
	five := w.commit("r", "a.txt", "five\n")
	w.git("r", "bisect", "start", five, one)
	check("bisect", Head{Commit: four, Detached: true, Returning: "main"})
	w.git("r", "bisect", "reset")

	w.git("r", "checkout", "-q", "--detach", one)
	check("detached", Head{Commit: one, Detached: true})
	w.git("r", "bisect", "start", five, one)
	check("bisect from detached", Head{Commit: four, Detached: true})
	w.git("r", "bisect", "reset")
	if _, err := w.try("r", "rebase", two); err == nil { // from a detached HEAD it just moves
		check("moved", Head{Commit: two, Detached: true})
	}
	w.git("r", "switch", "-q", "--orphan", "empty")
	check("unborn", Head{Branch: "empty", Unborn: true})
	w.git("r", "checkout", "-q", "main")
	w.git("r", "pack-refs", "--all")
	check("packed", Head{Branch: "main", Commit: five})
}

// TestHeadShapes: ids of both kinds, names that are odd, and refs of the old style.
func TestHeadShapes(t *testing.T) {
	w := newWorld(t)
	w.repo("r256", "--object-format=sha256")
	h := w.head("r256")
	if len(h.Commit) != 64 || h.Commit != w.git("r256", "rev-parse", "HEAD") {
		t.Errorf("sha256: %+v", h)
	}
	w.git("r256", "checkout", "-q", "--detach")
	if h := w.head("r256"); !h.Detached || len(h.Commit) != 64 {
		t.Errorf("sha256: %+v", h)
	}

	w.repo("r")
	tip := w.git("r", "rev-parse", "HEAD")
	for _, name := range []string{
		"a/b/c/d", "ünï/cödé", "with-@-at", "HEAD2", "it's", `quo"te`, "a;b", "$(x)", "-dash", "#1", "x.y", "日本", "nul\xffbyte", "{a}", "a,b", "refs/heads/x",
	} {
		w.git("r", "update-ref", "refs/heads/"+name, tip)
		w.git("r", "symbolic-ref", "HEAD", "refs/heads/"+name)
		if h := w.head("r"); h != (Head{Branch: name, Commit: tip}) {
			t.Errorf("%q: %+v", name, h)
		}
	}
	w.git("r", "symbolic-ref", "HEAD", "refs/heads/alias")
	w.git("r", "symbolic-ref", "refs/heads/alias", "refs/heads/main")
	if h := w.head("r"); h != (Head{Branch: "main", Commit: tip}) {
		t.Errorf("through a symbolic branch: %+v", h)
	}
	w.git("r", "symbolic-ref", "refs/heads/alias", "refs/heads/alias")
	if h, err := w.find("r").Head(context.Background()); err == nil && h.Commit != "" {
		t.Errorf("a loop: %+v", h)
	}
	if testing.Short() || os.PathSeparator != '/' {
		return
	}
	must(t, os.Remove(w.path("r/.git/HEAD")))
	must(t, os.Symlink("refs/heads/main", w.path("r/.git/HEAD")))
	if h := w.head("r"); h != (Head{Branch: "main", Commit: tip}) {
		t.Errorf("HEAD is a link: %+v", h)
	}
	must(t, os.Remove(w.path("r/.git/refs/heads/alias")))
	must(t, os.Symlink("refs/heads/main", w.path("r/.git/refs/heads/alias")))
	oid, err := w.find("r").Ref(context.Background(), "refs/heads/alias")
	if must(t, err); oid != tip {
		t.Errorf("a ref is a link: %s", oid)
	}
}

// TestHeadHostile: a HEAD that isn't git's is refused, and nothing outside is read.
func TestHeadHostile(t *testing.T) {
	w := newWorld(t)
	w.repo("r")
	w.write("secret", strings.Repeat("a", 40)+"\n")
	r := w.find("r")
	for _, text := range []string{
		"", "\n", "x", "ref: ", "ref: main", "ref: refs/heads/../../../../secret", "ref: refs//heads", "ref: /etc/passwd",
		"ref: refs/heads/a\x00b", "ref: refs/heads/.hidden", "ref: refs/heads/x.lock", strings.Repeat("a", 39), strings.Repeat("g", 40),
		strings.Repeat("a", 41), strings.Repeat("a", maxRefFile+1), "ref: refs/heads/" + strings.Repeat("a", maxRefName),
	} {
		w.write("r/.git/HEAD", text)
		if h, err := r.Head(context.Background()); err == nil {
			t.Errorf("%.40q: %+v", text, h)
		} else if strings.Contains(err.Error(), "hidden") {
			t.Errorf("the file's text is in the error: %v", err)
		}
		if _, err := Find(context.Background(), w.env, w.path("r")); !errors.Is(err, ErrNone) {
			t.Errorf("%.40q: found, though git wouldn't: %v", text, err)
		}
	}
	w.write("r/.git/HEAD", "ref: refs/heads/main\n")
	must(t, os.Remove(w.path("r/.git/refs/heads/main")))
	must(t, os.Symlink(w.path("secret"), w.path("r/.git/refs/heads/main")))
	want, _ := w.try("r", "rev-parse", "HEAD")
	if h, err := r.Head(context.Background()); err == nil && h.Commit != want {
		t.Errorf("a link out of the repository: %+v, git says %s", h, want)
	}
}

// TestReftable: where refs are kept in another format, git is asked; a git that
// doesn't know the format is an error, never an unborn branch.
func TestReftable(t *testing.T) {
	w := newWorld(t)
	if out, err := w.try(".", "init", "-q", "--ref-format=reftable", "r"); err != nil {
		t.Logf("this git has no reftable, so only its layout is tested: %.60s", out)
		w.repo("r")
		w.write("r/.git/HEAD", "ref: "+reftableHead+"\n")
		must(t, os.RemoveAll(w.path("r/.git/refs/heads")))
		w.write("r/.git/refs/heads", "this repository uses the reftable format\n")
		w.write("r/.git/reftable/tables.list", "")
		w.git("r", "config", "--file", ".git/config", "core.repositoryFormatVersion", "1")
		w.git(".", "config", "--file", "r/.git/config", "extensions.refStorage", "reftable")
		r := w.find("r")
		if h, err := r.Head(context.Background()); err == nil {
			t.Errorf("head: %+v", h)
		}
		if tips, err := r.RefTips(context.Background()); err == nil {
			t.Errorf("tips: %v", tips)
		}
		if _, err := r.Ref(context.Background(), "refs/heads/main"); err == nil || errors.Is(err, ErrNoRef) {
			t.Errorf("ref: %v", err)
		}
		return
	}
	tip := w.commit("r", "a", "a")
	if h := w.head("r"); h != (Head{Branch: "main", Commit: tip}) {
		t.Errorf("%+v", h)
	}
	tips, err := w.find("r").RefTips(context.Background())
	must(t, err)
	equal(t, map[string]string{"main": tip}, tips)
}

// TestRefTips agrees with git on loose, packed, symbolic, broken and odd refs.
func TestRefTips(t *testing.T) {
	w := newWorld(t)
	w.repo("r")
	ctx := context.Background()
	check := func(what string) {
		t.Helper()
		want := map[string]string{}
		for line := range strings.SplitSeq(w.git("r", "for-each-ref", "--format=%(objectname) %(refname)", "refs/heads/"), "\n") {
			oid, name, _ := strings.Cut(line, " ")
			want[strings.TrimPrefix(name, headsPrefix)] = oid
		}
		r := w.find("r")
		got, err := r.tipsFromFiles(ctx)
		must(t, err)
		t.Run(what, func(t *testing.T) { equal(t, want, got) })
		got, err = r.tipsFromGit(ctx)
		must(t, err)
		t.Run(what+", asked", func(t *testing.T) { equal(t, want, got) })
		for name, oid := range want {
			if got, err := r.Ref(ctx, headsPrefix+name); err != nil || got != oid {
				t.Errorf("%s: ref %q: %s, %v", what, name, got, err)
			}
		}
	}
	for i := range 30 {
		w.git("r", "branch", fmt.Sprintf("topic/%d/x", i))
	}
	check("loose")
	w.git("r", "pack-refs", "--all")
	check("packed")
	w.commit("r", "b", "b")
	w.git("r", "branch", "-f", "topic/3/x")
	w.git("r", "branch", "topic/new")
	w.git("r", "symbolic-ref", "refs/heads/sym", "refs/heads/topic/7/x")
	w.git("r", "tag", "-a", "-m", "t", "v1")
	check("mixed")
	w.write("r/.git/refs/heads/topic/new.lock", "")
	w.write("r/.git/refs/heads/dangling", "ref: refs/heads/nothing\n")
	if err := os.MkdirAll(w.path("r/.git/refs/heads/empty/folder"), 0o755); err != nil {
		t.Fatal(err)
	}
	check("stray files")
	w.git("r", "worktree", "add", "-q", "-b", "side", "../wt")
	got, err := w.find("wt").RefTips(ctx)
	must(t, err)
	equal(t, w.git("wt", "rev-parse", "HEAD"), got["side"])
	w.git("wt", "update-ref", "refs/worktree/mine", "HEAD")
	if _, err := w.find("wt").Ref(ctx, "refs/worktree/mine"); err != nil {
		t.Error(err)
	}
	if _, err := w.find("r").Ref(ctx, "refs/worktree/mine"); !errors.Is(err, ErrNoRef) {
		t.Error(err)
	}
	for _, bad := range []string{"main", "", "refs/heads/../x", "--all", "refs/heads/a b", "HEAD^", "refs/heads/main^{tree}"} {
		if _, err := w.find("r").Ref(ctx, bad); !errors.Is(err, ErrMalformed) {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

// TestHugePackedRefs: a name is found in a big file, sorted or not, and what
// isn't there isn't.
func TestHugePackedRefs(t *testing.T) {
	w := newWorld(t)
	w.repo("r")
	tip := w.git("r", "rev-parse", "HEAD")
	var body strings.Builder
	name := func(i int) string { return fmt.Sprintf("refs/heads/%06d/x%s", i, strings.Repeat("x", i%900)) }
	const n = 20_000
	for i := range n {
		fmt.Fprintf(&body, "%040x %s\n", i+1, name(i))
		if i%3 == 0 {
			fmt.Fprintf(&body, "^%040x\n", i)
		}
	}
	r := w.find("r")
	for _, header := range []string{"# pack-refs with: peeled fully-peeled sorted \n", "# pack-refs with: peeled \n", ""} {
		w.write("r/.git/packed-refs", header+body.String())
		step := 97
		if header == "" || !strings.Contains(header, "sorted") {
			step = 4999
		}
		for i := 0; i < n; i += step {
			got, err := r.Ref(context.Background(), name(i))
			if want := fmt.Sprintf("%040x", i+1); err != nil || got != want {
				t.Fatalf("%q: ref %d: %s, %v", header, i, got, err)
			}
		}
		for _, i := range []int{0, n - 1} {
			if got, err := r.Ref(context.Background(), name(i)); err != nil || got != fmt.Sprintf("%040x", i+1) {
				t.Errorf("%q: end %d: %v", header, i, err)
			}
		}
		for _, gone := range []string{"refs/heads/000000/y", "refs/heads/zzz", "refs/heads/000000", "refs/a", name(5) + "y"} {
			if _, err := r.Ref(context.Background(), gone); !errors.Is(err, ErrNoRef) {
				t.Errorf("%q: %s: %v", header, gone, err)
			}
		}
		h, err := r.Head(context.Background())
		must(t, err)
		equal(t, Head{Branch: "main", Commit: tip}, h)
	}
}

// TestDefaultBranch follows the order of the specification.
func TestDefaultBranch(t *testing.T) {
	w := newWorld(t)
	w.repo("r")
	ctx := context.Background()
	check := func(want string) {
		t.Helper()
		got, err := w.find("r").DefaultBranch(ctx)
		must(t, err)
		equal(t, want, got)
	}
	check("main")
	w.git("r", "branch", "master")
	w.git("r", "branch", "trunk")
	check("main")
	w.git("r", "config", "init.defaultBranch", "trunk")
	check("trunk")
	w.git("r", "config", "init.defaultBranch", "--nonsense")
	check("main")
	w.git("r", "branch", "-m", "main", "other")
	check("master")
	w.git("r", "branch", "-D", "master")
	check("")
	w.repo("up")
	w.git("up", "branch", "-m", "main", "dev/elop")
	w.git("r", "remote", "add", "origin", w.path("up"))
	w.git("r", "fetch", "-q", "origin")
	w.git("r", "remote", "set-head", "origin", "-a")
	check("dev/elop")
	w.git("r", "pack-refs", "--all")
	check("dev/elop")
	r, err := Find(ctx, w.noGit(), w.path("r"))
	must(t, err)
	name, err := r.DefaultBranch(ctx)
	must(t, err)
	equal(t, "dev/elop", name)
	w.git("r", "update-ref", "-d", "refs/remotes/origin/dev/elop") // renamed upstream, pruned
	check("")
	os.Remove(filepath.Join(w.dir, "r/.git/refs/remotes/origin/HEAD"))
	check("")
}
