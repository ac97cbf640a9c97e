package project

import (
	"context"
	"iter"
	"sync"

	"holdfast/internal/filelog"
	"holdfast/internal/ledger"
)

// sealChecked is the log as the index follows it: an entry that names a key of
// this machine and has no or a wrong seal of it is damage. So a row that was
// written by hand can't pass for one that was saved here.
type sealChecked struct {
	*filelog.Log
	seals  func() ledger.Seals
	path   string
	hidden map[string]bool // hashes of entries that are shown without their body
}

func (p *Project) checkedLog() sealChecked {
	return sealChecked{p.log, p.seals(), p.Path(), p.hidden}
}

// seals gives the keys of this machine, read once when first asked for. Without
// a key nothing counts as sealed here.
func (p *Project) seals() func() ledger.Seals {
	return sync.OnceValue(func() ledger.Seals {
		seals, _ := p.m.Keys()
		return seals
	})
}

// Entries implements ledger.Log.
func (s sealChecked) Entries(ctx context.Context, after ledger.Pos) iter.Seq2[ledger.Entry, error] {
	return func(yield func(ledger.Entry, error) bool) {
		for e, err := range s.Log.Entries(ctx, after) {
			if err == nil && s.seals().Check(&e) == ledger.BadSeal {
				err = &filelog.DamageError{Kind: filelog.DamageChanged, Rev: e.Rev, Path: s.path, Why: "a revision names this machine's key and has not its seal"}
			}
			if err == nil && s.hidden[e.Hash] {
				e = e.Erase()
			}
			if !yield(e, err) || err != nil {
				return
			}
		}
	}
}

// vetted is an entry as it may be used: one that names a key of this machine and
// has not its seal is refused, and what is being redacted comes without its
// body. p.mu is held.
func (p *Project) vetted(e ledger.Entry, seals ledger.Seals) (ledger.Entry, error) {
	if seals.Check(&e) == ledger.BadSeal {
		return e, &ledger.EntryError{Rev: e.Rev, Why: "it names this machine's key and has not its seal"}
	}
	if p.hidden[e.Hash] {
		e = e.Erase()
	}
	return e, nil
}

// remembered is the log up to the end of a tail that is in memory: the entries of
// the tail need not be read again.
type remembered struct {
	tail []ledger.Entry
	log  sealChecked
}

// Entries implements index.Source.
func (r remembered) Entries(ctx context.Context, after ledger.Pos) iter.Seq2[ledger.Entry, error] {
	for i := range r.tail {
		if r.tail[i].Prev == after.Hash {
			return func(yield func(ledger.Entry, error) bool) {
				for _, e := range r.tail[i:] {
					if !yield(e, nil) {
						return
					}
				}
			}
		}
	}
	return r.log.Entries(ctx, after)
}

// sealedHere reports whether a key that sealed an entry is one of this machine's.
func (r *reading) sealedHere(key string) bool {
	_, here := r.seals()[key]
	return here
}

// vouched reports whether a person vouches for a version's text, on the word of
// entries that this machine sealed: anybody who can write the ledger's files
// can write that a person said it.
func (r *reading) vouched(ctx context.Context, v *ledger.Version) bool {
	if v.Author.Kind == ledger.Person && r.sealedHere(v.SealKey) {
		return true
	}
	if v.Confirmed == 0 {
		return false
	}
	events, err := r.view.Events(ctx, ledger.EventQuery{Since: v.Confirmed - 1, Before: v.Confirmed + 1, Limit: 1})
	return err == nil && len(events) == 1 && r.sealedHere(events[0].SealKey)
}

// vouchedAt is vouched for the version of a record that an entry made.
func (r *reading) vouchedAt(ctx context.Context, id string, rev int64) bool {
	vs, err := r.view.Versions(ctx, id)
	if err != nil {
		return false
	}
	for i := range vs {
		if vs[i].Rev == rev {
			return r.vouched(ctx, &vs[i])
		}
	}
	return false
}
