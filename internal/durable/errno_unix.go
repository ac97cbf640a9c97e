//go:build unix

package durable

import (
	"errors"

	"golang.org/x/sys/unix"
)

func isAny(err error, codes ...unix.Errno) bool {
	for _, c := range codes {
		if errors.Is(err, c) {
			return true
		}
	}
	return false
}

func isInterrupted(err error) bool { return isAny(err, unix.EINTR) }
func isReadOnly(err error) bool    { return isAny(err, unix.EROFS) }
func isDiskFull(err error) bool    { return isAny(err, unix.ENOSPC, unix.EDQUOT) }
func isMounted(err error) bool     { return isAny(err, unix.EBUSY) }
func isSharing(error) bool         { return false }

// hasNoModes: file systems without permission bits (FAT, some shares) refuse
// a change of mode or owner.
func hasNoModes(err error) bool {
	return isAny(err, unix.EPERM, unix.ENOTSUP, unix.EOPNOTSUPP, unix.ENOSYS)
}

// hasNoLinks: no hard link can be had here. EACCES is Android's answer, EXDEV
// that of folders that are mounted from two places.
func hasNoLinks(err error) bool {
	return isAny(err, unix.EPERM, unix.EACCES, unix.ENOTSUP, unix.EOPNOTSUPP,
		unix.ENOSYS, unix.EMLINK, unix.EXDEV)
}

// hasNoExclusiveRename: EINVAL is the answer of file systems that don't know
// the flag (rename(2), RENAME_NOREPLACE).
func hasNoExclusiveRename(err error) bool { return hasNoLinks(err) || isAny(err, unix.EINVAL) }

// hasNoFolderFlush: fsync(2) answers EINVAL where a file can't be flushed.
func hasNoFolderFlush(err error) bool {
	return isAny(err, unix.EINVAL, unix.ENOTSUP, unix.EOPNOTSUPP)
}

// hasNoLocks: flock(2) on a file system without a lock service.
func hasNoLocks(err error) bool {
	return isAny(err, unix.ENOLCK, unix.ENOTSUP, unix.EOPNOTSUPP, unix.ENOSYS)
}

// isRefusal: the system said no, as opposed to "something went wrong on the
// way"; the step was not done.
func isRefusal(err error) bool {
	return isAny(err, unix.ENOSPC, unix.EDQUOT, unix.EROFS, unix.EACCES, unix.EPERM,
		unix.ENOENT, unix.ENOTDIR, unix.EISDIR, unix.ENAMETOOLONG, unix.ELOOP)
}
