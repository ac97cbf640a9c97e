package durable

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// MkdirAll makes the missing folders of path one by one and flushes the parent
// of each. The umask applies. A folder that is there already is not flushed:
// who completes another's unfinished work calls Sync on the parents.
func (l *Layer) MkdirAll(path string, perm fs.FileMode) error {
	abs, err := filepath.Abs(path)
	if err != nil {
		return fmt.Errorf("make folders: %w", err)
	}
	var missing []string
	for p := abs; ; p = filepath.Dir(p) {
		ok, err := l.isFolder(p)
		if err != nil {
			return fmt.Errorf("make folders: %w", err)
		}
		if ok {
			break
		}
		missing = append(missing, p)
		if p == filepath.Dir(p) {
			return fmt.Errorf("make folders: %s: %w", p, fs.ErrNotExist)
		}
	}
	for i := len(missing) - 1; i >= 0; i-- {
		if err := l.mkdir(missing[i], perm); err != nil {
			return fmt.Errorf("make folders: %w", err)
		}
	}
	return nil
}

// isFolder follows links: a user's state folder may well lie behind one.
func (l *Layer) isFolder(p string) (bool, error) {
	var info fs.FileInfo
	err := l.do(OpStat, p, func() (err error) { info, err = os.Stat(p); return err })
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case err != nil:
		return false, err
	case !info.IsDir():
		return false, &UnsafeFileError{p, kind(info.Mode()) + " in place of a folder"}
	}
	return true, nil
}

func (l *Layer) mkdir(p string, perm fs.FileMode) error {
	err := l.do(OpMkdir, p, func() error { return os.Mkdir(p, perm.Perm()) })
	if errors.Is(err, fs.ErrExist) { // a race, or a link to nowhere
		ok, ferr := l.isFolder(p)
		if ferr == nil && !ok {
			ferr = &UnsafeFileError{p, "a link to nowhere in place of a folder"}
		}
		err = ferr
	}
	if err != nil {
		return err
	}
	parent, err := l.OpenForeignDir(resolved(filepath.Dir(p)))
	if err != nil {
		return err
	}
	defer parent.Close()
	return parent.Sync()
}

// resolved is p without links, or p where that can't be told.
func resolved(p string) string {
	if r, err := filepath.EvalSymlinks(p); err == nil {
		return r
	}
	return p
}

// MakeSub is Sub that makes the folder if it is missing, and then flushes d.
// The umask applies. What root makes belongs to the owner of d.
func (d *Dir) MakeSub(name string, perm fs.FileMode) (*Dir, error) {
	s, err := d.Sub(name)
	if err == nil || !errors.Is(err, fs.ErrNotExist) {
		return s, err
	}
	if err := d.checkNewName(name); err != nil {
		return nil, fmt.Errorf("make folder: %w", err)
	}
	path := d.join(name)
	err = d.l.do(OpMkdir, path, func() error { return d.root.Mkdir(name, perm.Perm()) })
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, fmt.Errorf("make folder %s: %w", path, err)
	}
	if err == nil && d.givesAway() {
		// A folder that stays root's is still ours.
		_ = d.l.do(OpChmod, path, func() error { return d.root.Lchown(name, d.uid, d.gid) })
	}
	if err := d.Sync(); err != nil {
		return nil, err
	}
	return d.Sub(name)
}

// givesAway: what root makes in somebody's folder is given to that somebody,
// or else a run under sudo or in a container would lock its owner out.
func (d *Dir) givesAway() bool { return d.uid > 0 && d.me == 0 }
