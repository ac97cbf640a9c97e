package filelog

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"time"

	"holdfast/internal/durable"
	"holdfast/internal/ledger"
)

// looks is how often a reading that was disturbed goes on where it was.
const looks = 6

// Entries implements ledger.Log. Each entry's hash, body, seal and place in the
// chain are checked. It takes no lock and writes nothing; entries that are
// packed while it reads are looked for again. A damaged ledger yields what
// stands before the damage, and then it; a foreign one nothing but the error.
// Where after is not in the ledger, that is a *ledger.ChainError.
func (l *Log) Entries(ctx context.Context, after ledger.Pos) iter.Seq2[ledger.Entry, error] {
	return func(yield func(ledger.Entry, error) bool) {
		p := after
		for tries := 1; ; tries++ {
			from := p
			err := l.read(ctx, &p, yield)
			if p != from {
				tries = 1
			}
			switch {
			case err == nil, errors.Is(err, errStop), errors.Is(err, ErrNone):
				return
			case tries < looks && passes(err):
				err = sleep(ctx, time.Millisecond<<tries)
			default:
				err = l.unfinished(err)
				yield(ledger.Entry{}, err)
				return
			}
			if err != nil {
				yield(ledger.Entry{}, err)
				return
			}
		}
	}
}

// passes: a writer at work may have caused it.
func passes(err error) bool {
	d, ok := errors.AsType[*DamageError](err)
	return ok && d.passing != stands || errors.Is(err, fs.ErrNotExist) || errors.Is(err, durable.ErrReplaced)
}

// unfinished: a newest revision that is not whole may be in the making, unless
// its damage was noted.
func (l *Log) unfinished(err error) error {
	d, ok := errors.AsType[*DamageError](err)
	if !ok || d.torn == nil || l.NotedDamage(l.ID()) != nil {
		return err
	}
	return &UnfinishedError{Path: d.Path, Rev: d.Rev}
}

// read yields what lies behind p, which moves along.
func (l *Log) read(ctx context.Context, p *ledger.Pos, yield func(ledger.Entry, error) bool) error {
	l.mu.Lock()
	v, err := l.legible(ctx)
	l.mu.Unlock()
	if err != nil {
		return err
	}
	defer v.close()
	first, seals := true, v.seals.Checker()
	_, err = v.walk(ctx, p.Next(), func(e ledger.Entry) error {
		if e.Prev != p.Hash {
			return v.misplaced(&e, *p, first)
		}
		if seals.Check(&e) == ledger.BadSeal {
			return damage(DamageChanged, e.Rev, v.pathOf(e.Rev), "its seal is not this machine's")
		}
		*p, first = e.Pos(), false
		if !yield(e, nil) {
			return errStop
		}
		return nil
	})
	if err == nil && v.d != nil {
		return v.d
	}
	if d, ok := errors.AsType[*DamageError](err); ok {
		v.torn(d)
	}
	return err
}

// misplaced tells a caller's position that isn't in the ledger from an entry
// that doesn't follow the one before it.
func (v *view) misplaced(e *ledger.Entry, after ledger.Pos, first bool) error {
	if first && after.Hash != "" {
		before, err := v.entry(after.Rev)
		if err != nil {
			return err
		}
		if before.Hash != after.Hash {
			return &ledger.ChainError{Rev: e.Rev, Why: "the position before it is not in this ledger"}
		}
	}
	return damage(DamageChanged, e.Rev, v.pathOf(e.Rev), "it doesn't follow the entry before it")
}

// pathOf is the file that holds a revision, for messages.
func (v *view) pathOf(rev int64) string {
	if v.s.isPacked(rev) {
		return place(v.f.genDir.Path(), packName, packOf(rev).name())
	}
	return place(v.f.rev.Path(), revFile(rev))
}

// Entry reads the entry at rev, and checks that the ledger goes on from it.
func (l *Log) Entry(ctx context.Context, rev int64) (ledger.Entry, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	var e ledger.Entry
	err := l.patiently(ctx, func() error {
		v, err := l.view()
		if err != nil {
			return err
		}
		defer v.close()
		if err := l.checkKnown(ctx, v); err != nil {
			return err
		}
		e, err = v.inChain(rev)
		return err
	})
	if errors.Is(err, ErrNone) {
		err = fmt.Errorf("read revision %d: %w", rev, fs.ErrNotExist)
	}
	return e, err
}

// errAbsent is fs.ErrNotExist that no writer can have caused.
var errAbsent = errors.New("there is no such revision")

func (v *view) inChain(rev int64) (ledger.Entry, error) {
	if rev < 0 || rev > v.s.head {
		return ledger.Entry{}, fmt.Errorf("read revision %d: %w: %w", rev, errAbsent, fs.ErrNotExist)
	}
	e, err := v.entry(rev)
	if err != nil {
		return e, err
	}
	if v.seals.Check(&e) == ledger.BadSeal {
		return e, damage(DamageChanged, rev, v.pathOf(rev), "its seal is not this machine's")
	}
	if rev < v.s.head {
		next, err := v.entry(rev + 1)
		if err != nil {
			return e, err
		}
		if next.Prev != e.Hash {
			return e, damage(DamageChanged, rev, v.pathOf(rev), "the entry after it doesn't follow it")
		}
	}
	return e, nil
}
