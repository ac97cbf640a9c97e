package project

import (
	"context"

	"holdfast/internal/ledger"
)

// Status says in a few words how a project stands.
type Status struct {
	Ledger   string    `json:"ledger"` // empty: no ledger here yet
	Path     string    `json:"path"`
	Revision int64     `json:"revision"`
	Recovery string    `json:"recovery"`
	Branch   string    `json:"branch"`
	Commit   string    `json:"commit"`
	Dirty    *bool     `json:"dirty"` // nil: not known
	Counts   []Count   `json:"counts"`
	LastSave *LastSave `json:"last_save,omitempty"`
	Notices  []string  `json:"notices"`
}

// Count is how many records a section of the briefing has.
type Count struct {
	Section string `json:"section"`
	Records int    `json:"records"`
}

// Status counts what a briefing would show. It writes nothing.
func (p *Project) Status(ctx context.Context) (Status, error) {
	b := p.emptyBriefing(ResumeRequest{})
	dirty := p.startStatus(ctx)
	s := Status{Path: p.Path(), Counts: []Count{}}
	err := p.look(ctx, "", func(r *reading) error {
		b.Notices = append([]string{}, p.loc.notices...)
		s.Branch, s.Commit, s.Counts = r.place.Git.Branch, r.place.Git.Commit, s.Counts[:0]
		if r.head.Hash == "" {
			return nil
		}
		s.Ledger, s.Revision, s.Recovery = r.view.LedgerID(), r.head.Rev, r.view.Recovery()
		for _, sec := range sections {
			if sec.state != ledger.FindOpen {
				continue
			}
			page, err := r.view.Find(ctx, ledger.Query{Scope: r.scope, Kinds: sec.kinds, State: sec.state, Limit: 1})
			if err != nil {
				return err
			}
			s.Counts = append(s.Counts, Count{sec.name, page.Total})
		}
		return p.fillGuards(ctx, r, &b)
	})
	s.Dirty, s.LastSave, s.Notices = dirty(), b.LastSave, b.Notices
	return s, err
}

// LedgerID is the ledger's id, empty as long as none was seen here.
func (p *Project) LedgerID() string { return p.log.ID() }
