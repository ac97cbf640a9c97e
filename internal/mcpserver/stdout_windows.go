package mcpserver

import "os"

// takeStdout gives standard output to the transport; whatever else prints to
// os.Stdout goes to standard error.
func takeStdout(f *os.File) (*os.File, error) {
	if f == os.Stdout {
		os.Stdout = os.Stderr
	}
	return f, nil
}
