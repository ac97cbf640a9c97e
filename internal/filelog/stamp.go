package filelog

import "io/fs"

// Stamp tells whether a file or folder changed, without reading it.
type Stamp struct {
	Size  int64  `json:"size"`
	MTime int64  `json:"mtime"` // Unix nanoseconds
	CTime int64  `json:"ctime"` // of the inode; on Windows the time of creation
	Inode uint64 `json:"inode"` // 0 where the system doesn't tell
}

func stampOf(i fs.FileInfo) Stamp {
	s := Stamp{Size: i.Size(), MTime: i.ModTime().UnixNano()}
	s.CTime, s.Inode = inodeOf(i)
	return s
}
