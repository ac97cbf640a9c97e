package filelog

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"holdfast/internal/durable"
	"holdfast/internal/ledger"
)

// Append implements ledger.Log, in the order of docs/ARCHITECTURE.md, "One
// save". It rests on no lock. A begun append is finished even if ctx ends.
func (l *Log) Append(ctx context.Context, after ledger.Pos, draft ledger.Draft) (ledger.Saved, error) {
	if err := ctx.Err(); err != nil {
		return ledger.Saved{}, fmt.Errorf("append: %w", err)
	}
	ctx = context.WithoutCancel(ctx)
	l.mu.Lock()
	defer l.mu.Unlock()
	if after.Hash == "" {
		return l.create(ctx, draft)
	}
	f, s, err := l.prepare(after)
	if err != nil {
		return ledger.Saved{}, err
	}
	defer f.close()
	return l.save(ctx, f, s, after, draft)
}

// prepare opens the folder and checks that after is its head and that nothing
// forbids a save.
func (l *Log) prepare(after ledger.Pos) (*folder, *listing, error) {
	t := l.knownTail()
	f, err := l.look()
	if err != nil {
		return nil, nil, err
	}
	s, err := l.checkBeforeSave(f, t, after)
	if err != nil {
		f.close()
		return nil, nil, err
	}
	return f, s, nil
}

func (l *Log) checkBeforeSave(f *folder, t tail, after ledger.Pos) (*listing, error) {
	if t.id != f.id {
		t = l.tail(f.id)
	}
	s, err := l.listed(f)
	if err != nil {
		return nil, err
	}
	// What Head checked a moment ago, under the same stamps, holds.
	if l.seen.head != after || s.head != after.Rev || !t.stamp.same(l.seen.mirror.stamp) {
		e, err := l.checkHead(f, t)
		if err != nil {
			return nil, err
		}
		if e.Pos() != after {
			return nil, &ledger.ConflictError{Head: e.Pos()}
		}
		if e.Newer {
			return nil, &NewerError{Path: place(f.rev.Path(), revFile(e.Rev)), Rev: e.Rev}
		}
	}
	if err := l.checkDamage(f.id); err != nil {
		return nil, err
	}
	if err := f.checkSealed(); err != nil {
		return nil, err
	}
	if err := l.ensureNote(f); err != nil {
		if _, copied := errors.AsType[*CopyError](err); copied {
			return nil, err
		} // a note that can't be written makes the save unprotected, see extendMirror
	}
	return s, nil
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
	return damage(DamageIncomplete, -1, place(f.genDir.Path(), sealedName), "a recovery was begun and not finished")
}

// sealer gives the key to seal with. Only drafts that take something away need
// it; others are saved unsealed where no key can be had.
func (l *Log) sealer(d *ledger.Draft) (ledger.Sealer, error) {
	k, err := l.m.makeKey()
	if err == nil {
		return k, nil
	}
	h := ledger.Head{Type: d.Type, HeadFields: d.HeadFields}
	if h.TakesAway() {
		return nil, &UnsealedError{Err: err}
	}
	return nil, nil
}

func (l *Log) encode(after ledger.Pos, draft ledger.Draft) (ledger.Entry, error) {
	sealer, err := l.sealer(&draft)
	if err != nil {
		return ledger.Entry{}, err
	}
	salt := make([]byte, 16)
	if _, err := io.ReadFull(l.m.Rand, salt); err != nil {
		return ledger.Entry{}, fmt.Errorf("make salt: %w", err)
	}
	return ledger.Encode(after, draft, salt, sealer)
}

// save publishes the entry behind after, which is the head, and mirrors it.
func (l *Log) save(ctx context.Context, f *folder, s *listing, after ledger.Pos, draft ledger.Draft) (ledger.Saved, error) {
	e, err := l.encode(after, draft)
	if err != nil {
		return ledger.Saved{}, err
	}
	pub, err := l.publish(f, &e)
	if err != nil {
		return ledger.Saved{}, err
	}
	if err := f.confirm(&e, pub); err != nil {
		return ledger.Saved{}, err
	}
	saved := ledger.Saved{Pos: e.Pos(), At: e.At}
	for _, w := range pub.Warnings {
		saved.Warnings = append(saved.Warnings, w.Error())
	}
	l.published(f, s, &e)
	if err := l.extendMirror(ctx, f, s, &e); err != nil {
		saved.Warnings = append(saved.Warnings, "not protected: "+err.Error())
	} else {
		saved.Protected = true
	}
	if len(s.loose) > MaxLoose {
		if err := l.packOldest(f, s); err != nil {
			saved.Warnings = append(saved.Warnings, err.Error())
		}
	}
	return saved, nil
}

func (l *Log) publish(f *folder, e *ledger.Entry) (durable.Published, error) {
	tmp, err := f.genDir.MakeSub(tmpName, folderMode)
	if err != nil {
		return durable.Published{}, fmt.Errorf("open temporary folder: %w", err)
	}
	defer tmp.Close()
	pub, err := f.rev.Publish(tmp, revFile(e.Rev), e.Raw, sealedMode)
	if errors.Is(err, durable.ErrExists) {
		l.seen.listing = nil
		head, herr := l.lookAtHead()
		if herr != nil {
			return pub, fmt.Errorf("look at who was first: %w", herr)
		}
		return pub, &ledger.ConflictError{Head: head.Pos()}
	}
	if unknown, ok := errors.AsType[*durable.UnknownOutcomeError](err); ok {
		return pub, &ledger.UnknownOutcomeError{Rev: e.Rev, Err: unknown.Err}
	}
	if err != nil {
		return pub, fmt.Errorf("publish revision %d: %w", e.Rev, err)
	}
	return pub, nil
}

// published notes our own addition, so that the next look need not list.
func (l *Log) published(f *folder, s *listing, e *ledger.Entry) {
	s.loose = append(s.loose, e.Rev)
	s.head = e.Rev
	l.seen.rev, l.seen.pack = f.stamps()
	l.seen.head = e.Pos()
}

// confirm checks, after the link, that the save went where readers look: the
// folders are still the ones that were opened, no pack covers the revision, and
// no recovery sealed the generation meanwhile.
func (f *folder) confirm(e *ledger.Entry, pub durable.Published) error {
	name := revFile(e.Rev)
	if f.top.Same() != nil || f.rev.Same() != nil {
		return f.withdraw(e.Rev, pub, &ReplacedError{Path: f.top.Path()})
	}
	info, err := f.rev.Lstat(name)
	if err != nil || pub.Info != nil && !os.SameFile(info, pub.Info) {
		return &ledger.UnknownOutcomeError{Rev: e.Rev, Err: damage(DamageChanged, e.Rev, place(f.rev.Path(), name), "it is not the file that was published")}
	}
	if err := f.reopenPacks(); err != nil {
		return &ledger.UnknownOutcomeError{Rev: e.Rev, Err: err}
	}
	if f.pack != nil {
		first := (e.Rev-1)/PackSize*PackSize + 1
		if _, err := f.pack.Lstat(packFile(first, first+PackSize-1)); err == nil && e.Rev > 0 {
			return f.withdraw(e.Rev, pub, &ledger.ConflictError{})
		}
	}
	return f.confirmUnsealed(e, pub)
}

func (f *folder) confirmUnsealed(e *ledger.Entry, pub durable.Published) error {
	sealed := f.checkSealed() != nil
	gens, err := f.top.Sub(genName)
	if err != nil {
		return &ledger.UnknownOutcomeError{Rev: e.Rev, Err: err}
	}
	defer gens.Close()
	highest, err := highestGeneration(gens)
	if err != nil {
		return &ledger.UnknownOutcomeError{Rev: e.Rev, Err: err}
	}
	if !sealed && highest == f.gen {
		return nil
	}
	seal := f.sealingRevision(e.Rev)
	switch {
	case seal > e.Rev: // the seal's revision contains the save
		return nil
	case seal >= 0:
		return f.withdraw(e.Rev, pub, &ReplacedError{Path: f.top.Path()})
	}
	return &ledger.UnknownOutcomeError{Rev: e.Rev, Err: &ReplacedError{Path: f.top.Path()}}
}

// sealingRevision finds the generation's entry of type sealed, looking from the
// end to a little below rev; -1 when there is none.
func (f *folder) sealingRevision(rev int64) int64 {
	s, _ := f.list()
	if s == nil {
		return -1
	}
	for r := s.head; r >= 0 && r >= rev-1; r-- {
		if e, err := f.entry(s, r); err == nil && e.Type == ledger.TypeSealed {
			return r
		}
	}
	return -1
}

// withdraw takes back a revision that nobody may rely on yet and gives why. If
// it can't be taken back the outcome is unknown.
func (f *folder) withdraw(rev int64, pub durable.Published, why error) error {
	if err := f.rev.Withdraw(revFile(rev), pub.Info); err != nil {
		return &ledger.UnknownOutcomeError{Rev: rev, Err: errors.Join(why, err)}
	}
	return why
}

func encodeJSON(v any) ([]byte, error) {
	b, err := json.Marshal(v)
	return append(b, '\n'), err
}

func decodeJSON(b []byte, v any) error { return json.Unmarshal(b, v) }
