package project

import (
	"context"
	"fmt"
	"slices"

	"holdfast/internal/ledger"
	"holdfast/internal/txn"
)

// foldedTxns is what was folded last, and what it rests on. The book is never
// changed: the next one is a copy.
type foldedTxns struct {
	book   *txn.Book
	hidden int // entries that were shown without their body
}

// foldTxns folds the entries about transactions up to r's head. p.mu is held.
func (p *Project) foldTxns(ctx context.Context, r *reading) (*txn.Book, error) {
	if r.head.Hash == "" {
		return &txn.Book{}, nil
	}
	from, err := p.txnsBefore(ctx, r)
	if err != nil || from.At == r.head {
		return from, err
	}
	since := from.At.Rev
	if from.At.Hash == "" {
		since = -1
	}
	var revs []int64
	for _, kind := range txnTypes {
		events, err := r.view.Events(ctx, ledger.EventQuery{Since: since, Kind: kind})
		if err != nil {
			return nil, fmt.Errorf("find transactions: %w", err)
		}
		for _, e := range events {
			revs = append(revs, e.Rev)
		}
	}
	slices.Sort(revs)
	seals := r.seals()
	entries := make([]ledger.Delta, 0, len(revs))
	for _, rev := range revs {
		d, err := p.txnEntry(ctx, rev, seals)
		if err != nil {
			return nil, err
		}
		entries = append(entries, d)
	}
	book, err := from.Next(entries)
	if err != nil {
		return nil, err
	}
	book.At = r.head
	if _, damaged := r.view.(*verified); !damaged {
		p.txns = foldedTxns{book: book, hidden: len(p.hidden)}
	}
	return book, nil
}

func (p *Project) txnEntry(ctx context.Context, rev int64, seals ledger.Seals) (ledger.Delta, error) {
	e, err := p.log.Entry(ctx, rev)
	if err != nil {
		return ledger.Delta{}, fmt.Errorf("read transactions: %w", err)
	}
	if e, err = p.vetted(e, seals); err != nil {
		return ledger.Delta{}, err
	}
	return ledger.ReadDelta(&e)
}

// txnsBefore is the book that was folded last, if the ledger still goes on from
// there and no text was erased since; else an empty one.
func (p *Project) txnsBefore(ctx context.Context, r *reading) (*txn.Book, error) {
	book := p.txns.book
	if _, damaged := r.view.(*verified); book == nil || damaged || book.At.Rev > r.head.Rev || p.txns.hidden != len(p.hidden) {
		return &txn.Book{}, nil
	}
	if book.At == r.head {
		return book, nil
	}
	e, err := p.log.Entry(ctx, book.At.Rev)
	if err != nil || e.Hash != book.At.Hash {
		return &txn.Book{}, nil
	}
	erased, err := r.view.Events(ctx, ledger.EventQuery{Since: book.At.Rev, Kind: ledger.TypeRedact, Limit: 1})
	if err != nil {
		return nil, fmt.Errorf("find redactions: %w", err)
	}
	if len(erased) > 0 {
		return &txn.Book{}, nil
	}
	return book, nil
}
