package filelog

import (
	"io/fs"
	"syscall"
)

func inodeOf(i fs.FileInfo) (created int64, inode uint64) {
	st, ok := i.Sys().(*syscall.Win32FileAttributeData)
	if !ok {
		return 0, 0
	}
	return st.CreationTime.Nanoseconds(), 0
}

// links can't be told here without opening the file.
func links(fs.FileInfo) uint64 { return 1 }
