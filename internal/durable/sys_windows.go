package durable

import (
	"io/fs"
	"os"

	"golang.org/x/sys/windows"
)

const openFlags = 0

const hasModes = false // access lists do

// filePerm: a mode without the write bit would become the read-only attribute,
// which all names of a file share and which stands in the way of removing one.
// Who may read a file is the folder's ACL on Windows.
func filePerm(fs.FileMode) fs.FileMode { return 0o600 }

func ownerOf(fs.FileInfo) (uid, gid int, ok bool) { return -1, -1, false }

func linksOf(f *os.File, _ fs.FileInfo) int64 {
	if f == nil {
		return 1
	}
	var info windows.ByHandleFileInformation
	if windows.GetFileInformationByHandle(windows.Handle(f.Fd()), &info) != nil {
		return 1
	}
	return int64(info.NumberOfLinks)
}

func setMode(*os.File, fs.FileMode) error { return nil }

// flushFolder does nothing: Windows has no flush of a folder. NTFS journals
// its names and writes the journal within seconds.
func (d *Dir) flushFolder() error { return nil }

// The three below go by path: there is no call that takes two open folders.
// The folders are kept open by their roots, and Same tells afterwards whether
// the paths still lead there.

func linkFile(from *Dir, oldName string, to *Dir, newName string) error {
	return os.Link(from.join(oldName), to.join(newName))
}

func renameOver(from *Dir, oldName string, to *Dir, newName string) error {
	return os.Rename(from.join(oldName), to.join(newName))
}

func renameExclusive(from *Dir, oldName string, to *Dir, newName string) error {
	a, err := windows.UTF16PtrFromString(from.join(oldName))
	if err != nil {
		return err
	}
	b, err := windows.UTF16PtrFromString(to.join(newName))
	if err != nil {
		return err
	}
	if err := windows.MoveFileEx(a, b, windows.MOVEFILE_WRITE_THROUGH); err != nil {
		return &os.LinkError{Op: "rename", Old: from.join(oldName), New: to.join(newName), Err: err}
	}
	return nil
}
