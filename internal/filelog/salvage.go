package filelog

import (
	"context"
	"errors"
	"iter"
	"slices"

	"holdfast/internal/ledger"
)

// Salvage yields what can be shown of a damaged or lost ledger: the longest
// chain from revision 0 that verifies, of the revision files or of a mirror. It
// is for reading only; bringing it back is a recovery's work. A foreign ledger
// yields nothing.
func (l *Log) Salvage(ctx context.Context) iter.Seq2[ledger.Entry, error] {
	return func(yield func(ledger.Entry, error) bool) {
		best, most := l.intact(ctx), 0
		for range best {
			most++
		}
		for _, id := range l.salvageIDs() {
			for _, root := range l.m.State {
				if chain := l.mirrorChain(ctx, root, id); len(chain) > most {
					best, most = l.along(ctx, root, id, chain), len(chain)
				}
			}
		}
		for e := range best {
			if ctx.Err() != nil || !yield(e, nil) {
				return
			}
		}
	}
}

// salvageIDs are the ids that the ledger at this place is known by here.
func (l *Log) salvageIDs() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var ids []string
	if n, ok := l.noted(); ok {
		ids = append(ids, n.Ledger)
	}
	if id := l.seen.id; id != "" && !slices.Contains(ids, id) {
		ids = append(ids, id)
	}
	return ids
}

// intact reads revisions and packs in order until something is wrong. Only a
// ledger of this machine is read.
func (l *Log) intact(ctx context.Context) iter.Seq[ledger.Entry] {
	return func(yield func(ledger.Entry) bool) {
		v := l.suspect(ctx)
		if v == nil {
			return
		}
		defer v.close()
		p, c := ledger.Pos{}, ledger.Checker{}
		_, _ = v.walk(ctx, 0, func(e ledger.Entry) error { // it ends where something is wrong
			if err := c.Add(p, &e); err != nil {
				return err
			}
			if v.seals.Check(&e) == ledger.BadSeal || !yield(e) {
				return errStop
			}
			p = e.Pos()
			return nil
		})
	}
}

// suspect is a view of a ledger that is this machine's but for its damage.
func (l *Log) suspect(ctx context.Context) *view {
	l.mu.Lock()
	defer l.mu.Unlock()
	v, err := l.view()
	if err != nil {
		return nil
	}
	if !slices.Contains(l.m.Adopted, v.f.id) {
		err = l.prove(ctx, v)
	}
	if d, ok := errors.AsType[*DamageError](err); err == nil || ok && d.Kind == DamageRegressed {
		return v
	}
	v.close()
	return nil
}

// mirrorChain follows the entries of a mirror, which may hold several chains,
// back from its last line to revision 0, and gives their hashes in order.
func (l *Log) mirrorChain(ctx context.Context, root, id string) []string {
	type link struct {
		prev string
		rev  int64
	}
	links := map[string]link{}
	last := ""
	for e, err := range l.entriesOf(ctx, root, id) {
		if err != nil {
			break
		}
		links[e.Hash], last = link{e.Prev, e.Rev}, e.Hash
	}
	var chain []string
	for h := last; h != ""; {
		at, ok := links[h]
		if !ok || at.prev == "" && at.rev != 0 || at.prev != "" && links[at.prev].rev != at.rev-1 {
			return nil
		}
		chain = append(chain, h)
		h = at.prev
	}
	slices.Reverse(chain)
	return chain
}

// along yields the entries of a mirror that make the chain.
func (l *Log) along(ctx context.Context, root, id string, chain []string) iter.Seq[ledger.Entry] {
	return func(yield func(ledger.Entry) bool) {
		for e, err := range l.entriesOf(ctx, root, id) {
			if err != nil || len(chain) == 0 {
				return
			}
			if e.Hash != chain[0] {
				continue
			}
			if !yield(e) {
				return
			}
			chain = chain[1:]
		}
	}
}
