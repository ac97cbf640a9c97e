package txn

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"holdfast/internal/ledger"
)

// Next is the book after more entries. b stays as it is: others may read it
// meanwhile.
func (b *Book) Next(entries []ledger.Delta) (*Book, error) {
	out := &Book{At: b.At, Order: slices.Clone(b.Order), Txns: maps.Clone(b.Txns)}
	own := map[string]bool{}
	for i := range entries {
		if h := entries[i].Txn; h != nil {
			for _, id := range []string{h.Transaction, h.Follows} {
				if t := out.Txns[id]; t != nil && !own[id] {
					c, err := t.clone()
					if err != nil {
						return nil, err
					}
					out.Txns[id] = c
				}
				own[id] = true
			}
		}
		if err := out.Apply(entries[i]); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// clone is a copy that shares nothing with t.
func (t *Transaction) clone() (*Transaction, error) {
	raw, err := json.Marshal(t)
	if err != nil {
		return nil, fmt.Errorf("copy transaction: %w", err)
	}
	c := &Transaction{}
	if err := json.Unmarshal(raw, c); err != nil {
		return nil, fmt.Errorf("copy transaction: %w", err)
	}
	return c, nil
}
