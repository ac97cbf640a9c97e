package project

import (
	"context"

	"holdfast/internal/check"
	"holdfast/internal/ledger"
)

// checkEvidence refuses to close an action whose check has no fresh, passed
// receipt, unless a reason is given.
func (p *Project) checkEvidence(ctx context.Context, r *reading, rec *ledger.Record, without string) error {
	if rec.DoneWhen == "" || without != "" {
		return nil
	}
	refuse := func(state string) error {
		return &EvidenceError{ID: rec.ID, Check: rec.DoneWhen, State: state}
	}
	items, err := p.checkItems(ctx, r, rec.DoneWhen)
	if err != nil {
		return err
	}
	if len(items) == 0 {
		return refuse("not recorded")
	}
	p.judgeAll(ctx, items)
	c := &items[0]
	switch {
	case c.Retracted:
		return refuse("retracted")
	case c.Outcome != ledger.Passed:
		return refuse(c.Outcome)
	case !c.sealed:
		return refuse("passed on the word of another machine")
	case c.Freshness != check.Fresh:
		state := c.Freshness
		if len(c.Changed) > 0 {
			state += " (" + visible(c.Changed[0]) + ")"
		}
		return refuse(state)
	}
	return nil
}

// lookAtEvidence hashes what closing an action will have to look at, before the
// lock is taken: under it, only what changed since is read.
func (p *Project) lookAtEvidence(ctx context.Context, ids ...string) {
	if len(ids) == 0 {
		return
	}
	var items []CheckItem
	err := p.look(ctx, "", func(r *reading) error {
		for _, id := range ids {
			vs, err := r.view.Versions(ctx, id)
			if err != nil {
				return err
			}
			cur, ok := ledger.CurrentOf(vs, r.scope)
			if !ok || cur.DoneWhen == "" {
				continue
			}
			found, err := p.checkItems(ctx, r, cur.DoneWhen)
			if err != nil {
				return err
			}
			items = append(items, found...)
		}
		return nil
	})
	if err == nil { // else the save will say why
		p.judgeAll(ctx, items)
	}
}

// closing are the ids that a save would mark as done.
func closing(reqs []RecordRequest) []string {
	var ids []string
	for i := range reqs {
		if s := reqs[i].Status; s != nil && *s == ledger.StatusDone {
			ids = append(ids, reqs[i].ID)
		}
	}
	return ids
}
