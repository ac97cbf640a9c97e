//go:build unix

package durable

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// tryLock asks for the lock without waiting. Its caller repeats an interrupted
// call.
func tryLock(f *os.File) (bool, error) {
	err := control(f, func(fd int) error { return unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB) })
	if errors.Is(err, unix.EWOULDBLOCK) {
		return false, nil
	}
	return err == nil, err
}

func unlock(f *os.File) error {
	return uninterrupted(func() error {
		return control(f, func(fd int) error { return unix.Flock(fd, unix.LOCK_UN) })
	})
}

// turn is the turnstile in front of the locks of a folder: a lock on the
// folder itself, opened anew for each waiter, so that it needs no file of its
// own. NFS refuses that; then there is no turnstile.
type turn struct{ f *os.File }

func tryTurn(d *Dir, _ *os.File) (t *turn, free bool, err error) {
	f, err := d.root.Open(".")
	if err != nil {
		return nil, false, err
	}
	err = uninterrupted(func() error { free, err = tryLock(f); return err })
	if err != nil || !free {
		f.Close()
		return nil, false, err
	}
	return &turn{f}, true, nil
}

func (t *turn) leave() {
	_ = unlock(t.f)
	t.f.Close()
}
