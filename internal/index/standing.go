package index

import (
	"errors"

	"holdfast/internal/ledger"
)

// row is one record as it stands in a scope, without its text.
type row struct {
	id      string
	vn, rev int64  // of the version that is current
	content int64  // number of the text that it shows, 0: none
	state   int    // one of stateOpen…
	kind    string // in stateElsewhere: the branch of its newest version
	doubt   int    // 0: vouched for by a person; 1: not
	at      string
	sup     string // the record that it supersedes
}

// found is what a version tells about how its record stands.
type found struct {
	id         string
	vn, rev    int64
	place      int64
	at         string
	kind       string
	status     string
	flags      int
	content    int64
	contentRev int64
	sup        string
	git        *ledger.Git // of a version that isn't in the file; else see place
}

const foundColumns = "id, vn, rev, place, at, kind, status, flags, content, content_rev, sup"

func (f *found) scan(scan func(...any) error) error {
	return scan(&f.id, &f.vn, &f.rev, &f.place, &f.at, &f.kind, &f.status, &f.flags, &f.content, &f.contentRev, &f.sup)
}

// lens is how one reader sees the versions in the file and those behind it.
type lens struct {
	d     *database
	spans *ledger.Spans
	upTo  int64 // revisions in the file above it don't exist
	over  *overlay
	scope *ledger.Scope // nil: everything is in force

	places places

	vouches map[string][]vouch // of the file, by record; nil: each is asked for
}

func (l *lens) inForce(f *found) bool {
	if l.scope == nil {
		return true
	}
	_, ok := l.scope.InForce(*l.at(f), f.rev)
	return ok
}

func (l *lens) at(f *found) *ledger.Git {
	if f.git != nil {
		return f.git
	}
	return l.places.git(f.place)
}

// errEnough ends a query early.
var errEnough = errors.New("enough")

// one tells how a record stands, but for its being superseded. ok is false when
// no version of it counts.
func (l *lens) one(id string) (r row, ok bool, err error) {
	var s stand
	for _, v := range l.over.newest(id) {
		if l.add(&s, v) {
			return l.finish(&s)
		}
	}
	err = l.d.each(func(scan func(...any) error) error {
		var f found
		if err := f.scan(scan); err != nil {
			return err
		}
		if l.add(&s, &f) {
			return errEnough
		}
		return nil
	}, "SELECT "+foundColumns+" FROM versions WHERE id = ? AND rev <= ? ORDER BY vn DESC", id, l.upTo)
	if err != nil && !errors.Is(err, errEnough) {
		return row{}, false, err
	}
	return l.finish(&s)
}

// stand gathers a record's versions, newest first.
type stand struct {
	newest  *found // that counts
	current *found
}

// add reports whether older versions don't matter any more.
func (l *lens) add(s *stand, f *found) bool {
	if !l.spans.Live(f.rev) {
		return false
	}
	if s.newest == nil {
		s.newest = f
	}
	if l.inForce(f) {
		s.current = f
	}
	return s.current != nil
}

func (l *lens) finish(s *stand) (row, bool, error) {
	f := s.current
	if f == nil {
		if f = s.newest; f == nil {
			return row{}, false, nil
		}
		return row{id: f.id, vn: f.vn, rev: f.rev, state: stateElsewhere, kind: l.at(f).Branch, at: f.at}, true, nil
	}
	r := row{id: f.id, vn: f.vn, rev: f.rev, content: f.content, kind: f.kind, at: f.at}
	switch {
	case f.flags&versionRetracted != 0:
		r.state = stateRetracted
	case f.status == ledger.StatusDone || f.status == ledger.StatusDropped:
		r.state = stateFinished
	case f.kind == "":
		r.state = stateHidden
	}
	if r.state != stateRetracted {
		r.sup = f.sup
	}
	if f.flags&versionPerson != 0 {
		return r, true, nil
	}
	by, err := l.confirmed(f.id, f.rev, f.contentRev)
	if by == 0 {
		r.doubt = 1
	}
	return r, true, err
}

// confirmed finds the last entry by which a person vouched for a version.
func (l *lens) confirmed(id string, rev, contentRev int64) (int64, error) {
	if by := l.over.confirmed(id, rev, contentRev, l.spans); by > 0 {
		return by, nil
	}
	if l.vouches != nil {
		return lastVouch(l.vouches[id], rev, contentRev, l.spans), nil
	}
	var vs []vouch
	err := l.d.each(func(scan func(...any) error) error {
		var v vouch
		err := scan(&v.rev, &v.by)
		vs = append(vs, v)
		return err
	}, "SELECT rev, by FROM confirms WHERE id = ? AND rev IN (?, ?) AND by <= ? ORDER BY by", id, rev, contentRev, l.upTo)
	return lastVouch(vs, rev, contentRev, l.spans), err
}

// lastVouch finds the last entry in vs by which a version was vouched for, or 0.
func lastVouch(vs []vouch, rev, contentRev int64, spans *ledger.Spans) (by int64) {
	for _, v := range vs {
		if (v.rev == rev || v.rev == contentRev) && spans.Live(v.by) {
			by = v.by
		}
	}
	return by
}

// gather reads all confirmations at once.
func (l *lens) gather() error {
	l.vouches = map[string][]vouch{}
	return l.d.each(func(scan func(...any) error) error {
		var id string
		var v vouch
		err := scan(&id, &v.rev, &v.by)
		l.vouches[id] = append(l.vouches[id], v)
		return err
	}, "SELECT id, rev, by FROM confirms WHERE by <= ? ORDER BY by", l.upTo)
}

// all tells how every record stands, but for its being superseded, in the order
// of ids for those in the file.
func (l *lens) all(yield func(row) error) error {
	if err := l.gather(); err != nil {
		return err
	}
	var s stand
	var id string
	finish := func() error {
		if l.over.touches(id) {
			return nil
		}
		r, ok, err := l.finish(&s)
		if err != nil || !ok {
			return err
		}
		return yield(r)
	}
	err := l.d.each(func(scan func(...any) error) error {
		var f found
		if err := f.scan(scan); err != nil {
			return err
		}
		if f.id != id {
			if err := finish(); err != nil {
				return err
			}
			s, id = stand{}, f.id
		}
		if s.current == nil {
			l.add(&s, &f)
		}
		return nil
	}, "SELECT "+foundColumns+" FROM versions WHERE rev <= ? ORDER BY id, vn DESC", l.upTo)
	if err == nil {
		err = finish()
	}
	if err != nil || l.over == nil {
		return err
	}
	for id := range l.over.ids {
		if r, ok, err := l.one(id); err != nil {
			return err
		} else if ok {
			if err := yield(r); err != nil {
				return err
			}
		}
	}
	return nil
}
