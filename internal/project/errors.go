package project

import (
	"errors"
	"fmt"

	"holdfast/internal/ledger"
)

// ErrNoProject: there is no project here, and none may be made here.
var ErrNoProject = errors.New("no project")

// ErrPersonOnly: only a person at a terminal may do this.
var ErrPersonOnly = errors.New("a person must do this at a terminal")

// NoPlaceError says why no project can be here.
type NoPlaceError struct{ Dir, Why string }

func (e *NoPlaceError) Error() string { return "no project: " + e.Why }
func (e *NoPlaceError) Unwrap() error { return ErrNoProject }

// ConflictError: the record is not at the revision that the caller expected.
type ConflictError struct {
	ID       string
	Expected int64 // 0: none was given
	Current  *ledger.Current
}

func (e *ConflictError) Error() string {
	if e.Current == nil {
		return fmt.Sprintf("record %s has no version here", e.ID)
	}
	return fmt.Sprintf("record %s is at revision %d", e.ID, e.Current.Rev)
}

// ElsewhereError: the record has versions, but none in force here.
type ElsewhereError struct{ ID, Branch string }

func (e *ElsewhereError) Error() string {
	return fmt.Sprintf("record %s stands on another branch", e.ID)
}

// RecoveryError: the ledger was recovered since the caller read it.
type RecoveryError struct{ Expected, Current string }

func (e *RecoveryError) Error() string { return "the ledger was recovered since it was resumed" }

// KeyError: an idempotency key was used for another content.
type KeyError struct{ Rev int64 }

func (e *KeyError) Error() string {
	return fmt.Sprintf("the key was used for another save, revision %d", e.Rev)
}

// NotFoundError: no record, check or entry has that name.
type NotFoundError struct{ What, ID string }

func (e *NotFoundError) Error() string { return "no " + e.What + " of that id" }

// StateError: the record's state doesn't allow what was asked.
type StateError struct {
	ID  string
	Why string
}

func (e *StateError) Error() string { return fmt.Sprintf("record %s: %s", e.ID, e.Why) }

// EvidenceError: an action can't be closed before its check holds.
type EvidenceError struct{ ID, Check, State string }

func (e *EvidenceError) Error() string {
	return fmt.Sprintf("action %s is done when check %s has passed; it is %s", e.ID, e.Check, e.State)
}

// UsageError: what was asked is not well formed.
type UsageError struct{ Why string }

func (e *UsageError) Error() string { return e.Why }

// TooBusyError: others kept saving first until the time was over.
type TooBusyError struct{ Err error }

func (e *TooBusyError) Error() string { return "others kept saving first" }
func (e *TooBusyError) Unwrap() error { return e.Err }
