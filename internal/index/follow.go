package index

import (
	"context"
	"errors"
	"iter"

	"holdfast/internal/ledger"
)

// Source is the part of a ledger.Log that the index reads.
type Source interface {
	Entries(ctx context.Context, after ledger.Pos) iter.Seq2[ledger.Entry, error]
}

// Errors that end one attempt to follow.
var (
	errOvertaken = errors.New("another process was quicker")
	errRedacted  = errors.New("bodies in the index were redacted")
)

// Follow applies the entries of log behind what the index holds, up to the
// log's head. Where the file can't be written, or another process is writing
// it, it is left as it is, without an error: Base tells how far it went, and
// what is behind goes to View. It is a *RegressedError that the log doesn't
// have what the index holds. Any other error is the log's.
func (x *Index) Follow(ctx context.Context, log Source) error {
	f := &follower{x: x, log: log}
	err := f.once(ctx)
	for !f.done(ctx, &err) {
		err = f.once(ctx)
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.look()
	return err
}

// follower brings one index up to one log's head.
type follower struct {
	x   *Index
	log Source

	filling  bool // the file is not yet complete
	discards int
}

// maxDiscards is how many times a file is made anew before memory is used.
const maxDiscards = 2

// done decides what follows an attempt that ended with err. It leaves there
// what Follow answers.
func (f *follower) done(ctx context.Context, err *error) bool {
	var e *ioError
	switch {
	case *err == nil || !errors.As(*err, &e):
		return true
	case ctx.Err() != nil:
		*err = ctx.Err()
		return true
	case errors.Is(e, errOvertaken):
		return false
	case busy(e):
		return f.turn(ctx, err)
	}
	x := f.x
	x.mu.Lock()
	defer x.mu.Unlock()
	if damaged(e) || errors.Is(e, errRedacted) {
		f.discards++
		if f.discards <= maxDiscards {
			*err = x.discard(ctx)
		} else { // it goes wrong again and again
			*err = x.leave(ctx, levelMemory)
		}
		return *err != nil
	}
	// Not writable, disk full: it is read on, unless there is nothing to read.
	if b, rerr := x.readBase(); rerr != nil || b.filling {
		*err = x.leave(ctx, max(x.level+1, levelTemp))
		return *err != nil
	}
	x.where, *err = InReadOnly, nil
	return true
}

// leave takes another place.
func (x *Index) leave(ctx context.Context, level int) error {
	if x.level == levelMemory { // there is no other
		return errors.New("index: memory can't be written")
	}
	_ = x.d.close()
	return x.settle(ctx, level)
}

// How long another writer is waited for while the file doesn't get on, in units
// of writeWait. One that is complete can be left behind.
const (
	patience        = 4
	patienceFilling = 40
)

// turn waits for another writer, and decides as done does.
func (f *follower) turn(ctx context.Context, err *error) bool {
	var last ledger.Pos
	for waits := 0; ; waits++ {
		b, free, werr := f.x.free()
		switch {
		case ctx.Err() != nil:
			*err = ctx.Err()
			return true
		case werr != nil:
			*err = &ioError{werr}
			return f.done(ctx, err)
		case free:
			return false
		case b.pos != last:
			last, waits = b.pos, 0
		case b.vn >= 0 && !b.filling && waits >= patience:
			*err = nil
			return true
		case waits >= patienceFilling || b.vn < 0:
			f.x.mu.Lock()
			defer f.x.mu.Unlock()
			*err = f.x.leave(ctx, max(f.x.level+1, levelTemp))
			return *err != nil
		}
	}
}

// free tells whether the file can be written now, and what it holds.
func (x *Index) free() (*base, bool, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	werr := x.write(func() error { return nil })
	if werr != nil && !busy(werr) {
		return nil, false, werr
	}
	b, err := x.readBase()
	if busy(err) { // and not to be read either, after a long wait
		b, err = &base{vn: -1}, nil
	}
	return b, werr == nil, err
}

// ioError marks what went wrong with the file, apart from the log's errors.
type ioError struct{ err error }

func (e *ioError) Error() string { return "write index: " + e.err.Error() }
func (e *ioError) Unwrap() error { return e.err }

func (f *follower) once(ctx context.Context) error {
	x := f.x
	x.mu.Lock()
	b, err := x.readBase()
	readOnly := x.where == InReadOnly
	x.mu.Unlock()
	if err != nil {
		return &ioError{err}
	}
	if readOnly {
		return f.known(ctx, b)
	}
	if f.filling = b.filling; b.filling {
		if err := x.roomy(); err != nil {
			return &ioError{err}
		}
		defer x.slim()
	}
	if err := f.redactedSince(ctx, b); err != nil {
		return err
	}
	seen := b.pos
	q := f.feed(ctx, seen)
	defer q.close()
	for more := true; more && err == nil; {
		more, err = f.put(q, &seen)
	}
	if err == nil {
		err = q.err
	}
	var e *ioError
	if seen == b.pos && !errors.As(err, &e) {
		// Nothing followed. If what the index holds isn't in the log, that is
		// why, and more to the point than what the log says about it.
		if kerr := f.known(ctx, b); err == nil || errors.As(kerr, new(*RegressedError)) {
			err = kerr
		}
	}
	if err != nil {
		return err
	}
	return f.complete(seen)
}

// known checks that what the index holds is in the log.
func (f *follower) known(ctx context.Context, b *base) error {
	if b.pos.Hash == "" {
		return nil
	}
	var before ledger.Pos
	if b.pos.Rev > 0 {
		var hash any
		f.x.mu.Lock()
		ok, err := f.x.d.one("SELECT hash FROM entries WHERE rev = ?", []any{b.pos.Rev - 1}, &hash)
		f.x.mu.Unlock()
		if err == nil && !ok {
			err = errContent
		}
		if err != nil {
			return &ioError{err}
		}
		before = ledger.Pos{Rev: b.pos.Rev - 1, Hash: unpackHex(hash)}
	}
	for e, err := range f.log.Entries(ctx, before) {
		if err == nil && e.Pos() == b.pos {
			return nil
		}
		break
	}
	// A log may answer a position that it doesn't know in any way.
	for e, err := range f.log.Entries(ctx, ledger.Pos{}) {
		if err != nil {
			return err
		}
		if e.Rev < b.pos.Rev {
			continue
		}
		if e.Pos() == b.pos {
			return nil
		}
		break
	}
	return &RegressedError{Base: b.pos}
}

// put applies entries behind seen in one transaction, and reports whether there
// were any. While a file is filled nobody else needs it: then the transaction
// is a long one, and takes the entries as they come.
func (f *follower) put(q *feed, seen *ledger.Pos) (bool, error) {
	x := f.x
	items := q.next()
	if items == nil {
		return false, nil
	}
	for !f.filling && len(items) < x.limits.batch {
		c := q.next()
		if c == nil {
			break
		}
		items = append(items, c...)
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	var next ledger.Pos
	err := x.write(func() error {
		b, err := x.readBase()
		if err != nil {
			return err
		}
		if b.pos != *seen || b.filling != f.filling {
			return errOvertaken
		}
		w := newWriter(x.d, b)
		for n := 0; items != nil; {
			if err := w.all(items); err != nil {
				return err
			}
			if n += len(items); !b.filling || n >= x.limits.fill {
				break
			}
			items = q.next()
		}
		next = b.pos
		return x.end(w)
	})
	if err != nil {
		return false, &ioError{err}
	}
	*seen = next
	if x.opt.Progress != nil {
		x.opt.Progress(next.Rev)
	}
	return true, nil
}

// end writes what follows from the entries that w applied.
func (x *Index) end(w *writer) error {
	b := w.b
	err := w.finish()
	if err == nil {
		err = x.redacted(w)
	}
	if err != nil {
		return err
	}
	if b.filling {
		return x.writeBase(b)
	}
	everything := &lens{d: x.d, spans: &b.spans, upTo: b.pos.Rev}
	t := table{x.d, 0}
	if w.recovered || len(w.changed) > x.limits.change {
		err = t.fill(everything)
	} else {
		err = t.refresh(everything, w.changed)
	}
	if err == nil {
		err = x.d.exec("UPDATE scopes SET upto = ? WHERE sid = 0", b.pos.Rev)
	}
	if err == nil {
		err = x.writeBase(b)
	}
	return err
}
