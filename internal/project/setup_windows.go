package project

// canWrite can't be told beforehand on Windows: a write that fails says so.
func canWrite(string) error { return nil }
