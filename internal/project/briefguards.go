package project

import (
	"context"
	"fmt"
	"slices"
	"sort"

	"holdfast/internal/ledger"
)

// fillElsewhere says what waits on other branches.
func (p *Project) fillElsewhere(ctx context.Context, r *reading, b *Briefing) error {
	elsewhere, err := r.view.Elsewhere(ctx, r.scope)
	if err != nil {
		return err
	}
	branches := make([]string, 0, len(elsewhere))
	total := 0
	for name, n := range elsewhere {
		branches = append(branches, name)
		total += n
	}
	if total > 0 {
		sort.Strings(branches)
		b.Omitted["on other branches"] = total
		b.Notices = append(b.Notices, fmt.Sprintf("%d records stand on other branches and are not shown: %s", total, listNames(branches, 5)))
	}
	return nil
}

// fillGuards says who saved last, and what else a session must know before it
// acts.
func (p *Project) fillGuards(ctx context.Context, r *reading, b *Briefing) error {
	events, err := r.view.Events(ctx, ledger.EventQuery{Since: -1, Limit: 50})
	if err != nil {
		return err
	}
	b.LastSave = p.lastSave(slices.DeleteFunc(events, func(e ledger.Event) bool { return isOp(e.Type) }))
	newer, err := r.view.Newer(ctx)
	if err != nil {
		return err
	}
	if len(newer) > 0 {
		b.Notices = append(b.Notices, fmt.Sprintf("%d entries are newer than this build: it can't show them and can't save here", len(newer)))
	}
	if u, err := p.unfinished(ctx, r); err == nil && u != nil { // a damaged ledger may not tell
		b.Notices = append(b.Notices, u.notice())
	}
	if len(b.Omitted) > 0 {
		b.Notices = append(b.Notices, leftOutNotice)
	}
	return nil
}
