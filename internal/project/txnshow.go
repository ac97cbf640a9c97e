package project

import (
	"context"
	"fmt"
	"strings"

	"holdfast/internal/ledger"
	"holdfast/internal/txn"
)

// TxnShown is everything about one transaction, as it was last observed.
type TxnShown struct {
	txn.Brief
	Operations []txn.OperationInfo `json:"operations"`
	Mismatches []txn.Mismatch      `json:"mismatches"`
	Preserved  []txn.Preserved     `json:"preserved"`
	Attempts   []txn.Attempt       `json:"attempts"`
	Budget     txn.Budget          `json:"budget"`
	Follows    string              `json:"follows,omitempty"`
	FollowedBy string              `json:"followed_by,omitempty"`
	End        *txn.End            `json:"end,omitempty"`
}

func (s *TxnShown) begun() txn.BeginAnswer {
	return txn.BeginAnswer{Transaction: s.Transaction, State: s.State, Operations: s.Operations, Mismatches: s.Mismatches,
		Preserved: s.Preserved, Budget: s.Budget, Next: s.Next}
}

// TxnShow shows one transaction with a fresh look. It writes nothing.
func (p *Project) TxnShow(ctx context.Context, id string) (s TxnShown, err error) {
	c, err := p.txnCall(ctx, "n")
	if err != nil {
		return s, err
	}
	seen, err := c.lookAt(ctx, id)
	if err != nil {
		return s, err
	}
	now, err := txn.Engine{}.Peek(c.book, c.call, id, seen)
	if err != nil {
		return s, err
	}
	t := c.book.Txns[id]
	s = TxnShown{Brief: t.Brief(), Operations: []txn.OperationInfo{}, Mismatches: now.Mismatches, Preserved: []txn.Preserved{},
		Attempts: append([]txn.Attempt{}, t.Attempts...), Budget: now.Budget, Follows: t.Follows, FollowedBy: t.FollowedBy, End: t.End}
	for i, o := range t.Operations {
		s.Operations = append(s.Operations, txn.OperationInfo{Index: i, Label: o.Label, Fingerprint: o.Fingerprint})
	}
	if t.Kept != nil {
		s.Preserved = append(s.Preserved, t.Kept.List...)
	}
	if s.Next == "" {
		s.Next = now.Next
	}
	return s, nil
}

// TxnList is every transaction, or those that are not over.
type TxnList struct {
	Transactions []txn.Brief `json:"transactions"`
}

// TxnList lists transactions, unfinished ones first; all adds those that are over.
func (p *Project) TxnList(ctx context.Context, all bool) (TxnList, error) {
	book, err := p.txnBook(ctx)
	if err != nil {
		return TxnList{}, err
	}
	l := TxnList{Transactions: book.Briefs()}
	for i := len(book.Order) - 1; all && i >= 0; i-- {
		if t := book.Txns[book.Order[i]]; !t.Counts() {
			l.Transactions = append(l.Transactions, t.Brief())
		}
	}
	return l, nil
}

// TxnOperation finds an operation of a transaction by its index or its label.
func (p *Project) TxnOperation(ctx context.Context, id, operation string) (int, error) {
	book, err := p.txnBook(ctx)
	if err != nil {
		return 0, err
	}
	t, err := book.Get(id)
	if err != nil {
		return 0, err
	}
	return t.FindOperation(operation)
}

// TxnAbandon gives a transaction up, for a person.
func (p *Project) TxnAbandon(ctx context.Context, id, reason string) (TxnShown, error) {
	return p.txnDecide(ctx, id, reason, func(c *txnCall) (*ledger.Draft, error) {
		return txn.Engine{}.Abandon(c.book, c.call, id, reason)
	})
}

// TxnAllow lets an operation destroy content that is not kept, for a person.
func (p *Project) TxnAllow(ctx context.Context, id string, op int, reason string) (TxnShown, error) {
	return p.txnDecide(ctx, id, reason, func(c *txnCall) (*ledger.Draft, error) {
		return txn.Engine{}.Allow(c.book, c.call, id, op, reason)
	})
}

func (p *Project) txnDecide(ctx context.Context, id, reason string, f func(*txnCall) (*ledger.Draft, error)) (TxnShown, error) {
	if err := p.transact(ctx, reasonGiven(reason), f); err != nil {
		return TxnShown{}, err
	}
	return p.TxnShow(ctx, id)
}

func reasonGiven(reason string) txnSave {
	return txnSave{prefix: "t", texts: func(yield func(name, text string)) { yield("reason", reason) }}
}

// TxnReopen begins the transaction that follows a blocked one, for a person.
func (p *Project) TxnReopen(ctx context.Context, id, reason string) (a txn.BeginAnswer, err error) {
	var eng txn.Engine
	err = p.transact(ctx, reasonGiven(reason), func(c *txnCall) (*ledger.Draft, error) {
		plan, err := eng.ReopenPlan(c.book, c.call, id)
		if err != nil {
			return nil, err
		}
		var in txn.ReopenInput
		if in.Seen, err = c.look(ctx, eng.BeginWants(c.book, c.call, plan)); err != nil {
			return nil, err
		}
		res, err := eng.Reopen(c.book, c.call, id, reason, in)
		if err == nil && res.Keep != nil {
			if in.Kept, err = c.keep(ctx, res.Keep); err == nil {
				res, err = eng.Reopen(c.book, c.call, id, reason, in)
			}
		}
		a = res.Answer
		return res.Draft, err
	})
	return a, err
}

// unfinishedTxns are the transactions that a briefing starts with.
func (p *Project) unfinishedTxns(ctx context.Context, r *reading) ([]txn.Brief, error) {
	book, err := p.foldTxns(ctx, r)
	if err != nil {
		return nil, err
	}
	list := book.Briefs()
	for i := range list {
		b := &list[i]
		b.Intent, b.Reason = clip(b.Intent, 120), clip(b.Reason, 120)
	}
	return list, nil
}

// fillTxns puts unfinished transactions first, and gives the bytes they take.
func (p *Project) fillTxns(ctx context.Context, r *reading, b *Briefing) (int, error) {
	list, err := p.unfinishedTxns(ctx, r)
	if _, damaged := r.view.(*verified); damaged && err != nil {
		b.Notices = append(b.Notices, "transactions can't be read while the ledger is damaged: change nothing that one may be about")
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	spent := 0
	for i := range list {
		cost := jsonCost(&list[i])
		if b.Budget.Tokens > 0 && spent+cost > b.Budget.Tokens*4 && list[i].State != txn.StateBlocked {
			b.Omitted["transactions"]++
			continue
		}
		spent += cost
		b.Transactions = append(b.Transactions, list[i])
	}
	return spent, nil
}

// writeTxns renders unfinished transactions, each with id, intent, reason and
// next step.
func writeTxns(w *strings.Builder, list []txn.Brief, safe func(string) string) {
	for i := range list {
		b := &list[i]
		state := strings.ToUpper(b.State)
		switch {
		case b.State == txn.StateBlocked:
			state = "BLOCKED / NOT COMPLETE"
		case b.Interrupted:
			state = "INTERRUPTED"
		}
		fmt.Fprintf(w, "  %s  %s: %s\n", b.Transaction, state, safe(b.Intent))
		if b.Reason != "" {
			fmt.Fprintf(w, "    reason: %s\n", safe(b.Reason))
		}
		fmt.Fprintf(w, "    next: %s\n", safe(b.Next))
	}
}
