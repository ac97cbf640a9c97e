package index

import (
	"cmp"
	"context"
	"slices"

	"holdfast/internal/ledger"
)

// Find implements ledger.Reader.
func (v *View) Find(ctx context.Context, q ledger.Query) (page ledger.Page, err error) {
	v.prepare(ctx, q.Scope)
	err = v.do(ctx, func() error {
		s, err := v.stand(q.Scope)
		if err != nil {
			return err
		}
		rows, total, err := s.find(&q)
		if err != nil {
			return err
		}
		page.Total = total
		page.Items, err = v.items(rows, q.Scope)
		return err
	})
	return page, err
}

// Elsewhere implements ledger.Reader.
func (v *View) Elsewhere(ctx context.Context, scope *ledger.Scope) (map[string]int, error) {
	v.prepare(ctx, scope)
	out := map[string]int{}
	err := v.do(ctx, func() error {
		s, err := v.stand(scope)
		if err != nil {
			return err
		}
		counts, err := s.counts([]int{stateElsewhere})
		for c, n := range counts {
			if n > 0 {
				out[c.kind] = n
			}
		}
		return err
	})
	return out, err
}

// items loads what rows name, in their order.
func (v *View) items(rows []row, scope *ledger.Scope) ([]ledger.Current, error) {
	ids := make(map[string]bool, len(rows))
	for i := range rows {
		ids[rows[i].id] = true
	}
	vs, err := v.versions(ids)
	if err != nil {
		return nil, err
	}
	out := make([]ledger.Current, 0, len(rows))
	var shown []*ver
	type at struct {
		id  string
		rev int64
	}
	full := map[at]*ver{}
	show := func(id string, rev int64) (vn int64) {
		for _, w := range vs[id] {
			if w.Rev == rev {
				shown = append(shown, w)
				full[at{id, rev}] = w
				vn = w.vn
			}
		}
		return vn
	}
	for i := range rows {
		ws := vs[rows[i].id]
		all := make([]ledger.Version, len(ws))
		for n, w := range ws {
			all[n] = w.Version
		}
		cur, ok := ledger.CurrentOf(all, scope)
		if !ok || show(cur.ID, cur.Rev) != rows[i].vn {
			return nil, errContent
		}
		for _, d := range cur.Diverged {
			show(d.ID, d.Rev)
		}
		out = append(out, cur)
	}
	if err := v.complete(shown); err != nil {
		return nil, err
	}
	for i := range out {
		c := &out[i]
		c.Version = full[at{c.ID, c.Rev}].Version
		for n := range c.Diverged {
			c.Diverged[n] = full[at{c.Diverged[n].ID, c.Diverged[n].Rev}].Version
		}
	}
	return out, nil
}

// states are the ways of standing that a query asks for.
func states(f ledger.FindState) []int {
	switch f {
	case ledger.FindOpen:
		return []int{stateOpen}
	case ledger.FindFinished:
		return []int{stateFinished}
	case ledger.FindRetracted:
		return []int{stateRetracted}
	}
	return []int{stateOpen, stateFinished, stateRetracted, stateHidden}
}

// order is that of ledger.Compare.
func order(a, b row) int { return cmp.Or(cmp.Compare(a.doubt, b.doubt), cmp.Compare(b.vn, a.vn)) }

// find picks the rows that q asks for, and counts all of them.
func (s *standing) find(q *ledger.Query) (rows []row, total int, err error) {
	wanted := states(q.State)
	match := func(r *row) bool {
		return slices.Contains(wanted, r.state) && (len(q.Kinds) == 0 || slices.Contains(q.Kinds, r.kind)) && r.at >= q.Since
	}
	if s.stored() {
		if rows, total, err = s.findStored(q, wanted); err != nil {
			return nil, 0, err
		}
		for id, old := range s.old {
			if _, changed := s.now[id]; changed && match(&old) {
				total--
			}
		}
	}
	for _, r := range s.now {
		if r != nil && match(r) {
			rows = append(rows, *r)
			total++
		}
	}
	slices.SortFunc(rows, order)
	if q.Limit > 0 && len(rows) > q.Limit {
		rows = rows[:q.Limit]
	}
	return rows, total, nil
}

// few is how many rows may be sorted instead of read in order.
const few = 1000

// findStored picks rows of the table that the overrides leave alone, enough for
// the limit, and counts all of the table's rows.
func (s *standing) findStored(q *ledger.Query, wanted []int) (rows []row, total int, err error) {
	counts, err := s.storedCounts(wanted)
	if err != nil {
		return nil, 0, err
	}
	for c, n := range counts {
		if len(q.Kinds) > 0 && !slices.Contains(q.Kinds, c.kind) || n == 0 {
			continue
		}
		if q.Since != "" {
			if n, err = s.since(c, q.Since); err != nil {
				return nil, 0, err
			}
		}
		total += n
		found, err := s.list(c, q, n)
		if err != nil {
			return nil, 0, err
		}
		rows = append(rows, found...)
	}
	return rows, total, nil
}

// since counts the rows of one kind at or after a time.
func (s *standing) since(c counted, since string) (n int, err error) {
	stmt := "SELECT count(*) FROM current WHERE sid = ? AND state = ? AND kind = ? AND at >= ?"
	args := []any{s.sid, c.state, c.kind, since}
	if c.state == stateFinished { // the partial index wants to see it
		stmt = "SELECT count(*) FROM current WHERE sid = ? AND state = 1 AND kind = ? AND at >= ?"
		args = []any{s.sid, c.kind, since}
	}
	_, err = s.d.one(stmt, args, &n)
	return n, err
}

// list reads the first rows of one kind, as much of them as items wants; n is
// how many there are.
func (s *standing) list(c counted, q *ledger.Query, n int) (out []row, err error) {
	limit := int64(-1)
	if q.Limit > 0 {
		limit = int64(q.Limit + len(s.now)) // overridden ones are passed over
	}
	// As long as no time is asked for, everything is in the index itself.
	stmt := "SELECT id, vn, doubt FROM current WHERE sid = ? AND state = ? AND kind = ? ORDER BY doubt, vn DESC LIMIT ?"
	args := []any{s.sid, c.state, c.kind, limit}
	switch {
	case q.Since != "" && c.state == stateFinished && n <= few:
		stmt = "SELECT id, vn, doubt FROM current INDEXED BY current_at WHERE sid = ? AND state = 1 AND kind = ? AND at >= ? ORDER BY doubt, vn DESC LIMIT ?"
		args = []any{s.sid, c.kind, q.Since, limit}
	case q.Since != "":
		stmt = "SELECT id, vn, doubt FROM current WHERE sid = ? AND state = ? AND kind = ? AND at >= ? ORDER BY doubt, vn DESC LIMIT ?"
		args = []any{s.sid, c.state, c.kind, q.Since, limit}
	}
	err = s.d.each(func(scan func(...any) error) error {
		r := row{state: c.state, kind: c.kind}
		if err := scan(&r.id, &r.vn, &r.doubt); err != nil {
			return err
		}
		if _, overridden := s.now[r.id]; !overridden {
			out = append(out, r)
		}
		return nil
	}, stmt, args...)
	return out, err
}

// storedCounts gives the table's counts for some ways of standing.
func (s *standing) storedCounts(wanted []int) (map[counted]int, error) {
	out := map[counted]int{}
	err := s.d.each(func(scan func(...any) error) error {
		var c counted
		var n int
		err := scan(&c.state, &c.kind, &n)
		out[c] = n
		return err
	}, "SELECT state, kind, n FROM counts WHERE sid = ? AND state IN (SELECT value FROM json_each(?))", s.sid, list(wanted))
	return out, err
}

// counts counts what stands in some ways, by kind.
func (s *standing) counts(wanted []int) (map[counted]int, error) {
	out := map[counted]int{}
	if s.stored() {
		var err error
		if out, err = s.storedCounts(wanted); err != nil {
			return nil, err
		}
		for id, old := range s.old {
			if _, changed := s.now[id]; changed {
				out[counted{old.state, old.kind}]--
			}
		}
	}
	for _, r := range s.now {
		if r != nil {
			out[counted{r.state, r.kind}]++
		}
	}
	for c := range out {
		if !slices.Contains(wanted, c.state) {
			delete(out, c)
		}
	}
	return out, nil
}
