package filelog

import (
	"io/fs"
	"syscall"
)

func inodeOf(i fs.FileInfo) (ctime int64, inode uint64) {
	st, ok := i.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, 0
	}
	return st.Ctimespec.Nano(), st.Ino
}

// links is how many names a file has.
func links(i fs.FileInfo) uint64 {
	if st, ok := i.Sys().(*syscall.Stat_t); ok {
		return uint64(st.Nlink)
	}
	return 1
}
