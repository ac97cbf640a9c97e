package filelog

import (
	"context"
	"errors"
	"iter"

	"holdfast/internal/ledger"
)

// Salvage yields what can be shown of a damaged or lost ledger: the longest
// chain from revision 0 that verifies, of the revision files or of a mirror. It
// is for reading only; bringing it back is a recovery's work. A foreign ledger
// yields nothing.
func (l *Log) Salvage(ctx context.Context) iter.Seq2[ledger.Entry, error] {
	return func(yield func(ledger.Entry, error) bool) {
		best := prefix(l.intact(ctx))
		for _, id := range l.salvageIDs() {
			for _, root := range l.m.State {
				if got := chain(mirrorEntries(l.m, root, id)); len(got) > len(best) {
					best = got
				}
			}
		}
		for _, e := range best {
			if ctx.Err() != nil || !yield(e, nil) {
				return
			}
		}
	}
}

// salvageIDs are the ids that the ledger at this place is known by here.
func (l *Log) salvageIDs() []string {
	var ids []string
	if n, ok := l.noted(); ok {
		ids = append(ids, n.Ledger)
	}
	if id := l.ID(); id != "" && (len(ids) == 0 || ids[0] != id) {
		ids = append(ids, id)
	}
	return ids
}

// intact reads revisions and packs in order until something is wrong. Only a
// ledger of this machine is read.
func (l *Log) intact(ctx context.Context) iter.Seq2[ledger.Entry, error] {
	return func(yield func(ledger.Entry, error) bool) {
		f, err := l.look()
		if err != nil {
			return
		}
		defer f.close()
		first, err := f.entry(&listing{}, 0)
		seals, _ := l.m.Keys()
		n, noted := l.noted()
		if err != nil || seals.Check(&first) != ledger.SealedHere && !(noted && n.Ledger == f.id) {
			return
		}
		s, _ := f.list() // what is listed before the gap serves
		if s == nil {
			return
		}
		for rev := int64(0); ; rev++ {
			e, err := f.entry(s, rev)
			if err != nil || ctx.Err() != nil || !yield(e, nil) {
				return
			}
		}
	}
}

// prefix collects entries while they follow one another.
func prefix(entries iter.Seq2[ledger.Entry, error]) []ledger.Entry {
	var out []ledger.Entry
	p := ledger.Pos{}
	c := ledger.Checker{}
	for e, err := range entries {
		if err != nil || c.Add(p, &e) != nil {
			break
		}
		p = e.Pos()
		out = append(out, e)
	}
	return out
}

// chain follows the entries of a mirror, which may hold several chains, back
// from its last line to revision 0.
func chain(entries iter.Seq2[ledger.Entry, error]) []ledger.Entry {
	byHash := map[string]ledger.Entry{}
	last := ""
	for e, err := range entries {
		if err != nil {
			break
		}
		if e.CheckBody() {
			byHash[e.Hash], last = e, e.Hash
		}
	}
	var out []ledger.Entry
	for h := last; h != ""; {
		e, ok := byHash[h]
		if !ok {
			return nil
		}
		out = append(out, e)
		h = e.Prev
	}
	for i, j := 0, len(out)-1; i < j; i, j = i+1, j-1 {
		out[i], out[j] = out[j], out[i]
	}
	return out
}

// Damaged reports whether err says that a ledger of this machine is damaged or
// lost, so that Salvage may have something to show.
func Damaged(err error) bool {
	if _, ok := errors.AsType[*DamageError](err); ok {
		return true
	}
	if _, ok := errors.AsType[*LostError](err); ok {
		return true
	}
	if _, ok := errors.AsType[*ledger.EntryError](err); ok {
		return true
	}
	_, ok := errors.AsType[*ledger.ChainError](err)
	return ok
}
