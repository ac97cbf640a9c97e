package project

import (
	"context"
	"errors"

	"holdfast/internal/index"
	"holdfast/internal/ledger"
)

// verified is the fold of what verifies of a damaged ledger. It has no index,
// so it can't be searched.
type verified struct{ *ledger.State }

var errNoSearch = errors.New("a damaged ledger can't be searched")

// Search implements state.
func (verified) Search(context.Context, index.SearchQuery) (index.SearchResult, error) {
	return index.SearchResult{}, errNoSearch
}

// salvaged completes a briefing with what verifies of a damaged ledger, and
// gives cause, the damage, with it.
func (p *Project) salvaged(ctx context.Context, b Briefing, q ResumeRequest, cause error) (Briefing, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	dirty := b.Dirty
	b = p.emptyBriefing(q)
	b.Dirty, b.Incomplete = dirty, true
	b.Notices = append(b.Notices, "possibly incomplete: the ledger is damaged, and this is what verifies; nothing can be saved before it is recovered")
	var st ledger.State
	for _, e := range p.salvage(ctx) {
		if st.Apply(e) != nil {
			break
		}
	}
	place, err := p.where(ctx)
	if err != nil {
		return b, errors.Join(cause, err)
	}
	b.Branch, b.Commit = place.Git.Branch, place.Git.Commit
	if st.Head().Hash == "" {
		return b, cause
	}
	scope, err := p.scope(ctx, &st, place)
	if err != nil {
		return b, errors.Join(cause, err)
	}
	r := &reading{view: verified{&st}, place: place, scope: scope, head: st.Head(), seals: p.checkedLog().seals}
	b.Ledger, b.Revision, b.Recovery = st.LedgerID(), r.head.Rev, st.Recovery()
	if err := p.fillBriefing(ctx, r, &b, q); err != nil {
		return b, errors.Join(cause, err)
	}
	return b, cause
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
	for i := range es {
		if redacted[es[i].Rev] && es[i].BodyRaw != nil {
			es[i] = es[i].Erase()
		}
	}
	return es
}
