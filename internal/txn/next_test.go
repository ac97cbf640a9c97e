package txn_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"holdfast/internal/ledger"
	"holdfast/internal/txn"
)

// TestNext: a book that is followed in steps equals one that is folded at once,
// and no step changes the book before it.
func TestNext(t *testing.T) {
	for seed := range uint64(20) {
		s := seeded(t, seed+900, txn.Engine{}, false)
		if fault := s.run(40); fault != "" {
			t.Fatal(fault)
		}
		whole, steps := &txn.Book{}, &txn.Book{}
		n := 0
		var some []ledger.Delta
		for e, err := range s.hubs[0].log.Entries(context.Background(), ledger.Pos{}) {
			if err != nil {
				t.Fatal(err)
			}
			d, err := ledger.ReadDelta(&e)
			if err != nil {
				t.Fatal(err)
			}
			if err := whole.Apply(d); err != nil {
				t.Fatal(err)
			}
			if n++; n%3 > 0 {
				some = append(some, d)
				continue
			}
			before, _ := json.Marshal(steps)
			next, err := steps.Next(append(some, d))
			if err != nil {
				t.Fatal(err)
			}
			if after, _ := json.Marshal(steps); string(after) != string(before) {
				t.Fatalf("seed %d: a step changed the book before it", seed)
			}
			steps, some = next, nil
			if diff := cmp.Diff(whole, steps, cmpopts.IgnoreUnexported(txn.Transaction{}), cmpopts.EquateEmpty()); diff != "" {
				t.Fatalf("seed %d (-whole +steps):\n%s", seed, diff)
			}
		}
	}
}
