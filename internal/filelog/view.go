package filelog

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"time"

	"holdfast/internal/durable"
	"holdfast/internal/ledger"
)

// view is one look at a ledger, with all that it has open. l.mu is held while
// one is made.
type view struct {
	f      *folder
	s      listing
	d      *DamageError // what the listing shows; s ends before it
	st     states
	seals  ledger.Seals
	head   ledger.Pos // once checked
	notice []string   // what doesn't stop a save and must be told

	trusted bool // the folders are as they were at the last look
}

func (v *view) close() {
	v.st.close()
	v.f.close()
}

func (v *view) entry(rev int64) (ledger.Entry, error) { return v.f.entry(&v.s, rev) }

// view looks at the folder, then at the mirrors, then at the revisions. The
// mirrors come first since they never hold what the ledger has not: what is
// read of the ledger afterwards can't be behind them by another's work.
func (l *Log) view() (*view, error) {
	f, err := l.look()
	if err != nil {
		return nil, err
	}
	v := &view{f: f, st: l.states(f.id)}
	v.seals = v.st.seals()
	if err = l.listed(v); err != nil {
		v.close()
		return nil, err
	}
	return v, nil
}

// checked is a view whose head is checked, see Head. Damage is believed only
// after several looks.
func (l *Log) checked(ctx context.Context) (*view, error) {
	var v *view
	err := l.patiently(ctx, func() (err error) {
		if v, err = l.view(); err != nil {
			return err
		}
		if err = l.checkHead(ctx, v); err != nil {
			v.close()
		}
		return err
	})
	return v, err
}

// legible is a view of a ledger that is this machine's, whatever else may be
// wrong with it.
func (l *Log) legible(ctx context.Context) (*view, error) {
	var v *view
	err := l.patiently(ctx, func() (err error) {
		if v, err = l.view(); err != nil {
			return err
		}
		if err = l.checkKnown(ctx, v); err != nil {
			v.close()
		}
		return err
	})
	return v, err
}

// errAgain asks for another look: something was just put right.
var errAgain = errors.New("look again")

const (
	firstPause = time.Millisecond
	maxPause   = 32 * time.Millisecond
	// brief is how long damage is looked at again that a writer at work may have
	// caused. On one machine that is microseconds.
	brief = 150 * time.Millisecond
	// briefNoted is the same for a ledger whose damage was noted before.
	briefNoted = 5 * time.Millisecond
)

// patiently looks again while others who write may have caused what was found:
// nothing is damage after one look. l.mu is given back during the pauses.
func (l *Log) patiently(ctx context.Context, look func() error) error {
	var waited time.Duration
	var torn *Stamp // as it was first
	for pause := firstPause; ; pause = min(2*pause, maxPause) {
		err := look()
		if err == nil {
			return nil
		}
		if d, ok := errors.AsType[*DamageError](err); ok && torn == nil {
			torn = d.torn
		}
		if waited >= l.worth(err) {
			return l.judge(err, torn)
		}
		l.seen.listing = nil
		l.mu.Unlock()
		perr := sleep(ctx, pause)
		l.mu.Lock()
		if perr != nil {
			return perr
		}
		waited += pause
	}
}

// worth is how long it is worth to look again.
func (l *Log) worth(err error) time.Duration {
	d, ok := errors.AsType[*DamageError](err)
	switch {
	case errors.Is(err, errAbsent):
		return 0
	case !ok && (errors.Is(err, fs.ErrNotExist) || errors.Is(err, durable.ErrReplaced) || errors.Is(err, errAgain)):
		return brief
	case inTheMaking(err):
		return briefNoted
	case !ok || d.passing == stands:
		return 0
	case l.seen.id != "" && l.NotedDamage(l.seen.id) != nil:
		return briefNoted
	case d.torn != nil && l.locked.Load() == 0:
		return brief // who only reads has nothing to wait for: it isn't acknowledged yet
	case d.passing == waits:
		return max(l.m.LockWait, brief)
	}
	return brief
}

// inTheMaking: a ledger looks lost or a stranger's for a moment to who read its
// folder before, and its note, key or mirror after somebody made it.
func inTheMaking(err error) bool {
	_, lost := errors.AsType[*LostError](err)
	_, foreign := errors.AsType[*ForeignError](err)
	return lost || foreign
}

// judge is the last word after several looks. A newest revision that isn't whole
// is damage once it stayed as it is while nobody could be writing it, which only
// who holds the lock can know; for the others it is unfinished. A copy that
// stayed behind the original is no damage.
func (l *Log) judge(err error, first *Stamp) error {
	d, ok := errors.AsType[*DamageError](err)
	switch {
	case ok && d.original != "":
		return &CopyError{ID: l.seen.id, Path: l.Dir(), Other: d.original}
	case !ok || d.torn == nil || l.locked.Load() > 0 && first != nil && *first == *d.torn:
		return err
	}
	return &UnfinishedError{Path: d.Path, Rev: d.Rev}
}

// sleep pauses until ctx is done.
func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// checkHead finds and checks the head, and remembers it.
func (l *Log) checkHead(ctx context.Context, v *view) error {
	if err := l.checkKnown(ctx, v); err != nil {
		return err
	}
	if v.d != nil {
		return v.d
	}
	stamp := v.headStamp()
	e, err := v.headEntry()
	if err != nil {
		return err
	}
	l.seen.becomes = ""
	path := filepath.Join(v.f.rev.Path(), revFile(e.Rev))
	if v.seals.Check(&e) == ledger.BadSeal {
		return damage(DamageChanged, e.Rev, path, "its seal is not this machine's")
	}
	if e.Type == ledger.TypeSealed && !e.Void() {
		return damage(DamageIncomplete, e.Rev, path, "a recovery was begun and not finished").may(briefly)
	}
	if err := l.checkSession(v, e.Pos()); err != nil {
		return err
	}
	if e.Type == ledger.TypeAdopt && e.ID != v.f.id && validLedgerID(e.ID) && v.seals.Check(&e) == ledger.SealedHere {
		l.seen.becomes = e.ID // it leaves the old id's mirrors to the original
	} else if err := l.checkMirrors(ctx, v, &e); err != nil {
		return err
	}
	v.head = e.Pos()
	l.seen.head, l.seen.headGen, l.seen.headStamp = e.Pos(), v.f.gen, stamp
	l.seen.renamed, l.seen.newer = false, e.Newer
	return nil
}

// headEntry reads the newest revision. One that isn't whole may be in the making
// where there are no hard links: it is worth waiting for.
func (v *view) headEntry() (ledger.Entry, error) {
	e, err := v.entry(v.s.head)
	if d, ok := errors.AsType[*DamageError](err); ok && !v.s.isPacked(v.s.head) {
		d.may(briefly)
		v.torn(d)
	}
	return e, err
}

// headStamp is the stamp of the newest revision's file, zero if it can't be had.
func (v *view) headStamp() Stamp {
	info, err := v.f.rev.Lstat(revFile(v.s.head))
	if err != nil {
		return Stamp{}
	}
	return stampOf(info)
}

// torn marks damage that says that the newest revision is cut short.
func (v *view) torn(d *DamageError) {
	if !d.cut || d.Rev != v.s.head || v.s.isPacked(d.Rev) {
		return
	}
	stamp := v.headStamp()
	d.torn = &stamp
	d.may(waits)
}

// checkSession checks that the ledger still has the head that this Log has seen,
// unless a recovery made another generation of it.
func (l *Log) checkSession(v *view, head ledger.Pos) error {
	p := l.seen.head
	if p.Hash == "" || p == head || l.seen.headGen != v.f.gen {
		return nil
	}
	if l.seen.renamed {
		if n, ok := l.noted(); ok && n.Ledger == v.f.id {
			return nil // a person adopted what lies here now
		}
	}
	if p.Rev <= v.s.head {
		e, err := v.entry(p.Rev)
		if err != nil || e.Pos() == p {
			return err
		}
		return damage(DamageChanged, p.Rev, place(v.f.rev.Path(), revFile(p.Rev)), "it is not the revision that was seen before")
	}
	return damage(DamageRegressed, p.Rev, v.f.rev.Path(), "a later revision was seen before").may(waits)
}
