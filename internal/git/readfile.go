package git

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"syscall"
)

// Bounds of what is read from a repository's own files, in bytes.
const (
	maxPointer = 64 << 10  // .git file, commondir, gitdir, head-name
	maxRefFile = 8 << 10   // HEAD and loose refs
	maxConfig  = 1 << 20   // config, config.worktree
	maxPacked  = 512 << 20 // packed-refs, read in a stream
)

var (
	errNotRegular = errors.New("not a regular file")
	errIsLink     = errors.New("a symbolic link")
	errIsDir      = errors.New("a folder")
)

// absent reports that nothing is at the path an error is about, a path
// through something that isn't a folder included.
func absent(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}

// readRegular reads a regular file of at most max bytes, following links.
func readRegular(path string, max int) ([]byte, error) {
	return readBounded(path, max, true)
}

// readOwn is readRegular for a file that must not itself be a link (errIsLink).
func readOwn(path string, max int) ([]byte, error) {
	return readBounded(path, max, false)
}

func readBounded(path string, max int, follow bool) ([]byte, error) {
	f, size, err := openRegular(path, follow)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if size > int64(max) {
		return nil, ErrTooMuch
	}
	buf := make([]byte, size+1)
	n := 0
	for n < len(buf) {
		k, err := f.Read(buf[n:])
		n += k
		if errors.Is(err, io.EOF) {
			return buf[:n], nil
		}
		if err != nil {
			return nil, err
		}
	}
	rest, err := io.ReadAll(io.LimitReader(f, int64(max-n)+1)) // it grew, or its size isn't told
	if err != nil {
		return nil, err
	}
	if n+len(rest) > max {
		return nil, ErrTooMuch
	}
	return append(buf, rest...), nil
}

// openRegular opens for reading without ever waiting for a FIFO's other end,
// and keeps only regular files.
func openRegular(path string, follow bool) (*os.File, int64, error) {
	f, err := openNoWait(path, follow)
	if err != nil {
		return nil, 0, err
	}
	fi, err := f.Stat()
	switch {
	case err != nil:
	case fi.IsDir():
		err = errIsDir
	case !fi.Mode().IsRegular():
		err = errNotRegular
	default:
		return f, fi.Size(), nil
	}
	f.Close()
	return nil, 0, err
}
