package durable

import (
	"errors"
	"io/fs"
	"os"
)

// Held looks whether somebody holds the lock on the file name in d, and what the
// file says of who. It writes nothing; it has the lock itself for as long as the
// question takes, which a waiter does not notice. A file that isn't there is held
// by nobody.
func (d *Dir) Held(name string) (who string, held bool, err error) {
	f, _, err := d.openFile(name, os.O_RDONLY, 1)
	if errors.Is(err, fs.ErrNotExist) {
		return "", false, nil
	}
	if err != nil {
		return "", false, err
	}
	defer f.Close()
	free := false
	err = d.l.do(OpLock, d.join(name), func() (err error) { free, err = tryLock(f); return err })
	switch {
	case err != nil && hasNoLocks(err):
		return "", false, ErrLockUnsupported
	case err != nil:
		return "", false, err
	case free:
		return "", false, unlock(f)
	}
	return holder(f), true, nil
}

// Misfit is what makes a file or folder of ours unlike those that we make.
type Misfit string

// Misfits that Fit tells.
const (
	MisfitKind  Misfit = "kind"  // neither a file nor a folder
	MisfitOwner Misfit = "owner" // another user's
	MisfitNames Misfit = "names" // a file with several names
	MisfitMode  Misfit = "mode"  // open to other users
)

// Fit describes name in d, and how it is unlike what we make; empty: not at all.
// A file may have as many names as links says. why is for people.
func (d *Dir) Fit(name string, links int64) (info fs.FileInfo, bad Misfit, why string, err error) {
	if info, err = d.Lstat(name); err != nil {
		return nil, "", "", err
	}
	mode := info.Mode()
	switch {
	case !mode.IsRegular() && !mode.IsDir():
		return info, MisfitKind, kind(mode), nil
	case !d.ours(info):
		return info, MisfitOwner, "belongs to another user", nil
	case mode.IsRegular() && linksOf(nil, info) > links:
		return info, MisfitNames, "has other names too", nil
	case hasModes && mode.Perm()&0o077 != 0:
		return info, MisfitMode, "is open to other users: mode " + mode.Perm().String(), nil
	}
	return info, "", "", nil
}
