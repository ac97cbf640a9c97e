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
		if err := x.everything(b); err != nil {
			return err
		}
		if err := x.d.exec("UPDATE scopes SET upto = ? WHERE sid = 0", b.pos.Rev); err != nil {
			return err
		}
		b.filling = false
		return x.writeBase(b)
	})
	if err == nil && x.opt.Boot != "" {
		err = x.flush()
	}
	if err != nil {
		return &ioError{err}
	}
	return nil
}

// everything makes the indexes and the table of scope 0.
func (x *Index) everything(b *base) error {
	if err := x.d.script(firstIndex); err != nil {
		return err
	}
	if len(b.marks) > 0 {
		if err := (table{x.d, 0}).fill(&lens{d: x.d, spans: &b.spans, upTo: b.pos.Rev}); err != nil {
			return err
		}
		return x.d.script(indexes)
	}
	for _, q := range []string{newestRows, hideSuperseded, indexes, countRows} {
		if err := x.d.script(q); err != nil {
			return err
		}
	}
	return nil
}

// As long as no recovery hides versions, the newest of each record stands. That
// needs none of the rules that lens knows, and SQLite does it in half the time.
const (
	newestRows = `INSERT INTO current SELECT 0, v.id, v.vn, v.rev, v.content,
		CASE WHEN v.flags & 1 THEN 2 WHEN v.status IN ('done', 'dropped') THEN 1 WHEN v.kind = '' THEN 3 ELSE 0 END, v.kind,
		NOT (v.flags & 4 OR EXISTS (SELECT 1 FROM confirms c WHERE c.id = v.id AND c.rev IN (v.rev, v.content_rev))), v.at, iif(v.flags & 1, '', v.sup)
		FROM (SELECT max(vn) AS newest FROM versions GROUP BY id) CROSS JOIN versions v ON v.vn = newest`
	hideSuperseded = `UPDATE current SET state = 3 WHERE sid = 0 AND state < 2 AND id IN (SELECT sup FROM current WHERE sid = 0 AND sup <> '')`
	countRows      = `INSERT INTO counts SELECT sid, state, kind, count(*) FROM current GROUP BY sid, state, kind`
)
