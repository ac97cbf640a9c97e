package surface

import (
	"io/fs"
	"strconv"
)

// The folders and files of a look are reached through handles: on Unix by
// system calls relative to an open folder, since os.Root and os.File cost more
// than the reading itself in a folder of many small files; elsewhere by
// os.Root. A handle never follows the name that it is given.

// stat is what the system tells of a path without opening it.
type stat struct {
	id   fileID
	now  state
	mode fs.FileMode
	info fs.FileInfo // only where the system has no numbers for id
}

// fileID is a file on this machine.
type fileID struct{ dev, ino uint64 }

// state is what changes when a file is written.
type state struct{ size, mtime, ctime int64 }

// stamp appends a text that changes with anything a stat tells of a path's
// identity, content, type or permission bits.
func (s *stat) stamp(b []byte) []byte {
	for _, n := range [...]int64{int64(s.id.dev), int64(s.id.ino), s.now.size, s.now.mtime, s.now.ctime, int64(s.mode)} {
		b = append(strconv.AppendInt(b, n, 36), ' ')
	}
	return b
}

// unchanged reports whether a and b are of one file in one state.
func (s *stat) unchanged(t *stat) bool { return s.same(t) && s.now == t.now && s.mode == t.mode }
