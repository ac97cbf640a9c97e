//go:build !linux && !darwin && !windows

package filelog

import "io/fs"

func inodeOf(fs.FileInfo) (ctime int64, inode uint64) { return 0, 0 }

func links(fs.FileInfo) uint64 { return 1 }
