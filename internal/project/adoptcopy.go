package project

import (
	"context"
	"fmt"

	"holdfast/internal/filelog"
	"holdfast/internal/ledger"
)

// CopiedLedger describes a folder that holds the same ledger as another one of
// this machine.
type CopiedLedger struct {
	Path     string `json:"path"`
	Ledger   string `json:"ledger"`   // the id that both have
	Original string `json:"original"` // the folder that goes on under it
	Revision int64  `json:"revision"`
	Adopted  bool   `json:"adopted"`
	Saved    *Saved `json:"saved,omitempty"`
}

// DescribeCopy looks whether the ledger here is a copy. The error is a
// *UsageError where it isn't.
func (p *Project) DescribeCopy(ctx context.Context) (CopiedLedger, error) {
	c := CopiedLedger{Path: p.Path()}
	found, err := p.log.CopyOf(ctx)
	if err != nil {
		return c, err
	}
	if found == nil {
		return c, &UsageError{Why: "the ledger here is no copy of another one on this machine; nothing was changed"}
	}
	d, err := p.log.Describe(ctx, nil)
	if err == nil {
		err = d.Err
	}
	c.Ledger, c.Original, c.Revision = found.ID, found.Other, d.Head.Rev
	return c, err
}

// AdoptCopy makes the copy here a ledger of its own, with its whole history and a
// new id: a person's decision. The original and its mirror are left alone.
func (p *Project) AdoptCopy(ctx context.Context) (CopiedLedger, error) {
	if p.caller.Kind != ledger.Person {
		return CopiedLedger{}, ErrPersonOnly
	}
	c, err := p.DescribeCopy(ctx)
	if err != nil {
		return c, err
	}
	out, err := p.mutate(ctx, mutation{kind: ledger.TypeAdopt, person: true, copied: true, request: c.Ledger})
	if err != nil {
		return c, err
	}
	s := p.saved(out)
	c.Ledger, c.Adopted, c.Saved = p.log.ID(), true, &s
	return c, nil
}

// takeCopy is one turn of AdoptCopy under the lock. A copy that stayed behind
// the original has no head in the usual sense: the last revision that verifies
// counts.
func (p *Project) takeCopy(ctx context.Context, m *mutation) (outcome, error) {
	d, err := p.log.Describe(ctx, nil)
	if err == nil {
		err = d.Err
	}
	if err != nil {
		return outcome{}, err
	}
	draft := ledger.Draft{Type: m.kind, At: p.w.Now(), Body: ledger.Body{
		Actor: p.caller.Actor, Worktree: p.loc.worktree, Git: p.withBase(ctx, m.place)}}
	e, err := p.log.Entry(ctx, d.Head.Rev)
	if err != nil {
		return outcome{}, err
	}
	draft.Recovery = e.Recovery
	saved, err := p.log.AdoptCopy(ctx, d.Head, draft)
	if err != nil {
		return outcome{}, err
	}
	p.dirty = true
	return outcome{Saved: saved, Recovery: draft.Recovery}, p.closeIndex() // it was of another id
}

// Restart tells about starting over.
type Restart struct {
	Path     string `json:"path"`
	Old      string `json:"old,omitempty"` // id of the ledger that was given up; its mirror is kept
	Ledger   string `json:"ledger"`
	Revision int64  `json:"revision"`
}

// NewLedger starts over where a ledger is gone: a person's decision. The old
// one's mirror is kept. The error is a *filelog.PresentError where anything of a
// ledger still lies.
func (p *Project) NewLedger(ctx context.Context) (Restart, error) {
	r := Restart{Path: p.Path()}
	if p.caller.Kind != ledger.Person {
		return r, ErrPersonOnly
	}
	place, err := p.where(ctx)
	if err != nil {
		return r, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	old, err := p.log.StartOver(ctx)
	if err != nil {
		return r, fmt.Errorf("start over: %w", err)
	}
	r.Old = old.Ledger
	if err := p.closeIndex(); err != nil {
		return r, err
	}
	head, err := p.createLedger(ctx, place)
	if err != nil {
		return r, err
	}
	p.dirty = true
	r.Ledger, r.Revision = p.log.ID(), head.Rev
	return r, nil
}

func explainPresent(e *filelog.PresentError) Problem {
	return Problem{Code: "present", Exit: ExitConflict, Message: e.Error() + "; nothing was changed",
		Next: "go on with it, or see what is wrong with it: holdfast doctor"}
}
