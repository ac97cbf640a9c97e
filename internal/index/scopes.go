package index

import (
	"context"
	"maps"

	"holdfast/internal/ledger"
)

// standing is how every record stands for one scope: a stored table and the
// records that stand otherwise by now, or all of them in memory.
type standing struct {
	table
	change
}

// noTable is the sid of a standing that is in memory alone.
const noTable = -1

func (s *standing) stored() bool { return s.sid != noTable }

// limits of what is kept and of what is worked out in memory each time.
type limits struct {
	scopes int   // tables besides that of scope 0, which has no limits
	change int   // so many changed records: look at all of them
	small  int64 // versions that are not worth a table
	behind int   // changed records that a view works out by itself
	batch  int   // entries that one transaction applies
	fill   int   // the same while a file is filled
}

func usual() limits {
	return limits{scopes: 6, change: 5000, small: 500, behind: 50, batch: 5000, fill: 50000}
}

// stored is what the file knows of a scope's table.
type stored struct {
	sid    int64
	upTo   int64 // entries that it takes into account
	places int64 // how many there were
	digest string
}

// match finds the table that holds the answers for s. sid is noTable for none.
func (v *View) match(s *ledger.Scope) (stored, error) {
	none := stored{sid: noTable}
	if v.seen.filling {
		return none, nil
	}
	var all []stored
	err := v.x.d.each(func(scan func(...any) error) error {
		var t stored
		err := scan(&t.sid, &t.upTo, &t.places, &t.digest)
		all = append(all, t)
		return err
	}, "SELECT sid, upto, places, digest FROM scopes ORDER BY sid")
	if err != nil || len(all) == 0 {
		return none, err
	}
	if s.Everything() {
		return all[0], nil
	}
	ps, err := v.places()
	if err != nil {
		return none, err
	}
	if ps.everything(s) {
		return all[0], nil
	}
	digests := map[int64]string{}
	for _, t := range all[1:] {
		if t.places > int64(len(ps)) {
			continue
		}
		if digests[t.places] == "" {
			digests[t.places] = ps[:t.places].digest(s, v.head.Rev)
		}
		if digests[t.places] == t.digest {
			return t, nil
		}
	}
	return none, nil
}

// touched lists the records whose standing may be another one than a table up
// to revision from says. whole: too many, or a recovery, to tell.
func (v *View) touched(from int64) (ids map[string]bool, whole bool, err error) {
	if v.over != nil && len(v.over.marks) > 0 {
		return nil, true, nil
	}
	ids, whole, err = v.x.changedSince(v.seen, min(from, v.upTo))
	if v.over != nil && !whole {
		maps.Copy(ids, v.over.ids)
	}
	return ids, whole, err
}

// changedSince lists the records that entries in the file above revision from
// concern.
func (x *Index) changedSince(b *base, from int64) (ids map[string]bool, whole bool, err error) {
	for _, m := range b.marks {
		if m[0] > from {
			return nil, true, nil
		}
	}
	ids = map[string]bool{}
	if from == revision(b.pos) {
		return ids, false, nil
	}
	err = x.d.each(func(scan func(...any) error) error {
		var s string
		if err := scan(&s); err != nil {
			return err
		}
		var some []string
		if decode(s, &some) != nil {
			return errContent
		}
		for _, id := range some {
			ids[id] = true
		}
		if len(ids) > x.limits.change {
			return errEnough
		}
		return nil
	}, "SELECT ids FROM entries WHERE rev > ?", from)
	return ids, err == errEnough, ignore(err, errEnough)
}

// stand works out how records stand for s.
func (v *View) stand(s *ledger.Scope) (*standing, error) {
	key := s
	if s.Everything() {
		key = nil
	}
	if st := v.standings[key]; st != nil {
		return st, nil
	}
	st, err := v.work(s)
	if err == nil {
		v.standings[key] = st
	}
	return st, err
}

func (v *View) work(s *ledger.Scope) (*standing, error) {
	l, err := v.lens(s)
	if err != nil {
		return nil, err
	}
	t, err := v.match(s)
	if err != nil {
		return nil, err
	}
	if t.sid != noTable {
		ids, whole, err := v.touched(t.upTo)
		if err != nil {
			return nil, err
		}
		if !whole {
			st := &standing{table: table{v.x.d, t.sid}}
			c, err := st.table.change(l, ids)
			if err == nil {
				st.change = *c
			}
			return st, err
		}
	}
	return v.inMemory(l)
}

// inMemory looks at every record.
func (v *View) inMemory(l *lens) (*standing, error) {
	st := &standing{table: table{v.x.d, noTable}, change: change{now: map[string]*row{}}}
	taken := map[string]bool{}
	err := l.all(func(r row) error {
		st.now[r.id] = &r
		if r.sup != "" {
			taken[r.sup] = true
		}
		return nil
	})
	for id := range taken {
		if r := st.now[id]; r != nil && r.state <= stateFinished {
			r.state = stateHidden
		}
	}
	return st, err
}

// prepare brings a scope's table up to date, where that is worth it and the
// file can be written. Whatever fails, stand works it out in memory.
func (v *View) prepare(ctx context.Context, s *ledger.Scope) {
	v.x.mu.Lock()
	defer v.x.mu.Unlock()
	if ctx.Err() != nil || v.x.closed || s.Everything() || v.x.where == InReadOnly {
		return
	}
	wanted := false
	err := v.locked(ctx, func() (err error) { wanted, _, _, err = v.wanting(s); return err })
	if err != nil || !wanted {
		return
	}
	_ = v.x.write(func() error {
		if err := v.align(); err != nil {
			return err
		}
		wanted, t, ids, err := v.wanting(s)
		if err != nil || !wanted {
			return err
		}
		return v.store(s, t, ids)
	})
	v.seen = nil // what was worked out may belong to what was rolled back
}

// wanting reports whether the table for s is missing or too far behind what the
// file holds. ids are those to be brought up to date; nil: all.
func (v *View) wanting(s *ledger.Scope) (yes bool, t stored, ids map[string]bool, err error) {
	ahead := v.upTo < revision(v.seen.pos) // s knows nothing of that part
	if v.seen.filling || ahead || v.seen.vn < v.x.limits.small || v.standings[s] != nil {
		return false, t, nil, nil
	}
	if t, err = v.match(s); err != nil || t.sid == 0 {
		return false, t, nil, err
	}
	if t.sid == noTable {
		return true, t, nil, nil
	}
	ids, whole, err := v.x.changedSince(v.seen, t.upTo)
	if whole {
		ids = nil
	}
	return whole || len(ids) > v.x.limits.behind, t, ids, err
}

// store writes the table for s as of what the file holds, inside a writing
// transaction.
func (v *View) store(s *ledger.Scope, t stored, ids map[string]bool) error {
	ps, err := v.places()
	if err != nil {
		return err
	}
	l := &lens{d: v.x.d, spans: &v.seen.spans, upTo: v.upTo, scope: s, places: ps}
	if t.sid == noTable {
		if t.sid, err = v.x.newScope(); err != nil {
			return err
		}
	}
	tab := table{v.x.d, t.sid}
	if ids == nil {
		err = tab.fill(l)
	} else {
		err = tab.refresh(l, ids)
	}
	if err != nil {
		return err
	}
	return v.x.d.exec("INSERT OR REPLACE INTO scopes VALUES (?, ?, ?, ?, (SELECT max(used) + 1 FROM scopes))",
		t.sid, v.upTo, len(ps), ps.digest(s, v.head.Rev))
}

// newScope makes room for one more table, by giving up the one that was brought
// up to date longest ago if there are many. Its rows go when it is filled.
func (x *Index) newScope() (int64, error) {
	var n, oldest, last int64
	_, err := x.d.one("SELECT count(*) - 1, max(sid), ifnull((SELECT sid FROM scopes WHERE sid > 0 ORDER BY used LIMIT 1), 0) FROM scopes", nil, &n, &last, &oldest)
	if err != nil {
		return 0, err
	}
	if n < int64(x.limits.scopes) {
		return last + 1, nil
	}
	return oldest, x.d.exec("DELETE FROM scopes WHERE sid = ?", oldest)
}
