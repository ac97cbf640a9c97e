package index

import (
	"context"

	"holdfast/internal/ledger"
)

// chunk is how many entries pass from the reading to the writing at a time.
const chunk = 256

// feed is a log on its way into the file: it is read and decoded on a goroutine
// of its own.
type feed struct {
	ctx    context.Context
	stop   context.CancelFunc
	chunks chan []item
	err    error // that ended the reading; what came before it was given
	ended  bool
}

func (f *follower) feed(ctx context.Context, after ledger.Pos) *feed {
	q := &feed{chunks: make(chan []item, 8)}
	q.ctx, q.stop = context.WithCancel(ctx)
	go func() {
		defer close(q.chunks)
		f.read(q.ctx, after, func(items []item) bool {
			select {
			case q.chunks <- items:
				return true
			case <-q.ctx.Done():
				return false
			}
		})
	}()
	return q
}

// close ends the reading; the log is done with when it returns.
func (q *feed) close() {
	q.stop()
	for range q.chunks {
	}
}

// next gives the next entries, or none at the end; then err tells why.
func (q *feed) next() []item {
	for !q.ended {
		c, more := <-q.chunks
		if !more {
			q.ended, q.err = true, q.ctx.Err()
			break
		}
		for i := range c {
			if c[i].err != nil {
				q.ended, q.err = true, c[i].err
				c = c[:i]
				break
			}
		}
		if len(c) > 0 {
			return c
		}
	}
	return nil
}

// read gives the decoded entries behind after to give, as long as it wants
// them. The last item may be an error.
func (f *follower) read(ctx context.Context, after ledger.Pos, give func([]item) bool) {
	items := make([]item, 0, chunk)
	pos := after
	for e, err := range f.log.Entries(ctx, after) {
		if err == nil && (e.Rev != pos.Next() || e.Prev != pos.Hash) {
			err = &ledger.ChainError{Rev: e.Rev, Why: "it doesn't follow the entry before it"}
		}
		it := item{err: err}
		if err == nil {
			it = prepare(&e)
		}
		pos = e.Pos()
		if items = append(items, it); len(items) < chunk && it.err == nil {
			continue
		}
		if !give(items) || it.err != nil {
			return
		}
		items = make([]item, 0, chunk)
	}
	if len(items) > 0 {
		give(items)
	}
}
