//go:build unix

package durable

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// tryLock asks for the lock without waiting. An interrupted call is repeated
// by its caller.
func tryLock(f *os.File) (bool, error) {
	err := control(f, func(fd int) error { return unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB) })
	if errors.Is(err, unix.EWOULDBLOCK) {
		return false, nil
	}
	return err == nil, err
}

func unlock(f *os.File) error {
	for n := 0; ; n++ {
		err := control(f, func(fd int) error { return unix.Flock(fd, unix.LOCK_UN) })
		if n == maxInterrupts || !isInterrupted(err) {
			return err
		}
	}
}
