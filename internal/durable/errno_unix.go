//go:build unix

package durable

import (
	"errors"

	"golang.org/x/sys/unix"
)

func isReadOnly(err error) bool { return errors.Is(err, unix.EROFS) }

func isDiskFull(err error) bool {
	return errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EDQUOT)
}
