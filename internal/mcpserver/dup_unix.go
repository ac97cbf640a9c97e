//go:build !windows && !linux

package mcpserver

import "golang.org/x/sys/unix"

func dup2(from, to int) error {
	for {
		if err := unix.Dup2(from, to); err != unix.EINTR {
			return err
		}
	}
}
