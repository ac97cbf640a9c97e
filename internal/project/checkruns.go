package project

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"holdfast/internal/ledger"
)

// CheckHistory is one check with its receipts, as they were when it ran. Whether
// the newest still holds is for Checks to say.
type CheckHistory struct {
	ID    string     `json:"id"`
	Title string     `json:"title,omitempty"`
	Runs  []CheckRun `json:"runs"` // started last first
}

// CheckRun is one receipt.
type CheckRun struct {
	Revision   int64          `json:"revision"`
	Outcome    string         `json:"outcome"`
	Command    string         `json:"command"` // recorded, not vetted
	ExitCode   int            `json:"exit_code"`
	StartedAt  string         `json:"started_at"`
	DurationMS int64          `json:"duration_ms"`
	Counts     *ledger.Counts `json:"counts,omitempty"`
	External   bool           `json:"external,omitempty"`
	Actor      ledger.Actor   `json:"actor"`
	Branch     string         `json:"branch,omitempty"`
	Sealed     bool           `json:"sealed"` // on this machine

	title string
}

// CheckHistories gives the receipts among the newest limit of them, by check,
// the check that ran last first. more: there are older receipts.
func (p *Project) CheckHistories(ctx context.Context, limit int) (hs []CheckHistory, more bool, err error) {
	err = p.look(ctx, "", func(r *reading) error {
		hs, more = []CheckHistory{}, false
		if r.head.Hash == "" {
			return nil
		}
		events, err := r.view.Events(ctx, ledger.EventQuery{Since: -1, Kind: ledger.TypeCheck, Limit: limit})
		if err != nil {
			return fmt.Errorf("find checks: %w", err)
		}
		more = len(events) == limit
		by := map[string]int{}
		for _, e := range events {
			run, id, err := p.checkRun(ctx, r, &e)
			if err != nil {
				return err
			}
			if id == "" || !e.Live {
				continue
			}
			i, ok := by[id]
			if !ok {
				i = len(hs)
				by[id], hs = i, append(hs, CheckHistory{ID: id})
			}
			hs[i].Runs = append(hs[i].Runs, run)
		}
		for i := range hs {
			slices.SortStableFunc(hs[i].Runs, func(a, b CheckRun) int { return cmp.Compare(b.StartedAt, a.StartedAt) })
			hs[i].Title = hs[i].Runs[0].title
		}
		return nil
	})
	return hs, more, err
}

// checkRun reads one receipt. id is empty where there is none to show.
func (p *Project) checkRun(ctx context.Context, r *reading, ev *ledger.Event) (run CheckRun, id string, err error) {
	e, err := p.entryOf(ctx, r, ev.Rev)
	if err != nil {
		return run, "", err
	}
	b, there, err := e.Body()
	if err != nil || !there || b.Receipt == nil {
		return run, "", err
	}
	c := b.Receipt
	return CheckRun{Revision: ev.Rev, Outcome: c.Outcome, Command: strings.Join(c.Argv, " "), ExitCode: c.ExitCode, StartedAt: c.StartedAt, DurationMS: c.DurationMS,
		Counts: c.Counts, External: c.External, Actor: b.Actor, Branch: b.Git.Branch, Sealed: r.sealedHere(e.SealKey), title: c.Title}, c.ID, nil
}
