package durable

import "golang.org/x/sys/windows"

var (
	errNoSuchWay error = windows.ERROR_NOT_SUPPORTED
	errIO        error = windows.ERROR_IO_DEVICE
	errFull      error = windows.ERROR_DISK_FULL
	errReadOnly  error = windows.ERROR_WRITE_PROTECT
	errBusy      error = windows.ERROR_BUSY
	errDenied    error = windows.ERROR_PATH_NOT_FOUND
	errSignal    error = nil
)

func platformChildren() map[string]func([]string) error { return nil }
