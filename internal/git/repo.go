package git

import (
	"errors"
	"time"
)

// Env is what the package may know of the world.
type Env struct {
	Vars []string         // the process's environment, "KEY=value"; GIT_* is filtered before git sees it
	Path string           // where the git binary is looked for: a PATH list; relative entries are ignored
	Now  func() time.Time // the clock
}

// Repo is one repository as seen from one of its folders. All paths are
// absolute, with symlinks resolved. It holds no handle and may be used by
// several goroutines at once.
type Repo struct {
	Top          string   // top of this worktree; "" in a bare repository
	GitDir       string   // this worktree's git folder
	CommonDir    string   // the git folder that all worktrees share
	MainTop      string   // top of the main worktree; "" where there is none (bare)
	Bare         bool     // the repository has no main worktree; Top is still set in a linked worktree of it
	Linked       bool     // Top is a linked worktree
	WorktreeName string   // "main", or the linked worktree's name ("worktrees/main" where that would be mistaken for the main one)
	Submodule    bool     // the git folder lies in a superproject's git folder
	Notes        []string // one line each, for people: what was found odd, or why git facts are missing

	env     Env
	refused bool // git refuses this repository (safe.directory)
}

// Errors that callers tell apart with errors.Is.
var (
	ErrNone        = errors.New("no git repository here")
	ErrDangling    = errors.New("the .git file points nowhere")        // matches ErrNone too
	ErrUnavailable = errors.New("no git facts")                        // class of ErrNoGit, ErrRefused
	ErrNoGit       = errors.New("git is not installed")                // matches ErrUnavailable too
	ErrRefused     = errors.New("git refuses this repository's owner") // matches ErrUnavailable too
	ErrMissing     = errors.New("the repository lacks an object")      // shallow, pruned or damaged
	ErrNoWorktree  = errors.New("the repository has no worktree here")
	ErrNoRef       = errors.New("no such ref")
	ErrTimeout     = errors.New("git took too long")
)
