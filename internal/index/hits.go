package index

const hitColumns = "fts.rowid, v.id, v.rev, v.kind, v.place, r.id, r.rev, r.place, c.vn, c.rev, c.content, c.state, c.kind, c.doubt"

// inFile looks through the file's texts, newest first, until there are enough.
func (s *searcher) inFile() error {
	if len(s.hits) >= RankedWithin || s.v.seen.filling {
		return nil
	}
	left := examined
	stmt := ` FROM fts LEFT JOIN versions v ON v.vn = fts.rowid LEFT JOIN receipts r ON r.vn = fts.rowid
		LEFT JOIN current c ON c.sid = ? AND c.id = v.id WHERE fts.rowid <= ?`
	args := []any{s.st.sid, s.cur.top}
	rank := "0.0"
	if len(s.ps) > 0 {
		stmt += " AND fts MATCH ?"
		args = append(args, match(s.ps))
		if ranks(s.ps) {
			rank = "bm25(fts, 4.0, 2.0, 1.0)"
		}
	}
	err := s.v.x.d.each(func(scan func(...any) error) error {
		h, err := s.scan(scan)
		if err != nil || h.rev > s.v.upTo {
			return err
		}
		enough, err := s.consider(h)
		if left--; err == nil && (enough || left == 0) {
			s.cut = true
			err = errEnough
		}
		return err
	}, "SELECT "+hitColumns+", "+rank+stmt+" ORDER BY fts.rowid DESC", args...)
	return ignore(err, errEnough)
}

func (s *searcher) scan(scan func(...any) error) (hit, error) {
	var h hit
	var id, kind, check *string
	var rev, place, checkRev, checkPlace *int64
	var cur struct {
		vn, rev, content *int64
		state, doubt     *int
		kind             *string
	}
	err := scan(&h.vn, &id, &rev, &kind, &place, &check, &checkRev, &checkPlace, &cur.vn, &cur.rev, &cur.content, &cur.state, &cur.kind, &cur.doubt, &h.rank)
	switch {
	case err != nil:
		return h, err
	case check != nil && checkRev != nil && checkPlace != nil:
		h.id, h.rev, h.kind, h.check, h.git = *check, *checkRev, "check", true, *s.places.git(*checkPlace)
	case id != nil && rev != nil && kind != nil && place != nil:
		h.id, h.rev, h.kind, h.git = *id, *rev, *kind, *s.places.git(*place)
		if cur.vn != nil {
			h.row = &row{id: h.id, vn: *cur.vn, rev: *cur.rev, content: *cur.content, state: *cur.state, kind: *cur.kind, doubt: *cur.doubt}
		}
		if now, changed := s.st.now[h.id]; changed {
			h.row = now
		}
	default:
		return h, errContent
	}
	return h, nil
}
