package durable

import "golang.org/x/sys/unix"

// FileSystem names the kind of file system that path lies on, empty if it isn't
// known, and whether it is one of a network or of another program. Source:
// statfs(2): MNT_LOCAL is missing where the system says so itself.
func FileSystem(path string) (name string, remote bool) {
	var st unix.Statfs_t
	err := uninterrupted(func() error { return unix.Statfs(path, &st) })
	if err != nil {
		return "", false
	}
	return unix.ByteSliceToString(st.Fstypename[:]), st.Flags&unix.MNT_LOCAL == 0
}
