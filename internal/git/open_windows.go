package git

import "os"

// noWait: there is nothing to wait for.
const noWait = 0

// openNoWait has no FIFO to fear on Windows; a device name opens as no regular file.
func openNoWait(path string, follow bool) (*os.File, error) {
	if !follow {
		if fi, err := os.Lstat(path); err == nil && fi.Mode()&os.ModeSymlink != 0 {
			return nil, errIsLink
		}
	}
	return os.Open(path)
}
