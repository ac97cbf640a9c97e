//go:build unix

package filelog

import "golang.org/x/sys/unix"

// Errors as the system gives them.
const (
	errIO       = unix.EIO
	errFull     = unix.ENOSPC
	errReadOnly = unix.EROFS
	errDenied   = unix.EACCES
	errNoLinks  = unix.EPERM
	errNoLocks  = unix.ENOLCK
)
