package index

import (
	"encoding/json"

	"holdfast/internal/ledger"
)

// inFile looks through the file's texts, newest first, until there are enough.
func (s *searcher) inFile() error {
	if s.cut || s.v.seen.filling {
		return nil
	}
	left := examined
	stmt, args := newestTexts, []any{s.st.sid, s.cur.top, s.cur.low}
	if len(s.ps) > 0 {
		stmt, args = matchingTexts, []any{s.st.sid, s.cur.top, s.cur.low, match(s.ps)}
	}
	err := s.v.x.d.each(func(scan func(...any) error) error {
		h, d, err := s.scan(scan)
		if err != nil || h.rev > s.v.upTo {
			return err
		}
		enough, err := s.consider(h, d)
		if left--; err == nil && (enough || left == 0) {
			s.cut = true
			err = errEnough
		}
		return err
	}, stmt, args...)
	return ignore(err, errEnough)
}

// A text is a version's or a receipt's. Whether it is the one that its record
// shows now is looked up by its own number: those stand side by side.
const (
	hitColumns = "v.vn IS NULL, ifnull(v.id, r.id), ifnull(v.rev, r.rev), ifnull(v.kind, ''), ifnull(v.place, r.place), ifnull(v.rec, r.rec), ifnull(c.state, -1)"

	matchingTexts = "SELECT fts.rowid, " + hitColumns + ` FROM fts LEFT JOIN versions v ON v.vn = fts.rowid LEFT JOIN receipts r ON r.vn = fts.rowid
		LEFT JOIN current c INDEXED BY current_content ON c.sid = ?1 AND c.content = fts.rowid
		WHERE fts.rowid <= ?2 AND fts.rowid >= ?3 AND fts MATCH ?4 ORDER BY fts.rowid DESC`

	newestTexts = "SELECT n.vn, " + hitColumns + ` FROM (SELECT vn FROM versions WHERE content = vn UNION ALL SELECT vn FROM receipts) n
		LEFT JOIN versions v ON v.vn = n.vn LEFT JOIN receipts r ON r.vn = n.vn
		LEFT JOIN current c INDEXED BY current_content ON c.sid = ?1 AND c.content = n.vn
		WHERE n.vn <= ?2 AND n.vn >= ?3 ORDER BY n.vn DESC`
)

func (s *searcher) scan(scan func(...any) error) (hit, *doc, error) {
	var h hit
	var place int64
	var rec string
	if err := scan(&h.vn, &h.check, &h.id, &h.rev, &h.kind, &place, &rec, &h.shown); err != nil {
		return h, nil, err
	}
	var err error
	if h.git, err = s.git(place); err != nil {
		return h, nil, err
	}
	if h.check {
		h.kind = ledger.CategoryCheck
		var c checked
		if json.Unmarshal([]byte(rec), &c) != nil {
			return h, nil, errContent
		}
		d := c.doc(h.vn)
		return h, &d, nil
	}
	main, more, err := textsOf(rec)
	return h, &doc{h.vn, h.id, main, more}, err
}

// git is a place. Few of them are wanted, so they are not all read.
func (s *searcher) git(n int64) (ledger.Git, error) {
	if s.v.placesNow != nil {
		return *s.v.placesNow.git(n), nil
	}
	g, known := s.gits[n]
	if known {
		return g, nil
	}
	_, err := s.v.x.d.one("SELECT branch, commit_id, base, detached FROM places WHERE n = ?", []any{n}, &g.Branch, &g.Commit, &g.Base, &g.Detached)
	s.gits[n] = g
	return g, err
}

// stands tells how a record stands; nil: not at all.
func (s *searcher) stands(id string) (*row, error) {
	if r, changed := s.st.now[id]; changed || !s.st.stored() {
		return r, nil
	}
	if r, known := s.rows[id]; known {
		return r, nil
	}
	r, ok, err := s.st.get(id)
	s.rows[id] = nil
	if ok {
		s.rows[id] = &r
	}
	return s.rows[id], err
}
