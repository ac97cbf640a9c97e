package git

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

const (
	maxNesting = 8         // submodules in submodules
	maxChanges = 1_000_000 // uncommitted paths
)

// DirtyDigest identifies the uncommitted state: "" where nothing is
// uncommitted, else sha256 in hex over the sorted entries of git status, each
// with the sha256 of the file's content (a link's target). Submodules that are
// checked out count with their commit and their own uncommitted state. Ignored
// files and .holdfast don't count. ErrNoWorktree in a bare repository.
//
// It reads every changed and untracked file; ctx ends it.
func (r *Repo) DirtyDigest(ctx context.Context) (string, error) {
	d, err := r.dirtyDigest(ctx, maxNesting)
	return d, wrap("digest uncommitted changes", err)
}

func (r *Repo) dirtyDigest(ctx context.Context, depth int) (string, error) {
	lines, err := r.dirtyLines(ctx)
	if err != nil {
		return "", err
	}
	subs, err := r.submoduleLines(ctx, depth)
	if err != nil {
		return "", err
	}
	if lines = append(lines, subs...); len(lines) == 0 {
		return "", nil
	}
	slices.Sort(lines)
	h := sha256.New()
	for _, l := range lines {
		io.WriteString(h, l)
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// dirtyLines makes "PATH NUL FIELDS NUL CONTENT LF" of each change.
func (r *Repo) dirtyLines(ctx context.Context) ([]string, error) {
	var changes []change
	err := r.status(ctx, "all", func(c change) error {
		if len(changes) == maxChanges {
			return ErrTooMuch
		}
		changes = append(changes, c)
		return nil
	})
	if err != nil || len(changes) == 0 {
		return nil, err
	}
	root, err := os.OpenRoot(r.Top)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	lines := make([]string, 0, len(changes))
	for _, c := range changes {
		content := "absent"
		if c.mode != "000000" && c.mode != gitlink {
			if content, err = contentID(ctx, root, c.path); err != nil {
				return nil, err
			}
		}
		lines = append(lines, c.path+"\x00"+c.fields+"\x00"+content+"\n")
	}
	return lines, nil
}

// contentID says what lies at a path: the kind, and a hash of the content. What
// has just vanished or can't be read is told as such, not as an error.
func contentID(ctx context.Context, root *os.Root, path string) (string, error) {
	name := filepath.FromSlash(strings.TrimSuffix(path, "/"))
	fi, err := root.Lstat(name)
	switch {
	case err != nil:
		return "unreadable", ctx.Err()
	case fi.Mode()&os.ModeSymlink != 0:
		to, err := root.Readlink(name)
		if err != nil {
			return "unreadable", ctx.Err()
		}
		return hexOf("link ", sha256.Sum256([]byte(to))), ctx.Err()
	case fi.IsDir():
		return "folder", ctx.Err() // a repository inside
	case !fi.Mode().IsRegular():
		return "special", ctx.Err()
	}
	f, err := root.OpenFile(name, os.O_RDONLY|noWait, 0)
	if err != nil {
		return "unreadable", ctx.Err()
	}
	defer f.Close()
	if now, err := f.Stat(); err != nil || !os.SameFile(now, fi) {
		return "unreadable", ctx.Err()
	}
	h := sha256.New()
	if err := copyUntil(ctx, h, f); err != nil {
		return "", err
	}
	return hexOf("file ", [sha256.Size]byte(h.Sum(nil))), nil
}

func hexOf(kind string, sum [sha256.Size]byte) string { return kind + hex.EncodeToString(sum[:]) }

// copyUntil feeds a file to a hash until its end or ctx's.
func copyUntil(ctx context.Context, h hash.Hash, f io.Reader) error {
	for {
		n, err := io.CopyN(h, f, 4<<20)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return fmt.Errorf("hash after %d bytes: %w", n, err)
		}
	}
}

// submoduleLines tells the dirt inside the submodules that are checked out.
func (r *Repo) submoduleLines(ctx context.Context, depth int) ([]string, error) {
	if !exists(filepath.Join(r.Top, ".gitmodules")) && !exists(filepath.Join(r.GitDir, "modules")) {
		return nil, nil
	}
	var links []indexEntry
	err := r.tracked(ctx, nil, func(e indexEntry) error {
		if e.mode == gitlink && !ours(e.path) {
			links = append(links, e)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	var lines []string
	for _, e := range links {
		id, err := r.submoduleID(ctx, e, depth)
		if err != nil {
			return nil, err
		}
		if id != "" {
			lines = append(lines, e.path+"\x00submodule\x00"+id+"\n")
		}
	}
	return lines, nil
}

// submoduleID tells a submodule's commit and uncommitted state, "" where it is
// as the index has it or isn't checked out. Its repository is looked at like
// any other, with its own configuration disarmed.
func (r *Repo) submoduleID(ctx context.Context, e indexEntry, depth int) (string, error) {
	dir := filepath.Join(r.Top, filepath.FromSlash(e.path))
	if real, err := filepath.EvalSymlinks(dir); err != nil || !inside(real, r.Top) || real == r.Top {
		return "", ctx.Err()
	}
	f := &finder{env: r.env}
	sub, err := f.at(dir)
	if sub == nil || err != nil || sub.Top == "" {
		return "", ctx.Err()
	}
	if depth == 0 {
		return "nested too deep", nil
	}
	sub.env, sub.owner, sub.outer = r.env, &owner{}, r
	h, err := sub.Head(ctx)
	if err != nil {
		return "", err
	}
	id, err := sub.dirtyDigest(ctx, depth-1)
	if errors.Is(err, ErrRefused) {
		id, err = "refused", nil
	}
	if id == "" && h.Commit == e.oid {
		return "", err
	}
	return h.Commit + " " + id, err
}
