package project

import (
	"context"
	"errors"
	"fmt"

	"holdfast/internal/recovery"
)

// Repair does what loses nothing, and then looks again: it clears a damage that
// was noted once the whole ledger verifies, completes the mirrors, takes from other
// users what they may do with its files, sweeps old temporary files and makes the
// index anew. A ledger that isn't whole is left as
// it is, with the findings of Doctor: that is for recover.
func (p *Project) Repair(ctx context.Context) (after Diagnosis, err error) {
	unlock, err := p.log.Lock(ctx)
	if err != nil {
		return after, located(err, p.Path())
	}
	before, s, err := p.diagnose(ctx, DoctorRequest{})
	if err != nil || before.State != StateHealthy {
		return before, errors.Join(err, unlock())
	}
	done, err := p.repair(ctx, s)
	if err = errors.Join(err, unlock()); err != nil {
		return before, fmt.Errorf("repair: %w", err)
	}
	after, err = p.Doctor(ctx, DoctorRequest{})
	after.Repaired = done
	return after, err
}

// repair works under the ledger's lock, on what the survey found under it.
func (p *Project) repair(ctx context.Context, s *recovery.Survey) ([]string, error) {
	done := []string{}
	if !s.Healthy() || s.More > 0 {
		return done, nil
	}
	if _, err := p.verifyAll(ctx); err != nil {
		return done, err
	}
	if p.knownBeyond(ctx, s) {
		return done, nil // a copy knows more than the revisions do: nothing here may forget it
	}
	if p.log.NotedDamage(s.Ledger) != nil {
		if err := p.log.ClearDamage(s.Ledger); err != nil {
			return done, err
		}
		done = append(done, "cleared the noted damage: every revision verifies")
	}
	mirrors, err := p.log.CompleteMirrors(ctx)
	for _, m := range mirrors {
		switch {
		case m.Rebuilt:
			done = append(done, "rebuilt "+visible(m.Path))
		case m.Lacked > 0:
			done = append(done, fmt.Sprintf("added %d revisions to %s", m.Lacked, visible(m.Path)))
		}
	}
	if err != nil {
		return done, err
	}
	tight, err := p.log.Tighten(ctx)
	for _, path := range tight {
		done = append(done, "closed to other users: "+visible(path))
	}
	if err != nil {
		return done, err
	}
	n, err := p.log.Sweep(ctx)
	if n > 0 {
		done = append(done, fmt.Sprintf("removed %d old temporary files", n))
	}
	if err != nil {
		return done, err
	}
	if err := p.reindex(ctx); err != nil {
		return done, err
	}
	return append(done, "made the index anew"), nil
}

// knownBeyond: a mirror or an index has seen a revision after the head.
func (p *Project) knownBeyond(ctx context.Context, s *recovery.Survey) bool {
	for _, src := range s.Sources {
		if src.Kind == recovery.SourceMirror && src.Head.Rev > s.Head.Rev {
			return true
		}
	}
	for _, pos := range p.indexed(ctx, s.Ledger) {
		if pos.Rev > s.Head.Rev {
			return true
		}
	}
	return false
}

func (p *Project) reindex(ctx context.Context) error {
	p.mu.Lock()
	err := p.openIndex(ctx)
	if err == nil {
		err = p.dropIndexes(ctx)
	}
	p.mu.Unlock()
	if err != nil {
		return err
	}
	return p.look(ctx, "", func(*reading) error { return nil })
}
