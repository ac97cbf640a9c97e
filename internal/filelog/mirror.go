package filelog

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"holdfast/internal/durable"
	"holdfast/internal/ledger"
)

// tail is the end of a mirror.
type tail struct {
	id    string
	root  string     // state folder that it was found in; empty: there is no mirror
	last  ledger.Pos // of its last whole line that is an entry; zero if none
	stamp stamp
}

// knownTail is the tail of the mirror of the ledger seen last.
func (l *Log) knownTail() tail {
	if l.seen.id == "" {
		return tail{}
	}
	return l.tail(l.seen.id)
}

// tail finds the mirror of a ledger: of several the one with the further head.
// A mirror that can't be read counts as none here; doctor names it.
func (l *Log) tail(id string) tail {
	best := tail{id: id}
	for _, root := range l.m.State {
		t, err := l.tailIn(root, id)
		if err == nil && (best.root == "" || t.last.Rev > best.last.Rev) {
			best = t
		}
	}
	return best
}

func (l *Log) tailIn(root, id string) (tail, error) {
	d, err := l.m.stateOf(root, id)
	if err != nil {
		return tail{}, err
	}
	defer d.Close()
	info, err := d.Lstat(mirrorName)
	if err != nil {
		return tail{}, err
	}
	if m := l.seen.mirror; m.id == id && m.root == root && m.stamp.same(stampOf(info)) {
		return m, nil
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
	for chunk := int64(16 << 10); ; chunk *= 8 {
		from := max(0, info.Size()-chunk)
		b := make([]byte, info.Size()-from)
		if _, err := f.ReadAt(b, from); err != nil && !errors.Is(err, io.EOF) {
			return ledger.Pos{}, fmt.Errorf("read mirror: %w", err)
		}
		if p, ok := lastEntry(b); ok || from == 0 {
			return p, nil
		}
	}
}

// lastEntry finds the last line in b that ends and is an entry. The first line
// of b may be cut; an entry isn't recognised in it then.
func lastEntry(b []byte) (ledger.Pos, bool) {
	end := bytes.LastIndexByte(b, '\n') + 1
	for end > 0 {
		start := bytes.LastIndexByte(b[:end-1], '\n') + 1
		if e, err := ledger.Parse(b[start:end]); err == nil {
			return e.Pos(), true
		}
		end = start
	}
	return ledger.Pos{}, false
}

// checkMirror checks that the ledger still has what the mirror's last line
// acknowledged, unless a recovery says that it replaced it.
func (l *Log) checkMirror(f *folder, s *listing, head *ledger.Entry, t tail) error {
	if t.last.Hash == "" || t.last == head.Pos() {
		return nil
	}
	if t.last.Rev <= head.Rev {
		e, err := f.entry(s, t.last.Rev)
		if err == nil && e.Hash == t.last.Hash {
			return nil
		}
		if err != nil {
			return err
		}
	}
	if head.Recovery != "" && l.replaced(f, s, t) {
		return nil
	}
	return damage(DamageRegressed, t.last.Rev, filepath.Join(t.root, t.id, mirrorName),
		fmt.Sprintf("it has revision %d, which the ledger has not or has otherwise", t.last.Rev))
}

// replaced reports whether a recover entry names the mirror's last line as a
// head that it replaced, or a descendant of it.
func (l *Log) replaced(f *folder, s *listing, t tail) bool {
	seals, _ := l.m.Keys()
	for rev := s.head; rev > 0; rev-- {
		e, err := f.entry(s, rev)
		if err != nil {
			return false
		}
		if e.Type != ledger.TypeRecover || seals.Check(&e) != ledger.SealedHere {
			continue
		}
		for _, p := range e.Replaces {
			if p == t.last || p.Rev > t.last.Rev && l.mirrorDescends(t, p) {
				return true
			}
		}
	}
	return false
}

// mirrorDescends reports whether the mirror's own lines lead from its last line
// up to p. A mirror whose last line is t.last has no line behind it, so only an
// earlier, longer chain in the same mirror can show that.
func (l *Log) mirrorDescends(t tail, p ledger.Pos) bool {
	prev := map[string]ledger.Pos{}
	for e, err := range mirrorEntries(l.m, t.root, t.id) {
		if err == nil {
			prev[e.Hash] = ledger.Pos{Rev: e.Rev - 1, Hash: e.Prev}
		}
	}
	for p.Rev > t.last.Rev {
		q, ok := prev[p.Hash]
		if !ok {
			return false
		}
		p = q
	}
	return p == t.last
}

// extendMirror brings the mirror up to e and flushes it: what it lacks of the
// ledger before e, then e.
func (l *Log) extendMirror(ctx context.Context, f *folder, s *listing, e *ledger.Entry) error {
	d, err := l.mirrorDir(f.id)
	if err != nil {
		return err
	}
	defer d.Close()
	lock, err := d.Lock(ctx, mirrorLockName, l.m.LockWait, l.m.Owner)
	if err != nil && !errors.Is(err, durable.ErrLockUnsupported) {
		return fmt.Errorf("lock mirror: %w", err)
	}
	if lock != nil {
		defer lock.Unlock()
	}
	last := ledger.Pos{}
	info, err := d.Lstat(mirrorName)
	switch {
	case err == nil && l.seen.mirror.id == f.id && l.seen.mirror.stamp.same(stampOf(info)):
		last = l.seen.mirror.last
	case err == nil:
		if last, err = lastLine(d); err != nil {
			return err
		}
	case !errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("look at mirror: %w", err)
	}
	lines, err := missingLines(f, s, last, e)
	if err != nil || len(lines) == 0 {
		return err
	}
	if err := d.Append(mirrorName, lines, fileMode); err != nil {
		return fmt.Errorf("append to mirror: %w", err)
	}
	l.noteTail(d, f.id, e.Pos())
	return nil
}

// noteTail remembers the mirror's end after our own append.
func (l *Log) noteTail(d *durable.Dir, id string, last ledger.Pos) {
	if info, err := d.Lstat(mirrorName); err == nil {
		l.seen.mirror = tail{id: id, root: filepath.Dir(d.Path()), last: last, stamp: stampOf(info)}
	}
}

// mirrorDir opens the folder of the mirror to extend: where one is, that with
// the further head, else the preferred state folder.
func (l *Log) mirrorDir(id string) (*durable.Dir, error) {
	if t := l.seen.mirror; t.id == id && t.root != "" {
		if d, err := l.m.stateOf(t.root, id); err == nil {
			return d, nil
		}
	}
	if t := l.tail(id); t.root != "" {
		if d, err := l.m.stateOf(t.root, id); err == nil {
			return d, nil
		}
	}
	return l.m.makeStateOf(id)
}

// missingLines are the ledger's lines behind last, up to e. A last line of a
// replaced chain lacks everything from the recovery on that forked from it.
func missingLines(f *folder, s *listing, last ledger.Pos, e *ledger.Entry) ([]byte, error) {
	if last.Hash != "" && last.Rev == e.Rev-1 && last.Hash == e.Prev {
		return e.Raw, nil
	}
	var lines [][]byte
	at := *e
	for {
		if at.Pos() == last {
			break
		}
		lines = append(lines, at.Raw)
		if at.Rev == 0 || last.Hash != "" && at.Type == ledger.TypeRecover && last.Rev >= at.Rev {
			break
		}
		var err error
		if at, err = f.entry(s, at.Rev-1); err != nil {
			return nil, fmt.Errorf("complete mirror: %w", err)
		}
	}
	var b bytes.Buffer
	for i := len(lines) - 1; i >= 0; i-- {
		b.Write(lines[i])
	}
	return b.Bytes(), nil
}

// mirrorEntries yields the entries of a mirror in the order of its lines. Lines
// that are not entries are passed over; doctor counts them.
func mirrorEntries(m *Machine, root, id string) func(yield func(ledger.Entry, error) bool) {
	return func(yield func(ledger.Entry, error) bool) {
		d, err := m.stateOf(root, id)
		if err != nil {
			yield(ledger.Entry{}, err)
			return
		}
		defer d.Close()
		f, err := d.Open(mirrorName)
		if err != nil {
			if !errors.Is(err, os.ErrNotExist) {
				yield(ledger.Entry{}, err)
			}
			return
		}
		defer f.Close()
		for line, err := range lines(f) {
			if err != nil {
				yield(ledger.Entry{}, err)
				return
			}
			if e, err := ledger.Parse(line); err == nil && !yield(e, nil) {
				return
			}
		}
	}
}
