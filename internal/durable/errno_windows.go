package durable

import (
	"errors"

	"golang.org/x/sys/windows"
)

func isAny(err error, codes ...windows.Errno) bool {
	for _, c := range codes {
		if errors.Is(err, c) {
			return true
		}
	}
	return false
}

func isInterrupted(error) bool  { return false }
func isReadOnly(err error) bool { return isAny(err, windows.ERROR_WRITE_PROTECT) }
func isMounted(error) bool      { return false }

func isDiskFull(err error) bool {
	return isAny(err, windows.ERROR_DISK_FULL, windows.ERROR_HANDLE_DISK_FULL,
		windows.ERROR_DISK_QUOTA_EXCEEDED)
}

// isSharing: an editor, indexer or virus scanner has the file open. Windows
// says "access denied" as well as "sharing violation" then.
func isSharing(err error) bool {
	return isAny(err, windows.ERROR_SHARING_VIOLATION, windows.ERROR_LOCK_VIOLATION,
		windows.ERROR_ACCESS_DENIED, windows.ERROR_USER_MAPPED_FILE)
}

func hasNoModes(error) bool { return true }

// hasNoLinks: FAT, exFAT and some shares have no hard links.
func hasNoLinks(err error) bool {
	return isAny(err, windows.ERROR_INVALID_FUNCTION, windows.ERROR_NOT_SUPPORTED,
		windows.ERROR_CALL_NOT_IMPLEMENTED, windows.ERROR_TOO_MANY_LINKS,
		windows.ERROR_NOT_SAME_DEVICE, windows.ERROR_ACCESS_DENIED)
}

func hasNoExclusiveRename(err error) bool { return hasNoLinks(err) }
func hasNoFolderFlush(error) bool         { return false }

func hasNoLocks(err error) bool {
	return isAny(err, windows.ERROR_INVALID_FUNCTION, windows.ERROR_NOT_SUPPORTED)
}

func isRefusal(err error) bool {
	return isDiskFull(err) || isReadOnly(err) || isSharing(err) ||
		isAny(err, windows.ERROR_FILE_NOT_FOUND, windows.ERROR_PATH_NOT_FOUND)
}
