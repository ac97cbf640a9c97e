package durable

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// Each lock is one byte far beyond the text: Windows locks are mandatory, and
// the text must stay readable to those who wait.
const (
	lockByte = 0
	turnByte = 1
)

func tryLock(f *os.File) (bool, error) { return tryByte(f, lockByte) }
func unlock(f *os.File) error          { return unlockByte(f, lockByte) }

func tryByte(f *os.File, b uint32) (bool, error) {
	const flags = windows.LOCKFILE_EXCLUSIVE_LOCK | windows.LOCKFILE_FAIL_IMMEDIATELY
	at := &windows.Overlapped{Offset: b, OffsetHigh: 0x7fffffff}
	err := windows.LockFileEx(windows.Handle(f.Fd()), flags, 0, 1, 0, at)
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) || errors.Is(err, windows.ERROR_IO_PENDING) {
		return false, nil
	}
	return err == nil, err
}

func unlockByte(f *os.File, b uint32) error {
	at := &windows.Overlapped{Offset: b, OffsetHigh: 0x7fffffff}
	return windows.UnlockFileEx(windows.Handle(f.Fd()), 0, 1, 0, at)
}

// turn is the turnstile in front of the lock: another byte of its file.
type turn struct{ f *os.File }

func tryTurn(_ *Dir, f *os.File) (t *turn, free bool, err error) {
	if free, err = tryByte(f, turnByte); err != nil || !free {
		return nil, false, err
	}
	return &turn{f}, true, nil
}

func (t *turn) leave() { _ = unlockByte(t.f, turnByte) }
