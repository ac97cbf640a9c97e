package project

import (
	"context"
	"fmt"
	"path/filepath"
	"sort"

	"holdfast/internal/ledger"
	"holdfast/internal/txn"
)

// Overview is how a project stands, for a person: each section of the briefing
// with its first records, none left out for want of a budget but for length.
type Overview struct {
	Pulse
	Project string `json:"project"` // name of the project's folder
	Dirty   *bool  `json:"dirty"`   // nil: not known
	// Transactions are those that are open, interrupted or blocked.
	Transactions []txn.Brief   `json:"transactions"`
	Sections     []Section     `json:"sections"`
	Elsewhere    []BranchCount `json:"elsewhere"` // branches whose records are not in force here
	LastSave     *LastSave     `json:"last_save,omitempty"`
	Notices      []string      `json:"notices"`

	Incomplete bool `json:"incomplete,omitempty"` // of a damaged ledger
}

// Pulse is what tells that something changed: by a save, a recovery or git.
type Pulse struct {
	Ledger   string `json:"ledger"` // empty: no ledger here yet
	Revision int64  `json:"revision"`
	Recovery string `json:"recovery"`
	Branch   string `json:"branch"`
	Commit   string `json:"commit"`
}

// Section is one part of the briefing.
type Section struct {
	Name  string `json:"name"`
	Items []Item `json:"items"`
	Total int    `json:"total"`
}

// BranchCount is how many records stand on a branch and not here.
type BranchCount struct {
	Branch  string `json:"branch"`
	Records int    `json:"records"`
}

// Overview gives the first records of each section. It writes nothing. Of a
// damaged ledger it shows what verifies, with an *IncompleteError.
func (p *Project) Overview(ctx context.Context, each int) (Overview, error) {
	dirty := p.startStatus(ctx)
	var o Overview
	err := p.look(ctx, "", func(r *reading) error {
		o = Overview{Pulse: pulse(r), Project: p.Name(), Sections: []Section{}}
		if r.head.Hash == "" {
			return nil
		}
		var err error
		if o.Transactions, err = p.unfinishedTxns(ctx, r); err != nil {
			return err
		}
		for _, s := range sections {
			q := ledger.Query{Scope: r.scope, Kinds: s.kinds, State: s.state, Limit: each}
			if s.state == ledger.FindFinished {
				q.Since = p.w.Now().Add(-finishedFor).UTC().Format(ledger.TimeLayout)
			}
			page, err := r.view.Find(ctx, q)
			if err != nil {
				return err
			}
			o.Sections = append(o.Sections, Section{s.name, p.items(ctx, r, page.Items), page.Total})
		}
		return p.fillOverview(ctx, r, &o)
	})
	o.Dirty, o.Incomplete = dirty(), Incomplete(err)
	return o, err
}

func (p *Project) fillOverview(ctx context.Context, r *reading, o *Overview) error {
	b := p.emptyBriefing(ResumeRequest{})
	b.Notices = append([]string{}, p.loc.notices...)
	if err := p.fillGuards(ctx, r, &b); err != nil {
		return err
	}
	o.LastSave, o.Notices = b.LastSave, b.Notices
	elsewhere, err := r.view.Elsewhere(ctx, r.scope)
	if err != nil {
		return fmt.Errorf("count records on other branches: %w", err)
	}
	o.Elsewhere = []BranchCount{}
	for name, n := range elsewhere {
		o.Elsewhere = append(o.Elsewhere, BranchCount{name, n})
	}
	sort.Slice(o.Elsewhere, func(i, j int) bool { return o.Elsewhere[i].Branch < o.Elsewhere[j].Branch })
	return nil
}

// items makes records presentable, with the cited files that changed.
func (p *Project) items(ctx context.Context, r *reading, found []ledger.Current) []Item {
	out := make([]Item, 0, len(found))
	for i := range found {
		it := p.item(ctx, &found[i], r)
		it.CitesChanged = p.changedCites(found[i].Cites)
		out = append(out, it)
	}
	return out
}

func pulse(r *reading) Pulse {
	u := Pulse{Branch: r.place.Git.Branch, Commit: r.place.Git.Commit}
	if r.head.Hash != "" {
		u.Ledger, u.Revision, u.Recovery = r.view.LedgerID(), r.head.Rev, r.view.Recovery()
	}
	return u
}

// Pulse looks whether anything changed. It is cheap enough to be asked every
// second.
func (p *Project) Pulse(ctx context.Context) (u Pulse, err error) {
	err = p.look(ctx, "", func(r *reading) error { u = pulse(r); return nil })
	return u, err
}

// Name is the name of the project's folder.
func (p *Project) Name() string { return filepath.Base(p.Top()) }

// PageRequest asks for records of one kind, page by page.
type PageRequest struct {
	Kinds  []string // empty: all
	State  ledger.FindState
	Offset int
	Limit  int
}

// Page gives records as they stand here, vouched ones first, then newest first,
// and how many there are.
func (p *Project) Page(ctx context.Context, q PageRequest) (items []Item, total int, u Pulse, err error) {
	if q.Offset < 0 || q.Limit < 1 {
		return nil, 0, u, &UsageError{Why: "a page begins at 0 or later and has records"}
	}
	err = p.look(ctx, "", func(r *reading) error {
		u = pulse(r)
		page, err := r.view.Find(ctx, ledger.Query{Scope: r.scope, Kinds: q.Kinds, State: q.State, Limit: q.Offset + q.Limit})
		if err != nil {
			return err
		}
		items, total = p.items(ctx, r, page.Items[min(q.Offset, len(page.Items)):]), page.Total
		return nil
	})
	return items, total, u, err
}
