//go:build unix && !linux && !darwin

package durable

import "golang.org/x/sys/unix"

func renameNoReplace(int, string, int, string) error { return unix.ENOSYS }
