package index

import (
	"fmt"

	"holdfast/internal/ledger"
)

// roomy gives the connection room for the filling of a file: nobody reads it
// yet, so pages may be written before the transaction ends.
func (x *Index) roomy() error {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.room(cacheLarge, 1)
}

// slim takes the room away again. Failing, it costs memory alone.
func (x *Index) slim() {
	x.mu.Lock()
	defer x.mu.Unlock()
	_ = x.room(cacheSmall, 0)
	_ = x.d.script("PRAGMA shrink_memory")
}

func (x *Index) room(kib, spill int) error {
	return x.d.script(fmt.Sprintf("PRAGMA cache_size(-%d); PRAGMA cache_spill(%d)", kib, spill))
}

// complete makes the indexes and the table of scope 0 of a file that has been
// filled up to seen.
func (f *follower) complete(seen ledger.Pos) error {
	x := f.x
	x.mu.Lock()
	defer x.mu.Unlock()
	b, err := x.readBase()
	if err != nil {
		return &ioError{err}
	}
	if !b.filling || b.pos.Hash == "" {
		return nil
	}
	err = x.write(func() error {
		b, err := x.readBase()
		if err != nil || !b.filling {
			return err
		}
		if b.pos != seen {
			return errOvertaken
		}
		if err := x.d.script(firstIndex); err != nil {
			return err
		}
		if err := (table{x.d, 0}).fill(&lens{d: x.d, spans: &b.spans, upTo: b.pos.Rev}); err != nil {
			return err
		}
		if err := x.d.script(indexes); err != nil {
			return err
		}
		if err := x.d.exec("UPDATE scopes SET upto = ? WHERE sid = 0", b.pos.Rev); err != nil {
			return err
		}
		b.filling = false
		return x.writeBase(b)
	})
	if err == nil {
		err = x.flush()
	}
	if err != nil {
		return &ioError{err}
	}
	return nil
}
