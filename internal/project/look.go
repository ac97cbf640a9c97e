package project

import (
	"context"
	"errors"

	"holdfast/internal/filelog"
	"holdfast/internal/index"
	"holdfast/internal/ledger"
)

// IncompleteError comes with an answer: the ledger is damaged, and the answer
// shows only what verifies of it.
type IncompleteError struct{ Err error }

func (e *IncompleteError) Error() string { return e.Err.Error() }
func (e *IncompleteError) Unwrap() error { return e.Err }

// Incomplete reports whether an answer came with err.
func Incomplete(err error) bool {
	_, ok := errors.AsType[*IncompleteError](err)
	return ok
}

// look reads the ledger as it is now, as seen from a branch (empty: from where
// the caller stands), and hands it to fn. An index found damaged on the way is
// made anew, and fn called again. Of a damaged ledger fn gets what verifies, and
// the error is an *IncompleteError.
func (p *Project) look(ctx context.Context, branch string, fn func(*reading) error) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	for try := 0; ; try++ {
		r, err := p.readFrom(ctx, branch)
		if err == nil {
			err = fn(r)
		}
		if _, torn := errors.AsType[*filelog.UnfinishedError](err); torn {
			// A revision that isn't whole was never acknowledged: what stands before
			// it is shown. Once a writer found that it stays so, it is damage.
			if d := p.log.NotedDamage(p.log.ID()); d != nil {
				err = d
			}
			return p.lookDamaged(ctx, branch, fn, err)
		}
		if filelog.Damaged(err) {
			p.noteDamage(err)
			return p.lookDamaged(ctx, branch, fn, err)
		}
		if _, damaged := errors.AsType[*index.DamagedError](err); !damaged || try == 2 {
			return err
		}
		p.tail = nil
	}
}

// lookDamaged hands fn what verifies of a damaged ledger. Where nothing does, the
// error is cause alone. p.mu is held.
func (p *Project) lookDamaged(ctx context.Context, branch string, fn func(*reading) error, cause error) error {
	v := &verified{State: &ledger.State{}}
	for _, e := range p.salvage(ctx) {
		if v.Apply(e) != nil {
			break
		}
		v.entries = append(v.entries, e)
	}
	if v.Head().Hash == "" {
		return cause
	}
	place, err := p.where(ctx)
	if err != nil {
		return errors.Join(cause, err)
	}
	if branch != "" && p.loc.repo != nil {
		tips, err := p.loc.repo.RefTips(ctx)
		if err != nil {
			return errors.Join(cause, err)
		}
		place.Git = ledger.Git{Branch: branch, Commit: tips[branch]}
	}
	scope, err := p.scope(ctx, v, place)
	if err != nil {
		return errors.Join(cause, err)
	}
	r := &reading{view: v, place: place, scope: scope, head: v.Head(), seals: p.seals()}
	if fn(r) != nil { // such as a record that isn't among what verifies
		return cause
	}
	return &IncompleteError{Err: cause}
}
