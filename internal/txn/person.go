package txn

import (
	"fmt"

	"holdfast/internal/ledger"
)

// person refuses what only a person decides.
func (e Engine) person(c *Call) error {
	if c.Person || !e.on(rulePerson) {
		return nil
	}
	return refuse(CodePersonOnly, "Only a person can decide this, at a terminal or in the browser view.", "Tell the user what is needed.")
}

// ReopenPlan is the plan of the transaction that would follow a blocked one:
// the same operations, a fresh audit, a fresh budget. The error is a *Refusal.
func (e Engine) ReopenPlan(b *Book, c Call, id string) (*Plan, error) {
	if err := e.person(&c); err != nil {
		return nil, err
	}
	t, err := b.Get(id)
	if err != nil {
		return nil, err
	}
	switch {
	case t.FollowedBy != "":
		return nil, refuse(CodeReopened, fmt.Sprintf("It was reopened already, as transaction %s.", t.FollowedBy), fmt.Sprintf("Look at transaction %s.", t.FollowedBy))
	case t.Erased:
		return nil, refuse(CodeErased, "Its text was erased, so it can't be done again.", fmt.Sprintf("Give it up (holdfast txn abandon %s) and begin a new one.", id))
	case t.State != StateBlocked:
		return nil, refuse(CodeNotBlocked, "Only a blocked transaction can be reopened.", fmt.Sprintf("Look at it with: holdfast txn show %s.", id))
	}
	return &Plan{
		Intent: t.Intent, Operations: t.Operations, Worktree: t.Worktree,
		Roots: t.Roots, Probes: t.Probes, m: t.model(),
	}, nil
}

// Reopen begins the transaction that follows the blocked one, for a person. It
// goes like Begin: what Keep asks for is preserved first. The old one stays
// blocked and never counts as complete.
func (e Engine) Reopen(b *Book, c Call, id, reason string, in ReopenInput) (BeginResult, error) {
	p, err := e.ReopenPlan(b, c, id)
	if err != nil {
		return BeginResult{}, err
	}
	if err := ledger.CheckText("reason", reason, 1, MaxReason); err != nil {
		return BeginResult{}, err
	}
	t := &Transaction{
		ID: c.ID, State: StateOpen, Intent: p.Intent, Worktree: p.Worktree, Progress: progressNoneYet,
		Operations: p.Operations, Roots: p.Roots, Probes: p.Probes, Follows: id, m: p.m,
		Reported: b.Txns[id].Reported,
	}
	s := e.first(b, c, t, nil)
	s.seen = e.complete(s.m, t.overlay(nil), in.Seen)
	s.v = s.m.view(s.seen, nil)
	s.b = b.without(id)
	return s.begin(in.Kept, ledger.TxnHead{Follows: id, Person: true}, reason)
}

// ReopenInput is what was looked at and kept for a transaction that reopens
// another one. Kept is nil before the first call.
type ReopenInput struct {
	Seen Looks
	Kept *Kept
}

// without is the book as it will be when transaction id is followed by another
// one: what was spent there counts no longer.
func (b *Book) without(id string) *Book {
	out := &Book{At: b.At, Order: b.Order, Txns: make(map[string]*Transaction, len(b.Txns))}
	for k, t := range b.Txns {
		if k == id {
			c := *t
			c.FollowedBy = "next"
			t = &c
		}
		out.Txns[k] = t
	}
	return out
}

// Abandon gives a transaction up, for a person: it counts for nothing from
// here on. The error is a *Refusal or about the reason.
func (e Engine) Abandon(b *Book, c Call, id, reason string) (*ledger.Draft, error) {
	t, err := e.decided(b, c, id, reason)
	if err != nil {
		return nil, err
	}
	if err := ledger.CheckText("reason", reason, 1, MaxReason); err != nil {
		return nil, err
	}
	if t.State != StateOpen && t.State != StateBlocked {
		return nil, refuse(CodeOver, "The transaction is over.", fmt.Sprintf("Look at it with: holdfast txn show %s.", id))
	}
	head := ledger.TxnHead{Transaction: id, Person: true, State: StateAbandoned}
	return c.draft(ledger.TypeTxnEnd, head, event{Reason: reason}, t.Worktree)
}

// Allow lets an operation destroy content that is not kept, for a person.
func (e Engine) Allow(b *Book, c Call, id string, op int, reason string) (*ledger.Draft, error) {
	t, err := e.decided(b, c, id, reason)
	if err != nil {
		return nil, err
	}
	if t.State != StateOpen {
		return nil, refuse(CodeOver, "The transaction is over.", fmt.Sprintf("Look at it with: holdfast txn show %s.", id))
	}
	if op < 0 || op >= len(t.Fingerprints) {
		return nil, refuse(CodeNoOperation, "The transaction has no operation of this index.")
	}
	head := ledger.TxnHead{Transaction: id, Person: true, Operation: &op, Outcome: outcomeAllowed, State: t.State}
	return c.draft(ledger.TypeTxnObserve, head, event{Reason: reason}, t.Worktree)
}

// Restored notes that a person put preserved originals back.
func (e Engine) Restored(b *Book, c Call, id, reason string) (*ledger.Draft, error) {
	t, err := e.decided(b, c, id, reason)
	if err != nil {
		return nil, err
	}
	head := ledger.TxnHead{Transaction: id, Person: true, Outcome: outcomeRestored, State: t.State}
	return c.draft(ledger.TypeTxnObserve, head, event{Reason: reason}, t.Worktree)
}

// decided checks what every decision of a person needs.
func (e Engine) decided(b *Book, c Call, id, reason string) (*Transaction, error) {
	if err := e.person(&c); err != nil {
		return nil, err
	}
	if err := ledger.CheckText("reason", reason, 0, MaxReason); err != nil {
		return nil, err
	}
	return b.Get(id)
}
