//go:build unix

package project

import "golang.org/x/sys/unix"

// canWrite reports why this process can't make files in a folder: permissions,
// or a file system mounted read-only.
func canWrite(dir string) error {
	for {
		if err := unix.Access(dir, unix.W_OK); err != unix.EINTR {
			return err
		}
	}
}
