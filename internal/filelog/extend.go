package filelog

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"holdfast/internal/durable"
	"holdfast/internal/ledger"
)

// extendMirror brings one mirror up to e, which is in the ledger and flushed,
// and flushes it: that with the further head, or where that can't be written
// another. What the mirror lacks of the ledger before e comes first.
func (l *Log) extendMirror(ctx context.Context, v *view, e *ledger.Entry) error {
	if durable.Sabotage == durable.NoMirror {
		return nil
	}
	problem := errNoState
	for i, s := range v.st.byTail() {
		err := l.extendIn(ctx, v, s, e)
		if err == nil {
			return nil
		}
		if problem = errors.Join(problem, err); i == 0 {
			problem = err
		}
		if !unwritable(err) {
			break
		}
	}
	return problem
}

// extendIn works under the mirror's own lock, which is local to this machine as
// the ledger's may not be, and goes by what the mirror holds then.
func (l *Log) extendIn(ctx context.Context, v *view, s *state, e *ledger.Entry) error {
	dir, err := s.open(l.m, v.f.id)
	if err != nil {
		return err
	}
	lock, err := dir.Lock(ctx, mirrorLockName, l.m.LockWait, l.m.Owner)
	if err != nil && !errors.Is(err, durable.ErrLockUnsupported) {
		return fmt.Errorf("lock mirror: %w", err)
	}
	defer func() {
		if err := lock.Unlock(); err != nil {
			v.notice = append(v.notice, err.Error())
		}
	}()
	t, err := l.tailOf(dir, s.root, v.f.id)
	fresh := errors.Is(err, fs.ErrNotExist)
	if err != nil && !fresh {
		return fmt.Errorf("look at mirror: %w", err)
	}
	if flushed, doubtful := l.seen.doubt[s.root]; doubtful {
		t.last, t.stamp = flushed, Stamp{}
	}
	last, err := l.addLines(ctx, v, dir, t, e)
	if err == nil && fresh {
		err = s.settle(l.m)
	}
	l.doubt(s.root, t.last, err)
	if err != nil {
		return fmt.Errorf("extend mirror: %w", err)
	}
	if info, err := dir.Lstat(mirrorName); err == nil {
		l.remember(tail{id: v.f.id, root: s.root, last: last, stamp: stampOf(info)})
	}
	return nil
}

// doubt notes how far a mirror is flushed when a write of it failed: after a
// failed flush the system takes for written what is not, so the next lines
// begin from there once more.
func (l *Log) doubt(root string, flushed ledger.Pos, err error) {
	if err == nil {
		delete(l.seen.doubt, root)
		return
	}
	if l.seen.doubt == nil {
		l.seen.doubt = map[string]ledger.Pos{}
	}
	l.seen.doubt[root] = flushed
}

// addLines writes what the mirror lacks up to e, flushes it, and gives its new
// last line.
func (l *Log) addLines(ctx context.Context, v *view, dir *durable.Dir, t tail, e *ledger.Entry) (ledger.Pos, error) {
	add := func(b []byte) error { return dir.Append(mirrorName, b, fileMode) }
	if t.last.Hash == e.Prev && t.last.Next() == e.Rev { // nearly always
		return e.Pos(), add(e.Raw)
	}
	if t.last == e.Pos() {
		return t.last, add(nil) // another process wrote it: flushed here
	}
	from, err := l.missing(ctx, v, t, e)
	if err != nil {
		return t.last, err
	}
	if from > e.Rev {
		return t.last, add(nil)
	}
	// Others' entries: they may not have flushed them yet.
	if err := v.flush(); err != nil {
		return t.last, err
	}
	ls := lines{put: add}
	upTo := *v
	upTo.s.head = e.Rev
	if _, err := upTo.walk(ctx, from, func(e ledger.Entry) error { return ls.add(e.Raw) }); err != nil {
		return t.last, err
	}
	return e.Pos(), ls.flush()
}

// missing is the first revision whose line a mirror lacks; one behind e when it
// lacks none.
func (l *Log) missing(ctx context.Context, v *view, t tail, e *ledger.Entry) (int64, error) {
	last := t.last
	if last.Hash == "" {
		return l.unwritten(ctx, v, t, e)
	}
	if last.Rev < e.Rev {
		if in, err := v.holds(last, e); err != nil || in {
			return last.Rev + 1, err
		}
	} else if ahead, err := v.ahead(last); err != nil || ahead {
		return e.Rev + 1, err // another process was quicker
	}
	replaced, err := l.replaced(ctx, v, e, last)
	if err != nil {
		return 0, err
	}
	if !replaced {
		return 0, damage(DamageRegressed, last.Rev, place(t.root, t.id, mirrorName), "its last revision is not in the ledger")
	}
	return l.unwritten(ctx, v, t, e)
}

// unwritten compares line by line: for a mirror that ends in a chain that was
// replaced, has no end, or whose end is in doubt.
func (l *Log) unwritten(ctx context.Context, v *view, t tail, e *ledger.Entry) (int64, error) {
	if t.stamp == (Stamp{}) || t.stamp.Size == 0 {
		return 0, nil
	}
	type sum [16]byte // 16 of the 64 digits are enough to tell
	has := map[sum]bool{}
	for in, err := range l.entriesOf(ctx, t.root, t.id) {
		if err != nil {
			return 0, err
		}
		has[sum([]byte(in.Hash))] = true
	}
	upTo := *v
	upTo.s.head = e.Rev - 1
	from := e.Rev // once more if need be, so that the last line is the head's
	_, err := upTo.walk(ctx, 0, func(in ledger.Entry) error {
		if !has[sum([]byte(in.Hash))] {
			from = in.Rev
			return errStop
		}
		return nil
	})
	if err != nil && !errors.Is(err, errStop) {
		return 0, err
	}
	return from, nil
}

// ahead reports whether p is in the ledger as it is by now.
func (v *view) ahead(p ledger.Pos) (bool, error) {
	e, err := v.f.looseEntry(p.Rev)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil && e.Hash == p.Hash, err
}

// flush makes the names of revisions and packs durable, for an answer or a
// mirror that rests on entries that somebody else published.
func (v *view) flush() error {
	if err := v.f.rev.Sync(); err != nil {
		return fmt.Errorf("flush revisions: %w", err)
	}
	if v.f.pack != nil {
		if err := v.f.pack.Sync(); err != nil {
			return fmt.Errorf("flush packs: %w", err)
		}
	}
	return nil
}

// Secure makes sure that everything up to the head survives a power cut and is
// mirrored, for an answer that rests on an entry that somebody else may have
// left unflushed.
func (l *Log) Secure(ctx context.Context) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	v, err := l.checked(ctx)
	if err != nil {
		return err
	}
	defer v.close()
	if err := v.flush(); err != nil {
		return err
	}
	e, err := v.entry(v.head.Rev)
	if err != nil {
		return err
	}
	return l.extendMirror(context.WithoutCancel(ctx), v, &e)
}
