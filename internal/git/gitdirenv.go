package git

import (
	"path/filepath"
)

// honour weighs GIT_DIR (and GIT_WORK_TREE) against what the walk found. Hooks
// and aliases run with GIT_DIR set to the repository they belong to, which
// mostly is the one found anyway.
func (f *finder) honour(gitDir, start string, found *Repo, ferr error) (*Repo, error) {
	dir := f.envGitDir(gitDir, start, found)
	if dir == "" {
		f.notes = append(f.notes, "GIT_DIR names no repository from here; it is not used")
		return found, ferr
	}
	if ferr == nil && sameFile(dir, found.GitDir) {
		return found, nil
	}
	top := f.envWorkTree(dir, start)
	if top == "" || f.barred(top) || !inside(start, top) || ferr == nil && !inside(top, found.Top) {
		f.notes = append(f.notes, "GIT_DIR names a repository that this folder isn't in; it is not used")
		return found, ferr
	}
	r, err := open(top, dir)
	if err != nil {
		return found, ferr
	}
	if r.Bare { // GIT_WORK_TREE gives a bare repository a worktree for this process
		r.Bare, r.Top, r.MainTop, r.WorktreeName = false, top, top, "main"
	}
	return r, nil
}

// envGitDir resolves GIT_DIR, which may be relative to the folder of the caller
// or, in a hook, to the top; it may also be a .git file.
func (f *finder) envGitDir(gitDir, start string, found *Repo) string {
	for _, base := range []string{start, found.Top} {
		if base == "" {
			continue
		}
		dir := within(base, gitDir)
		if b, err := readRegular(dir, maxPointer); err == nil {
			to, _ := parsePointer(b)
			dir = within(filepath.Dir(dir), to)
		}
		if isGitDir(dir) {
			return dir
		}
	}
	return ""
}

// envWorkTree is the worktree that belongs to GIT_DIR: GIT_WORK_TREE, else
// core.worktree, a linked worktree's own, or the folder around a .git. Unlike
// git it doesn't take the current folder for lack of one.
func (f *finder) envWorkTree(gitDir, start string) string {
	top := ""
	if wt := lookup(f.env.Vars, "GIT_WORK_TREE"); wt != "" {
		top = within(start, wt)
	} else if cfg := readCoreConfig(gitDir); cfg.worktree != "" {
		top = within(gitDir, cfg.worktree)
	} else if back, err := readPath(filepath.Join(gitDir, "gitdir"), gitDir); err == nil {
		top = filepath.Dir(back)
	} else if filepath.Base(gitDir) == ".git" {
		top = filepath.Dir(gitDir)
	}
	if top == "" {
		return ""
	}
	real, err := filepath.EvalSymlinks(top)
	if err != nil {
		return ""
	}
	return real
}
