//go:build !linux && !darwin && !windows

package filelog

// folderIdentity names a folder beyond its path. Here nothing stable is known:
// the repository's first commit decides.
func folderIdentity(string) string { return "" }
