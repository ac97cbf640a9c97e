package durable

import "golang.org/x/sys/unix"

// networkKinds are file systems whose locks and flushes depend on another machine
// or on a program. Source: statfs(2), linux/magic.h.
var networkKinds = map[int64]string{
	unix.NFS_SUPER_MAGIC: "NFS", unix.SMB_SUPER_MAGIC: "SMB", unix.SMB2_SUPER_MAGIC: "SMB", unix.CIFS_SUPER_MAGIC: "SMB",
	unix.V9FS_MAGIC: "9P", unix.FUSE_SUPER_MAGIC: "FUSE", unix.AFS_SUPER_MAGIC: "AFS", unix.CODA_SUPER_MAGIC: "Coda", unix.CEPH_SUPER_MAGIC: "Ceph",
	0x786f4256: "VirtualBox shared folder", 0xbacbacbc: "VMware shared folder",
}

var localKinds = map[int64]string{
	unix.EXT4_SUPER_MAGIC: "ext4", unix.XFS_SUPER_MAGIC: "XFS", unix.BTRFS_SUPER_MAGIC: "Btrfs", unix.F2FS_SUPER_MAGIC: "F2FS", unix.OVERLAYFS_SUPER_MAGIC: "overlay",
	unix.TMPFS_MAGIC: "tmpfs", 0x2fc12fc1: "ZFS", unix.ECRYPTFS_SUPER_MAGIC: "eCryptfs", 0x4d44: "FAT", 0x2011bab0: "exFAT", 0x5346544e: "NTFS", 0x7366746e: "NTFS", 0xca451a4e: "bcachefs",
}

// FileSystem names the kind of file system that path lies on, empty if it isn't
// known, and whether it is one of a network or of another program.
func FileSystem(path string) (name string, remote bool) {
	var st unix.Statfs_t
	err := uninterrupted(func() error { return unix.Statfs(path, &st) })
	if err != nil {
		return "", false
	}
	if name, ok := networkKinds[int64(uint32(st.Type))]; ok {
		return name, true
	}
	return localKinds[int64(uint32(st.Type))], false
}
