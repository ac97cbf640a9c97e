package filelog

import "golang.org/x/sys/windows"

// Errors as the system gives them.
const (
	errIO       = windows.ERROR_IO_DEVICE
	errFull     = windows.ERROR_DISK_FULL
	errReadOnly = windows.ERROR_WRITE_PROTECT
	errDenied   = windows.ERROR_ACCESS_DENIED
	errNoLinks  = windows.ERROR_NOT_SUPPORTED
	errNoLocks  = windows.ERROR_NOT_SUPPORTED
)
