package durable

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// Remove removes a file or an empty folder. The removal is not flushed.
func (d *Dir) Remove(name string) error {
	if err := d.checkName(name); err != nil {
		return fmt.Errorf("remove: %w", err)
	}
	if err := d.removeName(name); err != nil {
		return fmt.Errorf("remove %s: %w", d.join(name), err)
	}
	return nil
}

func (d *Dir) removeName(name string) error {
	return d.l.retrying(func() error {
		return d.l.do(OpRemove, d.join(name), func() error { return d.root.Remove(name) })
	})
}

// RemoveSync is Remove and a flush of d. When the flush fails the removal is
// an *UnknownOutcomeError.
func (d *Dir) RemoveSync(name string) error {
	if err := d.Remove(name); err != nil {
		return err
	}
	if err := d.Sync(); err != nil {
		return &UnknownOutcomeError{d.join(name), err}
	}
	return nil
}

// Rename moves a file or folder to a name that must be free (else ErrExists)
// and flushes both folders. Where the file system has no exclusive rename, a
// file is linked and unlinked; a folder is renamed after a look, and could
// then replace an empty folder made in between.
func (d *Dir) Rename(oldName string, to *Dir, newName string) error {
	path := to.join(newName)
	info, err := d.Lstat(oldName)
	if err == nil {
		err = to.checkNewName(newName)
	}
	if err == nil {
		err = ready(d, to)
	}
	if err != nil {
		return fmt.Errorf("rename: %w", err)
	}
	if err := d.renameFree(oldName, to, newName, info); err != nil {
		gone := !d.holds(oldName, info)
		switch {
		case gone && to.holds(newName, info): // done; the reply was lost
		case errors.Is(err, fs.ErrExist):
			return fmt.Errorf("rename to %s: %w", path, ErrExists)
		case gone && !isRefusal(err):
			return &UnknownOutcomeError{path, err}
		default:
			return fmt.Errorf("rename to %s: %w", path, err)
		}
	}
	// The new name first, so that no power cut finds neither.
	err = to.Sync()
	if err == nil && !os.SameFile(d.info, to.info) {
		err = d.Sync()
	}
	if err != nil {
		return &UnknownOutcomeError{path, err}
	}
	return nil
}

func (d *Dir) renameFree(oldName string, to *Dir, newName string, info fs.FileInfo) error {
	rename := func(f func(*Dir, string, *Dir, string) error) error {
		return d.l.retrying(func() error {
			return d.l.do(OpRename, to.join(newName), func() error { return f(d, oldName, to, newName) })
		})
	}
	err := rename(renameExclusive)
	if err == nil || !hasNoExclusiveRename(err) {
		return err
	}
	if info.Mode().IsRegular() {
		err := d.l.do(OpLink, to.join(newName), func() error { return linkFile(d, oldName, to, newName) })
		if err == nil {
			return d.removeName(oldName)
		}
		if !hasNoLinks(err) {
			return err
		}
	}
	if _, err := to.Lstat(newName); !errors.Is(err, fs.ErrNotExist) {
		return errors.Join(fs.ErrExist, err)
	}
	return rename(renameOver)
}

// Chmod sets the permission bits of a regular file or a folder of ours. It
// follows nothing and flushes nothing.
func (d *Dir) Chmod(name string, perm fs.FileMode) error {
	path := d.join(name)
	info, err := d.Lstat(name)
	if err != nil {
		return fmt.Errorf("set mode of %s: %w", path, err)
	}
	if !info.IsDir() {
		err = d.verify(path, nil, info, 1)
	} else if !d.ours(info) {
		err = &UnsafeFileError{path, "belongs to another user"}
	}
	if err != nil {
		return fmt.Errorf("set mode: %w", err)
	}
	err = d.l.do(OpChmod, path, func() error { return d.chmodSame(name, info, perm.Perm()) })
	if err != nil {
		return fmt.Errorf("set mode of %s: %w", path, err)
	}
	return nil
}

// chmodSame goes by descriptor, which can't be led astray; only a file that
// its owner can't open goes by name.
func (d *Dir) chmodSame(name string, info fs.FileInfo, perm fs.FileMode) error {
	f, err := d.root.OpenFile(name, os.O_RDONLY|openFlags, 0)
	if errors.Is(err, fs.ErrPermission) {
		return d.root.Chmod(name, perm)
	}
	if err != nil {
		return err
	}
	defer f.Close()
	if now, err := f.Stat(); err != nil || !os.SameFile(now, info) {
		return errors.Join(ErrReplaced, err)
	}
	return setMode(f, perm)
}
