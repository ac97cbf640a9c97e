package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Every shape that git has works, or is said to have no git facts; nothing is
// written inside a git folder but the ledger of a bare repository.
func TestCaseC023_EveryShapeOfRepository(t *testing.T) {
	const base = `git init -q -b main repo; cd repo; git commit -q --allow-empty -m start; cd ..; `
	for name, c := range map[string]struct {
		make   string // in work/project
		at     string // where the commands run, below it
		ledger string // where the ledger must be, below it
		branch string
	}{
		"plain repository":         {base, "repo", "repo/.holdfast", "main"},
		"a folder in it":           {base + "mkdir -p repo/a/b", "repo/a/b", "repo/.holdfast", "main"},
		"linked worktree":          {base + "git -C repo worktree add -q ../wt -b side", "wt", "repo/.holdfast", "side"},
		"relative worktree":        {base + "git -C repo worktree add -q ../wt -b side; echo gitdir: ../repo/.git/worktrees/wt > wt/.git", "wt", "repo/.holdfast", "side"},
		"submodule":                {base + "git init -q -b main top; cd top; git commit -q --allow-empty -m top; git -c protocol.file.allow=always submodule -q add ../repo lib", "top/lib", "top/lib/.holdfast", "main"},
		"worktree of a submodule":  {base + "git init -q -b main top; cd top; git commit -q --allow-empty -m top; git -c protocol.file.allow=always submodule -q add ../repo lib; git -C lib worktree add -q ../../wt -b side", "wt", "top/lib/.holdfast", "side"},
		"bare repository":          {base + "git clone -q --bare repo bare.git", "bare.git", "bare.git/holdfast", "main"},
		"worktree of a bare one":   {base + "git clone -q --bare repo bare.git; git -C bare.git worktree add -q ../wt -b side", "wt", "bare.git/holdfast", "side"},
		"bare one as .git's place": {base + "mkdir proj; git clone -q --bare repo proj/.bare; echo gitdir: ./.bare > proj/.git; git -C proj worktree add -q main2 -b side", "proj/main2", "", "side"},
		"core.hooksPath":           {base + `mkdir hooks; printf '#!/bin/sh\ntouch ran\n' > hooks/post-commit; chmod 755 hooks/post-commit; git -C repo config core.hooksPath ../hooks`, "repo", "repo/.holdfast", "main"},
		"separate git folder":      {`git init -q -b main --separate-git-dir=elsewhere repo; git -C repo commit -q --allow-empty -m start`, "repo", "repo/.holdfast", "main"},
		"unborn branch":            {`git init -q -b fresh repo`, "repo", "repo/.holdfast", "fresh"},
		"detached":                 {base + "git -C repo checkout -q --detach", "repo", "repo/.holdfast", ""},
		"sha256":                   {`git init -q -b main --object-format=sha256 repo; git -C repo commit -q --allow-empty -m start`, "repo", "repo/.holdfast", "main"},
		"pointer with CRLF":        {base + `git -C repo worktree add -q ../wt -b side; printf 'gitdir: ../repo/.git/worktrees/wt\r\n' > wt/.git`, "wt", "", ""},
		"dangling pointer":         {`mkdir repo; echo gitdir: /nonexistent/alpha/.git/worktrees/gone > repo/.git`, "repo", "repo/.holdfast", ""},
		"pointer to nothing":       {`mkdir repo; echo nonsense > repo/.git`, "repo", "repo/.holdfast", ""},
		"empty git folder":         {`mkdir -p repo/.git`, "repo", "repo/.holdfast", ""},
		"no git at all":            {`mkdir repo`, "repo", "repo/.holdfast", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newMachine(t)
			top := m.project
			m.sh(c.make)
			gits := `cd ` + top + `; find . -path '*/.git/*' -o -path './elsewhere/*' -o -path '*.git/*' -o -path '*/.bare/*' | grep -v '\.git/holdfast' | sort | xargs -d '\n' ls -ld --time-style=full-iso 2>/dev/null | grep -v '^total' || true`
			before := m.sh(gits)
			m.project = filepath.Join(top, c.at)
			out := m.ok(m.agent("record", "note", "a", "--text", "text of a", "--source", "s", "--json"))
			if !strings.Contains(out, `"durable":true`) {
				t.Errorf("%s", out)
			}
			out = m.ok(m.agent("resume", "--json"))
			if !strings.Contains(out, "text of a") || !strings.Contains(out, `"branch":"`+c.branch+`"`) && name != "pointer with CRLF" {
				t.Errorf("want branch %q: %s", c.branch, out)
			}
			if strings.Contains(name, "pointer") && name != "pointer with CRLF" && !strings.Contains(out, ".git") {
				t.Errorf("nothing is said of it: %s", out)
			}
			if out, status := m.agent("setup", "--client", "codex", "--yes"); status != 0 && c.at != "bare.git" { // which has no files to edit
				t.Errorf("setup: status %d: %s", status, out)
			}
			m.ok(m.agent("list"))
			if c.ledger != "" {
				if _, err := os.Stat(filepath.Join(top, c.ledger, "FORMAT")); err != nil {
					t.Error(err)
				}
			}
			m.project = top
			if got := m.sh(`find . -name FORMAT | wc -l`); got != "1" {
				t.Errorf("%s ledgers: %s", got, m.sh("find . -name FORMAT"))
			}
			if after := m.sh(gits); after != before && !strings.Contains(name, "bare") {
				t.Errorf("a git folder was changed:\nwas %s\nis  %s", before, after)
			}
			if _, err := os.Stat(filepath.Join(m.project, "ran")); err == nil {
				t.Error("a hook was run")
			}
		})
	}
}

// Where git can't be run or refuses, there are no git facts, and work goes on.
func TestCaseC023_WithoutGitsHelp(t *testing.T) {
	t.Run("not installed", func(t *testing.T) {
		m := newMachine(t)
		m.sh(`git init -q -b main .; git commit -q --allow-empty -m start`)
		m.setEnv("PATH", filepath.Join(m.root, "empty"))
		m.ok(m.agent("record", "note", "a", "--text", "text of a", "--source", "s"))
		if out := m.ok(m.agent("resume")); !strings.Contains(out, "text of a") {
			t.Errorf("%s", out)
		}
	})
	t.Run("GIT_DIR is set", func(t *testing.T) {
		m := newMachine(t)
		m.sh(`git init -q -b main .; git commit -q --allow-empty -m start; git init -q -b other ../another; git -C ../another commit -q --allow-empty -m start`)
		m.setEnv("GIT_DIR", filepath.Join(m.root, "work", "another", ".git"))
		m.ok(m.agent("record", "note", "a", "--text", "text of a", "--source", "s"))
		if out := m.ok(m.agent("resume")); !strings.Contains(out, "text of a") {
			t.Errorf("%s", out)
		}
	})
}

// A branch is a note beside the commit: a rebase that stopped, a bisect, a
// detached head and a rename lose no record and store no word of git's as a branch.
func TestCaseC026_HeadComesAndGoes(t *testing.T) {
	m := newMachine(t)
	m.sh(`git init -q -b main .; echo 1 > f; git add f; git commit -q -m one; echo 2 > f; git commit -q -am two; git checkout -q -b a HEAD~1; echo 3 > f; git commit -q -am three`)
	note := func(id string) {
		t.Helper()
		m.ok(m.agent("record", "note", id, "--text", "text of "+id, "--source", "s"))
	}
	branches := func() string {
		t.Helper()
		return m.ok(m.agent("log", "--json"))
	}
	note("before")
	m.sh(`git rebase main >/dev/null 2>&1 || true; test -d .git/rebase-merge -o -d .git/rebase-apply`)
	note("in-the-rebase")
	if out := m.ok(m.agent("resume", "--json")); !strings.Contains(out, "text of before") || !strings.Contains(out, `"branch":"a"`) {
		t.Errorf("in the rebase: %s", out)
	}
	m.sh(`git rebase --abort; git branch -m a b`)
	note("renamed")
	out := m.ok(m.agent("list"))
	for _, id := range []string{"before", "in-the-rebase", "renamed"} {
		if !strings.Contains(out, "text of "+id) {
			t.Errorf("after the rename %s is missing: %s", id, out)
		}
	}
	m.sh(`git bisect start -q HEAD HEAD~1 >/dev/null 2>&1 || true`)
	note("in-a-bisect")
	m.sh(`git bisect reset -q >/dev/null 2>&1 || git bisect reset >/dev/null 2>&1; git checkout -q --detach`)
	note("detached")
	if out := m.ok(m.agent("list")); !strings.Contains(out, "text of detached") {
		t.Errorf("detached: %s", out)
	}
	m.sh(`git checkout -q --orphan fresh; git rm -qrf . >/dev/null`)
	note("unborn")
	if out := branches(); strings.Contains(out, `"branch":"HEAD"`) || strings.Contains(out, "(detached)") || strings.Contains(out, "refs/heads") {
		t.Errorf("%s", out)
	}
}
