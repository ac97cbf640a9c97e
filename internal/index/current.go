package index

import "maps"

// counted is one line of the counts: how many records stand in a way.
type counted struct {
	state int
	kind  string
}

// table is the stored answer, for one scope, to how every record stands.
type table struct {
	d   *database
	sid int64
}

const rowColumns = "id, vn, rev, content, state, kind, doubt, at, sup"

func (r *row) scan(scan func(...any) error) error {
	return scan(&r.id, &r.vn, &r.rev, &r.content, &r.state, &r.kind, &r.doubt, &r.at, &r.sup)
}

func (t table) get(id string) (r row, ok bool, err error) {
	err = t.d.each(func(scan func(...any) error) error { ok = true; return r.scan(scan) },
		"SELECT "+rowColumns+" FROM current WHERE sid = ? AND id = ?", t.sid, id)
	return r, ok, err
}

// supersededBy lists the records that take the place of id.
func (t table) supersededBy(id string) (out []string, err error) {
	err = t.d.each(func(scan func(...any) error) error {
		var by string
		err := scan(&by)
		out = append(out, by)
		return err
	}, "SELECT id FROM current WHERE sid = ? AND sup = ? AND sup <> ''", t.sid, id)
	return out, err
}

// clear removes every row.
func (t table) clear() error {
	if err := t.d.exec("DELETE FROM current WHERE sid = ?", t.sid); err != nil {
		return err
	}
	return t.d.exec("DELETE FROM counts WHERE sid = ?", t.sid)
}

// fill writes all rows anew.
func (t table) fill(l *lens) error {
	if err := t.clear(); err != nil {
		return err
	}
	in := newInserter(t.d, "current", 10)
	counts := map[counted]int{}
	superseded := map[string]bool{}
	err := l.all(func(r row) error {
		counts[counted{r.state, r.kind}]++
		if r.sup != "" {
			superseded[r.sup] = true
		}
		return in.add(t.sid, r.id, r.vn, r.rev, r.content, r.state, r.kind, r.doubt, r.at, r.sup)
	})
	if err == nil {
		err = in.flush()
	}
	if err != nil {
		return err
	}
	for id := range superseded {
		r, ok, err := t.get(id)
		if err != nil {
			return err
		}
		if !ok || r.state > stateFinished {
			continue
		}
		counts[counted{r.state, r.kind}]--
		counts[counted{stateHidden, r.kind}]++
		if err := t.hide(id); err != nil {
			return err
		}
	}
	return t.count(counts)
}

func (t table) hide(id string) error {
	return t.d.exec("UPDATE current SET state = ? WHERE sid = ? AND id = ?", stateHidden, t.sid, id)
}

// count adds to the counts.
func (t table) count(by map[counted]int) error {
	for c, n := range by {
		if n == 0 {
			continue
		}
		err := t.d.exec("INSERT INTO counts VALUES (?, ?, ?, ?) ON CONFLICT DO UPDATE SET n = n + excluded.n", t.sid, c.state, c.kind, n)
		if err != nil {
			return err
		}
	}
	return nil
}

// refresh writes the rows of ids anew, and of those whose state hangs on them.
func (t table) refresh(l *lens, ids map[string]bool) error {
	c, err := t.change(l, ids)
	if err != nil {
		return err
	}
	counts := map[counted]int{}
	for id, r := range c.now {
		if old, ok := c.old[id]; ok {
			counts[counted{old.state, old.kind}]--
			if r != nil && *r == old {
				counts[counted{r.state, r.kind}]++
				continue
			}
		}
		if r == nil {
			err = t.d.exec("DELETE FROM current WHERE sid = ? AND id = ?", t.sid, id)
		} else {
			counts[counted{r.state, r.kind}]++
			err = t.d.exec("INSERT OR REPLACE INTO current VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
				t.sid, r.id, r.vn, r.rev, r.content, r.state, r.kind, r.doubt, r.at, r.sup)
		}
		if err != nil {
			return err
		}
	}
	return t.count(counts)
}

// change is what differs from a table.
type change struct {
	now map[string]*row // nil: no row any more
	old map[string]row  // what the table has for these ids
}

// change tells how ids stand through l, and those whose state hangs on them.
func (t table) change(l *lens, ids map[string]bool) (*change, error) {
	c := &change{now: map[string]*row{}, old: map[string]row{}}
	linked := map[string]bool{}
	if err := c.look(t, l, ids, linked); err != nil {
		return nil, err
	}
	maps.DeleteFunc(linked, func(id string, _ bool) bool { _, done := c.now[id]; return done || id == "" })
	if err := c.look(t, l, linked, map[string]bool{}); err != nil {
		return nil, err
	}
	return c, c.supersede(t)
}

func (c *change) look(t table, l *lens, ids, linked map[string]bool) error {
	for id := range ids {
		old, was, err := t.get(id)
		if err != nil {
			return err
		}
		if was {
			c.old[id] = old
			linked[old.sup] = true
		}
		r, is, err := l.one(id)
		if err != nil {
			return err
		}
		c.now[id] = nil
		if is {
			c.now[id] = &r
			linked[r.sup] = true
		}
	}
	return nil
}

// supersede hides the records whose place another one takes.
func (c *change) supersede(t table) error {
	taken := map[string]bool{}
	for _, r := range c.now {
		if r != nil {
			taken[r.sup] = true
		}
	}
	for id, r := range c.now {
		if r == nil || r.state > stateFinished {
			continue
		}
		hidden := id != "" && taken[id]
		if !hidden {
			by, err := t.supersededBy(id)
			if err != nil {
				return err
			}
			for _, other := range by {
				_, changed := c.now[other]
				hidden = hidden || !changed
			}
		}
		if hidden {
			r.state = stateHidden
		}
	}
	return nil
}
