package filelog

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"holdfast/internal/durable"
	"holdfast/internal/ledger"
)

// Append implements ledger.Log, in the order of docs/ARCHITECTURE.md, "One
// save". It rests on no lock. A begun append is finished even if ctx ends.
func (l *Log) Append(ctx context.Context, after ledger.Pos, draft ledger.Draft) (ledger.Saved, error) {
	if err := ctx.Err(); err != nil {
		return ledger.Saved{}, fmt.Errorf("append: %w", err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if after.Hash == "" {
		return l.create(ctx, draft)
	}
	v, err := l.ready(ctx, after)
	if err != nil {
		return ledger.Saved{}, err
	}
	defer v.close()
	return l.save(context.WithoutCancel(ctx), v, draft)
}

// ready is a view in which after is the head and nothing forbids a save.
func (l *Log) ready(ctx context.Context, after ledger.Pos) (*view, error) {
	v := l.held
	l.held = nil
	err := l.patiently(ctx, func() (err error) {
		if v != nil && !l.still(v, after) {
			v.close()
			v = nil
		}
		if v == nil {
			v, err = l.view()
		}
		if err != nil {
			return err
		}
		if err = l.checkReady(ctx, v, after); err != nil {
			v.close()
			v = nil
		}
		return err
	})
	if errors.Is(err, ErrNone) {
		err = &ledger.ConflictError{}
	}
	return v, err
}

func (l *Log) checkReady(ctx context.Context, v *view, after ledger.Pos) error {
	// What Head checked a moment ago, under the same stamps, holds.
	if v.d == nil && l.unchanged(v, after) {
		v.head = after
	} else if err := l.checkHead(ctx, v); err != nil {
		return err
	}
	if v.head != after {
		return &ledger.ConflictError{Head: v.head}
	}
	if l.seen.newer {
		return &NewerError{Path: place(v.f.rev.Path(), revFile(after.Rev)), Rev: after.Rev}
	}
	for _, s := range v.st {
		if s.dir == nil {
			continue
		}
		if err := l.damageIn(s.dir); err != nil {
			return err
		}
	}
	if err := v.f.checkSealed(); err != nil {
		return err
	}
	if l.seen.becomes != "" {
		return l.finishAdoption(v)
	}
	err := l.ensureNote(v)
	if _, copied := errors.AsType[*CopyError](err); copied {
		return err
	}
	if err != nil { // it stops nothing: the save itself is safe
		v.notice = append(v.notice, "not noted: "+err.Error())
	}
	return nil
}

// unchanged: the head that was checked last is after, and neither the folders
// nor the mirrors changed since.
func (l *Log) unchanged(v *view, after ledger.Pos) bool {
	if !v.trusted || l.seen.head != after || l.seen.headGen != v.f.gen || v.s.head != after.Rev || l.seen.known == 0 {
		return false
	}
	if stamp := v.headStamp(); stamp != l.seen.headStamp || stamp == (Stamp{}) {
		return false
	}
	for _, s := range v.st {
		if s.tail.last.Hash != "" && l.seen.tails[s.root] != s.tail {
			return false
		}
	}
	return true
}

// still reports whether what Head opened a moment ago, under the lock, is still
// all there is: the folder at its path, nothing added, the head its file.
func (l *Log) still(v *view, after ledger.Pos) bool {
	if v.head != after || v.f.top.Same() != nil || l.seen.listing == nil {
		return false
	}
	rev, pk, err := v.f.stamps()
	if err != nil || l.seen.gen != v.f.gen || l.seen.rev != rev || l.seen.pack != pk || v.f.has(v.s.head+1) {
		return false
	}
	v.trusted = true
	return true
}

// checkSealed refuses a generation that a recovery sealed.
func (f *folder) checkSealed() error {
	_, err := f.genDir.Lstat(sealedName)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("look for a seal: %w", err)
	}
	return damage(DamageIncomplete, -1, place(f.genDir.Path(), sealedName), "a recovery was begun and not finished").may(briefly)
}

// sealer gives the key to seal with. Only drafts that take something away need
// it; others are saved unsealed, with a notice, where no key can be had.
func (l *Log) sealer(v *view, d *ledger.Draft) (ledger.Sealer, error) {
	if k := v.st.sealKey(); k != nil {
		return k, nil
	}
	k, err := l.m.makeKey(&v.notice)
	if err == nil {
		return k, nil
	}
	h := ledger.Head{Type: d.Type, HeadFields: d.HeadFields}
	if h.TakesAway() {
		return nil, &UnsealedError{Err: err}
	}
	v.notice = append(v.notice, "not sealed: "+err.Error())
	return nil, nil
}

func (l *Log) encode(v *view, draft ledger.Draft) (ledger.Entry, error) {
	sealer, err := l.sealer(v, &draft)
	if err != nil {
		return ledger.Entry{}, err
	}
	salt := make([]byte, 16)
	if _, err := io.ReadFull(l.m.Rand, salt); err != nil {
		return ledger.Entry{}, fmt.Errorf("make salt: %w", err)
	}
	return ledger.Encode(v.head, draft, salt, sealer)
}

// save publishes the entry behind the view's head, mirrors it, and packs when it
// is time.
func (l *Log) save(ctx context.Context, v *view, draft ledger.Draft) (ledger.Saved, error) {
	e, saved, err := l.commit(ctx, v, draft)
	if err != nil {
		return saved, err
	}
	l.protect(ctx, v, &e, &saved)
	saved.Warnings = v.notice
	return saved, nil
}

// protect does what follows a save that stands: whatever fails is told.
func (l *Log) protect(ctx context.Context, v *view, e *ledger.Entry, saved *ledger.Saved) {
	if err := l.extendMirror(ctx, v, e); err != nil {
		v.notice = append(v.notice, "not protected: "+err.Error())
	} else {
		saved.Protected = true
	}
	if v.packDue() {
		if err := l.packOldest(ctx, v); err != nil {
			v.notice = append(v.notice, err.Error())
			l.noteFound(v, err)
		}
	}
}

// commit publishes the entry: when it returns nil the save stands.
func (l *Log) commit(ctx context.Context, v *view, draft ledger.Draft) (ledger.Entry, ledger.Saved, error) {
	e, err := l.encode(v, draft)
	if err != nil {
		return e, ledger.Saved{}, err
	}
	pub, err := l.publish(ctx, v, &e)
	if err == nil {
		err = l.confirm(ctx, v, &e, pub)
	}
	if err != nil {
		l.seen.listing = nil
		return e, ledger.Saved{}, err
	}
	tell(&v.notice, pub)
	l.published(v, &e)
	return e, ledger.Saved{Pos: e.Pos(), At: e.At}, nil
}

func (l *Log) publish(ctx context.Context, v *view, e *ledger.Entry) (durable.Published, error) {
	tmp, err := v.f.tmp()
	if err != nil {
		return durable.Published{}, err
	}
	defer tmp.Close()
	pub, err := v.f.rev.Publish(tmp, revFile(e.Rev), e.Raw, sealedMode)
	if errors.Is(err, durable.ErrExists) {
		return pub, l.lost(ctx)
	}
	if unknown, ok := errors.AsType[*durable.UnknownOutcomeError](err); ok {
		return pub, &ledger.UnknownOutcomeError{Rev: e.Rev, Err: unknown.Err}
	}
	if err != nil {
		return pub, fmt.Errorf("publish revision %d: %w", e.Rev, err)
	}
	return pub, nil
}

// lost: somebody else's entry stands where ours wanted to be. The conflict
// carries the head as it is by now.
func (l *Log) lost(ctx context.Context) error {
	l.seen.listing = nil
	v, err := l.checked(ctx)
	if err != nil {
		return fmt.Errorf("look at who was first: %w", err)
	}
	v.close()
	return &ledger.ConflictError{Head: v.head}
}

// published notes our own addition, so that the next look need not list.
func (l *Log) published(v *view, e *ledger.Entry) {
	v.s.head, v.head = e.Rev, e.Pos()
	l.seen.head, l.seen.headGen, l.seen.headStamp, l.seen.newer = e.Pos(), v.f.gen, v.headStamp(), false
	l.seen.added = e
	l.seen.listing = nil
	if rev, pk, err := v.f.stamps(); err == nil {
		s := v.s
		l.seen.listing, l.seen.gen, l.seen.rev, l.seen.pack = &s, v.f.gen, rev, pk
	}
}

// Added is the entry that this Log appended last, if any: whoever appended it
// need not read it back.
func (l *Log) Added() (ledger.Entry, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.seen.added == nil {
		return ledger.Entry{}, false
	}
	return *l.seen.added, true
}

// noteFound notes damage that was found by the way.
func (l *Log) noteFound(v *view, err error) {
	if d, ok := errors.AsType[*DamageError](err); ok {
		if err := l.NoteDamage(v.f.id, d, l.m.Now()); err != nil {
			v.notice = append(v.notice, err.Error())
		}
	}
}
