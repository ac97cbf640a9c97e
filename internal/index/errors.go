package index

import (
	"context"
	"errors"
	"fmt"

	"modernc.org/sqlite"

	"holdfast/internal/ledger"
)

// ErrNotKept says that the cache can't be written now, so that a note was not
// kept. Nothing depends on notes; whoever wrote it goes on.
var ErrNotKept = errors.New("the index can't be written")

// ErrCursor refuses a cursor that belongs to another search or is not one.
var ErrCursor = errors.New("the cursor doesn't belong to this search")

// RegressedError: the index holds a head that the log has not. Unless a
// recovery replaced it, the log lost entries.
type RegressedError struct{ Base ledger.Pos }

func (e *RegressedError) Error() string {
	return fmt.Sprintf("the index has revision %d, which the ledger has not or has otherwise", e.Base.Rev)
}

// DamagedError: the file was found damaged, or gone, while it was read. By the
// time the error arrives there is an empty one in its place: Follow, and ask
// again.
type DamagedError struct{ Err error }

func (e *DamagedError) Error() string { return "the index was damaged: " + e.Err.Error() }
func (e *DamagedError) Unwrap() error { return e.Err }

// Within this package.
var (
	errMoved = errors.New("the file is another one by now") // somebody deleted it or made it anew
	errStale = errors.New("the index changed under the view")
)

// SQLite's primary result codes, see https://sqlite.org/rescode.html.
const (
	codeError    = 1
	codeBusy     = 5
	codeLocked   = 6
	codeReadOnly = 8
	codeCorrupt  = 11
	codeCantOpen = 14
	codeFormat   = 24
	codeNotADB   = 26
)

func code(err error) int {
	if e, ok := errors.AsType[*sqlite.Error](err); ok {
		return e.Code() & 0xff
	}
	return 0
}

// busy: another process is writing the file.
func busy(err error) bool { c := code(err); return c == codeBusy || c == codeLocked }

// damaged: the file is not what this package wrote. A missing table or column
// is codeError, which nothing else here can cause.
func damaged(err error) bool {
	switch code(err) {
	case codeError, codeCorrupt, codeFormat, codeNotADB:
		return true
	}
	return errors.Is(err, errMoved) || errors.Is(err, errContent)
}

// errContent: a row holds what this package never writes.
var errContent = errors.New("the index holds something it can't")

// failedWrite: whatever else keeps a write from being done, such as a full
// disk. The cache is left as it is and read on.
func failedWrite(ctx context.Context, err error) bool { return code(err) != 0 && ctx.Err() == nil }
