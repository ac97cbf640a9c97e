package filelog

import (
	"fmt"
	"os"
	"syscall"
)

// folderIdentity names a folder beyond its path: here its creation time. Empty
// if it can't be told.
func folderIdentity(path string) string {
	info, err := os.Lstat(path)
	if err != nil {
		return ""
	}
	st, ok := info.Sys().(*syscall.Win32FileAttributeData)
	if !ok {
		return ""
	}
	return fmt.Sprintf("%d", st.CreationTime.Nanoseconds())
}
