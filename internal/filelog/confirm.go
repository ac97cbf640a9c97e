package filelog

import (
	"context"
	"errors"
	"io/fs"
	"os"

	"holdfast/internal/durable"
	"holdfast/internal/ledger"
)

// confirm checks, after the link, that the save went where readers look: the
// folders are still the ones that were opened, no pack covers the revision, and
// no recovery sealed the generation meanwhile.
func (l *Log) confirm(ctx context.Context, v *view, e *ledger.Entry, pub durable.Published) error {
	f, name := v.f, revFile(e.Rev)
	unknown := func(err error) error { return &ledger.UnknownOutcomeError{Rev: e.Rev, Err: err} }
	if err := errors.Join(f.top.Same(), f.rev.Same()); errors.Is(err, durable.ErrReplaced) {
		why := &ReplacedError{Path: f.top.Path()}
		if f.has(e.Rev+1) || l.copied(e) { // somebody builds upon it already
			return unknown(why)
		}
		return f.withdraw(e.Rev, pub, why)
	} else if err != nil {
		return unknown(err)
	}
	info, err := f.rev.Lstat(name)
	if err != nil {
		return unknown(err)
	}
	if was := pub.Info; was != nil && !(os.SameFile(info, was) && info.Size() == was.Size() && info.ModTime().Equal(was.ModTime())) {
		return unknown(damage(DamageChanged, e.Rev, place(f.rev.Path(), name), "it is not the file that was published"))
	}
	covered, err := f.covered(e.Rev)
	if err != nil {
		return unknown(err)
	}
	if covered {
		if err := f.withdraw(e.Rev, pub, nil); err != nil {
			return err
		}
		return l.lost(ctx)
	}
	return f.confirmUnsealed(e.Rev, pub)
}

// copied reports whether what lies at the ledger's path by now holds the entry.
func (l *Log) copied(e *ledger.Entry) bool {
	now, err := l.look()
	if err != nil {
		return false
	}
	defer now.close()
	there, err := now.looseEntry(e.Rev)
	return err == nil && there.Hash == e.Hash
}

// covered reports whether a pack covers rev: then the ledger was far ahead of
// what this process saw of it.
func (f *folder) covered(rev int64) (bool, error) {
	if err := f.reopenPacks(); err != nil {
		return false, err
	}
	if f.pack == nil || rev == 0 {
		return false, nil
	}
	_, err := f.pack.Lstat(packOf(rev).name())
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// confirmUnsealed: a seal below the save means that the ledger ended before it,
// one above that it is part of what was recovered; a mark without the seal's
// revision leaves it open.
func (f *folder) confirmUnsealed(rev int64, pub durable.Published) error {
	serr := f.checkSealed()
	if _, marked := errors.AsType[*DamageError](serr); serr != nil && !marked {
		return &ledger.UnknownOutcomeError{Rev: rev, Err: serr}
	}
	gens, err := f.top.Sub(genName)
	if err != nil {
		return &ledger.UnknownOutcomeError{Rev: rev, Err: err}
	}
	defer gens.Close()
	highest, _, err := highestGeneration(gens)
	if err != nil {
		return &ledger.UnknownOutcomeError{Rev: rev, Err: err}
	}
	if serr == nil && highest == f.gen {
		return nil
	}
	why := &ReplacedError{Path: f.top.Path()}
	switch seal := f.sealingRevision(rev); {
	case seal > rev:
		return nil
	case seal >= 0:
		return f.withdraw(rev, pub, why)
	}
	return &ledger.UnknownOutcomeError{Rev: rev, Err: why}
}

// sealingRevision finds the generation's last entry of type sealed, from the end
// down to a little below rev; -1 when there is none.
func (f *folder) sealingRevision(rev int64) int64 {
	s, _, err := f.list()
	if err != nil {
		return -1
	}
	for r := s.head; r >= 0 && r >= rev-1; r-- {
		if e, err := f.entry(&s, r); err == nil && e.Type == ledger.TypeSealed && !e.Void() {
			return r
		}
	}
	return -1
}

// withdraw takes back a revision that nobody relies on, and gives why. If it
// can't be taken back the outcome is unknown.
func (f *folder) withdraw(rev int64, pub durable.Published, why error) error {
	if err := f.rev.Withdraw(revFile(rev), pub.Info); err != nil {
		return &ledger.UnknownOutcomeError{Rev: rev, Err: errors.Join(why, err)}
	}
	return why
}
