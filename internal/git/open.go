package git

import (
	"os"
	"path/filepath"
)

// open describes a repository whose git folder was found. top is the folder
// that led to it, "" where the git folder was found itself.
func open(top, gitDir string) (*Repo, error) {
	gitDir, err := filepath.EvalSymlinks(gitDir)
	if err != nil {
		return nil, err
	}
	common, err := commonDir(gitDir)
	if err != nil {
		return nil, err
	}
	if common != gitDir {
		if common, err = filepath.EvalSymlinks(common); err != nil {
			return nil, err
		}
	}
	r := &Repo{Top: top, GitDir: gitDir, CommonDir: common, Linked: common != gitDir}
	cfg := readCoreConfig(common)
	r.Submodule = isSubmodule(common)
	r.Bare = r.isBare(cfg)
	switch {
	case r.Linked:
		r.MainTop = r.mainTop(cfg)
		r.WorktreeName = filepath.Base(gitDir)
		if r.WorktreeName == "main" && !r.Bare {
			r.WorktreeName = "worktrees/main"
		}
		r.checkBack()
	case r.Bare:
		r.Top = "" // the folder of a .git file that points to a bare repository holds no worktree
	default:
		r.MainTop = top
		r.WorktreeName = "main"
		if cfg.worktree != "" && !r.Submodule && !sameFile(within(gitDir, cfg.worktree), top) {
			r.note("core.worktree names another folder; the one with .git is used")
		}
	}
	return r, nil
}

// isBare follows git: core.bare decides, core.worktree speaks against it, and
// without either the name of the git folder does.
func (r *Repo) isBare(cfg coreConfig) bool {
	switch {
	case cfg.worktree != "":
		return false
	case cfg.bare != nil:
		return *cfg.bare
	case r.Linked:
		return filepath.Base(r.CommonDir) != ".git"
	}
	return r.Top == ""
}

// mainTop finds the main worktree from a linked one: core.worktree (submodules)
// or the folder that holds the common .git. It must lead back to the common
// folder, or a checkout could make any folder its main worktree.
func (r *Repo) mainTop(cfg coreConfig) string {
	if r.Bare {
		return ""
	}
	top := ""
	switch {
	case cfg.worktree != "":
		top = within(r.CommonDir, cfg.worktree)
	case filepath.Base(r.CommonDir) == ".git":
		top = filepath.Dir(r.CommonDir)
	}
	if real, err := filepath.EvalSymlinks(top); top != "" && err == nil && leadsTo(real, r.CommonDir) {
		return real
	}
	r.note("the main worktree can't be found from this linked one")
	return ""
}

// leadsTo reports that the .git entry of top is gitDir or points to it.
func leadsTo(top, gitDir string) bool {
	entry := filepath.Join(top, ".git")
	if sameFile(entry, gitDir) {
		return true
	}
	b, err := readRegular(entry, maxPointer)
	to, ok := parsePointer(b)
	return err == nil && ok && sameFile(within(top, to), gitDir)
}

// checkBack notes a linked worktree whose git folder knows it elsewhere: the
// folder was copied or moved without git.
func (r *Repo) checkBack() {
	back, err := readPath(filepath.Join(r.GitDir, "gitdir"), r.GitDir)
	if err != nil || sameFile(back, filepath.Join(r.Top, ".git")) {
		return
	}
	if _, err := os.Stat(back); err == nil {
		r.note("this folder is a copy of a linked worktree: git takes both for one")
		return
	}
	r.note("this linked worktree was moved without git: `git worktree repair` mends it")
}

// isSubmodule reports a git folder that lies below modules/ of another one
// (gitsubmodules(7)); names of submodules may have several parts.
func isSubmodule(common string) bool {
	for dir := common; ; dir = filepath.Dir(dir) {
		parent := filepath.Dir(dir)
		if parent == dir {
			return false
		}
		if filepath.Base(parent) == "modules" && isGitDir(filepath.Dir(parent)) {
			return true
		}
	}
}
