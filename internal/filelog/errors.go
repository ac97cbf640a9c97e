package filelog

import (
	"errors"
	"fmt"

	"holdfast/internal/durable"
	"holdfast/internal/ledger"
)

// ErrNone says that there is no ledger yet, and that none was known here.
var ErrNone = errors.New("no ledger here yet")

// DamageError stops writing: the ledger isn't what it was acknowledged to be.
// Why never holds content.
type DamageError struct {
	Kind string // stable: missing, changed, fork, copy, regressed, gone, unreadable, incomplete, other
	Rev  int64  // revision concerned, -1 if none
	Path string // file concerned
	Why  string
	Err  error

	passing  passing
	cut      bool   // the entry has no end
	torn     *Stamp // the same for the newest revision, which may be in the making: the file's stamp
	original string // a folder that has what is missing here: this one is its copy
}

func (e *DamageError) Error() string { return fmt.Sprintf("damaged ledger: %s: %s", e.Path, e.Why) }
func (e *DamageError) Unwrap() error { return e.Err }

// passing says whether a writer at work may have caused what looks like damage.
type passing int

const (
	stands  passing = iota // no writer causes it
	briefly                // it is over as soon as the writer is
	waits                  // another kernel's view may lag behind: worth the lock's wait
)

// Kinds of damage.
const (
	DamageMissing    = "missing"    // a revision or pack is gone
	DamageChanged    = "changed"    // its content is not what it was
	DamageFork       = "fork"       // two contents for one revision
	DamageCopy       = "copy"       // a conflict copy lies beside one
	DamageRegressed  = "regressed"  // this machine saw a later head
	DamageGone       = "gone"       // the folder, FORMAT or all generations
	DamageUnreadable = "unreadable" // FORMAT or a revision can't be read
	DamageIncomplete = "incomplete" // a recovery stopped between seal and successor
	DamageOther      = "other"      // another ledger lies where this machine knows one
)

// LostError says that a ledger was here and is gone: this machine's note or
// mirror knows of it.
type LostError struct {
	ID    string
	Path  string // where it was
	Saves int64  // revisions in its mirror, 0 if there is none
}

func (e *LostError) Error() string {
	return fmt.Sprintf("the ledger at %s is gone; %d saves are in its mirror", e.Path, e.Saves)
}

// ForeignError says that this machine neither made nor adopted the ledger.
type ForeignError struct{ ID, Path string }

func (e *ForeignError) Error() string { return "foreign ledger at " + e.Path }

// CopyError says that another live folder on this machine has the same ledger.
type CopyError struct{ ID, Path, Other string }

func (e *CopyError) Error() string {
	return fmt.Sprintf("%s is a copy of the ledger at %s", e.Path, e.Other)
}

// NewerError says that the ledger was written by a newer build.
type NewerError struct {
	Path string
	Rev  int64 // -1: the format itself
}

func (e *NewerError) Error() string { return e.Path + " was written by a newer version of holdfast" }

// ReplacedError says that the ledger was replaced while a save was under way.
// The save does not stand.
type ReplacedError struct{ Path string }

func (e *ReplacedError) Error() string { return "the ledger at " + e.Path + " was replaced meanwhile" }

// UnsealedError says that a save that needs this machine's seal can't get it.
type UnsealedError struct{ Err error }

func (e *UnsealedError) Error() string { return "this machine's seal key can't be read" }
func (e *UnsealedError) Unwrap() error { return e.Err }

// UnfinishedError says that the newest revision is not whole yet: where there
// are no hard links, another writer's file can be seen before it is. It is of
// the busy class: a *durable.BusyError stands behind it.
type UnfinishedError struct {
	Path string
	Rev  int64
}

func (e *UnfinishedError) Error() string {
	return fmt.Sprintf("revision %d at %s is not whole yet", e.Rev, e.Path)
}
func (e *UnfinishedError) Unwrap() error { return &durable.BusyError{Path: e.Path} }

// PresentError refuses to start over where something of a ledger still lies.
type PresentError struct{ Path string }

func (e *PresentError) Error() string { return "there is a ledger at " + e.Path }

func damage(kind string, rev int64, path, why string) *DamageError {
	return &DamageError{Kind: kind, Rev: rev, Path: path, Why: why}
}

func (e *DamageError) may(p passing) *DamageError {
	e.passing = p
	return e
}

// asDamage turns what is wrong with an entry into damage of its file.
func asDamage(path string, rev int64, err error) error {
	if ee, ok := errors.AsType[*ledger.EntryError](err); ok {
		return &DamageError{Kind: DamageUnreadable, Rev: rev, Path: path, Why: ee.Why, Err: err}
	}
	if ce, ok := errors.AsType[*ledger.ChainError](err); ok {
		return &DamageError{Kind: DamageChanged, Rev: ce.Rev, Path: path, Why: ce.Why, Err: err}
	}
	return err
}

// Damaged reports whether err says that a ledger of this machine is damaged or
// lost, so that Salvage may have something to show.
func Damaged(err error) bool {
	if _, ok := errors.AsType[*DamageError](err); ok {
		return true
	}
	if _, ok := errors.AsType[*LostError](err); ok {
		return true
	}
	if _, ok := errors.AsType[*ledger.EntryError](err); ok {
		return true
	}
	_, ok := errors.AsType[*ledger.ChainError](err)
	return ok
}
