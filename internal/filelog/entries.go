package filelog

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"

	"holdfast/internal/ledger"
)

// Entries implements ledger.Log. Each entry's hash, body and place in the chain
// are checked. It takes no lock; entries that are packed while it reads are
// looked for again.
func (l *Log) Entries(ctx context.Context, after ledger.Pos) iter.Seq2[ledger.Entry, error] {
	return func(yield func(ledger.Entry, error) bool) {
		f, err := l.look()
		if errors.Is(err, ErrNone) {
			return
		}
		if err != nil {
			yield(ledger.Entry{}, err)
			return
		}
		defer f.close()
		p := after
		for try := 0; try < 3; try++ {
			s, err := f.list()
			if err != nil {
				yield(ledger.Entry{}, err)
				return
			}
			p, err = f.walk(ctx, s, p, yield)
			if err == nil {
				return
			}
			if !errors.Is(err, fs.ErrNotExist) || try == 2 {
				yield(ledger.Entry{}, err)
				return
			}
			if err := f.reopenPacks(); err != nil {
				yield(ledger.Entry{}, err)
				return
			}
		}
	}
}

var errStop = errors.New("stop")

// walk yields what lies behind p. A nil error means that all was yielded or the
// consumer stopped.
func (f *folder) walk(ctx context.Context, s *listing, p ledger.Pos, yield func(ledger.Entry, error) bool) (ledger.Pos, error) {
	emit := func(e ledger.Entry) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		if e.Prev != p.Hash {
			return damage(DamageChanged, e.Rev, f.genDir.Path(), "it doesn't follow the entry before it")
		}
		p = e.Pos()
		if !yield(e, nil) {
			return errStop
		}
		return nil
	}
	for p.Next() <= s.head {
		var err error
		if pk, ok := s.packOf(p.Next()); ok {
			err = f.walkPack(pk, p.Next(), emit)
		} else {
			var e ledger.Entry
			if e, err = f.looseEntry(p.Next()); err == nil {
				err = emit(e)
			}
		}
		if errors.Is(err, errStop) {
			return p, nil
		}
		if err != nil {
			return p, err
		}
	}
	return p, nil
}

// Entry reads the entry at rev.
func (l *Log) Entry(_ context.Context, rev int64) (ledger.Entry, error) {
	f, err := l.look()
	if err != nil {
		return ledger.Entry{}, err
	}
	defer f.close()
	s, err := f.list()
	if err != nil {
		return ledger.Entry{}, err
	}
	if rev < 0 || rev > s.head {
		return ledger.Entry{}, fmt.Errorf("read revision %d: %w", rev, fs.ErrNotExist)
	}
	return f.entry(s, rev)
}

func (f *folder) reopenPacks() error {
	d, err := f.genDir.Sub(packName)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("open packs: %w", err)
	}
	if f.pack != nil {
		f.pack.Close()
	}
	f.pack = d
	return nil
}

// walkPack gives the entries of a pack from rev on. A pack that ends early or
// holds other revisions is damage.
func (f *folder) walkPack(p pack, rev int64, emit func(ledger.Entry) error) error {
	path := place(f.pack.Path(), p.name())
	file, err := f.pack.Open(p.name())
	if err != nil {
		return fmt.Errorf("open pack: %w", err)
	}
	defer file.Close()
	next := p.from
	for line, err := range lines(file) {
		if err != nil {
			return fmt.Errorf("read pack: %w", err)
		}
		if next > p.to {
			return damage(DamageChanged, next, path, "it has more lines than revisions")
		}
		if next >= rev {
			e, err := checkEntry(path, next, line)
			if err != nil {
				return err
			}
			if err := emit(e); err != nil {
				return err
			}
		}
		next++
	}
	if next != p.to+1 {
		return damage(DamageMissing, next, path, "it ends early")
	}
	return nil
}

func (f *folder) packedEntry(p pack, rev int64) (ledger.Entry, error) {
	var found ledger.Entry
	err := f.walkPack(p, rev, func(e ledger.Entry) error {
		found = e
		return errStop
	})
	if errors.Is(err, errStop) {
		return found, nil
	}
	return found, err
}

// lines yields the lines of r with their newlines; a last line without one
// comes as it is. A line longer than an entry can be is cut there, so that it
// is refused as an entry, and the reading goes on behind its end.
func lines(r io.Reader) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		br := bufio.NewReaderSize(r, ledger.MaxEntry+1)
		for {
			line, err := br.ReadSlice('\n')
			if len(line) > 0 {
				// The consumer keeps the line: the buffer is reused.
				if !yield(append([]byte(nil), line...), nil) {
					return
				}
			}
			for errors.Is(err, bufio.ErrBufferFull) {
				_, err = br.ReadSlice('\n')
			}
			if errors.Is(err, io.EOF) {
				return
			}
			if err != nil {
				yield(nil, err)
				return
			}
		}
	}
}
