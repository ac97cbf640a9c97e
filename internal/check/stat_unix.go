//go:build !windows

package check

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
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
