package git

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// Find looks for the repository that holds dir, upwards, by files alone (the
// git binary is asked only about an owner that isn't this user). The walk ends
// below the home folder, the root of the file system and the folders of
// GIT_CEILING_DIRECTORIES: a repository whose top one of the first two is isn't
// taken. GIT_DIR counts where its worktree holds dir and isn't further away
// than the repository found without it.
//
// Without a repository Find returns ErrNone, or ErrDangling where the nearest
// .git file points nowhere, and beside it a Repo that holds only Notes and, if
// dangling, Top: the folder of that file.
func Find(ctx context.Context, env Env, dir string) (*Repo, error) {
	f := &finder{env: env}
	start, err := realPath(dir)
	if err != nil {
		return &Repo{env: env}, fmt.Errorf("find repository: %w", errors.Join(ErrNone, err))
	}
	f.home = env.home()
	f.homeInfo, _ = os.Stat(f.home) // nil where there is no home
	f.readCeilings()
	r, err := f.walk(start)
	if gitDir := lookup(env.Vars, "GIT_DIR"); gitDir != "" && !errors.Is(err, ErrDangling) {
		r, err = f.honour(gitDir, start, r, err)
	}
	r.env = env
	r.Notes = append(f.notes, r.Notes...)
	if err != nil {
		return r, fmt.Errorf("find repository: %w", err)
	}
	r.owner, r.initial = &owner{}, &initial{}
	if _, err := r.binary(); err != nil {
		r.note("git is not installed: history and uncommitted changes can't be told")
	} else if ownerIsCheap && errors.Is(r.checkOwner(ctx), ErrRefused) {
		r.note("git refuses this repository, which another user owns (safe.directory): history and uncommitted changes can't be told")
	}
	return r, ctx.Err()
}

// realPath is absolute and without symlinks, as git sees its own folder.
func realPath(dir string) (string, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(abs)
}

func (r *Repo) note(s string) { r.Notes = append(r.Notes, s) }

// dotGit is the .git entry that made Top the top, "" in a bare repository.
func (r *Repo) dotGit() string {
	if r.Top == "" {
		return ""
	}
	if p := filepath.Join(r.Top, ".git"); exists(p) {
		return p
	}
	return "" // the worktree of a GIT_DIR
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// finder is one search.
type finder struct {
	env      Env
	home     string
	homeInfo os.FileInfo
	ceilings []string
	notes    []string
}

func (f *finder) readCeilings() {
	for _, c := range filepath.SplitList(lookup(f.env.Vars, "GIT_CEILING_DIRECTORIES")) {
		if real, err := filepath.EvalSymlinks(c); err == nil && filepath.IsAbs(c) {
			f.ceilings = append(f.ceilings, real)
		}
	}
}

// barred reports a folder that is never a project's: a root, or the home folder.
func (f *finder) barred(dir string) bool {
	if filepath.Dir(dir) == dir {
		return true
	}
	if f.homeInfo == nil {
		return false
	}
	fi, err := os.Stat(dir)
	return err == nil && os.SameFile(fi, f.homeInfo)
}

func (f *finder) walk(start string) (*Repo, error) {
	for dir := start; ; dir = filepath.Dir(dir) {
		if f.barred(dir) {
			if isGitDir(filepath.Join(dir, ".git")) {
				f.notes = append(f.notes, "a repository in the home folder or the root itself is not used")
			}
			return &Repo{}, ErrNone
		}
		for _, c := range f.ceilings {
			if dir == c && dir != start {
				return &Repo{}, ErrNone
			}
		}
		r, err := f.at(dir)
		if r != nil {
			return r, err
		}
	}
}

// at looks at one folder; a nil Repo says: go on above it.
func (f *finder) at(dir string) (*Repo, error) {
	entry := filepath.Join(dir, ".git")
	fi, err := os.Stat(entry) // .git may be a link to a folder or a file
	switch {
	case err == nil && fi.IsDir():
		if isGitDir(entry) {
			return open(dir, entry)
		}
	case err == nil && fi.Mode().IsRegular():
		return followPointer(dir, entry)
	case err != nil && !absent(err):
		f.notes = append(f.notes, "a .git above this folder can't be looked at")
	}
	if !isGitDir(dir) {
		return nil, nil
	}
	return f.insideGitDir(dir)
}

// followPointer goes where a .git file leads. A file that leads nowhere ends
// the walk, as in git: what lies above is another project.
func followPointer(dir, entry string) (*Repo, error) {
	b, err := readRegular(entry, maxPointer)
	to, ok := parsePointer(b)
	if err == nil && ok {
		if gitDir := within(dir, to); isGitDir(gitDir) {
			return open(dir, gitDir)
		}
	}
	r := &Repo{Top: dir}
	r.note("the .git file here points to no repository (worktree or submodule moved or removed?): no git facts")
	return r, ErrDangling
}

// insideGitDir is for a start in a bare repository or in a git folder.
func (f *finder) insideGitDir(dir string) (*Repo, error) {
	bare := readCoreConfig(dir).bare
	if linked := exists(filepath.Join(dir, "commondir")); !linked && (bare == nil || *bare) {
		return open("", dir)
	}
	if top := filepath.Dir(dir); filepath.Base(dir) == ".git" && !f.barred(top) {
		return open(top, dir)
	}
	r := &Repo{}
	r.note("this is the inside of a git folder, which belongs to no worktree")
	return r, ErrNone
}

// isGitDir is git's is_git_directory: a HEAD that is one, and objects and refs
// in it or in its common folder.
func isGitDir(dir string) bool {
	if _, err := readRefFile(filepath.Join(dir, "HEAD")); err != nil {
		return false
	}
	common, err := commonDir(dir)
	if err != nil {
		return false
	}
	for _, sub := range []string{"objects", "refs"} {
		if fi, err := os.Stat(filepath.Join(common, sub)); err != nil || !fi.IsDir() {
			return false
		}
	}
	return true
}

// commonDir reads where the shared part of a git folder is.
func commonDir(gitDir string) (string, error) {
	p, err := readPath(filepath.Join(gitDir, "commondir"), gitDir)
	if absent(err) {
		return gitDir, nil
	}
	return p, err
}
