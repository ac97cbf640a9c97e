package project

import "os"

// openNonblocking opens a file for reading.
func openNonblocking(path string) (*os.File, error) { return os.Open(path) }
