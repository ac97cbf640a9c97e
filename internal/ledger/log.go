package ledger

import (
	"context"
	"fmt"
	"iter"
)

// Log is where entries are kept, in order. Positions decide who wins: Append
// succeeds for one caller at each place, whatever locks there are.
type Log interface {
	// Head is the position of the last entry; the zero Pos for an empty log.
	Head(ctx context.Context) (Pos, error)

	// Append saves draft as the entry right behind after. A nil error means
	// that the entry survives a power cut. A *ConflictError carries the head
	// that is there instead; an *UnknownOutcomeError means that the entry may
	// or may not appear; after any other error nothing was saved. A begun
	// append is finished even if ctx ends.
	Append(ctx context.Context, after Pos, draft Draft) (Saved, error)

	// Entries yields the entries behind after, in order, up to the head at the
	// time. It stops at the first error.
	Entries(ctx context.Context, after Pos) iter.Seq2[Entry, error]

	// Close frees what the log holds. It saves nothing.
	Close() error
}

// Locker is a Log whose writers can take turns. It is for fairness: a Log
// without it relies on the conflict and a retry.
type Locker interface {
	Lock(ctx context.Context) (unlock func() error, err error)
}

// Saved is the answer to a save that stands.
type Saved struct {
	Pos
	At        string   // the entry's time
	Protected bool     // the second copy holds it too
	Warnings  []string // what went wrong after the save was safe
}

// ConflictError: another entry stands where the draft wanted to be.
type ConflictError struct{ Head Pos }

func (e *ConflictError) Error() string {
	return fmt.Sprintf("the ledger is at revision %d meanwhile", e.Head.Rev)
}

// UnknownOutcomeError: the entry for revision Rev may or may not appear. It
// must be looked for before the save is repeated.
type UnknownOutcomeError struct {
	Rev int64
	Err error
}

func (e *UnknownOutcomeError) Error() string {
	return fmt.Sprintf("outcome of revision %d unknown: %v", e.Rev, e.Err)
}
func (e *UnknownOutcomeError) Unwrap() error { return e.Err }

// EntryError: something that should be an entry is not. Rev is -1 where the
// revision can't be told. Why never holds a part of the content.
type EntryError struct {
	Rev int64
	Why string
}

func (e *EntryError) Error() string {
	if e.Rev < 0 {
		return "unreadable entry: " + e.Why
	}
	return fmt.Sprintf("unreadable entry %d: %s", e.Rev, e.Why)
}

// ChainError: entries do not follow one another at revision Rev.
type ChainError struct {
	Rev int64
	Why string
}

func (e *ChainError) Error() string {
	return fmt.Sprintf("broken chain at revision %d: %s", e.Rev, e.Why)
}

// LimitError: a value is larger than allowed.
type LimitError struct {
	What  string
	Limit int
	Got   int
	Unit  string
}

func (e *LimitError) Error() string {
	return fmt.Sprintf("%s has %d %s, at most %d are allowed", e.What, e.Got, e.Unit, e.Limit)
}

// FieldError: a field of a record is not as it must be. Field is a path such
// as records[2].text; Why never holds the value.
type FieldError struct {
	Field string
	Why   string
}

func (e *FieldError) Error() string { return e.Field + ": " + e.Why }
