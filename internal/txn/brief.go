package txn

import (
	"fmt"
	"slices"
	"strings"
)

// Brief is one unfinished transaction as a briefing shows it.
type Brief struct {
	Transaction string `json:"transaction"`
	State       string `json:"state"`
	Interrupted bool   `json:"interrupted,omitempty"` // an attempt's result isn't known
	Attempt     string `json:"attempt,omitempty"`     // the one in flight
	Intent      string `json:"intent"`
	Reason      string `json:"reason,omitempty"`
	Next        string `json:"next"`
	Worktree    string `json:"worktree,omitempty"`
	At          string `json:"at"`
	Rev         int64  `json:"revision"`
}

// Briefs lists the transactions that a session must know of: blocked ones
// first, then interrupted, then open ones, the newest first.
func (b *Book) Briefs() []Brief {
	out := []Brief{}
	for i := len(b.Order) - 1; i >= 0; i-- {
		if t := b.Txns[b.Order[i]]; t.Counts() {
			out = append(out, t.Brief())
		}
	}
	rank := func(x *Brief) int {
		switch {
		case x.State == StateBlocked:
			return 0
		case x.Interrupted:
			return 1
		}
		return 2
	}
	slices.SortStableFunc(out, func(x, y Brief) int { return rank(&x) - rank(&y) })
	return out
}

// Brief is t as a briefing shows it.
func (t *Transaction) Brief() Brief {
	x := Brief{
		Transaction: t.ID, State: t.State, Interrupted: t.interrupted(), Intent: t.Intent,
		Reason: t.Reason, Worktree: t.Worktree, At: t.At, Rev: t.Rev,
	}
	if t.Erased {
		x.Intent = "(its text was erased)"
	}
	if t.End != nil && t.State == StateBlocked {
		x.Reason = t.End.Reason
	}
	switch a := t.openAttempt(); {
	case t.State == StateBlocked:
		x.Next = afterBlock(t.ID)
	case t.State != StateOpen:
	case a != nil:
		x.Attempt = a.ID
		x.Next = fmt.Sprintf("Observe transaction %s before anything else; do not repeat the change of attempt %s.", t.ID, a.ID)
	default:
		x.Next = fmt.Sprintf("Observe transaction %s, then go on with it; begin no other for the same surfaces.", t.ID)
	}
	return x
}

// BudgetOf is the budget of a transaction, as its answers show it.
func (e Engine) BudgetOf(b *Book, t *Transaction) Budget {
	return (&session{e: e, b: b, t: t, m: t.model()}).budget()
}

// FindOperation finds an operation by its index or its label. The error is a
// *Refusal.
func (t *Transaction) FindOperation(s string) (int, error) {
	found := -1
	for i := range t.Operations {
		if fmt.Sprint(i) == s {
			return i, nil
		}
		if label := strings.TrimSpace(t.Operations[i].Label); label != "" && label == strings.TrimSpace(s) {
			if found >= 0 {
				return 0, refuse(CodeNoOperation, "Two operations have this label.", "Name the operation by its index.")
			}
			found = i
		}
	}
	if found < 0 {
		return 0, refuse(CodeNoOperation, "The transaction has no operation of this index or label.")
	}
	return found, nil
}
