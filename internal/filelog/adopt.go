package filelog

import (
	"context"
	"errors"
	"fmt"

	"holdfast/internal/durable"
	"holdfast/internal/ledger"
)

// Adopt takes over the ledger that lies here: a person of this machine vouches
// that its text may be shown. after is the head that the person was shown. The
// whole chain is verified first. The draft says who adopts.
func (l *Log) Adopt(ctx context.Context, after ledger.Pos, draft ledger.Draft) (ledger.Saved, error) {
	return l.adopting(ctx, after, func(v *view) (ledger.Saved, error) {
		info, err := v.f.rev.Info()
		if err != nil {
			return ledger.Saved{}, err
		}
		l.seen.known = stampOf(info).Inode + 1
		if err := l.checkReady(ctx, v, after); err != nil {
			l.seen.known = 0
			return ledger.Saved{}, err
		}
		draft.Type, draft.ID = ledger.TypeAdopt, v.f.id
		saved, err := l.save(context.WithoutCancel(ctx), v, draft)
		if err != nil {
			l.seen.known = 0
		}
		return saved, err
	})
}

// AdoptCopy makes a copy of a ledger one of its own: an adopt entry with a new
// id, then FORMAT with it, then a mirror with the whole history and this path's
// note. The original and its mirror are left alone. A copy whose adoption was
// interrupted is finished under the id that it has got.
func (l *Log) AdoptCopy(ctx context.Context, after ledger.Pos, draft ledger.Draft) (ledger.Saved, error) {
	return l.adopting(ctx, after, func(v *view) (ledger.Saved, error) {
		e, err := v.entry(after.Rev)
		if err != nil {
			return ledger.Saved{}, err
		}
		saved := ledger.Saved{Pos: after, At: e.At}
		if e.Type != ledger.TypeAdopt || e.ID == v.f.id || !adoptsHere(&e, v.seals, e.ID) {
			if draft.ID, err = l.m.newID(); err != nil {
				return saved, err
			}
			draft.Type = ledger.TypeAdopt
			if e, saved, err = l.commit(context.WithoutCancel(ctx), v, draft); err != nil {
				return saved, err
			}
		}
		return l.rename(context.WithoutCancel(ctx), v, &e, saved)
	})
}

// rename gives the ledger the id that its head adopts. The adopt entry stands by
// now: what fails is told, and finished by the next save.
func (l *Log) rename(ctx context.Context, v *view, e *ledger.Entry, saved ledger.Saved) (ledger.Saved, error) {
	warn := func(err error) (ledger.Saved, error) {
		saved.Warnings = append(v.notice, "adoption not finished: "+err.Error())
		return saved, nil
	}
	if err := replaceFormat(v.f.top, e.ID); err != nil {
		return warn(err)
	}
	now, err := l.view()
	if err != nil {
		return warn(err)
	}
	defer now.close()
	now.head, now.notice = e.Pos(), v.notice
	info, err := now.f.rev.Info()
	if err != nil {
		return warn(err)
	}
	l.seen.known = stampOf(info).Inode + 1
	l.protect(ctx, now, e, &saved)
	if err := l.ensureNote(now); err != nil {
		now.notice = append(now.notice, "not noted: "+err.Error())
	}
	saved.Warnings = now.notice
	return saved, nil
}

func replaceFormat(top *durable.Dir, id string) error {
	if err := top.Replace(top, formatName, formatOf(id).bytes(), sealedMode); err != nil {
		return fmt.Errorf("replace format: %w", err)
	}
	return nil
}

// finishAdoption completes what a crash left: the head adopts the ledger under
// an id that FORMAT doesn't have yet.
func (l *Log) finishAdoption(v *view) error {
	if err := replaceFormat(v.f.top, l.seen.becomes); err != nil {
		return err
	}
	return errAgain
}

// adopting does something with a ledger whose whole chain verifies and ends at
// after, whether it is known here or not, under its lock.
func (l *Log) adopting(ctx context.Context, after ledger.Pos, do func(*view) (ledger.Saved, error)) (saved ledger.Saved, err error) {
	if l.locked.Load() == 0 {
		unlock, err := l.lock(ctx)
		if err != nil {
			return saved, err
		}
		defer func() {
			if uerr := unlock(); uerr != nil && err == nil {
				saved.Warnings = append(saved.Warnings, uerr.Error())
			}
		}()
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	var v *view
	err = l.patiently(ctx, func() (err error) {
		if v, err = l.view(); err != nil {
			return err
		}
		if err = v.verify(ctx, nil); err != nil {
			v.close()
		}
		return err
	})
	if errors.Is(err, ErrNone) {
		return saved, err
	}
	if err != nil {
		return saved, fmt.Errorf("adopt: %w", err)
	}
	defer v.close()
	if v.head != after {
		return saved, &ledger.ConflictError{Head: v.head}
	}
	return do(v)
}

// verify checks the whole chain, and finds the head. Entries of a newer build
// forbid what verification is for.
func (v *view) verify(ctx context.Context, see func(*ledger.Entry)) error {
	if v.d != nil {
		return v.d
	}
	p, c := ledger.Pos{}, ledger.Checker{}
	newer := int64(-1)
	_, err := v.walk(ctx, 0, func(e ledger.Entry) error {
		if err := c.Add(p, &e); err != nil {
			return asDamage(v.pathOf(e.Rev), e.Rev, err)
		}
		if v.seals.Check(&e) == ledger.BadSeal {
			return damage(DamageChanged, e.Rev, v.pathOf(e.Rev), "its seal is not this machine's")
		}
		if e.Newer {
			newer = e.Rev
		}
		if see != nil {
			see(&e)
		}
		p = e.Pos()
		return nil
	})
	if err == nil {
		if err = c.End(); err != nil {
			err = asDamage(v.f.genDir.Path(), -1, err)
		}
	}
	v.head = p
	if err == nil && newer >= 0 && see == nil {
		err = &NewerError{Path: v.pathOf(newer), Rev: newer}
	}
	return err
}

// Description tells about a ledger without any of its text.
type Description struct {
	ID      string
	Path    string
	Head    ledger.Pos // last revision that verifies
	Entries int64
	Types   map[string]int64 // by entry type
	Records map[string]int64 // by kind of record
	First   string           // time of the first entry, as it says itself
	Last    string
	Actors  map[ledger.Actor]int64 // as the ledger names them
	Here    int64                  // entries sealed by this machine
	There   int64                  // by others
	Newer   int64                  // of a newer build
	Err     error                  // where the chain stops verifying
}

// maxActors bounds what a hostile ledger can make Describe remember.
const maxActors = 1000

// Describe looks at the ledger that lies here, whosever it is. Names of actors
// are the ledger's own words: they are to be made visible before they are shown.
// see, if given, gets each entry that verifies. It writes nothing.
func (l *Log) Describe(ctx context.Context, see func(*ledger.Entry)) (Description, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	v, err := l.view()
	if err != nil {
		return Description{}, err
	}
	defer v.close()
	d := Description{ID: v.f.id, Path: v.f.top.Path(), Types: map[string]int64{}, Records: map[string]int64{}, Actors: map[ledger.Actor]int64{}}
	err = v.verify(ctx, func(e *ledger.Entry) {
		d.count(e, v.seals)
		if see != nil {
			see(e)
		}
	})
	if ctx.Err() != nil {
		return d, ctx.Err()
	}
	d.Head, d.Err = v.head, err
	return d, nil
}

func (d *Description) count(e *ledger.Entry, seals ledger.Seals) {
	d.Entries++
	if d.First == "" {
		d.First = e.At
	}
	d.Last = e.At
	switch {
	case e.Newer:
		d.Newer++
		return
	case seals.Check(e) == ledger.SealedHere:
		d.Here++
	case e.SealKey != "":
		d.There++
	}
	d.Types[e.Type]++
	b, there, err := e.Body()
	if !there || err != nil {
		return
	}
	if _, known := d.Actors[b.Actor]; known || len(d.Actors) < maxActors {
		d.Actors[b.Actor]++
	}
	for _, r := range b.Records {
		if ledger.ValidKind(r.Kind) {
			d.Records[r.Kind]++
		}
	}
}
