package filelog

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"

	"holdfast/internal/ledger"
)

// walk gives the entries from revision next up to the view's head, in order, and
// returns the revision at which it ended. Entries are whole; their places in the
// chain are emit's to check. Those that are packed meanwhile are looked for
// again.
func (v *view) walk(ctx context.Context, next int64, emit func(ledger.Entry) error) (int64, error) {
	var stopped error
	count := func(e ledger.Entry) error {
		if stopped = ctx.Err(); stopped == nil {
			stopped = emit(e)
		}
		if stopped != nil {
			return errStop
		}
		next = e.Rev + 1
		return nil
	}
	for moved := 0; next <= v.s.head; {
		var err error
		if v.s.isPacked(next) {
			err = v.f.walkPack(packOf(next), next, count)
		} else {
			var e ledger.Entry
			if e, err = v.f.looseEntry(next); err == nil {
				err = count(e)
			}
		}
		if stopped != nil {
			return next, stopped
		}
		if errors.Is(err, fs.ErrNotExist) && moved < 3 {
			moved++
			err = v.relist()
		}
		if err != nil {
			return next, err
		}
	}
	return next, nil
}

// relist looks anew at what is packed, and keeps the view's end.
func (v *view) relist() error {
	s, d, err := v.f.list()
	if err != nil {
		return err
	}
	if s.head < v.s.head {
		if d != nil {
			return d
		}
		return fmt.Errorf("list revisions: %w", fs.ErrNotExist)
	}
	v.s.packed, v.s.covers = min(s.packed, v.s.head/PackSize*PackSize), s.covers
	return nil
}

// back gives the entries from the view's head downwards until look says that it
// has seen enough. Each pack is read once.
func (v *view) back(ctx context.Context, look func(*ledger.Entry) (enough bool)) error {
	rev := v.s.head
	for ; rev > v.s.packed || rev == 0; rev-- {
		e, err := v.f.looseEntry(rev)
		if errors.Is(err, fs.ErrNotExist) && rev > 0 {
			if err := v.relist(); err != nil {
				return err
			}
			if v.s.isPacked(rev) {
				break
			}
		}
		if err == nil {
			err = ctx.Err()
		}
		if err != nil || look(&e) {
			return err
		}
		if rev == 0 {
			return nil
		}
	}
	for rev > 0 {
		var es []ledger.Entry
		p := packOf(rev)
		if err := v.f.walkPack(p, p.from, func(e ledger.Entry) error { es = append(es, e); return ctx.Err() }); err != nil {
			return err
		}
		for i := rev - p.from; i >= 0; i-- {
			if look(&es[i]) {
				return nil
			}
		}
		rev = p.from - 1
	}
	e, err := v.f.looseEntry(0)
	if err == nil {
		look(&e)
	}
	return err
}

// lines collects lines, and hands them on in large pieces.
type lines struct {
	buf bytes.Buffer
	put func([]byte) error
}

const piece = 4 << 20

func (l *lines) add(line []byte) error {
	l.buf.Write(line)
	if l.buf.Len() < piece {
		return nil
	}
	return l.flush()
}

func (l *lines) flush() error {
	if l.buf.Len() == 0 {
		return nil
	}
	defer l.buf.Reset()
	return l.put(l.buf.Bytes())
}
