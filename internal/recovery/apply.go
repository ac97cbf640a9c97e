package recovery

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"time"

	"holdfast/internal/durable"
	"holdfast/internal/filelog"
	"holdfast/internal/ledger"
)

// Applied is what a recovery did.
type Applied struct {
	Head      ledger.Pos
	Preserved string // the generation that was replaced; empty: none was
	Warnings  []string
}

// Act is who applies a plan, and when.
type Act struct {
	Body ledger.Body // actor, git and worktree of the recover entry
	Now  time.Time
	// Again makes the plan anew, after the old generation was sealed.
	Again func(context.Context) (*Plan, error)
}

// Apply makes the new generation of a plan. The caller holds the ledger's lock,
// and has just compared the plan's fingerprint with what the person was shown.
// Before the rename a failure or death leaves the old ledger, at worst sealed, and
// the same plan can be applied again; after it the new one.
func (p *Plan) Apply(ctx context.Context, log *filelog.Log, a Act) (Applied, error) {
	s := p.s
	next := s.number + 1
	if _, err := log.Encode(ledger.Pos{}, ledger.Draft{Type: ledger.TypeRecover, At: a.Now}); err != nil {
		return Applied{}, err // without a key nothing is begun
	}
	if err := verify(p.Entries(ctx), p.Target); err != nil {
		return Applied{}, err
	}
	ctx = context.WithoutCancel(ctx) // what is begun is finished
	if err := log.Prepare(p.Ledger); err != nil {
		return Applied{}, err
	}
	if err := p.seal(ctx, log, a, next); err != nil {
		return Applied{}, err
	}
	if err := log.Discard(ctx); err != nil {
		return Applied{}, err
	}
	tail, err := p.tail(log, a)
	if err != nil {
		return Applied{}, err
	}
	build, head, err := log.Build(ctx, p.Target.Rev+1+int64(len(tail)), join(p.Entries(ctx), tail))
	if err != nil {
		return Applied{}, err
	}
	if want := tail[len(tail)-1].Pos(); head != want {
		return Applied{}, fmt.Errorf("build generation: %w", ErrNothing)
	}
	if err := p.preserve(log, a.Now); err != nil {
		return Applied{}, err
	}
	if err := log.Install(build, next); err != nil {
		if errors.Is(err, durable.ErrExists) {
			return Applied{}, &StaleError{Path: filelog.GenerationName(next)}
		}
		return Applied{}, err
	}
	done := Applied{Head: head}
	if s.current != "" {
		done.Preserved = s.current
		if err := log.Retire(s.current); err != nil {
			done.Warnings = append(done.Warnings, err.Error())
		}
	}
	return done, nil
}

// verify reads the whole source before the first change.
func verify(entries iter.Seq2[ledger.Entry, error], want ledger.Pos) error {
	p, c := ledger.Pos{}, ledger.Checker{}
	for e, err := range entries {
		if err == nil {
			err = c.Add(p, &e)
		}
		if err != nil {
			return fmt.Errorf("verify source: %w", err)
		}
		p = e.Pos()
	}
	if idOf(p.Hash) != idOf(want.Hash) || p.Rev != want.Rev {
		return &StaleError{}
	}
	return nil // erased bodies are checked when the redact entries are behind them
}

// seal marks the old generation, looks again whether anything is there that the
// preview didn't know, and closes it.
func (p *Plan) seal(ctx context.Context, log *filelog.Log, a Act, next int) error {
	if p.s.current == "" {
		return nil
	}
	successor := filelog.GenerationName(next)
	if err := log.Seal(p.s.current, p.Fingerprint, successor); err != nil {
		return err
	}
	again, err := a.Again(ctx)
	if err != nil {
		return err
	}
	if again.Fingerprint != p.Fingerprint {
		return &StaleError{Path: p.s.current}
	}
	err = log.SealRevision(p.s.current, p.Fingerprint, successor, a.Now)
	if errors.Is(err, durable.ErrExists) {
		return &StaleError{Path: p.s.current}
	}
	return err
}

// tail is what follows the chain: what only the current ledger said, a redact
// entry for what must not come back, and the recover entry.
func (p *Plan) tail(log *filelog.Log, a Act) ([]ledger.Entry, error) {
	var out []ledger.Entry
	x := p.s.log.Fetch()
	defer x.Close()
	at := p.Target
	add := func(d ledger.Draft) error {
		e, err := log.Encode(at, d)
		if err == nil {
			out, at = append(out, e), e.Pos()
		}
		return err
	}
	for _, i := range p.joined {
		e, err := x.Entry(p.s.g.spot(i))
		if err != nil {
			return nil, err
		}
		d, ok := p.draft(&e)
		if !ok {
			return nil, &StaleError{Path: p.s.g.spot(i).Path}
		}
		if err := add(d); err != nil {
			return nil, err
		}
	}
	for revs := p.redact; len(revs) > 0; { // so many fit into an entry
		n := min(len(revs), 5000)
		d := ledger.Draft{Type: ledger.TypeRedact, At: a.Now, HeadFields: ledger.HeadFields{Revisions: revs[:n]}, Body: a.Body}
		d.Body.Reason = "redacted before, or found by the screening in an export"
		if err := add(d); err != nil {
			return nil, err
		}
		revs = revs[n:]
	}
	err := add(p.RecoverDraft(a))
	return out, err
}

// RecoverDraft is the recover entry.
func (p *Plan) RecoverDraft(a Act) ledger.Draft {
	base := p.Base
	return ledger.Draft{Type: ledger.TypeRecover, At: a.Now, Recovery: p.Recovery, Body: a.Body,
		HeadFields: ledger.HeadFields{Base: &base, Replaces: p.Replaces, Fingerprint: p.Fingerprint}}
}

// preserve keeps the list of the old generation's files with their hashes.
func (p *Plan) preserve(log *filelog.Log, now time.Time) error {
	if p.s.current == "" {
		return nil
	}
	b, err := json.MarshalIndent(map[string]any{
		"ledger": p.Ledger, "generation": p.s.current, "sealed": now.UTC().Format(ledger.TimeLayout),
		"fingerprint": p.Fingerprint, "files": p.s.Files,
	}, "", "  ")
	if err != nil {
		return fmt.Errorf("quarantine: %w", err)
	}
	return log.PutQuarantine("generation-"+p.s.current+"-"+p.Fingerprint[:16]+".json", append(b, '\n'))
}

func join(entries iter.Seq2[ledger.Entry, error], tail []ledger.Entry) iter.Seq2[ledger.Entry, error] {
	return func(yield func(ledger.Entry, error) bool) {
		for e, err := range entries {
			if !yield(e, err) {
				return
			}
		}
		for _, e := range tail {
			if !yield(e, nil) {
				return
			}
		}
	}
}
