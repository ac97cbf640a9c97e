//go:build !windows

package mcpserver

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// takeStdout gives the real standard output to the transport alone and points
// descriptor 1 to standard error for everything else.
func takeStdout(f *os.File) (*os.File, error) {
	if f.Fd() != 1 {
		return f, nil
	}
	fd, err := unix.FcntlInt(1, unix.F_DUPFD_CLOEXEC, 3)
	if err != nil {
		return nil, fmt.Errorf("copy descriptor: %w", err)
	}
	if err := dup2(2, 1); err != nil {
		return nil, fmt.Errorf("point descriptor 1 to standard error: %w", err)
	}
	return os.NewFile(uintptr(fd), "protocol"), nil
}
