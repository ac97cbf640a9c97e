package project

import (
	"context"
	"errors"
	"os"
	"path/filepath"

	"holdfast/internal/filelog"
	"holdfast/internal/git"
)

// location is where a project is and where its ledger lies.
type location struct {
	dir      string    // what the caller named or stood in
	top      string    // top of the worktree, or the folder without git
	repo     *git.Repo // nil without git
	place    filelog.Place
	worktree string
	notices  []string
}

// locate finds the project of a folder, by the rules of docs/LEDGER-FORMAT.md,
// "Where a ledger is": a repository has one ledger, in its main worktree.
func locate(ctx context.Context, w *World, flag string) (*location, error) {
	dir, err := startDir(w, flag)
	if err != nil {
		return nil, err
	}
	loc := &location{dir: dir, worktree: "main"}
	repo, err := git.Find(ctx, gitEnv(w), dir)
	switch {
	case err == nil:
		loc.useRepo(repo)
	case errors.Is(err, git.ErrNone):
		stop := ""
		if repo != nil {
			loc.notices, stop = append(loc.notices, repo.Notes...), repo.Top
		}
		loc.usePlain(w, stop)
	default:
		return nil, err
	}
	if why := forbidden(w, loc.place.Dir); why != "" {
		return nil, &NoPlaceError{Dir: loc.place.Dir, Why: why}
	}
	loc.reportOthers()
	return loc, nil
}

func gitEnv(w *World) git.Env { return git.Env{Vars: w.Env, Path: w.Getenv("PATH")} }

func startDir(w *World, flag string) (string, error) {
	dir := flag
	if dir == "" {
		dir = w.Getenv("HOLDFAST_PROJECT")
	}
	if dir == "" || !filepath.IsAbs(dir) {
		if w.Dir == "" {
			return "", &NoPlaceError{Why: "the working directory is gone"}
		}
		dir = filepath.Join(w.Dir, dir)
	}
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return "", &NoPlaceError{Dir: dir, Why: "there is no such folder"}
	}
	if info, err := os.Stat(real); err != nil || !info.IsDir() {
		return "", &NoPlaceError{Dir: dir, Why: "it is not a folder"}
	}
	return real, nil
}

func (loc *location) useRepo(repo *git.Repo) {
	loc.repo, loc.notices = repo, append(loc.notices, repo.Notes...)
	loc.top, loc.worktree = repo.Top, repo.WorktreeName
	if loc.worktree == "" {
		loc.worktree = "main"
	}
	first := func() string {
		c, err := repo.FirstCommit(context.Background())
		if err != nil {
			return ""
		}
		return c
	}
	if repo.MainTop == "" && repo.Bare {
		loc.place = filelog.Place{Dir: repo.CommonDir, Name: filelog.BareFolderName, FirstCommit: first}
		return
	}
	dir := repo.MainTop
	if dir == "" { // the main worktree can't be found: a note says so
		dir = repo.Top
	}
	loc.place = filelog.Place{Dir: dir, Name: filelog.FolderName, FirstCommit: first}
}

// usePlain serves a folder without git: the folder above that has a ledger,
// else the folder itself. The search stops at the home folder, and at stop: the
// top of a worktree whose repository can't be found.
func (loc *location) usePlain(w *World, stop string) {
	home := resolved(w.Home)
	for d := loc.dir; d != home; d = filepath.Dir(d) {
		if isDir(filepath.Join(d, filelog.FolderName)) && forbidden(w, d) == "" {
			loc.top = d
			break
		}
		if d == filepath.Dir(d) || d == stop {
			break
		}
	}
	if loc.top == "" {
		loc.top = loc.dir
	}
	loc.place = filelog.Place{Dir: loc.top, Name: filelog.FolderName}
}

// forbidden says why a folder can't be a project, or nothing.
func forbidden(w *World, dir string) string {
	switch {
	case dir == filepath.Dir(dir):
		return "the top of the file system is not a project"
	case w.Home != "" && dir == resolved(w.Home):
		return "a home folder is not a project"
	case w.Temp != "" && dir == resolved(w.Temp), dir == "/tmp", dir == "/var/tmp":
		return "a folder for temporary files is not a project"
	}
	return ""
}

func resolved(dir string) string {
	if dir == "" {
		return ""
	}
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		return real
	}
	return filepath.Clean(dir)
}

// reportOthers notes ledger folders that lie on the way and are not used.
func (loc *location) reportOthers() {
	used := filepath.Join(loc.place.Dir, loc.place.Name)
	if loc.repo == nil {
		return
	}
	for d := loc.dir; ; d = filepath.Dir(d) {
		if other := filepath.Join(d, filelog.FolderName); other != used && isDir(other) {
			loc.notices = append(loc.notices, "a ledger folder at "+other+" is not used: the repository's ledger is "+used)
		}
		if d == loc.top || d == filepath.Dir(d) {
			return
		}
	}
}
