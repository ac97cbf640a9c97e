package project

import (
	"context"
	"errors"

	"holdfast/internal/ledger"
	"holdfast/internal/recovery"
)

func (p *Project) recoverBody(ctx context.Context) ledger.Body {
	b := ledger.Body{Actor: p.caller.Actor, Worktree: p.loc.worktree}
	if place, err := p.where(ctx); err == nil {
		b.Git = place.Git
	}
	return b
}

// recoverByEntry lets the ledger go on from an earlier state.
func (p *Project) recoverByEntry(ctx context.Context, q *RecoverRequest, plan *recovery.Plan, out *Recovery) error {
	recoveryNow := q.ExpectedRecovery
	if recoveryNow == nil { // the fingerprint holds it
		err := p.look(ctx, "", func(r *reading) error { now := r.view.Recovery(); recoveryNow = &now; return nil })
		if err != nil {
			return err
		}
	}
	d := plan.RecoverDraft(recovery.Act{Now: p.w.Now()})
	done, err := p.mutate(ctx, mutation{kind: ledger.TypeRecover, recovery: recoveryNow, request: plan.Fingerprint,
		build: func(_ context.Context, r *reading) (ledger.Draft, error) {
			if r.head != plan.Target {
				return ledger.Draft{}, &FingerprintError{}
			}
			return ledger.Draft{HeadFields: d.HeadFields, Recovery: d.Recovery}, nil
		}})
	if err != nil {
		return err
	}
	out.Applied, out.Restored, out.NewHead, out.NewRevision, out.Generation = true, plan.Base, done.Hash, done.Rev, plan.Recovery
	out.Warnings = done.Warnings
	return nil
}

// recoverByGeneration makes a new generation, under the ledger's lock.
func (p *Project) recoverByGeneration(ctx context.Context, q *RecoverRequest, out *Recovery) (err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	unlock, err := p.log.LockFolder(ctx)
	if err != nil {
		return located(err, p.Path())
	}
	defer func() {
		if uerr := unlock(); uerr != nil {
			out.Warnings = append(out.Warnings, "unlock: "+sentence(uerr))
		}
	}()
	s, plan, done, err := p.plan(ctx, q)
	defer done()
	if err != nil {
		return err
	}
	if err := s.Used(q.Expect); err != nil {
		return err
	}
	if plan.Fingerprint != q.Expect {
		return &FingerprintError{Current: plan.Fingerprint}
	}
	act := recovery.Act{Now: p.w.Now(), Body: p.recoverBody(ctx), Again: func(ctx context.Context) (*recovery.Plan, error) {
		_, again, done, err := p.plan(ctx, q)
		done()
		return again, err
	}}
	applied, err := plan.Apply(ctx, p.log, act)
	if err != nil {
		return err
	}
	out.Applied, out.Restored, out.NewHead, out.NewRevision = true, plan.Base, applied.Head.Hash, applied.Head.Rev
	out.Generation, out.Preserved = plan.Recovery, applied.Preserved
	for _, w := range applied.Warnings {
		out.Warnings = append(out.Warnings, sentence(errors.New(w)))
	}
	ctx = context.WithoutCancel(ctx)
	if err := p.attach(ctx, q, plan.Ledger); err != nil {
		out.Warnings = append(out.Warnings, "manifests of receipts: "+sentence(err))
	}
	if err := p.settled(ctx, plan.Ledger); err != nil {
		out.Warnings = append(out.Warnings, "not protected yet: "+sentence(err))
	}
	return nil
}

// attach brings the receipts' manifests into the ledger's folder: those beside the
// mirror, and the export's.
func (p *Project) attach(ctx context.Context, q *RecoverRequest, id string) error {
	sums, err := p.log.Manifests(ctx, id)
	if err != nil {
		return err
	}
	for _, sum := range sums {
		data, err := p.log.ReadManifest(id, sum)
		if err == nil {
			err = p.log.RestoreManifest(sum, data)
		}
		if err != nil {
			return err
		}
	}
	if q.From == "" {
		return nil
	}
	f, a, err := p.openExport(ctx, q)
	if err != nil || a == nil {
		return err
	}
	defer f.Close()
	for at, err := range a.Attachments(ctx) {
		if err == nil {
			err = p.log.RestoreManifest(at.Name, at.Data)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// settled lets mirror, notes, index and handoff follow a new generation. p.mu is
// held.
func (p *Project) settled(ctx context.Context, id string) error {
	err := p.log.Settle(ctx, id)
	err = errors.Join(err, p.closeIndex())
	if oerr := p.openIndex(ctx); oerr != nil {
		return errors.Join(err, oerr)
	}
	p.dirty, p.plain = true, plain{}
	return errors.Join(err, p.idx.Discard(ctx))
}

// settleRecovery finishes what death left of a recovery that was applied.
func (p *Project) settleRecovery(ctx context.Context, id string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.settled(ctx, id)
}

// explainRecovery puts the errors of a recovery into words.
func explainRecovery(err error) (Problem, bool) {
	if e, ok := errors.AsType[*recovery.StaleError](err); ok {
		return Problem{Code: "stale", Exit: ExitConflict, Message: sentence(e) + "; nothing was replaced", Next: "look at the preview again: holdfast recover"}, true
	}
	if e, ok := errors.AsType[*recovery.UsedError](err); ok {
		return Problem{Code: "fingerprint_used", Exit: ExitConflict, Message: e.Error() + "; a fingerprint works once", Next: "see what is there: holdfast resume"}, true
	}
	if e, ok := errors.AsType[*recovery.NoRevisionError](err); ok {
		return Problem{Code: "not_found", Exit: ExitUsage, Message: e.Error(), Next: "see what there is: holdfast recover --list"}, true
	}
	if e, ok := errors.AsType[*recovery.NoSourceError](err); ok {
		return Problem{Code: "not_found", Exit: ExitUsage, Message: sentence(e), Next: "see what there is: holdfast recover --list"}, true
	}
	if e, ok := errors.AsType[*recovery.OtherLedgerError](err); ok {
		return Problem{Code: "other_ledger", Exit: ExitDamaged, Message: e.Error() + "; nothing was changed", Next: "recover it in a project without a ledger"}, true
	}
	if errors.Is(err, recovery.ErrNothing) {
		return Problem{Code: "nothing_verifies", Exit: ExitDamaged, Message: recovery.ErrNothing.Error() + "; nothing was changed", Next: "recover from an export: holdfast recover --from FILE"}, true
	}
	return Problem{}, false
}
