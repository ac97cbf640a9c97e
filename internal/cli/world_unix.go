//go:build !windows

package cli

import "os"

// showsStyles: every terminal here obeys escape sequences, or says TERM=dumb.
func showsStyles(*os.File) bool { return true }
