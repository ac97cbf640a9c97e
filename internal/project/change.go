package project

import (
	"context"
	"errors"

	"holdfast/internal/ledger"
	"holdfast/internal/secret"
)

// Done marks a next action or a goal as done.
func (p *Project) Done(ctx context.Context, q ChangeRequest) (Saved, error) {
	p.lookAtEvidence(ctx, q.ID)
	return p.setStatus(ctx, q, ledger.StatusDone)
}

// Drop gives a next action or a goal up.
func (p *Project) Drop(ctx context.Context, q ChangeRequest) (Saved, error) {
	return p.setStatus(ctx, q, ledger.StatusDropped)
}

func (p *Project) setStatus(ctx context.Context, q ChangeRequest, status string) (Saved, error) {
	return p.change(ctx, q, ledger.TypeStatus, func(ctx context.Context, r *reading, cur *ledger.Current) (*ledger.Change, error) {
		switch {
		case cur.Kind != ledger.KindNext && cur.Kind != ledger.KindGoal:
			return nil, &StateError{ID: q.ID, Why: "only goals and next actions can be done or dropped"}
		case cur.Retracted:
			return nil, &StateError{ID: q.ID, Why: "it is retracted; restore it first"}
		case cur.Status == status:
			return nil, &StateError{ID: q.ID, Why: "it is " + status + " already"}
		}
		if status == ledger.StatusDone {
			if err := p.checkEvidence(ctx, r, &cur.Record, q.WithoutEvidence); err != nil {
				return nil, err
			}
		}
		return &ledger.Change{Status: status, WithoutEvidence: q.WithoutEvidence}, nil
	})
}

// Retract hides a record. Nothing is deleted.
func (p *Project) Retract(ctx context.Context, q ChangeRequest) (Saved, error) {
	return p.change(ctx, q, ledger.TypeRetract, func(_ context.Context, _ *reading, cur *ledger.Current) (*ledger.Change, error) {
		if cur.Retracted {
			return nil, &StateError{ID: q.ID, Why: "it is retracted already"}
		}
		return &ledger.Change{}, nil
	})
}

// Restore brings a retracted record back.
func (p *Project) Restore(ctx context.Context, q ChangeRequest) (Saved, error) {
	return p.change(ctx, q, ledger.TypeRestore, func(_ context.Context, _ *reading, cur *ledger.Current) (*ledger.Change, error) {
		if !cur.Retracted {
			return nil, &StateError{ID: q.ID, Why: "it is not retracted"}
		}
		return &ledger.Change{}, nil
	})
}

// change is what done, drop, retract and restore share: find the version, check
// the guard, say what it becomes.
func (p *Project) change(ctx context.Context, q ChangeRequest, kind string,
	make func(context.Context, *reading, *ledger.Current) (*ledger.Change, error)) (Saved, error) {
	if !ledger.ValidID(q.ID) {
		rec := ledger.Record{ID: q.ID}
		return Saved{}, rec.Validate("")
	}
	if err := ledger.CheckText("without_evidence", q.WithoutEvidence, 0, ledger.MaxSource); err != nil {
		return Saved{}, err
	}
	m := mutation{
		kind: kind, recovery: q.ExpectedRecovery, key: q.Key,
		request: []string{kind, q.Category, q.ID, q.WithoutEvidence},
		fields:  []secret.Field{{Name: "id", Text: q.ID}, {Name: "without_evidence", Text: q.WithoutEvidence}},
	}
	m.build = func(ctx context.Context, r *reading) (ledger.Draft, error) {
		if q.Category == ledger.CategoryCheck {
			return p.changeCheck(ctx, r, q, kind)
		}
		var d ledger.Draft
		cur, err := p.expect(ctx, r, q.ID, q.ExpectedRevision, kind == ledger.TypeRetract || kind == ledger.TypeRestore)
		if c, ok := errors.AsType[*ConflictError](err); ok && c.Current == nil || err == nil && cur == nil {
			err = &NotFoundError{What: "record", ID: q.ID}
		}
		if err != nil {
			return d, err
		}
		c, err := make(ctx, r, cur)
		if err != nil {
			return d, err
		}
		c.ID, c.Category, c.Replaces, c.Settles = q.ID, q.Category, cur.Rev, revs(cur.Diverged)
		d.Body.Change = c
		return d, nil
	}
	out, err := p.mutate(ctx, m)
	if err != nil {
		return Saved{}, err
	}
	s := p.saved(out)
	s.ID = q.ID
	return s, nil
}
