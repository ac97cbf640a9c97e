package filelog

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"holdfast/internal/durable"
	"holdfast/internal/ledger"
)

// entry reads one revision by its number. Its own hash and body are checked,
// its place in the chain is not.
func (f *folder) entry(s *listing, rev int64) (ledger.Entry, error) {
	if s.isPacked(rev) {
		return f.packedEntry(packOf(rev), rev)
	}
	return f.looseEntry(rev)
}

func (f *folder) looseEntry(rev int64) (ledger.Entry, error) {
	path := place(f.rev.Path(), revFile(rev))
	b, err := f.readRevision(revFile(rev), ledger.MaxEntry)
	if tooLarge, ok := errors.AsType[*durable.TooLargeError](err); ok {
		return ledger.Entry{}, &DamageError{Kind: DamageChanged, Rev: rev, Path: path, Why: "it is larger than a revision can be", Err: tooLarge}
	}
	if err != nil {
		return ledger.Entry{}, fmt.Errorf("read revision %d: %w", rev, err)
	}
	return checkEntry(path, rev, b)
}

func checkEntry(path string, rev int64, line []byte) (ledger.Entry, error) {
	e, err := ledger.Parse(line)
	if err != nil && (len(line) == 0 || line[len(line)-1] != '\n') {
		return e, &DamageError{Kind: DamageUnreadable, Rev: rev, Path: path, Why: "it is cut short", Err: err, cut: true}
	}
	if err != nil {
		return e, asDamage(path, rev, err)
	}
	if e.Rev != rev {
		return e, damage(DamageChanged, rev, path, "it holds another revision")
	}
	if !e.CheckBody() {
		return e, damage(DamageChanged, rev, path, "its body was changed")
	}
	return e, nil
}

// walkPack gives the entries of a pack from rev on. A pack that ends early or
// holds other revisions is damage.
func (f *folder) walkPack(p pack, rev int64, emit func(ledger.Entry) error) error {
	path := place(f.pack.Path(), p.name())
	file, err := f.openPack(p.name())
	if err != nil {
		return fmt.Errorf("open pack: %w", err)
	}
	defer file.Close()
	r := lineReader{r: file}
	for next := p.from; ; next++ {
		line, err := r.next()
		switch {
		case errors.Is(err, io.EOF) && next == p.to+1:
			return nil
		case errors.Is(err, io.EOF):
			return damage(DamageMissing, next, path, "it ends early").may(briefly)
		case err != nil:
			return fmt.Errorf("read pack: %w", err)
		case next > p.to:
			return damage(DamageChanged, next, path, "it has more lines than revisions")
		case next < rev:
			continue
		}
		e, err := checkEntry(path, next, line)
		if err != nil {
			return err
		}
		if err := emit(e); err != nil {
			return err
		}
	}
}

// errStop ends a walk without being an error.
var errStop = errors.New("stop")

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

// lineReader cuts lines from r. The lines share large blocks, so that they need
// not be copied and may be kept: a block is never written to again.
type lineReader struct {
	r     io.Reader
	block []byte
	start int
	end   int
	eof   bool
	at    int64 // place of the block in what is read
}

// offset is where the next line begins.
func (l *lineReader) offset() int64 { return l.at + int64(l.start) }

// blockSize is a little more than two of the largest lines.
const blockSize = 2*ledger.MaxEntry + 4096

// next gives the next line with its newline; a last line without one comes as
// it is. A line longer than an entry can be is cut, so that it is refused as an
// entry, and the reading goes on behind its end. io.EOF ends it.
func (l *lineReader) next() ([]byte, error) {
	from := l.start
	for {
		if i := bytes.IndexByte(l.block[from:l.end], '\n'); i >= 0 {
			return l.cut(from + i + 1), nil
		}
		if l.end-l.start > ledger.MaxEntry {
			line := l.cut(l.start + ledger.MaxEntry)
			return line, l.skip()
		}
		if l.eof {
			if l.start == l.end {
				return nil, io.EOF
			}
			return l.cut(l.end), nil
		}
		from = l.end
		if err := l.fill(&from); err != nil {
			return nil, err
		}
	}
}

func (l *lineReader) cut(end int) []byte {
	line := l.block[l.start:end:end]
	l.start = end
	return line
}

// skip passes over the rest of a line.
func (l *lineReader) skip() error {
	for {
		if i := bytes.IndexByte(l.block[l.start:l.end], '\n'); i >= 0 {
			l.start += i + 1
			return nil
		}
		l.start = l.end
		if l.eof {
			return nil
		}
		var from int
		if err := l.fill(&from); err != nil {
			return err
		}
	}
}

// fill reads more, in a new block when the old one is full. from is moved along.
func (l *lineReader) fill(from *int) error {
	if l.end == len(l.block) {
		block := make([]byte, blockSize)
		l.at += int64(l.start)
		l.end = copy(block, l.block[l.start:l.end])
		*from -= l.start
		l.block, l.start = block, 0
	}
	n, err := l.r.Read(l.block[l.end:])
	l.end += n
	if errors.Is(err, io.EOF) {
		l.eof = true
		return nil
	}
	return err
}
