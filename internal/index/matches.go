package index

import (
	"encoding/json"

	"holdfast/internal/ledger"
)

// pager fills in what a page of hits shows.
type pager struct {
	s      *searcher
	page   []hit
	out    []Match
	rows   []*row // how each hit's record stands; nil for a check
	fields [][]field
	at     map[int64]int // number → index in the page, of texts in the file
}

// matches loads what a page of hits shows.
func (s *searcher) matches(page []hit) ([]Match, error) {
	p := &pager{s: s, page: page, out: make([]Match, len(page)), rows: make([]*row, len(page)), fields: make([][]field, len(page)), at: map[int64]int{}}
	var records, checks []int64
	for i := range page {
		if err := p.begin(i); err != nil {
			return nil, err
		}
		switch h := &page[i]; {
		case h.behind:
		case h.check:
			checks = append(checks, h.vn)
		default:
			records = append(records, h.vn)
		}
	}
	if err := p.load(records, recordTexts); err != nil {
		return nil, err
	}
	if err := p.load(checks, receiptTexts); err != nil {
		return nil, err
	}
	if err := p.status(); err != nil {
		return nil, err
	}
	for i := range p.out {
		m := &p.out[i]
		m.Field, m.Passage, m.Marks = passage(p.fields[i], s.ps)
	}
	return p.out, nil
}

// begin takes over what the hit tells.
func (p *pager) begin(i int) error {
	h, m := &p.page[i], &p.out[i]
	*m = Match{ID: h.id, Kind: h.kind, Check: h.check, Revision: h.rev, Branch: h.git.Branch, Via: h.via, Current: h.current, Rank: h.rank}
	if !h.check {
		r, err := p.s.stands(h.id)
		if err == nil && r == nil {
			err = errContent
		}
		if err != nil {
			return err
		}
		p.rows[i] = r
		m.CurrentRevision, m.Retracted, m.Superseded = r.rev, r.state == stateRetracted, r.state == stateHidden && r.kind != ""
	}
	if h.behind {
		t := p.s.v.over.texts[h.vn]
		m.At, m.Actor = t.at, t.actor
		p.fields[i] = m.fields(t.rec, t.check)
		return nil
	}
	p.at[h.vn] = i
	return nil
}

func (p *pager) load(vns []int64, stmt string) error {
	return p.s.v.x.d.each(func(scan func(...any) error) error {
		var vn int64
		var when, actor, rec string
		if err := scan(&vn, &when, &actor, &rec); err != nil {
			return err
		}
		m := &p.out[p.at[vn]]
		m.At = when
		var err error
		p.fields[p.at[vn]], err = m.read(actor, rec)
		return err
	}, stmt, list(vns))
}

const (
	recordTexts = `SELECT v.vn, v.at, m.actor, v.rec FROM json_each(?) j CROSS JOIN versions v ON v.vn = j.value
		JOIN entries e ON e.rev = v.rev JOIN makers m ON m.n = e.maker`
	receiptTexts = `SELECT r.vn, e.at, m.actor, r.rec FROM json_each(?) j CROSS JOIN receipts r ON r.vn = j.value
		JOIN entries e ON e.rev = r.rev JOIN makers m ON m.n = e.maker`
)

// read takes over what the file holds of a text.
func (m *Match) read(actor, rec string) ([]field, error) {
	var r *ledger.Record
	var c *checked
	into := any(&r)
	if m.Check {
		into = &c
	}
	if decode(actor, &m.Actor) != nil || json.Unmarshal([]byte(rec), into) != nil || r == nil && c == nil {
		return nil, errContent
	}
	return m.fields(r, c), nil
}

// fields lists the parts of a text that are searched, the most telling first.
func (m *Match) fields(r *ledger.Record, c *checked) []field {
	if c != nil {
		m.Status = c.Outcome
		return []field{{"title", c.Title}, {"command", c.command()}, {"id", c.ID}}
	}
	fs := []field{{"text", r.Text}, {"answer", r.Answer}, {"why", r.Why}}
	for _, x := range r.Rejected {
		fs = append(fs, field{"rejected", x.Option}, field{"rejected", x.Why})
	}
	return append(fs, field{"revisit_when", r.RevisitWhen}, field{"source", r.Source}, field{"id", r.ID})
}

// status tells how the records of a page stand now, and who vouches for the
// texts.
func (p *pager) status() error {
	v := p.s.v
	l, err := v.lens(p.s.q.Scope)
	if err != nil {
		return err
	}
	now, err := p.statuses()
	if err != nil {
		return err
	}
	for i := range p.page {
		h, m, r := &p.page[i], &p.out[i], p.rows[i]
		if r == nil {
			continue
		}
		m.Status = now[r.vn]
		switch {
		case m.Actor.Kind == ledger.Person:
			m.Confirmed = true
		case h.current:
			m.Confirmed = r.doubt == 0
		default:
			by, err := l.confirmed(h.id, h.rev, h.rev)
			if err != nil {
				return err
			}
			m.Confirmed = by > 0
		}
	}
	return nil
}

// statuses gives the status of the current versions, by number.
func (p *pager) statuses() (map[int64]string, error) {
	now := map[int64]string{}
	var vns []int64
	for _, r := range p.rows {
		if r == nil {
			continue
		}
		vns = append(vns, r.vn)
		if p.s.v.over == nil {
			continue
		}
		for _, w := range p.s.v.over.vers[r.id] {
			now[w.vn] = w.Status
		}
	}
	err := p.s.v.x.d.each(func(scan func(...any) error) error {
		var vn int64
		var status string
		err := scan(&vn, &status)
		now[vn] = status
		return err
	}, "SELECT vn, status FROM versions WHERE rev <= ? AND vn IN (SELECT value FROM json_each(?))", p.s.v.upTo, list(vns))
	return now, err
}
