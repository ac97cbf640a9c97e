package git

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

// trap is a hostile checkout: each way in which a repository can configure a
// command leaves a mark of its own when that command runs.
type trap struct {
	w     *world
	marks string
}

// cmd is a shell command that leaves the mark and behaves like cat.
func (tr *trap) cmd(mark string) string {
	return fmt.Sprintf("touch '%s'; cat; true", filepath.Join(tr.marks, mark))
}

func (tr *trap) script(path, mark string) {
	tr.w.write(path, "#!/bin/sh\ntouch '"+filepath.Join(tr.marks, mark)+"'\nexit 1\n")
	must(tr.w.t, os.Chmod(tr.w.path(path), 0o755))
}

// fired lists the marks, and forgets them.
func (tr *trap) fired() []string {
	entries, err := os.ReadDir(tr.marks)
	must(tr.w.t, err)
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
		must(tr.w.t, os.Remove(filepath.Join(tr.marks, e.Name())))
	}
	return names
}

// setTrap makes the checkout "r". Its files differ from the index in their time
// stamps alone, so that whoever compares content must run the filters.
func setTrap(t *testing.T) *trap {
	w := newWorld(t)
	tr := &trap{w: w, marks: w.path("marks")}
	must(t, os.Mkdir(tr.marks, 0o755))
	w.repo("lib")
	w.repo("r")
	w.git("r", "submodule", "add", "-q", "../lib", "lib")
	var attrs strings.Builder
	filters := []string{"plain", "proc", "a=b", "x.y z", "inc", "cond", "wt", "global", ""}
	for i, f := range filters {
		name := fmt.Sprintf("f%d", i)
		w.write("r/"+name, "content\n")
		fmt.Fprintf(&attrs, "%s filter=%s diff=ext\n", name, f)
	}
	w.write("r/.gitattributes", strings.Replace(attrs.String(), "x.y z", "x.y", 1))
	w.write("r/evil.cfg", "[filter \"inc\"]\n clean = \""+tr.cmd("include.path")+"\"\n required\n")
	w.write("r/cond.cfg", "[filter \"cond\"]\n clean = \""+tr.cmd("includeIf")+"\"\n")
	w.git("r", "add", ".")
	w.git("r", "commit", "-q", "-m", "files")
	w.git("r", "branch", "side")

	tr.configureFilters()
	tr.configurePrograms()
	tr.configureSubmodule()
	later := time.Now().Add(-time.Hour)
	for _, f := range strings.Fields("lib/a.txt a.txt f0 f1 f2 f3 f4 f5 f6 f7 f8") {
		must(t, os.Chtimes(w.path("r/"+f), later, later))
	}
	tr.script("r/bin/git", "git-in-the-checkout")
	w.env.Vars = append(w.env.Vars, "GIT_EXTERNAL_DIFF="+w.path("r/fsmonitor"), "GIT_SSH_COMMAND="+w.path("r/fsmonitor"),
		"GIT_TRACE="+filepath.Join(tr.marks, "GIT_TRACE"), "GIT_TRACE2_EVENT="+filepath.Join(tr.marks, "GIT_TRACE2"),
		"GIT_INDEX_FILE="+w.path("nowhere"), "GIT_OBJECT_DIRECTORY="+w.path("nowhere"), "GIT_NAMESPACE=x", "GIT_COMMON_DIR="+w.path("nowhere"))
	w.env.Path = strings.Join([]string{w.path("r/bin"), "bin", "", ".", w.env.Path}, string(filepath.ListSeparator))
	return tr
}

func (tr *trap) set(key, value string) {
	tr.w.git("r", "config", "--file", ".git/config", key, value)
}

func (tr *trap) configureFilters() {
	w, set := tr.w, tr.set
	w.write("home/.gitconfig", "[user]\n name = A\n email = a@b\n[filter \"global\"]\n clean = \""+tr.cmd("filter.global")+"\"\n")
	set("filter.plain.clean", tr.cmd("filter.clean"))
	set("filter.plain.required", "true")
	set("filter.plain.smudge", tr.cmd("filter.smudge"))
	set("filter.proc.process", tr.cmd("filter.process"))
	set("filter.a=b.clean", tr.cmd("filter.equals"))
	set("filter.x.y.clean", tr.cmd("filter.dot"))
	set("filter..clean", tr.cmd("filter.empty"))
	set("include.path", "../evil.cfg")
	set("includeIf.gitdir:**.path", "../cond.cfg")
	set("core.repositoryFormatVersion", "1")
	set("extensions.worktreeConfig", "true")
	w.write("r/.git/config.worktree", "[filter \"wt\"]\n clean = \""+tr.cmd("config.worktree")+"\"\n")
}

func (tr *trap) configurePrograms() {
	w, set := tr.w, tr.set
	tr.script("r/fsmonitor", "core.fsmonitor")
	set("core.fsmonitor", w.path("r/fsmonitor"))
	for _, hook := range []string{"post-index-change", "reference-transaction", "post-checkout", "fsmonitor-watchman"} {
		tr.script("r/hooks/"+hook, "hooksPath."+hook)
		tr.script("r/.git/hooks/"+hook, "hooks."+hook)
	}
	set("core.hooksPath", w.path("r/hooks"))
	for _, key := range []string{
		"core.pager", "pager.status", "pager.ls-files", "diff.external", "diff.ext.command", "diff.ext.textconv", "core.editor", "core.askPass",
		"core.sshCommand", "core.gitProxy", "gpg.program", "credential.helper", "core.alternateRefsCommand", "uploadpack.packObjectsHook",
		"interactive.diffFilter", "merge.x.driver", "sequence.editor", "gc.recentObjectsHook",
	} {
		set(key, tr.cmd(key))
	}
	for _, verb := range []string{"status", "ls-files", "rev-list", "config", "rev-parse", "cat-file", "merge-base", "ls-tree", "symbolic-ref", "for-each-ref"} {
		set("alias."+verb, "!"+tr.cmd("alias."+verb))
	}
	set("log.showSignature", "true")
	set("status.submoduleSummary", "true")
	set("trace2.eventTarget", filepath.Join(tr.marks, "trace2"))
	set("protocol.allow", "always")
	set("remote.origin.url", "ext::sh -c touch% '"+filepath.Join(tr.marks, "lazy-fetch")+"'")
	set("remote.origin.promisor", "true")
	set("extensions.partialClone", "origin")
}

func (tr *trap) configureSubmodule() {
	w := tr.w
	sub := func(key, value string) { w.git("r/lib", "config", key, value) }
	sub("core.fsmonitor", w.path("r/fsmonitor"))
	w.write("r/lib/.gitattributes", "* filter=sub\n")
	sub("filter.sub.clean", tr.cmd("submodule"))
	sub("alias.status", "!"+tr.cmd("submodule.alias"))
}

// snapshot tells each file below a folder with content and time stamp.
func snapshot(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	must(t, filepath.WalkDir(dir, func(p string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		fi, err := e.Info()
		if err != nil {
			return err
		}
		line := fmt.Sprint(fi.Mode(), fi.ModTime().UnixNano())
		if fi.Mode().IsRegular() {
			b, err := os.ReadFile(p)
			if err != nil {
				return err
			}
			line += fmt.Sprintf(" %x", sha256.Sum256(b))
		}
		all[p] = line
		return nil
	}))
	return all
}

// TestHostileRepository: whatever is asked, nothing that the repository
// configures runs and nothing is written; and the traps do work for plain git.
func TestHostileRepository(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the traps are shell scripts")
	}
	tr := setTrap(t)
	w := tr.w
	tr.fired() // of the making
	ctx := context.Background()
	before := snapshot(t, w.path("r"))
	r := w.find("r")
	h, err := r.Head(ctx)
	must(t, err)
	gone := strings.Repeat("0c", 20)
	for name, ask := range map[string]func() error{
		"DefaultBranch": func() error { _, err := r.DefaultBranch(ctx); return err },
		"MergeBase":     func() error { _, err := r.MergeBase(ctx, h.Commit, "refs/heads/side"); return err },
		"IsAncestor":    func() error { _, err := r.IsAncestor(ctx, "refs/heads/side", "HEAD"); return err },
		"Ancestors":     func() error { _, err := r.Ancestors(ctx, "HEAD", []string{h.Commit, gone}); return err },
		"RefTips":       func() error { _, err := r.RefTips(ctx); return err },
		"tips asked":    func() error { _, err := r.tipsFromGit(ctx); return err },
		"head asked":    func() error { _, err := r.headFromGit(ctx); return err },
		"Status":        func() error { _, err := r.Status(ctx); return err },
		"Files":         func() error { _, err := r.Files(ctx); return err },
		"TrackedUnder":  func() error { _, err := r.TrackedUnder(ctx, ".holdfast"); return err },
		"FirstCommit":   func() error { _, err := r.FirstCommit(ctx); return err },
		"DirtyDigest":   func() error { _, err := r.DirtyDigest(ctx); return err },
		"HeadBlobs":     func() error { _, err := r.HeadBlobs(ctx, []string{"f0"}); return err },
		"HasCommit":     func() error { _, err := r.HasCommit(ctx, gone); return err },
		"missing merge": func() error {
			if _, err := r.MergeBase(ctx, h.Commit, gone); !errors.Is(err, ErrMissing) {
				return fmt.Errorf("missing: %w", err)
			}
			return nil
		},
		"missing blob": func() error {
			if _, err := r.ReadBlob(ctx, gone, 10); !errors.Is(err, ErrMissing) {
				return fmt.Errorf("missing: %w", err)
			}
			return nil
		},
	} {
		if err := ask(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if ran := tr.fired(); len(ran) > 0 {
			t.Errorf("%s ran %q", name, ran)
		}
	}
	if len(r.Notes) > 0 {
		t.Errorf("notes: %q", r.Notes)
	}
	equal(t, before, snapshot(t, w.path("r")))
	tr.control(t, gone)
}

// control shows that the traps do work, on plain git.
func (tr *trap) control(t *testing.T, gone string) {
	w := tr.w
	w.env.Vars = slices.DeleteFunc(w.env.Vars, func(s string) bool { return strings.HasPrefix(s, "GIT_") })
	w.try("r", "status")
	w.write("r/f0", "edited")
	w.write("r/a.txt", "edited")
	w.try("r", "diff")
	w.try("r", "diff", "--no-ext-diff")
	w.try("r", "cat-file", "-p", gone)
	w.try("r", "commit", "--allow-empty", "-m", "x")
	ran := tr.fired()
	for _, want := range []string{
		"filter.clean", "filter.process", "filter.equals", "filter.dot", "filter.empty", "filter.global", "include.path", "includeIf",
		"config.worktree", "core.fsmonitor", "hooksPath.post-index-change", "hooksPath.reference-transaction", "lazy-fetch", "submodule", "diff.external", "diff.ext.command", "diff.ext.textconv",
	} {
		if !slices.Contains(ran, want) {
			t.Errorf("the trap %s doesn't work: plain git ran only %q", want, ran)
		}
	}
}

// TestManyFilters: more drivers than can be switched off are an error.
func TestManyFilters(t *testing.T) {
	w := newWorld(t)
	w.repo("r")
	var cfg strings.Builder
	for i := range maxFilters + 1 {
		fmt.Fprintf(&cfg, "[filter \"%s%d\"]\n clean = touch %s\n", strings.Repeat("n", 50), i, w.path("ran"))
		if i == maxFilters-1 {
			w.write("home/many", cfg.String())
		}
	}
	w.git("r", "config", "include.path", w.path("home/many"))
	if _, err := w.find("r").Status(context.Background()); err != nil {
		t.Error(err)
	}
	w.write("home/many", cfg.String())
	if _, err := w.find("r").Status(context.Background()); !errors.Is(err, ErrTooMuch) {
		t.Error(err)
	}
	w.write("home/many", "[filter \"x\"]\n clean\n[nonsense")
	if _, err := w.find("r").Status(context.Background()); !errors.Is(err, ErrUnavailable) {
		t.Error(err)
	}
}

// TestOldGit: a git that doesn't read the overrides isn't let near the worktree.
func TestOldGit(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the stand-in for an old git is a shell script")
	}
	w := newWorld(t)
	w.repo("r")
	real, err := (&Repo{env: w.env}).binary()
	must(t, err)
	w.write("old/git", "#!/bin/sh\nunset GIT_CONFIG_COUNT\nexec '"+real+"' \"$@\"\n")
	must(t, os.Chmod(w.path("old/git"), 0o755))
	w.env.Path = w.path("old")
	r := w.find("r")
	if _, err := r.Status(context.Background()); !errors.Is(err, ErrOldGit) || !errors.Is(err, ErrUnavailable) {
		t.Error(err)
	}
	if _, err := r.DirtyDigest(context.Background()); !errors.Is(err, ErrOldGit) {
		t.Error(err)
	}
	if _, err := r.Files(context.Background()); err != nil {
		t.Error(err)
	}
}

// TestStuckGit: a git that never ends, and one that never stops talking, are cut off.
func TestStuckGit(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the stand-ins for git are shell scripts")
	}
	w := newWorld(t)
	w.repo("r")
	r := w.find("r")
	script := func(text string) {
		w.write("bin/git", "#!/bin/sh\n"+text)
		must(t, os.Chmod(w.path("bin/git"), 0o755))
	}
	r.env.Path = w.path("bin")
	script("exec sleep 1000\n")
	ctx, cancel := context.WithCancel(context.Background())
	time.AfterFunc(50*time.Millisecond, cancel)
	if _, err := r.Files(ctx); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if _, err := r.lineOf(context.Background(), call{args: []string{"x"}, limit: 50 * time.Millisecond}); !errors.Is(err, ErrTimeout) {
		t.Error(err)
	}
	script("exec yes aaaaaaaaaaaaaaaaaaaaaaa\n")
	if _, err := r.Files(context.Background()); !errors.Is(err, ErrTooMuch) && !errors.Is(err, ErrMalformed) {
		t.Error(err)
	}
	script("printf 'secret text' >&2; exit 3\n")
	_, err := r.Files(context.Background())
	if exitCode(err) != 3 || strings.Contains(err.Error(), "secret") {
		t.Error(err)
	}
}

// TestChildEnvironment: nothing in the caller's environment leads git to
// another repository, and the person's own git settings stay.
func TestChildEnvironment(t *testing.T) {
	e := Env{Vars: []string{
		"HOME=/h", "GIT_DIR=/x", "GIT_WORK_TREE=/x", "GIT_INDEX_FILE=/x", "GIT_OBJECT_DIRECTORY=/x", "GIT_ALTERNATE_OBJECT_DIRECTORIES=/x",
		"GIT_COMMON_DIR=/x", "GIT_NAMESPACE=x", "GIT_CONFIG=/x", "GIT_CONFIG_PARAMETERS='a.b=c'", "GIT_TRACE=/x", "GIT_EDITOR=x", "GIT_EXTERNAL_DIFF=x",
		"GIT_GRAFT_FILE=/x", "GIT_ATTR_SOURCE=x", "GIT_EXEC_PATH=/e", "GIT_CONFIG_GLOBAL=/g", "GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=safe.directory",
		"GIT_CONFIG_VALUE_0=*", "LC_ALL=de_DE.UTF-8", "LC_MESSAGES=de", "LANGUAGE=de", "GIT_ALLOW_PROTOCOL=ext",
	}}
	equal(t, []string{
		"HOME=/h", "GIT_EXEC_PATH=/e", "GIT_CONFIG_GLOBAL=/g", "GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=safe.directory", "GIT_CONFIG_VALUE_0=*",
		"GIT_CONFIG_KEY_1=a", "GIT_CONFIG_VALUE_1=b", "GIT_CONFIG_COUNT=2",
		"LC_ALL=C", "GIT_TERMINAL_PROMPT=0", "GIT_PAGER=cat", "GIT_NO_LAZY_FETCH=1", "GIT_ALLOW_PROTOCOL=:",
	}, e.childVars([]setting{{"a", "b"}}))
}
