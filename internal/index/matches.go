package index

import (
	"encoding/json"

	"holdfast/internal/ledger"
)

// matches loads what a page of hits shows.
func (s *searcher) matches(page []hit) ([]Match, error) {
	out := make([]Match, len(page))
	fields := make([][]field, len(page))
	rows := make([]*row, len(page))
	at := map[int64]int{} // number → index in the page, of texts in the file
	var records, checks, currents []int64
	for i := range page {
		h := &page[i]
		out[i] = Match{ID: h.id, Kind: h.kind, Check: h.check, Revision: h.rev, Branch: h.git.Branch, Via: h.via, Current: h.current, Rank: h.rank}
		if !h.check {
			r, err := s.stands(h.id)
			if err == nil && r == nil {
				err = errContent
			}
			if err != nil {
				return nil, err
			}
			rows[i] = r
			out[i].CurrentRevision = r.rev
			out[i].Retracted = r.state == stateRetracted
			out[i].Superseded = r.state == stateHidden && r.kind != ""
			currents = append(currents, r.vn)
		}
		switch {
		case h.behind:
			t := s.v.over.texts[h.vn]
			out[i].At, out[i].Actor = t.at, t.actor
			fields[i] = out[i].fields(t.rec, t.check)
			continue
		case h.check:
			checks = append(checks, h.vn)
		default:
			records = append(records, h.vn)
		}
		at[h.vn] = i
	}
	load := func(vns []int64, stmt string) error {
		return s.v.x.d.each(func(scan func(...any) error) error {
			var vn int64
			var when, actor, rec string
			if err := scan(&vn, &when, &actor, &rec); err != nil {
				return err
			}
			m := &out[at[vn]]
			m.At = when
			var err error
			fields[at[vn]], err = m.read(actor, rec)
			return err
		}, stmt, list(vns))
	}
	if err := load(records, recordTexts); err != nil {
		return nil, err
	}
	if err := load(checks, receiptTexts); err != nil {
		return nil, err
	}
	if err := s.status(page, rows, out, currents); err != nil {
		return nil, err
	}
	for i := range out {
		out[i].Field, out[i].Passage, out[i].Marks = passage(fields[i], s.ps)
	}
	return out, nil
}

const (
	recordTexts = `SELECT v.vn, v.at, n.s, t.rec FROM json_each(?) j CROSS JOIN versions v ON v.vn = j.value JOIN texts t ON t.vn = v.vn
		JOIN entries e ON e.rev = v.rev JOIN names n ON n.n = e.actor`
	receiptTexts = `SELECT r.vn, e.at, n.s, r.rec FROM json_each(?) j CROSS JOIN receipts r ON r.vn = j.value
		JOIN entries e ON e.rev = r.rev JOIN names n ON n.n = e.actor`
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
func (s *searcher) status(page []hit, rows []*row, out []Match, currents []int64) error {
	now := map[int64]string{}
	err := s.v.x.d.each(func(scan func(...any) error) error {
		var vn int64
		var status string
		err := scan(&vn, &status)
		now[vn] = status
		return err
	}, "SELECT vn, status FROM versions WHERE vn IN (SELECT value FROM json_each(?))", list(currents))
	if err != nil {
		return err
	}
	l, err := s.v.lens(s.q.Scope)
	if err != nil {
		return err
	}
	for i := range page {
		h, m, r := &page[i], &out[i], rows[i]
		if r == nil {
			continue
		}
		m.Status = now[r.vn]
		if s.v.over != nil {
			for _, w := range s.v.over.vers[h.id] {
				if w.vn == r.vn {
					m.Status = w.Status
				}
			}
		}
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
