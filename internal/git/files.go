package git

import (
	"cmp"
	"context"
	"path"
	"slices"
	"strings"
	"sync"
)

const maxFiles = 5_000_000

// Files lists the tracked and the untracked, unignored files of this worktree:
// sorted slash paths from Top, without .git and .holdfast. Submodules and other
// repositories inside aren't entered or named. A tracked file that was deleted
// is still listed. ErrNoWorktree in a bare repository.
func (r *Repo) Files(ctx context.Context) ([]string, error) {
	var known, others []string
	var knownErr, othersErr error
	var wg sync.WaitGroup // git takes its time for each, and neither needs the other
	wg.Go(func() {
		knownErr = r.tracked(ctx, nil, func(e indexEntry) error {
			if e.mode == gitlink {
				return nil
			}
			return addFile(&known, e.path)
		})
	})
	c := call{args: []string{"ls-files", "-z", "--others", "--exclude-standard"}, limit: scanLimit}
	othersErr = r.records(ctx, c, 0, func(p string) error { return addFile(&others, p) })
	wg.Wait()
	if err := cmp.Or(knownErr, othersErr); err != nil {
		return nil, wrap("list files", err)
	}
	files := append(known, others...)
	slices.Sort(files)
	return slices.Compact(files), nil
}

func addFile(files *[]string, p string) error {
	if ours(p) || strings.HasSuffix(p, "/") {
		return nil
	}
	if len(*files) == maxFiles {
		return ErrTooMuch
	}
	*files = append(*files, p)
	return nil
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
	mode, rest, spaced := strings.Cut(meta, " ")
	oid, stage, staged := strings.Cut(rest, " ")
	if !ok || !spaced || !staged || len(mode) != 6 || !validOID(oid) || strings.Contains(stage, " ") || p == "" {
		return indexEntry{}, ErrMalformed
	}
	return indexEntry{mode: mode, oid: oid, path: p}, nil
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
