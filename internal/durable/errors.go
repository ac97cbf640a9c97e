package durable

import (
	"errors"
	"fmt"
	"io/fs"
)

// ErrExists says that the name was taken by somebody else: a lost race.
var ErrExists = fmt.Errorf("name is taken: %w", fs.ErrExist)

// ErrUnsafe matches every *UnsafeFileError.
var ErrUnsafe = errors.New("not a safe file")

// ErrReplaced says that a path or name no longer leads to what was opened.
var ErrReplaced = errors.New("replaced since it was opened")

// ErrLockUnsupported says that this file system has no locks at all.
var ErrLockUnsupported = errors.New("file system has no locks")

// UnsafeFileError refuses a file or folder that is not what it should be: a
// link, a FIFO, a device, a folder in place of a file, a foreign owner, or a
// second name.
type UnsafeFileError struct{ Path, Why string }

func (e *UnsafeFileError) Error() string { return e.Path + ": " + e.Why }

// Is reports whether target is ErrUnsafe.
func (e *UnsafeFileError) Is(target error) bool { return target == ErrUnsafe }

// UnknownOutcomeError says that the write may or may not stand, now or after
// the next power cut. Look before doing it again.
type UnknownOutcomeError struct {
	Name string // full path
	Err  error
}

func (e *UnknownOutcomeError) Error() string {
	return fmt.Sprintf("outcome of writing %s is unknown: %v", e.Name, e.Err)
}
func (e *UnknownOutcomeError) Unwrap() error { return e.Err }

// BusyError says that somebody else held the lock all the while.
type BusyError struct {
	Holder string // first line of the lock's text, if printable and at most 200 bytes
	Path   string
	Err    error // the context's error when it ended the wait, else nil
}

func (e *BusyError) Error() string {
	if e.Holder == "" {
		return "lock " + e.Path + " is held by another process"
	}
	return "lock " + e.Path + " is held by " + e.Holder
}
func (e *BusyError) Unwrap() error { return e.Err }

// TooLargeError says that a file has more bytes than its reader allows.
type TooLargeError struct {
	Path        string
	Size, Limit int64 // Size is what was seen; the file may be larger
}

func (e *TooLargeError) Error() string {
	return fmt.Sprintf("%s has %d bytes, limit is %d", e.Path, e.Size, e.Limit)
}

// MountedError says that a file can't be replaced by rename because it is a
// mount point (a bind-mounted file in a container). WriteInPlace remains.
type MountedError struct {
	Path string
	Err  error
}

func (e *MountedError) Error() string { return e.Path + " is a mount point: " + e.Err.Error() }
func (e *MountedError) Unwrap() error { return e.Err }

// NotWritable reports whether err means that the place can't be written:
// a read-only file system or a lack of permission.
func NotWritable(err error) bool { return errors.Is(err, fs.ErrPermission) || isReadOnly(err) }

// DiskFull reports whether err means that the disk or the quota is used up.
func DiskFull(err error) bool { return isDiskFull(err) }
