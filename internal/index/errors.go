package index

import (
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

// DamagedError: the file was found damaged, made anew by another process, or
// locked for long. By the time the error arrives the index is one that Follow
// can bring up to date: do that, and ask again with a new View.
type DamagedError struct{ Err error }

func (e *DamagedError) Error() string { return "the index can't answer: " + e.Err.Error() }
func (e *DamagedError) Unwrap() error { return e.Err }

// Within this package.
var (
	errMoved = errors.New("the file is another one by now") // somebody deleted it
	errStale = errors.New("the index changed under the view")
)

// SQLite's primary result codes, see https://sqlite.org/rescode.html.
const (
	codeError      = 1
	codeBusy       = 5
	codeLocked     = 6
	codeNoMem      = 7
	codeIOErr      = 10
	codeCorrupt    = 11
	codeTooBig     = 18
	codeConstraint = 19
	codeMismatch   = 20
	codeFormat     = 24
	codeNotADB     = 26
)

func code(err error) int {
	if e, ok := errors.AsType[*sqlite.Error](err); ok {
		return e.Code() & 0xff
	}
	return 0
}

// busy: another process is writing the file.
func busy(err error) bool { c := code(err); return c == codeBusy || c == codeLocked }

// damaged: the file is not what this package wrote, or can't be read. Of what is
// there an absurd size, a missing table and a row that is there twice come from
// damage alone.
func damaged(err error) bool {
	switch code(err) {
	case codeError, codeNoMem, codeIOErr, codeCorrupt, codeTooBig, codeConstraint, codeMismatch, codeFormat, codeNotADB:
		return true
	}
	return errors.Is(err, errMoved) || errors.Is(err, errUnfit) || errors.Is(err, errContent)
}

// errContent: a row holds what this package never writes.
var errContent = errors.New("the index holds something it can't")
