package git

import (
	"bytes"
	"path/filepath"
	"strings"
)

// parsePointer reads the content of a .git file, "gitdir: PATH", with any
// number of line ends behind it, CRLF included (gitrepository-layout(5); git's
// read_gitfile_gently).
func parsePointer(b []byte) (string, bool) {
	rest, ok := bytes.CutPrefix(b, []byte("gitdir: "))
	if !ok {
		return "", false
	}
	return pathLine(rest)
}

// pathLine is the one path in a file such as commondir or gitdir.
func pathLine(b []byte) (string, bool) {
	s := strings.TrimRight(string(b), "\r\n")
	if s == "" || strings.ContainsAny(s, "\x00\n") {
		return "", false
	}
	return s, true
}

// within resolves a path from a git file against the folder it is relative to.
func within(dir, path string) string {
	path = filepath.FromSlash(path)
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(dir, path)
}

// readPath reads a file that holds one path, relative to base.
func readPath(file, base string) (string, error) {
	b, err := readRegular(file, maxPointer)
	if err != nil {
		return "", err
	}
	p, ok := pathLine(b)
	if !ok {
		return "", ErrMalformed
	}
	return within(base, p), nil
}
