package durable

import (
	"fmt"
	"io"
	"time"
)

// Layer is the file layer with its hooks. The zero value (and a nil pointer)
// is production. It is passed in; the package keeps no state of its own.
type Layer struct {
	// Fault, in tests, is called before each system-level step with the full
	// path of what the step is about (link and rename: the new path). An error
	// it returns takes the place of the step; for a write, *ShortWrite lets the
	// first N bytes through. A failed close still closes.
	Fault func(op Op, name string) error
	// Trace, in tests, is called for each step that Fault let through, just
	// before it is done.
	Trace func(op Op, name string)
	// Sleep takes the place of time.Sleep in lock polling and retries; with it
	// a lock's wait is counted in pauses, else by the clock as well.
	Sleep func(time.Duration)
	// Rand is the source of temporary names; nil means crypto/rand.Reader.
	Rand Random
	// Retry says whether an error of rename, link or remove is worth another
	// try. Nil means the platform's rule: on Windows the sharing and
	// access-denied classes, elsewhere nothing.
	Retry func(error) bool
}

// Random is a source of random bytes.
type Random = io.Reader

// Op names a system-level step: a fault point.
type Op string

// The fault points. OpClose and OpSync are about files, OpSyncDir about
// folders; OpChmod covers a change of owner too.
const (
	OpOpen     Op = "open"
	OpCreate   Op = "create"
	OpWrite    Op = "write"
	OpSync     Op = "sync"
	OpClose    Op = "close"
	OpLink     Op = "link"
	OpRename   Op = "rename"
	OpRemove   Op = "remove"
	OpSyncDir  Op = "syncdir"
	OpMkdir    Op = "mkdir"
	OpChmod    Op = "chmod"
	OpTruncate Op = "truncate"
	OpLock     Op = "lock"
	OpReadDir  Op = "readdir"
	OpStat     Op = "stat"
	OpRead     Op = "read"
)

// ShortWrite is returned by Layer.Fault at OpWrite to let N bytes reach the
// file before the write fails with Err (io.ErrShortWrite when nil).
type ShortWrite struct {
	N   int
	Err error
}

func (e *ShortWrite) Error() string {
	return fmt.Sprintf("short write of %d bytes: %v", e.N, e.Unwrap())
}

// Unwrap returns the error behind the short write.
func (e *ShortWrite) Unwrap() error {
	if e.Err == nil {
		return io.ErrShortWrite
	}
	return e.Err
}
