package index

import (
	"cmp"
	"errors"
	"maps"
	"slices"

	"holdfast/internal/ledger"
)

// tailText is a text behind the file, and the match that it would be.
type tailText struct {
	doc   doc
	hit   hit
	at    string
	actor ledger.Actor
	rec   *ledger.Record
	check *checked
}

func recordText(v *ledger.Version, vn int64) *tailText {
	return &tailText{
		doc: doc{vn, v.ID, mainText(&v.Record), moreText(&v.Record)},
		hit: hit{vn: vn, rev: v.Rev, id: v.ID, kind: v.Kind, git: v.Git, behind: true},
		at:  v.At, actor: v.Author, rec: &v.Record,
	}
}

func receiptText(d *ledger.Delta, c checked, vn int64) *tailText {
	return &tailText{
		doc: c.doc(vn),
		hit: hit{vn: vn, rev: d.Rev, id: c.ID, kind: ledger.CategoryCheck, check: true, git: d.Body.Git, behind: true},
		at:  d.At, actor: d.Body.Actor, check: &c,
	}
}

// inTail looks through the texts behind the file, in a full-text index of their
// own that is gone afterwards.
func (s *searcher) inTail() error {
	if s.v.over == nil || len(s.v.over.texts) == 0 {
		return nil
	}
	d := s.v.x.d
	if err := d.script("CREATE VIRTUAL TABLE temp.tail USING fts5(text, " + ftsOptions + ")"); err != nil {
		return err
	}
	vns, err := s.tailMatches()
	if err := errors.Join(err, d.script("DROP TABLE temp.tail")); err != nil {
		return err
	}
	for _, vn := range vns {
		t := s.v.over.texts[vn]
		if enough, err := s.consider(t.hit, &t.doc); err != nil || enough {
			return err
		}
	}
	return nil
}

func (s *searcher) tailMatches() (vns []int64, err error) {
	texts := s.v.over.texts
	if len(s.ps) == 0 {
		return slices.SortedFunc(maps.Keys(texts), func(a, b int64) int { return cmp.Compare(b, a) }), nil
	}
	for _, vn := range slices.Sorted(maps.Keys(texts)) {
		if t := &texts[vn].doc; vn <= s.cur.top && vn >= s.cur.low {
			if err := s.v.x.d.exec("INSERT INTO temp.tail (rowid, text) VALUES (?, ?)", vn, t.all()); err != nil {
				return nil, err
			}
		}
	}
	err = s.v.x.d.each(func(scan func(...any) error) error {
		var vn int64
		err := scan(&vn)
		vns = append(vns, vn)
		return err
	}, "SELECT rowid FROM temp.tail WHERE tail MATCH ? ORDER BY rowid DESC", match(s.ps))
	return vns, err
}
