//go:build unix

package surface

import (
	"errors"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// handle is an open folder.
type handle struct {
	f  *os.File
	fd int
}

// openFolder opens a folder below root, which it can't leave.
func openFolder(root *os.Root, rel string) (*handle, error) {
	f, err := root.OpenFile(rel, os.O_RDONLY|unix.O_DIRECTORY|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	return &handle{f, int(f.Fd())}, nil
}

func (h *handle) close() { h.f.Close() }

func (h *handle) self() (stat, error) {
	var st unix.Stat_t
	err := retry(func() error { return unix.Fstat(h.fd, &st) })
	return statOf(&st), err
}

func (h *handle) stat(name string) (stat, error) {
	var st unix.Stat_t
	err := retry(func() error { return unix.Fstatat(h.fd, name, &st, unix.AT_SYMLINK_NOFOLLOW) })
	return statOf(&st), err
}

func (h *handle) sub(name string) (*handle, error) {
	fd, err := h.openat(name, unix.O_DIRECTORY)
	if err != nil {
		return nil, err
	}
	f := os.NewFile(uintptr(fd), name)
	return &handle{f, fd}, nil
}

func (h *handle) openat(name string, flags int) (fd int, err error) {
	err = retry(func() error {
		fd, err = unix.Openat(h.fd, name, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC|flags, 0)
		return err
	})
	return fd, err
}

// names lists the folder, at most once.
func (h *handle) names() ([]string, error) { return h.f.Readdirnames(maxEntries + 1) }

func (h *handle) readlink(name string) (string, error) {
	buf := make([]byte, 4096)
	var n int
	err := retry(func() (err error) { n, err = unix.Readlinkat(h.fd, name, buf); return err })
	if err != nil {
		return "", err
	}
	return string(buf[:n]), nil
}

// file is an open file of any kind.
type file struct{ fd int }

func (h *handle) file(name string) (file, error) {
	fd, err := h.openat(name, unix.O_NOCTTY)
	return file{fd}, err
}

func (f file) close() { unix.Close(f.fd) }

func (f file) stat() (stat, error) {
	var st unix.Stat_t
	err := retry(func() error { return unix.Fstat(f.fd, &st) })
	return statOf(&st), err
}

// read gives 0 at the end of the file.
func (f file) read(b []byte) (n int, err error) {
	err = retry(func() error { n, err = unix.Read(f.fd, b); return err })
	return n, err
}

// osFile hands the open file over.
func (f file) osFile(name string) *os.File { return os.NewFile(uintptr(f.fd), name) }

func (s *stat) same(t *stat) bool { return s.id == t.id }

// identified reports whether id and state can stand for a file's content.
func (s *stat) identified() bool { return s.info == nil }

func statOf(st *unix.Stat_t) stat {
	return stat{
		id:   fileID{uint64(st.Dev), uint64(st.Ino)},
		now:  state{st.Size, st.Mtim.Nano(), st.Ctim.Nano()},
		mode: modeOf(uint32(st.Mode)),
	}
}

func modeOf(m uint32) fs.FileMode {
	mode := fs.FileMode(m & 0o777)
	for _, b := range [...]struct {
		bit uint32
		set fs.FileMode
	}{{unix.S_ISUID, fs.ModeSetuid}, {unix.S_ISGID, fs.ModeSetgid}, {unix.S_ISVTX, fs.ModeSticky}} {
		if m&b.bit != 0 {
			mode |= b.set
		}
	}
	switch m & unix.S_IFMT {
	case unix.S_IFREG:
		return mode
	case unix.S_IFDIR:
		return mode | fs.ModeDir
	case unix.S_IFLNK:
		return mode | fs.ModeSymlink
	}
	return mode | fs.ModeIrregular
}

func interrupted(err error) bool { return err == unix.EINTR }

func isLoop(err error) bool { return errors.Is(err, unix.ELOOP) }

// statInfo is the stat of a path that was looked at by name.
func statInfo(path string) (stat, error) {
	var st unix.Stat_t
	err := retry(func() error { return unix.Lstat(path, &st) })
	if err != nil {
		return stat{}, &fs.PathError{Op: "lstat", Path: path, Err: err}
	}
	return statOf(&st), nil
}

// retry calls f again while a signal interrupts it.
func retry(f func() error) error {
	for {
		if err := f(); err == nil || !interrupted(err) {
			return err
		}
	}
}
