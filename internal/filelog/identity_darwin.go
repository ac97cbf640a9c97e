package filelog

import (
	"fmt"
	"os"
	"syscall"
)

// folderIdentity names a folder beyond its path: inode and birth time. Empty if
// it can't be told.
func folderIdentity(path string) string {
	info, err := os.Lstat(path)
	if err != nil {
		return ""
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return ""
	}
	return fmt.Sprintf("%d.%d.%d", st.Ino, st.Birthtimespec.Sec, st.Birthtimespec.Nsec)
}
