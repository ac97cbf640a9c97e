package project

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"

	"holdfast/internal/durable"
	"holdfast/internal/txn"
)

// maxManifest bounds the list of originals: 5,000 files with long names.
const maxManifest = 32 << 20

// maxBlob bounds what is read from git into memory.
const maxBlob = 1 << 30

func manifestName(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:]) + ".json"
}

// compare says what restoring would do at one original.
func (c *txnCall) compare(f *RestoreFile, w *txn.Want) {
	cannot := func(why string) { f.Change, f.Why = restoreCannot, why }
	_, name, _ := strings.Cut(w.Surface, ":")
	f.base, f.path = c.p.loc.top, path.Join(name, f.Name)
	switch place, err := c.obs.Place(w.Surface, w.Roots); {
	case !w.Outside && w.Worktree != c.p.loc.worktree:
		cannot("it lies in another worktree: run it there")
		return
	case err != nil || place.Surface != w.Surface:
		cannot("its path leads elsewhere now")
		return
	case f.Name != "" && !filepath.IsLocal(filepath.FromSlash(f.Name)):
		cannot("its name leads elsewhere")
		return
	}
	if w.Outside {
		f.base, f.path = filepath.Dir(filepath.FromSlash(name)), path.Join(path.Base(name), f.Name)
	}
	f.Now = "absent"
	parent, base, err := c.parent(f, false)
	if err == nil {
		defer parent.Close()
		f.Now, err = thingNow(parent, base)
	}
	switch {
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		cannot("what is there can't be read")
	case f.Now == f.Then:
		f.Change = restoreSame
	case f.Now == "absent":
		f.Change = restoreCreate
	case !strings.HasPrefix(f.Now, "file:") && !strings.HasPrefix(f.Now, "link:"):
		cannot("something else than a file is there")
	case f.kept.Link != "":
		cannot("a link can only be put back where nothing is")
	default:
		f.Change = restoreWrite
	}
}

// parent opens the folder of an original, following no link below its base.
// Missing folders are made where make is set.
func (c *txnCall) parent(f *RestoreFile, create bool) (*durable.Dir, string, error) {
	dir, err := c.p.w.Layer.OpenForeignDir(f.base)
	if err != nil {
		return nil, "", err
	}
	parts := strings.Split(f.path, "/")
	for _, part := range parts[:len(parts)-1] {
		open := dir.Sub
		if create {
			open = func(name string) (*durable.Dir, error) { return dir.MakeSub(name, 0o755) }
		}
		next, err := open(part)
		dir.Close()
		if err != nil {
			return nil, "", err
		}
		dir = next
	}
	return dir, parts[len(parts)-1], nil
}

// thingNow is what is at a name, in the words of a preview.
func thingNow(dir *durable.Dir, name string) (string, error) {
	info, err := dir.Lstat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "absent", nil
	case err != nil:
		return "unknown", err
	case info.Mode()&fs.ModeSymlink != 0:
		target, err := os.Readlink(filepath.Join(dir.Path(), name))
		return "link:" + target, err
	case !info.Mode().IsRegular():
		return "a folder or a device", nil
	}
	from, err := dir.OpenLinked(name)
	if err != nil {
		return "unknown", err
	}
	defer from.Close()
	h := sha256.New()
	if _, err := io.Copy(h, from); err != nil {
		return "unknown", fmt.Errorf("read %s: %w", name, err)
	}
	return fmt.Sprintf("file:%s %04o", hex.EncodeToString(h.Sum(nil)), info.Mode().Perm()), nil
}

// putBack puts one original back whole.
func (c *txnCall) putBack(ctx context.Context, quarantine *durable.Dir, f *RestoreFile) error {
	parent, base, err := c.parent(f, true)
	if err != nil {
		return err
	}
	defer parent.Close()
	if f.kept.Link != "" {
		return parent.PublishLink(f.kept.Link, base)
	}
	mode, err := strconv.ParseUint(f.kept.Mode, 8, 12)
	if err != nil {
		mode = 0o644
	}
	perm := fs.FileMode(mode).Perm()
	content := func(w io.Writer) error { return c.original(ctx, quarantine, f.kept, w) }
	if f.Change == restoreCreate {
		if _, err := parent.PublishFrom(base, perm, content, nil); err != nil {
			return err
		}
	} else if err := parent.ReplaceFrom(nil, base, perm, content); err != nil {
		return err
	}
	return parent.Chmod(base, perm)
}

// original writes what was kept, and checks it.
func (c *txnCall) original(ctx context.Context, quarantine *durable.Dir, o *txn.Preserved, w io.Writer) error {
	from, err := c.openOriginal(ctx, quarantine, o)
	if err != nil {
		return err
	}
	defer from.Close()
	switch err := copyWhole(w, from, o.SHA256); {
	case errors.Is(err, errOriginalChanged):
		return fmt.Errorf("the kept original was changed: %w", err)
	case err != nil:
		return fmt.Errorf("read original: %w", err)
	}
	return nil
}

func (c *txnCall) openOriginal(ctx context.Context, quarantine *durable.Dir, o *txn.Preserved) (io.ReadCloser, error) {
	oid, inGit := strings.CutPrefix(o.Where, keptInGit)
	if !inGit {
		return quarantine.Open(o.SHA256)
	}
	if c.p.loc.repo == nil {
		return nil, errors.New("the original is in git, and there is no repository here")
	}
	data, err := c.p.loc.repo.ReadBlob(ctx, oid, maxBlob)
	if err != nil {
		return nil, err
	}
	return io.NopCloser(bytes.NewReader(data)), nil
}
