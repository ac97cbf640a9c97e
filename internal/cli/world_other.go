//go:build !linux && !darwin && !windows

package cli

// ancestors names nothing: there is no portable way to ask.
func ancestors(int) []string { return nil }
