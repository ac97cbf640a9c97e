package filelog

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"

	"holdfast/internal/durable"
	"holdfast/internal/ledger"
)

// tail is the end of a mirror.
type tail struct {
	id    string
	root  string
	last  ledger.Pos // of its last whole line that is an entry; zero if there is none
	stamp Stamp      // of the file; zero if there is none
}

// tailIn finds the end of a mirror by names.
func (l *Log) tailIn(root, id string) (tail, error) {
	d, err := l.m.stateOf(root, id)
	if err != nil {
		return tail{}, err
	}
	defer d.Close()
	return l.tailOf(d, root, id)
}

func (l *Log) tailOf(d *durable.Dir, root, id string) (tail, error) {
	info, err := d.Lstat(mirrorName)
	if err != nil {
		return tail{}, err
	}
	if t := l.seen.tails[root]; t.id == id && t.stamp == stampOf(info) {
		return t, nil
	}
	last, err := lastLine(d)
	return tail{id: id, root: root, last: last, stamp: stampOf(info)}, err
}

// lastLine finds the last whole line that is an entry. A torn line behind it is
// passed over.
func lastLine(d *durable.Dir) (ledger.Pos, error) {
	f, err := d.Open(mirrorName)
	if err != nil {
		return ledger.Pos{}, fmt.Errorf("open mirror: %w", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return ledger.Pos{}, fmt.Errorf("open mirror: %w", err)
	}
	const large = blockSize // holds any line whole
	for end, chunk := info.Size(), int64(16<<10); end > 0; chunk = large {
		from := max(0, end-chunk)
		b := make([]byte, end-from)
		if _, err := f.ReadAt(b, from); err != nil {
			return ledger.Pos{}, fmt.Errorf("read mirror: %w", err)
		}
		p, ok := lastEntry(b)
		if ok || from == 0 {
			return p, nil
		}
		// The first line in b may be cut: it is looked at again, whole. One that
		// a large window can't hold is no entry.
		if start := int64(bytes.IndexByte(b, '\n') + 1); start > 0 && from+start < end {
			end = from + start
		} else if chunk == large {
			end = from
		}
	}
	return ledger.Pos{}, nil
}

// lastEntry finds the last line in b that ends and is an entry.
func lastEntry(b []byte) (ledger.Pos, bool) {
	end := bytes.LastIndexByte(b, '\n') + 1
	for end > 0 {
		begin := bytes.LastIndexByte(b[:end-1], '\n') + 1
		if e, err := ledger.Parse(b[begin:end]); err == nil {
			return e.Pos(), true
		}
		end = begin
	}
	return ledger.Pos{}, false
}

// Mirror is a second copy of a ledger, as it lies in a state folder.
type Mirror struct {
	ID   string
	Root string     // state folder
	Path string     // the file
	Last ledger.Pos // of its last whole line
	Size int64
	Torn bool // its last line has no end
	Err  error
}

// Mirrors lists the mirrors of a ledger that are here, those that can't be read
// with the reason. It needs no ledger.
func (l *Log) Mirrors(_ context.Context, id string) []Mirror {
	var out []Mirror
	for _, root := range l.m.State {
		d, err := l.m.stateOf(root, id)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		m := Mirror{ID: id, Root: root, Path: place(root, id, mirrorName), Err: err}
		if err == nil {
			m.Err = m.look(d)
			d.Close()
		}
		if !errors.Is(m.Err, fs.ErrNotExist) {
			out = append(out, m)
		}
	}
	return out
}

func (m *Mirror) look(d *durable.Dir) (err error) {
	if m.Last, err = lastLine(d); err != nil {
		return err
	}
	f, err := d.Open(mirrorName)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || info.Size() == 0 {
		return err
	}
	m.Size = info.Size()
	var last [1]byte
	if _, err := f.ReadAt(last[:], m.Size-1); err != nil {
		return fmt.Errorf("read mirror: %w", err)
	}
	m.Torn = last[0] != '\n'
	return nil
}

// Line is an entry with where it stands.
type Line struct {
	Path  string
	Line  int64 // from 1
	Entry ledger.Entry
}

// MirrorEntries yields the lines of a mirror in their order. A line that is no
// entry, or whose body is another, comes with an error, and the next line after
// it; a line may stand twice, and of several chains. It needs no ledger.
func (l *Log) MirrorEntries(ctx context.Context, m Mirror) iter.Seq2[Line, error] {
	return func(yield func(Line, error) bool) {
		d, err := l.m.stateOf(m.Root, m.ID)
		if err != nil {
			yield(Line{Path: m.Path}, fmt.Errorf("open mirror: %w", err))
			return
		}
		defer d.Close()
		f, err := d.Open(mirrorName)
		if err != nil {
			yield(Line{Path: m.Path}, fmt.Errorf("open mirror: %w", err))
			return
		}
		defer f.Close()
		r := lineReader{r: f}
		for n := int64(1); ; n++ {
			line, err := r.next()
			if errors.Is(err, io.EOF) {
				return
			}
			if err == nil {
				err = ctx.Err()
			}
			at := Line{Path: m.Path, Line: n}
			if err != nil {
				yield(at, fmt.Errorf("read mirror: %w", err))
				return
			}
			at.Entry, err = ledger.Parse(line)
			if err == nil && !at.Entry.CheckBody() {
				err = damage(DamageChanged, at.Entry.Rev, m.Path, "its body was changed")
			}
			if !yield(at, err) {
				return
			}
		}
	}
}

// entriesOf yields the entries of a mirror, if there is one; lines that are none
// are passed over.
func (l *Log) entriesOf(ctx context.Context, root, id string) iter.Seq2[ledger.Entry, error] {
	return func(yield func(ledger.Entry, error) bool) {
		for line, err := range l.MirrorEntries(ctx, Mirror{ID: id, Root: root, Path: place(root, id, mirrorName)}) {
			if errors.Is(err, fs.ErrNotExist) {
				return
			}
			if !Damaged(err) && !yield(line.Entry, err) {
				return
			}
		}
	}
}
