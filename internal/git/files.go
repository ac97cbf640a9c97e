package git

import (
	"context"
	"path"
	"slices"
	"strings"
)

const maxFiles = 5_000_000

// Files lists the tracked and the untracked, unignored files of this worktree:
// sorted slash paths from Top, without .git and .holdfast. Submodules and other
// repositories inside aren't entered or named. A tracked file that was deleted
// is still listed. ErrNoWorktree in a bare repository.
func (r *Repo) Files(ctx context.Context) ([]string, error) {
	var files []string
	add := func(p string) error {
		if ours(p) || strings.HasSuffix(p, "/") {
			return nil
		}
		if len(files) == maxFiles {
			return ErrTooMuch
		}
		files = append(files, p)
		return nil
	}
	err := r.tracked(ctx, nil, func(e indexEntry) error {
		if e.mode == gitlink {
			return nil
		}
		return add(e.path)
	})
	if err == nil {
		c := call{args: []string{"ls-files", "-z", "--others", "--exclude-standard"}, limit: scanLimit}
		err = r.records(ctx, c, 0, add)
	}
	if err != nil {
		return nil, wrap("list files", err)
	}
	slices.Sort(files)
	return slices.Compact(files), nil
}

// TrackedUnder lists the tracked files at or below prefix, a slash path from
// Top, .holdfast itself included; sorted.
func (r *Repo) TrackedUnder(ctx context.Context, prefix string) ([]string, error) {
	var files []string
	if prefix = path.Clean(prefix); prefix != "." && !below(prefix) {
		return nil, wrap("list tracked files", ErrMalformed)
	}
	err := r.tracked(ctx, []string{prefix}, func(e indexEntry) error {
		if len(files) == maxFiles {
			return ErrTooMuch
		}
		files = append(files, e.path)
		return nil
	})
	if err != nil {
		return nil, wrap("list tracked files", err)
	}
	slices.Sort(files)
	return slices.Compact(files), nil
}

const gitlink = "160000" // the mode of a submodule's entry

// indexEntry is one line of `git ls-files --stage -z`.
type indexEntry struct{ mode, oid, path string }

// parseIndexEntry reads "MODE OID STAGE<tab>PATH".
func parseIndexEntry(rec string) (indexEntry, error) {
	meta, p, ok := strings.Cut(rec, "\t")
	f := strings.Split(meta, " ")
	if !ok || len(f) != 3 || len(f[0]) != 6 || !validOID(f[1]) || p == "" {
		return indexEntry{}, ErrMalformed
	}
	return indexEntry{mode: f[0], oid: f[1], path: p}, nil
}

// tracked visits the index's entries at or below literal paths, or all.
func (r *Repo) tracked(ctx context.Context, paths []string, visit func(indexEntry) error) error {
	if r.Top == "" {
		return ErrNoWorktree
	}
	args := append([]string{"ls-files", "-z", "--stage", "--"}, paths...)
	return r.records(ctx, call{args: args, limit: scanLimit}, 0, func(rec string) error {
		e, err := parseIndexEntry(rec)
		if err != nil {
			return err
		}
		return visit(e)
	})
}
