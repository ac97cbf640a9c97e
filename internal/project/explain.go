package project

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"holdfast/internal/check"
	"holdfast/internal/durable"
	"holdfast/internal/filelog"
	"holdfast/internal/git"
	"holdfast/internal/ledger"
	"holdfast/internal/secret"
)

// Problem is an error in words: what happened, what was or wasn't saved, and
// the next safe step. Code and Exit are API: docs list them.
type Problem struct {
	Code    string `json:"code"`
	Message string `json:"message"`
	Next    string `json:"next"`
	Current any    `json:"current,omitempty"`
	// BlockedBy are the transactions that stand in a begin's way.
	BlockedBy []string `json:"blocked_by,omitempty"`
	Exit      int      `json:"-"`
}

// Exit statuses.
const (
	ExitOK       = 0
	ExitFindings = 1
	ExitUsage    = 2
	ExitConflict = 3
	ExitBlocked  = 4
	ExitDamaged  = 5
	ExitBusy     = 6
	ExitRefused  = 7
)

// Explain turns any error into words. No message holds content of a damaged
// file, a secret, or a command that destroys something.
func Explain(err error) Problem {
	if e, ok := errors.AsType[*interruptedSetup](err); ok {
		return e.explain()
	}
	if e, ok := errors.AsType[*RedactUnfinishedError](err); ok {
		return e.explain()
	}
	if e, ok := errors.AsType[*ImportUnfinishedError](err); ok {
		return e.explain()
	}
	if e, ok := errors.AsType[*PruneUnfinishedError](err); ok {
		return e.explain()
	}
	for _, explain := range []func(error) (Problem, bool){explainTxn, explainArchive, explainRecovery, explainRecord, explainLedger, explainDisk} {
		if p, ok := explain(err); ok {
			return p
		}
	}
	switch {
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return Problem{Code: "interrupted", Exit: ExitBusy, Message: "interrupted; nothing was saved", Next: "run it again"}
	case errors.Is(err, git.ErrTimeout):
		return Problem{Code: "git", Exit: ExitBusy, Message: "git took too long; nothing was saved", Next: "try again when git answers"}
	}
	return Problem{Code: "internal", Exit: ExitFindings, Message: sentence(err) + "; nothing was saved", Next: "run: holdfast doctor"}
}

// explainRecord: what the caller asked for can't be done as it was asked.
func explainRecord(err error) (Problem, bool) {
	if e, ok := errors.AsType[*ConflictError](err); ok {
		return explainConflict(e), true
	}
	if e, ok := errors.AsType[*CheckConflictError](err); ok {
		return Problem{Code: "conflict", Exit: ExitConflict, Message: fmt.Sprintf("check %s is at revision %d; nothing was saved", e.ID, e.Current),
			Next: fmt.Sprintf("look at what stands there now, then give expected_revision %d", e.Current), Current: map[string]any{"id": e.ID, "revision": e.Current}}, true
	}
	if e, ok := errors.AsType[*FingerprintError](err); ok {
		return Problem{Code: "fingerprint", Exit: ExitConflict, Message: e.Error() + "; nothing was saved", Next: "look at the preview again, and give its fingerprint"}, true
	}
	if e, ok := errors.AsType[*ElsewhereError](err); ok {
		b := visible(e.Branch)
		return Problem{Code: "elsewhere", Exit: ExitConflict, Message: fmt.Sprintf("record %s stands on branch %s and is not in force here; nothing was saved", e.ID, b),
			Next: fmt.Sprintf("work on branch %s, or bring its records here with: holdfast carry %s", b, b)}, true
	}
	if e, ok := errors.AsType[*RecoveryError](err); ok {
		return Problem{Code: "recovered", Exit: ExitConflict, Message: "recovered since you resumed; nothing was saved",
			Next: "resume again and give its recovery as expected_recovery", Current: map[string]string{"recovery": e.Current}}, true
	}
	if e, ok := errors.AsType[*KeyError](err); ok {
		return Problem{Code: "key", Exit: ExitConflict, Message: fmt.Sprintf("the key was used for another save, revision %d; nothing was saved", e.Rev), Next: "use a new key for a new save"}, true
	}
	if e, ok := errors.AsType[*EvidenceError](err); ok {
		return Problem{Code: "evidence", Exit: ExitRefused, Message: fmt.Sprintf("action %s is done when check %s has passed, and it is %s; nothing was saved", e.ID, e.Check, e.State),
			Next: fmt.Sprintf("run the check with: holdfast check %s, or give the reason as without_evidence", e.Check)}, true
	}
	if e, ok := errors.AsType[*UnsealedCheckError](err); ok {
		return Problem{Code: "trust", Exit: ExitRefused, Message: fmt.Sprintf("check %s was not recorded by this machine, so what it declares is not run on its word; nothing was run", e.ID), Next: fmt.Sprintf("give the command: holdfast check %s -- COMMAND", e.ID)}, true
	}
	if e, ok := errors.AsType[*check.PatternError](err); ok {
		return Problem{Code: "usage", Exit: ExitUsage, Message: "input " + visible(e.Pattern) + " " + e.Why + "; nothing was run", Next: "name files, folders or globs inside the project"}, true
	}
	if errors.Is(err, check.ErrNoTTY) {
		return Problem{Code: "no_terminal", Exit: ExitUsage, Message: "no pseudo-terminal can be made here; nothing was run", Next: "run the check without --tty"}, true
	}
	if e, ok := errors.AsType[*secret.FoundError](err); ok {
		return Problem{Code: "secret", Exit: ExitRefused, Message: e.Error() + "; nothing was saved", Next: "leave the value out; a person can let a value pass with: holdfast allow"}, true
	}
	if e, ok := errors.AsType[*ledger.LimitError](err); ok {
		return Problem{Code: "limit", Exit: ExitRefused, Message: e.Error() + "; nothing was saved", Next: "make it shorter, or split it"}, true
	}
	if e, ok := errors.AsType[*ledger.FieldError](err); ok {
		return Problem{Code: "field", Exit: ExitUsage, Message: e.Error() + "; nothing was saved", Next: "correct the field and save again"}, true
	}
	if e, ok := errors.AsType[*NotFoundError](err); ok {
		return Problem{Code: "not_found", Exit: ExitUsage, Message: fmt.Sprintf("there is no %s %s", e.What, visible(e.ID)), Next: "look for it with: holdfast search"}, true
	}
	if e, ok := errors.AsType[*StateError](err); ok {
		return Problem{Code: "state", Exit: ExitConflict, Message: fmt.Sprintf("record %s: %s; nothing was saved", e.ID, e.Why), Next: fmt.Sprintf("look at it with: holdfast show %s", e.ID)}, true
	}
	if e, ok := errors.AsType[*UsageError](err); ok {
		return Problem{Code: "usage", Exit: ExitUsage, Message: e.Why, Next: "see: holdfast help"}, true
	}
	if errors.Is(err, ErrPersonOnly) {
		return Problem{Code: "person", Exit: ExitRefused, Message: "a person must do this at a terminal; nothing was saved", Next: "ask the person whose project this is"}, true
	}
	return Problem{}, false
}

func explainConflict(e *ConflictError) Problem {
	p := Problem{Code: "conflict", Exit: ExitConflict}
	if e.Current == nil {
		p.Message = fmt.Sprintf("record %s has no version here, so revision %d can't be replaced; nothing was saved", e.ID, e.Expected)
		p.Next = "save it without expected_revision to make it"
		return p
	}
	cur := &e.Current.Version
	p.Message = fmt.Sprintf("record %s is at revision %d, not %d; nothing was saved", e.ID, cur.Rev, e.Expected)
	if e.Expected == 0 {
		p.Message = fmt.Sprintf("record %s exists, at revision %d; replacing it needs that revision; nothing was saved", e.ID, cur.Rev)
	}
	p.Next = fmt.Sprintf("look at what stands there now, then give expected_revision %d", cur.Rev)
	p.Current = map[string]any{"id": cur.ID, "revision": cur.Rev, "record": cur.Record, "actor": cur.Author, "at": cur.At}
	return p
}

// explainLedger: the ledger itself stands in the way.
func explainLedger(err error) (Problem, bool) {
	if e, ok := errors.AsType[*NoPlaceError](err); ok {
		return Problem{Code: "no_project", Exit: ExitUsage, Message: "no project; nothing saved: " + e.Why,
			Next: "run it in a project's folder, or name one with --project DIR or HOLDFAST_PROJECT"}, true
	}
	if errors.Is(err, filelog.ErrNone) {
		return Problem{Code: "no_ledger", Exit: ExitUsage, Message: "no ledger here yet; nothing was saved", Next: "save a first record with: holdfast record"}, true
	}
	if e, ok := errors.AsType[*filelog.ReplacedError](err); ok {
		return Problem{Code: "replaced", Exit: ExitDamaged, Message: e.Error() + "; not saved", Next: "resume again, then save again"}, true
	}
	if e, ok := errors.AsType[*ledger.UnknownOutcomeError](err); ok {
		return Problem{Code: "unknown_outcome", Exit: ExitBusy, Message: fmt.Sprintf("the save may or may not appear as revision %d: %s", e.Rev, sentence(e.Err)),
			Next: "look before saving again: holdfast log, or holdfast show ID"}, true
	}
	if e, ok := errors.AsType[*filelog.LostError](err); ok {
		return Problem{Code: "lost", Exit: ExitDamaged, Message: fmt.Sprintf("a ledger was here, and %d saves are in its mirror; nothing was saved", e.Saves),
			Next: "see what can be brought back: holdfast recover"}, true
	}
	if e, ok := errors.AsType[*filelog.ForeignError](err); ok {
		return Problem{Code: "foreign", Exit: ExitDamaged, Message: "the ledger at " + e.Path + " was not made on this machine; nothing of it is shown and nothing was saved",
			Next: "a person can look at it and take it over with: holdfast adopt"}, true
	}
	if e, ok := errors.AsType[*filelog.CopyError](err); ok {
		return Problem{Code: "copy", Exit: ExitDamaged, Message: e.Error() + "; nothing was saved", Next: "a person can make it a ledger of its own with: holdfast adopt --this-copy"}, true
	}
	if e, ok := errors.AsType[*filelog.PresentError](err); ok {
		return explainPresent(e), true
	}
	if e, ok := errors.AsType[*filelog.NewerError](err); ok {
		return Problem{Code: "newer", Exit: ExitDamaged, Message: e.Error() + "; nothing was saved", Next: "use the newer version of holdfast"}, true
	}
	if e, ok := errors.AsType[*filelog.DamageError](err); ok {
		return Problem{Code: "damaged", Exit: ExitDamaged, Message: e.Error() + "; nothing was saved", Next: "see what is wrong: holdfast doctor; then what can be brought back: holdfast recover"}, true
	}
	if _, ok := errors.AsType[*filelog.UnsealedError](err); ok {
		return Problem{Code: "unsealed", Exit: ExitBusy, Message: "this machine's seal key can't be read, and this save needs it; nothing was saved", Next: "run it where the state folder can be read and written"}, true
	}
	if _, ok := errors.AsType[*ledger.EntryError](err); ok {
		return Problem{Code: "damaged", Exit: ExitDamaged, Message: sentence(err) + "; nothing was saved", Next: "see what is wrong: holdfast doctor"}, true
	}
	return Problem{}, false
}

// explainDisk: the place can't be written or read, or others were faster.
func explainDisk(err error) (Problem, bool) {
	if e, ok := errors.AsType[*filelog.UnfinishedError](err); ok {
		return Problem{Code: "busy", Exit: ExitBusy, Message: "busy, nothing was saved: " + e.Error(),
			Next: "try again; if it stays so, see what is wrong: holdfast doctor"}, true
	}
	if e, ok := errors.AsType[*durable.BusyError](err); ok && !errors.Is(err, context.Canceled) {
		holder := ""
		if e.Holder != "" {
			holder = " (" + visible(e.Holder) + ")"
		}
		return Problem{Code: "busy", Exit: ExitBusy, Message: "busy, not saved: another process holds the lock" + holder, Next: "try again"}, true
	}
	if _, ok := errors.AsType[*TooBusyError](err); ok {
		return Problem{Code: "busy", Exit: ExitBusy, Message: "busy, not saved: others kept saving first", Next: "try again"}, true
	}
	if e, ok := errors.AsType[*durable.UnsafeFileError](err); ok {
		return Problem{Code: "unsafe", Exit: ExitDamaged, Message: e.Error() + "; nothing was saved", Next: "see what lies there: holdfast doctor"}, true
	}
	if _, ok := errors.AsType[*durable.UnknownOutcomeError](err); ok {
		return Problem{Code: "unknown_outcome", Exit: ExitBusy, Message: sentence(err), Next: "look before doing it again"}, true
	}
	path := pathOf(err)
	switch {
	case durable.DiskFull(err):
		return Problem{Code: "disk_full", Exit: ExitBusy, Message: "the disk is full" + path + "; nothing was saved", Next: "free some space (a save needs about 1 MB), then save again"}, true
	case durable.NotWritable(err):
		return Problem{Code: "not_writable", Exit: ExitBusy, Message: "not writable" + path + "; nothing was saved", Next: "use the MCP tools, or allow this folder in the sandbox"}, true
	}
	return Problem{}, false
}

// pathOf is where an error happened, with the system's own word for it.
func pathOf(err error) string {
	if pe, ok := errors.AsType[*fs.PathError](err); ok {
		return ": " + visible(pe.Path) + " (" + pe.Err.Error() + ")"
	}
	return ": " + sentence(err)
}

// sentence is an error's text made safe to show.
func sentence(err error) string {
	s := visible(err.Error())
	if len(s) > 400 {
		s = strings.ToValidUTF8(s[:400], "") + "…"
	}
	return s
}
