package project

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"holdfast/internal/filelog"
	"holdfast/internal/index"
	"holdfast/internal/ledger"
)

// verified is the fold of what verifies of a damaged ledger.
type verified struct {
	*ledger.State
	entries []ledger.Entry
}

// Search implements state, by an index in memory.
func (v *verified) Search(ctx context.Context, q index.SearchQuery) (res index.SearchResult, err error) {
	x, err := index.Open(ctx, index.Options{Ledger: v.LedgerID()})
	if err != nil {
		return res, err
	}
	defer func() { err = errors.Join(err, x.Close()) }()
	if err := x.Follow(ctx, (*fixedLog)(v)); err != nil {
		return res, fmt.Errorf("index what verifies: %w", err)
	}
	view, err := x.View(ctx, nil)
	if err != nil {
		return res, err
	}
	return view.Search(ctx, q)
}

// fixedLog is a log that nothing is added to.
type fixedLog verified

var errFixed = errors.New("nothing can be added to it")

func (f *fixedLog) Head(context.Context) (ledger.Pos, error) { return f.State.Head(), nil }
func (f *fixedLog) Close() error                             { return nil }

func (f *fixedLog) Append(context.Context, ledger.Pos, ledger.Draft) (ledger.Saved, error) {
	return ledger.Saved{}, errFixed
}

func (f *fixedLog) Entries(_ context.Context, after ledger.Pos) iter.Seq2[ledger.Entry, error] {
	return func(yield func(ledger.Entry, error) bool) {
		for _, e := range f.entries {
			if (after.Hash == "" || e.Rev > after.Rev) && !yield(e, nil) {
				return
			}
		}
	}
}

// incompleteNotice marks a briefing of a damaged ledger.
const incompleteNotice = "possibly incomplete: the ledger is damaged, and this is what verifies; nothing can be saved before it is recovered"

const unfinishedNotice = "possibly incomplete: the newest revision is not whole, as while somebody saves, and this is what stands before it"

func whyIncomplete(err error) string {
	if filelog.Damaged(err) {
		return incompleteNotice
	}
	return unfinishedNotice
}

// salvage gives what verifies, without the texts that a redact entry names: a
// damaged ledger can't be erased from, and must not show them.
func (p *Project) salvage(ctx context.Context) []ledger.Entry {
	var es []ledger.Entry
	redacted := map[int64]bool{}
	for e, err := range p.log.Salvage(ctx) {
		if err != nil {
			break
		}
		if e.Type == ledger.TypeRedact && !e.Void() {
			for _, rev := range e.Revisions {
				redacted[rev] = rev < e.Rev
			}
		}
		es = append(es, e)
	}
	missing := map[string]int{}
	for i := range es {
		switch there := es[i].BodyRaw != nil; {
		case there && redacted[es[i].Rev]:
			es[i] = es[i].Erase()
		case !there && !redacted[es[i].Rev]:
			missing[es[i].Hash] = i
		}
	}
	p.fromMirrors(ctx, es, missing)
	return es
}

// fromMirrors takes texts that somebody erased by hand from the mirrors. missing
// are the places in es by hash.
func (p *Project) fromMirrors(ctx context.Context, es []ledger.Entry, missing map[string]int) {
	if len(missing) == 0 {
		return
	}
	for _, m := range p.log.Mirrors(ctx, p.log.ID()) {
		for line, err := range p.log.MirrorEntries(ctx, m) {
			e := line.Entry
			if i, wanted := missing[e.Hash]; err == nil && wanted && e.BodyRaw != nil && e.CheckBody() {
				es[i] = e
			}
		}
	}
}
