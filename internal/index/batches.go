package index

import (
	"context"

	"holdfast/internal/ledger"
)

// chunk is how many entries pass from the reading to the writing at a time.
const chunk = 256

// batches reads and decodes the entries behind after, on a goroutine of its
// own, and gives them to put in batches. Entries before an error are put.
func (f *follower) batches(ctx context.Context, after ledger.Pos, put func([]item) error) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	chunks := make(chan []item, 8)
	go func() {
		defer close(chunks)
		f.read(ctx, after, func(items []item) bool {
			select {
			case chunks <- items:
				return true
			case <-ctx.Done():
				return false
			}
		})
	}()
	defer func() { // the log's reader is done with when this returns
		stop()
		for range chunks {
		}
	}()
	var items []item
	for c := range chunks {
		for i := range c {
			if c[i].err == nil {
				continue
			}
			if err := some(append(items, c[:i]...), put); err != nil {
				return err
			}
			return c[i].err
		}
		if items = append(items, c...); len(items) >= f.x.limits.batch {
			if err := put(items); err != nil {
				return err
			}
			items = nil
		}
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	return some(items, put)
}

func some(items []item, put func([]item) error) error {
	if len(items) == 0 {
		return nil
	}
	return put(items)
}

// read gives the decoded entries behind after to give, as long as it wants
// them. The last item may be an error.
func (f *follower) read(ctx context.Context, after ledger.Pos, give func([]item) bool) {
	items := make([]item, 0, chunk)
	pos := after
	add := func(it item) bool {
		if items = append(items, it); len(items) < chunk && it.err == nil {
			return true
		}
		ok := give(items)
		items = make([]item, 0, chunk)
		return ok && it.err == nil
	}
	for e, err := range f.log.Entries(ctx, after) {
		if err == nil && (e.Rev != pos.Next() || e.Prev != pos.Hash) {
			err = &ledger.ChainError{Rev: e.Rev, Why: "it doesn't follow the entry before it"}
		}
		it := item{err: err}
		if err == nil {
			it = prepare(&e)
		}
		if !add(it) {
			return
		}
		pos = e.Pos()
	}
	if len(items) > 0 {
		give(items)
	}
}
