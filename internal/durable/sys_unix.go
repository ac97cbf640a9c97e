//go:build unix

package durable

import (
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// openFlags are added to every opening of a file: a FIFO that takes the place
// of a file must not block us, nor a terminal become ours.
const openFlags = unix.O_NONBLOCK | unix.O_NOCTTY

// hasModes: permission bits say who may read a file.
const hasModes = true

// filePerm is the mode that a file is created with.
func filePerm(perm fs.FileMode) fs.FileMode { return perm.Perm() }

func ownerOf(info fs.FileInfo) (uid, gid int, ok bool) {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return -1, -1, false
	}
	return int(st.Uid), int(st.Gid), true
}

// linksOf is the number of names that a file has; f may be nil.
func linksOf(_ *os.File, info fs.FileInfo) int64 {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return int64(st.Nlink)
	}
	return 1
}

// setMode gives f exactly these permission bits, whatever the umask was.
func setMode(f *os.File, perm fs.FileMode) error { return f.Chmod(perm.Perm()) }

// flushFolder makes the names in d durable.
func (d *Dir) flushFolder() error {
	h, err := d.handle()
	if err != nil {
		return err
	}
	if skipsFlush(h, true) {
		return nil
	}
	return h.Sync()
}

func linkFile(from *Dir, oldName string, to *Dir, newName string) error {
	return withFDs(from, to, func(a, b int) error {
		return linkErr("link", from, oldName, to, newName, unix.Linkat(a, oldName, b, newName, 0))
	})
}

// renameOver replaces what stands at the new name.
func renameOver(from *Dir, oldName string, to *Dir, newName string) error {
	return withFDs(from, to, func(a, b int) error {
		return linkErr("rename", from, oldName, to, newName, unix.Renameat(a, oldName, b, newName))
	})
}

// renameExclusive fails with fs.ErrExist when the new name is taken.
func renameExclusive(from *Dir, oldName string, to *Dir, newName string) error {
	return withFDs(from, to, func(a, b int) error {
		return linkErr("rename", from, oldName, to, newName, renameNoReplace(a, oldName, b, newName))
	})
}

func linkErr(op string, from *Dir, oldName string, to *Dir, newName string, err error) error {
	if err == nil {
		return nil
	}
	return &os.LinkError{Op: op, Old: from.join(oldName), New: to.join(newName), Err: err}
}

// withFDs keeps both folders' descriptors open while f runs: os.Root links and
// renames within one root only, and a save does it between two.
func withFDs(from, to *Dir, f func(a, b int) error) error {
	fh, err := from.handle()
	if err != nil {
		return err
	}
	th, err := to.handle()
	if err != nil {
		return err
	}
	return control(fh, func(a int) error {
		return control(th, func(b int) error { return f(a, b) })
	})
}

func control(f *os.File, call func(fd int) error) error {
	raw, err := f.SyscallConn()
	if err != nil {
		return err
	}
	var inner error
	if err := raw.Control(func(fd uintptr) { inner = call(int(fd)) }); err != nil {
		return err
	}
	return inner
}
