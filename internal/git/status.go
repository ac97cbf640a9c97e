package git

import (
	"context"
	"strings"
)

// Status counts what differs from HEAD. What lies under .holdfast, and dirt
// inside submodules, isn't counted; a submodule at another commit is.
//
// Content filters don't run, so a file under one (git-lfs, git-crypt) counts
// as changed from the moment its time stamp and the index disagree until git
// itself has looked at it.
type Status struct {
	Dirty     bool // any of the following isn't zero
	Changed   int  // tracked paths that differ in the index or the worktree, conflicts included
	Untracked int  // untracked, unignored files, and folders that hold nothing tracked
	Unmerged  int  // paths in conflict
}

// Status looks at the worktree. ErrNoWorktree in a bare repository.
func (r *Repo) Status(ctx context.Context) (Status, error) {
	var s Status
	err := r.status(ctx, "normal", func(c change) error {
		switch c.kind {
		case untracked:
			s.Untracked++
		case unmerged:
			s.Unmerged++
			s.Changed++
		case ordinary:
			s.Changed++
		}
		return nil
	})
	if err != nil {
		return Status{}, wrap("read status", err)
	}
	s.Dirty = s.Changed+s.Untracked > 0
	return s, nil
}

// change is one entry of `git status --porcelain=v2 -z`.
type change struct {
	kind   byte   // ordinary, unmerged or untracked
	fields string // what stands before the path: states, modes and object ids
	mode   string // of the file in the worktree; "000000" if gone, "" if untracked
	path   string // slash path from Top; ends with "/" for an untracked folder or repository
}

const (
	ordinary  = '1'
	unmerged  = 'u'
	untracked = '?'
)

// parseChange reads one record (git-status(1), Porcelain Format Version 2).
// Renames are never asked for. skip is true for headers and ignored files.
func parseChange(rec string) (c change, skip bool, err error) {
	if rec == "" {
		return c, false, ErrMalformed
	}
	spaces, mode := 0, 0 // before the path; index of the worktree's mode
	switch c.kind = rec[0]; c.kind {
	case '#', '!':
		return c, true, nil
	case untracked:
		spaces = 1
	case ordinary:
		spaces, mode = 8, 5 // 1 XY sub mH mI mW hH hI path
	case unmerged:
		spaces, mode = 10, 6 // u XY sub m1 m2 m3 mW h1 h2 h3 path
	default:
		return c, false, ErrMalformed
	}
	at := 0
	for range spaces {
		i := strings.IndexByte(rec[at:], ' ')
		if i < 0 {
			return c, false, ErrMalformed
		}
		at += i + 1
	}
	c.fields, c.path = rec[:at-1], rec[at:]
	if mode > 0 {
		c.mode = strings.Split(c.fields, " ")[mode]
	}
	if c.path == "" {
		return c, false, ErrMalformed
	}
	return c, false, nil
}

// status runs git status without anything that runs something else.
// --ignore-submodules=dirty keeps git from starting itself in a submodule,
// whose configuration isn't the one that was looked at.
func (r *Repo) status(ctx context.Context, untrackedMode string, visit func(change) error) error {
	if r.Top == "" {
		return ErrNoWorktree
	}
	settings, err := r.noFilters(ctx)
	if err != nil {
		return err
	}
	c := call{settings: settings, limit: scanLimit, args: []string{
		"status", "--porcelain=v2", "-z", "--no-renames", "--no-ahead-behind",
		"--ignored=no", "--ignore-submodules=dirty", "--untracked-files=" + untrackedMode,
	}}
	return r.records(ctx, c, 0, func(rec string) error {
		ch, skip, err := parseChange(rec)
		if err != nil || skip || ours(ch.path) {
			return err
		}
		return visit(ch)
	})
}

// ours reports paths that are never a project's files: .git and .holdfast, at
// any depth. Git compares .git without regard to case, for file systems that do.
func ours(path string) bool {
	for part := range strings.SplitSeq(path, "/") {
		if part == ".holdfast" || strings.EqualFold(part, ".git") {
			return true
		}
	}
	return false
}
