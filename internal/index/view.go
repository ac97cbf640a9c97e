package index

import (
	"context"
	"errors"
	"slices"

	"holdfast/internal/ledger"
)

// View is the state at one position: what the index holds and the entries
// behind it. It stays that state while others save and write the file. Each
// call reads the file in a transaction of its own, so a View holds no lock
// between calls and needs no closing. A *DamagedError of any method means: get
// another View, after a Follow. It is not for concurrent use.
type View struct {
	x    *Index
	head ledger.Pos
	from ledger.Pos     // what the file held when the view was made
	tail []ledger.Entry // behind from, up to head

	id, recovery string

	// What follows belongs to the state of the file that was seen last.
	seen      *base
	over      *overlay
	spans     ledger.Spans
	upTo      int64 // revisions in the file above it don't exist
	placesNow places
	standings map[*ledger.Scope]*standing
}

var _ ledger.Reader = (*View)(nil)

// View gives a reader of the state at the end of tail, which follows the
// position that Base told last; for an empty tail, of the state at that
// position.
func (x *Index) View(ctx context.Context, tail []ledger.Entry) (*View, error) {
	x.mu.Lock()
	known := x.known
	x.mu.Unlock()
	v := &View{x: x, from: known.pos, head: known.pos, tail: slices.Clone(tail), id: known.ledger, recovery: known.recovery}
	for i := range tail {
		e := &tail[i]
		if e.Rev != v.head.Next() || e.Prev != v.head.Hash {
			return nil, &ledger.ChainError{Rev: e.Rev, Why: "it doesn't follow what the index holds"}
		}
		v.head = e.Pos()
		v.heads(e)
	}
	if !slices.ContainsFunc(tail, func(e ledger.Entry) bool { return e.Type == ledger.TypeRedact }) {
		return v, nil
	}
	if err := v.do(ctx, func() error { return v.unerased() }); err != nil {
		return nil, err
	}
	return v, nil
}

// heads takes from an entry what the state has from heads alone.
func (v *View) heads(e *ledger.Entry) {
	if e.Newer || e.Void() {
		return
	}
	switch {
	case e.Type == ledger.TypeLedger:
		v.id = e.Ledger
	case e.Type == ledger.TypeAdopt && e.ID != "":
		v.id = e.ID
	case e.Type == ledger.TypeRecover:
		v.recovery = e.Recovery
	}
}

// unerased refuses a file with bodies that the tail says are redacted: it must
// be made anew.
func (v *View) unerased() error {
	if v.over == nil {
		return nil
	}
	held, err := v.x.held(v.over.redacts, v.upTo)
	if err == nil && len(held) > 0 {
		err = errContent
	}
	return err
}

// do runs fn in a read transaction, with the view brought in line with the
// file as it is then.
func (v *View) do(ctx context.Context, fn func() error) error {
	v.x.mu.Lock()
	defer v.x.mu.Unlock()
	return v.locked(ctx, fn)
}

func (v *View) locked(ctx context.Context, fn func() error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if v.x.closed {
		return errors.New("read index: it is closed")
	}
	err := v.x.d.inTx("BEGIN", func() error {
		if err := v.align(); err != nil {
			return err
		}
		return fn()
	})
	switch {
	case err == nil:
		return nil
	case errors.Is(err, errStale):
		v.x.look()
		return &DamagedError{err}
	case busy(err): // somebody stopped in the middle of writing
		if lerr := v.x.leave(context.WithoutCancel(ctx), max(v.x.level+1, levelTemp)); lerr != nil {
			return lerr
		}
		return &DamagedError{err}
	}
	return v.x.replaced(ctx, err)
}

// align makes the overlay that leads from what the file holds now to the
// view's head. A file that is ahead by now is read as if it ended there.
func (v *View) align() error {
	b, err := v.x.readBase()
	if err != nil {
		return err
	}
	if b.filling { // it answers nothing yet
		b = &base{filling: true}
	}
	if v.seen != nil && v.seen.pos == b.pos && v.seen.filling == b.filling {
		return nil
	}
	rest, upTo, err := v.rest(b)
	if err != nil {
		return err
	}
	v.seen, v.over, v.upTo, v.placesNow, v.standings = b, nil, upTo, nil, map[*ledger.Scope]*standing{}
	v.spans = ledger.Spans{}
	for _, m := range b.marks {
		if m[0] <= upTo {
			v.spans.Recover(m[0], m[1])
		}
	}
	if len(rest) == 0 {
		return nil
	}
	if v.over, err = fold(b, rest, v.below); err != nil {
		return err
	}
	for _, m := range v.over.marks {
		v.spans.Recover(m[0], m[1])
	}
	return nil
}

// rest is the part of the tail behind b, and up to which revision the file
// counts.
func (v *View) rest(b *base) (rest []ledger.Entry, upTo int64, err error) {
	switch b.pos {
	case v.head:
		return nil, revision(b.pos), nil
	case v.from:
		return v.tail, revision(b.pos), nil
	}
	if b.pos.Hash != "" && b.pos.Rev < v.head.Rev {
		for i := range v.tail {
			if v.tail[i].Pos() == b.pos {
				return v.tail[i+1:], b.pos.Rev, nil
			}
		}
		return nil, 0, errStale
	}
	if v.head.Hash == "" {
		return nil, -1, nil
	}
	ok, err := v.x.contains(v.head)
	if err == nil && !ok {
		err = errStale
	}
	return nil, v.head.Rev, err
}

// revision is -1 for the position before the first entry.
func revision(p ledger.Pos) int64 {
	if p.Hash == "" {
		return -1
	}
	return p.Rev
}

// contains reports whether the file has an entry at p.
func (x *Index) contains(p ledger.Pos) (bool, error) {
	var hash any
	ok, err := x.d.one("SELECT hash FROM entries WHERE rev = ?", []any{p.Rev}, &hash)
	return ok && unpackHex(hash) == p.Hash, err
}

// held lists those of revs, up to upTo, whose bodies the file holds.
func (x *Index) held(revs []int64, upTo int64) (out []int64, err error) {
	for _, rev := range revs {
		var flags int
		ok, err := x.d.one("SELECT flags FROM entries WHERE rev = ?", []any{rev}, &flags)
		if err != nil {
			return nil, err
		}
		if ok && rev <= upTo && flags&(entryErased|entryNewer) == 0 {
			out = append(out, rev)
		}
	}
	return out, nil
}

// below finds a version in the file, whether it counts or not.
func (v *View) below(id string, rev int64) (*ver, error) {
	vs, err := v.inFile(map[string]bool{id: true})
	if err != nil {
		return nil, err
	}
	for _, w := range vs[id] {
		if w.Rev == rev {
			return w, v.complete([]*ver{w})
		}
	}
	return nil, nil
}

func (v *View) lens(s *ledger.Scope) (*lens, error) {
	l := &lens{d: v.x.d, spans: &v.spans, upTo: v.upTo, over: v.over}
	if s.Everything() {
		return l, nil
	}
	l.scope = s
	var err error
	l.places, err = v.places()
	return l, err
}

func (v *View) places() (places, error) {
	var err error
	if v.placesNow == nil {
		v.placesNow, err = readPlaces(v.x.d)
	}
	return v.placesNow, err
}

// Head implements ledger.Reader.
func (v *View) Head() ledger.Pos { return v.head }

// LedgerID implements ledger.Reader.
func (v *View) LedgerID() string { return v.id }

// Recovery implements ledger.Reader.
func (v *View) Recovery() string { return v.recovery }
