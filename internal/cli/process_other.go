//go:build !linux

package cli

import "holdfast/internal/project"

// processes can't be told apart here by anything that survives a reused number:
// a grant whose server died stays in flight for its time.
func processes() *project.Process { return nil }
