package git

import (
	"errors"
	"sync"
)

// Env is what the package may know of the world.
type Env struct {
	Vars []string // the process's environment, "KEY=value"; git sees it with GIT_* filtered
	Path string   // where the git binary is looked for: a PATH list; relative entries don't count
}

// Repo is one repository as seen from one of its folders. All paths are
// absolute, with symlinks resolved. It holds no handle, and several goroutines
// may use it at once.
type Repo struct {
	Top          string   // top of this worktree; "" in a bare repository
	GitDir       string   // this worktree's git folder
	CommonDir    string   // the git folder that all its worktrees share
	MainTop      string   // top of the main worktree; "" where there is none (bare) or it can't be found (a note says so)
	Bare         bool     // the repository has no main worktree; in a linked worktree of it Top is set all the same
	Linked       bool     // Top is a linked worktree
	WorktreeName string   // "main", or the linked worktree's name; "worktrees/main" for a linked one called main beside a main one; "" without a worktree
	Submodule    bool     // the git folder lies in a superproject's git folder
	Notes        []string // for people, one line each: what is odd here, or why git facts are missing

	env     Env
	owner   *owner
	initial *initial
	outer   *Repo // the one whose submodule is being looked at
}

// initial remembers the configured init.defaultBranch. It is asked for once: a
// person's configuration doesn't change under a running program often enough
// to be worth a process for each question.
type initial struct {
	sync.Mutex
	asked bool
	name  string
}

// Errors to tell apart with errors.Is.
var (
	// ErrNone: there is no repository; everything else still works.
	ErrNone = errors.New("no git repository here")
	// ErrDangling matches ErrNone too.
	ErrDangling error = &classed{"the .git file points to no repository", ErrNone}
	// ErrUnavailable is the class of ErrNoGit, ErrOldGit and ErrRefused: facts
	// from files are still there, those that need the git binary are not.
	ErrUnavailable       = errors.New("git can't be asked")
	ErrNoGit       error = &classed{"git is not installed", ErrUnavailable}
	ErrOldGit      error = &classed{"git is older than 2.31", ErrUnavailable}
	ErrRefused     error = &classed{"git refuses this repository, which another user owns (safe.directory)", ErrUnavailable}
	// ErrMissing: an object isn't here (shallow, pruned, damaged, never fetched).
	ErrMissing    = errors.New("the repository lacks an object")
	ErrNoWorktree = errors.New("the repository has no worktree here")
	ErrNoRef      = errors.New("no such ref")
	ErrTimeout    = errors.New("git took too long")
	// ErrTooMuch: a file or an answer is beyond this package's bounds.
	ErrTooMuch = errors.New("more than is read of a repository")
	// ErrMalformed: a file or an answer isn't what git would write.
	ErrMalformed = errors.New("not in git's format")
)

// classed is a sentinel that belongs to a class of errors.
type classed struct {
	msg   string
	class error
}

func (e *classed) Error() string { return e.msg }
func (e *classed) Unwrap() error { return e.class }
