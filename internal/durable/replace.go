package durable

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// Replace puts data at name whole: what was there stays byte for byte until
// the new content is flushed and renamed over it. A link at name is replaced,
// not followed. tmp (nil: d itself) must be on the same file system.
//
// A file that Windows refuses to replace because others have it open is tried
// again for about 2 s; never is it truncated instead. *MountedError: name is a
// mount point. *UnknownOutcomeError: the new content may or may not stand.
// After any other error the old content does.
func (d *Dir) Replace(tmp *Dir, name string, data []byte, perm fs.FileMode) error {
	if err := d.checkNewName(name); err != nil {
		return fmt.Errorf("replace: %w", err)
	}
	return d.replace(tmp, name, whole(data), plain(perm))
}

// ReplaceFrom is Replace for content that write makes bit by bit. When write
// fails the old content stands.
func (d *Dir) ReplaceFrom(tmp *Dir, name string, perm fs.FileMode, write func(io.Writer) error) error {
	if err := d.checkNewName(name); err != nil {
		return fmt.Errorf("replace: %w", err)
	}
	return d.replace(tmp, name, write, plain(perm))
}

func whole(data []byte) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	}
}

// ReplaceKeeping is Replace for an existing file that keeps its permission
// bits, owner and group, and on Linux its access list and user attributes; one
// that can't keep them is an error. The file must be regular, ours and without a
// second name.
func (d *Dir) ReplaceKeeping(tmp *Dir, name string, data []byte) error {
	old, info, err := d.openFile(name, os.O_RDONLY, 1)
	if err != nil {
		return fmt.Errorf("replace: %w", err)
	}
	xattrs, err := readXattrs(old)
	if cerr := d.l.close(old, d.join(name)); err == nil {
		err = cerr
	}
	if err != nil {
		return fmt.Errorf("replace %s: %w", d.join(name), err)
	}
	uid, gid, _ := ownerOf(info)
	return d.replace(tmp, name, whole(data), attrs{info.Mode().Perm(), uid, gid, xattrs})
}

func (d *Dir) replace(tmp *Dir, name string, write func(io.Writer) error, a attrs) error {
	if tmp == nil {
		tmp = d
	}
	path := d.join(name)
	if err := ready(tmp, d); err != nil {
		return fmt.Errorf("replace %s: %w", path, err)
	}
	t, err := tmp.streamTemp(a, write)
	if err != nil {
		return fmt.Errorf("replace %s: %w", path, err)
	}
	err = d.l.retrying(func() error {
		return d.l.do(OpRename, path, func() error { return renameOver(tmp, t.name, d, name) })
	})
	if err != nil && !d.holds(name, t.info) {
		_, lerr := tmp.Lstat(t.name)
		dropErr := t.drop()
		switch {
		case isMounted(err):
			return errors.Join(&MountedError{path, err}, dropErr)
		case lerr != nil && !isRefusal(err):
			return errors.Join(&UnknownOutcomeError{path, err}, dropErr)
		}
		return errors.Join(fmt.Errorf("replace %s: %w", path, err), dropErr)
	}
	if err := d.Sync(); err != nil {
		return &UnknownOutcomeError{path, err}
	}
	return nil
}
