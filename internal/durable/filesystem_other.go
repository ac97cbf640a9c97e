//go:build !linux && !darwin

package durable

// FileSystem names no file system here.
func FileSystem(string) (name string, remote bool) { return "", false }
