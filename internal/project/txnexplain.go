package project

import (
	"errors"

	"holdfast/internal/txn"
)

// explainTxn: a call about a transaction was refused.
func explainTxn(err error) (Problem, bool) {
	if errors.Is(err, ErrTxnNotDone) {
		return Problem{Code: "blocked", Exit: ExitBlocked, Message: "refused, blocked or not complete", Next: "see what is unfinished: holdfast txn list"}, true
	}
	r, ok := errors.AsType[*txn.Refusal](err)
	if !ok {
		return Problem{}, false
	}
	p := Problem{Code: r.Code, Message: r.Message, Next: r.Next, BlockedBy: r.BlockedBy, Exit: ExitBlocked}
	switch r.Code {
	case txn.CodeNoTransaction, txn.CodeNoOperation, txn.CodeNoAttempt, txn.CodeSameOperation:
		p.Exit = ExitUsage
	case txn.CodePersonOnly:
		p.Exit = ExitRefused
	}
	if p.Next == "" {
		p.Next = "see what is unfinished: holdfast txn list"
	}
	return p, true
}
