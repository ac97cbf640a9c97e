//go:build !windows

package check

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// openInput opens a file for reading, no link at its name and no wait for a
// FIFO's writer.
func openInput(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOFOLLOW|syscall.O_CLOEXEC, 0)
}

func notFolder(err error) bool { return errors.Is(err, syscall.ENOTDIR) }

func identify(info fs.FileInfo) identity {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return identity{}
	}
	return identity{uint64(st.Dev), st.Ino, info.Size(), info.ModTime().UnixNano(), ctime(st)}
}

// folder is where a worker's last file lies. Files come sorted: most lie where the
// one before did, and looking there by its descriptor saves the way from the top.
type folder struct {
	name string
	used bool
	fd   int // 0: not opened
}

// identify gives the identity of a regular file, false for anything else and for
// what could not be looked at. It is what identify gives after os.Lstat.
func (f *folder) identify(top, rel string) (identity, bool) {
	dir, name := "", rel
	if i := strings.LastIndexByte(rel, '/'); i >= 0 {
		dir, name = rel[:i], rel[i+1:]
	}
	if !f.used || f.name != dir {
		f.close()
		f.name, f.used = dir, true
	} else if f.fd == 0 {
		f.open(filepath.Join(top, filepath.FromSlash(dir)))
	}
	at := name
	if f.fd == 0 {
		at = filepath.Join(top, filepath.FromSlash(rel))
	}
	var st unix.Stat_t
	err := unix.Fstatat(f.at(), at, &st, unix.AT_SYMLINK_NOFOLLOW)
	if err != nil || st.Mode&unix.S_IFMT != unix.S_IFREG {
		return identity{}, false
	}
	return identity{uint64(st.Dev), st.Ino, st.Size, st.Mtim.Nano(), st.Ctim.Nano()}, true
}

func (f *folder) at() int {
	if f.fd == 0 {
		return unix.AT_FDCWD
	}
	return f.fd
}

// open leaves fd at 0 where the folder can't be opened.
func (f *folder) open(path string) {
	if fd, err := unix.Open(path, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0); err == nil {
		f.fd = fd
	}
}

func (f *folder) close() {
	if f.fd != 0 {
		unix.Close(f.fd)
	}
	*f = folder{}
}
