package mcpserver

import "golang.org/x/sys/unix"

// dup2 is dup3 without flags: dup2 itself is missing on some architectures.
func dup2(from, to int) error {
	for {
		if err := unix.Dup3(from, to, 0); err != unix.EINTR {
			return err
		}
	}
}
