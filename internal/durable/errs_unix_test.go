//go:build unix

package durable

import "golang.org/x/sys/unix"

var (
	errNoSuchWay error = unix.ENOTSUP
	errIO        error = unix.EIO
	errFull      error = unix.ENOSPC
	errReadOnly  error = unix.EROFS
	errBusy      error = unix.EBUSY
	errDenied    error = unix.EACCES
	errSignal    error = unix.EINTR
)
