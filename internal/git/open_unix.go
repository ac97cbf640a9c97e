//go:build unix

package git

import (
	"errors"
	"os"
	"syscall"
)

// noWait keeps an open from waiting for a FIFO's other end.
const noWait = syscall.O_NONBLOCK

func openNoWait(path string, follow bool) (*os.File, error) {
	flags := os.O_RDONLY | syscall.O_NONBLOCK
	if !follow {
		flags |= syscall.O_NOFOLLOW
	}
	f, err := os.OpenFile(path, flags, 0)
	// O_NOFOLLOW on a link is ELOOP, EMLINK on FreeBSD, EFTYPE on NetBSD.
	if err != nil && !follow && !absent(err) {
		if fi, lerr := os.Lstat(path); lerr == nil && fi.Mode()&os.ModeSymlink != 0 {
			return nil, errIsLink
		}
	}
	if errors.Is(err, syscall.ENXIO) { // a socket
		return nil, errNotRegular
	}
	return f, err
}
