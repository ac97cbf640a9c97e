package main

import (
	"path/filepath"
	"strings"
	"testing"
)

// visible lists the notes in force where the machine stands.
func (m *machine) visible() string {
	m.t.Helper()
	var ids []string
	for line := range strings.Lines(m.ok(m.agent("list", "note"))) {
		if f := strings.Fields(line); len(f) > 1 && f[0] == "note" {
			ids = append(ids, strings.TrimSuffix(f[1], "*"))
		}
	}
	return strings.Join(ids, " ")
}

// TestRecordsFollowTheCode takes a scripted history through the binary: records
// come into force where the code that they were made with arrives, by a true
// merge by themselves, after a squash or a rebase by carry.
func TestRecordsFollowTheCode(t *testing.T) {
	m := newMachine(t)
	note := func(id string) {
		t.Helper()
		m.ok(m.agent("record", "note", id, "--text", "text of "+id, "--source", "s"))
	}
	at := func(what, want string) {
		t.Helper()
		if got := m.visible(); got != want {
			t.Errorf("%s: %q is in force, want %q", what, got, want)
		}
	}
	commit := `date +%N > f; git add f; git commit -q -m `
	m.sh(`git init -q -b main .; ` + commit + `one`)
	note("base")

	m.sh(`git checkout -q -b merged; ` + commit + `two`)
	note("m")
	at("on its branch", "m base")
	m.sh(`git checkout -q main`)
	at("before the merge", "base")
	m.sh(`git merge -q --no-ff -m merge merged`)
	at("after a true merge", "m base")
	m.sh(`git branch -q -d merged`)
	at("after the branch is gone", "m base")

	m.sh(`git checkout -q -b squashed; ` + commit + `three`)
	note("s")
	m.sh(`git checkout -q main; git merge -q --squash squashed >/dev/null; git commit -q -m squash`)
	at("after a squash", "m base")
	m.ok(m.agent("carry", "squashed", "--dry-run"))
	at("after a look", "m base")
	m.ok(m.agent("carry", "squashed"))
	at("carried", "s m base")

	m.sh(`git checkout -q -b rebased; echo x > g; git add g; git commit -q -m four`)
	note("r")
	m.sh(`git checkout -q main; echo y > h; git add h; git commit -q -m five; git checkout -q rebased; git rebase -q main`)
	at("rebased, on its branch", "r s m base")
	m.sh(`git checkout -q main; git merge -q --ff-only rebased`)
	if got := m.visible(); got != "s m base" && got != "r s m base" {
		t.Errorf("after a rebase and a fast forward: %q", got)
	}
	m.ok(m.agent("carry", "rebased"))
	at("carried after the rebase", "r s m base")

	m.sh(`git checkout -q -b amended; ` + commit + `six`)
	note("a")
	m.sh(`git commit -q --amend -m "six, better"`)
	at("after an amend", "a r s m base")
	m.sh(`git branch -m amended renamed`)
	note("renamed")
	at("after a rename too, git can't tell whose it was", "renamed r s m base")
	m.ok(m.agent("carry", "amended"))
	at("carried after amend and rename", "renamed a r s m base")

	m.sh(`git worktree add -q ../wt main`)
	main := m.project
	m.project = filepath.Join(m.root, "work", "wt")
	at("in a worktree of main", "r s m base")
	note("w")
	at("in the worktree", "w r s m base")
	m.project = main
	at("on the branch that holds main's commit", "w renamed a r s m base")
	m.sh(`git merge -q -m back main`)
	if got := m.visible(); !strings.Contains(got, "renamed") || !strings.Contains(got, "base") {
		t.Errorf("after main was merged: %q", got)
	}

	m.sh(`git init -q -b main ../lib; git -C ../lib commit -q --allow-empty -m lib; git -c protocol.file.allow=always submodule -q add ../lib lib`)
	m.project = filepath.Join(main, "lib")
	if out := m.ok(m.agent("list")); !strings.Contains(out, "no ledger here yet") {
		t.Errorf("a submodule has its own: %s", out)
	}
	note("in-the-submodule")
	m.project = main
	if got := m.visible(); strings.Contains(got, "submodule") {
		t.Errorf("above the submodule: %q", got)
	}
}

// Two corrections of one version on two branches are both shown once they meet,
// until one settles them; a record of another branch is a conflict that names it.
func TestDivergedAndElsewhere(t *testing.T) {
	m := newMachine(t)
	m.sh(`git init -q -b main .; echo 1 > f; git add f; git commit -q -m one`)
	m.ok(m.agent("record", "decision", "db", "--text", "sqlite", "--source", "s"))
	m.sh(`git checkout -q -b side; echo 2 > g; git add g; git commit -q -m two`)
	m.ok(m.agent("record", "decision", "db", "--text", "files", "--expect-revision", "1"))
	m.ok(m.agent("record", "note", "only-here", "--text", "on the side", "--source", "s"))
	m.sh(`git checkout -q main; echo 3 > h; git add h; git commit -q -m three`)
	m.ok(m.agent("record", "decision", "db", "--text", "postgres", "--expect-revision", "1"))
	out, status := m.agent("done", "only-here", "--expect-revision", "3", "--json")
	if status != 3 || code(t, out) != "elsewhere" || !strings.Contains(out, "holdfast carry side") {
		t.Errorf("status %d: %s", status, out)
	}
	m.sh(`git merge -q -m merge side`)
	if out := m.ok(m.agent("show", "db", "--json")); !strings.Contains(out, `"diverged":[`) || !strings.Contains(out, "postgres") {
		t.Errorf("%s", out)
	}
	out = m.ok(m.agent("resume"))
	if !strings.Contains(out, "diverged") && !strings.Contains(out, "Diverged") {
		t.Errorf("resume doesn't say that they diverged: %s", out)
	}
	m.ok(m.agent("record", "decision", "db", "--text", "postgres after all", "--expect-revision", "4"))
	if out := m.ok(m.agent("show", "db", "--json")); strings.Contains(out, `"diverged"`) {
		t.Errorf("settled: %s", out)
	}
}
