package filelog

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// folderIdentity names a folder beyond its path: inode and, where the file
// system keeps it, birth time, since inodes are reused. Empty if it can't be
// told.
func folderIdentity(path string) string {
	var st unix.Statx_t
	for {
		err := unix.Statx(unix.AT_FDCWD, path, unix.AT_SYMLINK_NOFOLLOW, unix.STATX_INO|unix.STATX_BTIME, &st)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return ""
		}
		break
	}
	if st.Mask&unix.STATX_BTIME == 0 {
		return fmt.Sprintf("%d", st.Ino)
	}
	return fmt.Sprintf("%d.%d.%d", st.Ino, st.Btime.Sec, st.Btime.Nsec)
}
