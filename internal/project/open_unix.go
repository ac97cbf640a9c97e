//go:build !windows

package project

import (
	"os"
	"syscall"
)

// openNonblocking opens a file for reading without waiting for a FIFO's writer.
func openNonblocking(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
}
