package filelog

import (
	"context"
	"errors"
	"slices"

	"holdfast/internal/durable"
	"holdfast/internal/ledger"
)

// checkKnown tells a ledger of this machine from a foreign one: nothing of a
// foreign one may be shown. What it finds is remembered for the very folder of
// revisions.
func (l *Log) checkKnown(ctx context.Context, v *view) error {
	info, err := v.f.rev.Info()
	if err != nil {
		return err
	}
	folder := stampOf(info).Inode + 1
	if l.seen.known == folder {
		return nil
	}
	adopted := slices.Contains(l.m.Adopted, v.f.id)
	if err := l.checkNoted(ctx, v, adopted); err != nil {
		return err
	}
	if !adopted {
		if err := l.prove(ctx, v); err != nil {
			return err
		}
	}
	l.seen.known = folder
	return nil
}

// checkNoted: where this path's note names another ledger, that one is gone, and
// what lies here is not taken for it unless a person adopted it.
func (l *Log) checkNoted(ctx context.Context, v *view, adopted bool) error {
	n, ok := l.noted()
	if !ok || n.Ledger == v.f.id || adopted || v.adoptedHere(ctx) {
		return nil
	}
	return damage(DamageOther, -1, place(v.f.top.Path(), formatName), "another ledger, "+n.Ledger+", was here").may(briefly)
}

// prove looks for what shows that the ledger was made or adopted here.
func (l *Log) prove(ctx context.Context, v *view) error {
	first, ferr := v.entry(0)
	if ferr == nil && first.Type == ledger.TypeLedger && first.Ledger == v.f.id && v.seals.Check(&first) == ledger.SealedHere {
		return nil
	}
	if errors.Is(ferr, durable.ErrUnsafe) {
		return ferr
	}
	mirrored := false
	for _, s := range v.st {
		if s.tail.last.Hash == "" {
			continue
		}
		mirrored = true
		if ferr != nil || first.Type != ledger.TypeLedger || v.seals.Check(&first) == ledger.BadSeal {
			break
		}
		if e, err := v.entry(min(s.tail.last.Rev, v.s.head)); err == nil && e.Hash == s.tail.last.Hash {
			return nil
		}
	}
	if ferr == nil && v.adoptedHere(ctx) {
		return nil
	}
	return l.unproven(ctx, v, &first, ferr, mirrored)
}

// unproven tells a damaged ledger of this machine from a foreign one: one whose
// first revision can't be read is damaged where this path's note or a mirror
// here names it, one that a mirror here begins with has lost its end.
func (l *Log) unproven(ctx context.Context, v *view, first *ledger.Entry, ferr error, mirrored bool) error {
	n, ok := l.noted()
	named := mirrored || ok && n.Ledger == v.f.id
	path := place(v.f.rev.Path(), revFile(0))
	if named && v.d != nil {
		return v.d
	}
	if named && ferr != nil {
		if d, ok := errors.AsType[*DamageError](ferr); ok {
			return d.may(briefly)
		}
		return ferr
	}
	if named && v.seals.Check(first) == ledger.BadSeal {
		return damage(DamageChanged, 0, path, "its seal is not this machine's")
	}
	if named && first.Type != ledger.TypeLedger {
		return damage(DamageChanged, 0, path, "it is not the first revision of a ledger")
	}
	for _, s := range v.st {
		if s.tail.last.Hash != "" && l.mirrorStarts(ctx, s, first.Hash) {
			return damage(DamageRegressed, s.tail.last.Rev, place(s.root, v.f.id, mirrorName),
				"its last revision is not in the ledger").may(waits)
		}
	}
	return &ForeignError{ID: v.f.id, Path: v.f.top.Path()}
}

// mirrorStarts reports whether a mirror begins with the entry of that hash.
func (l *Log) mirrorStarts(ctx context.Context, s *state, hash string) bool {
	for e, err := range l.entriesOf(ctx, s.root, s.tail.id) {
		return err == nil && e.Rev == 0 && e.Hash == hash
	}
	return false
}

// adoptedHere looks for an adopt entry that this machine sealed. It reads the
// whole ledger; a mirror, which an adoption begins, makes that needless.
func (v *view) adoptedHere(ctx context.Context) bool {
	found := false
	_, err := v.walk(ctx, 0, func(e ledger.Entry) error {
		if adoptsHere(&e, v.seals, v.f.id) {
			found = true
			return errStop
		}
		return nil
	})
	return found && (err == nil || errors.Is(err, errStop))
}

// adoptsHere: e adopts the ledger of that id, by a person of this machine.
func adoptsHere(e *ledger.Entry, seals ledger.Seals, id string) bool {
	return e.Type == ledger.TypeAdopt && (e.ID == "" || e.ID == id) && seals.Check(e) == ledger.SealedHere
}
