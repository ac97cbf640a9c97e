package project

import (
	"context"

	"holdfast/internal/ledger"
	"holdfast/internal/secret"
)

// ConfirmRequest asks to vouch for records.
type ConfirmRequest struct {
	IDs []string
	// ExpectedRevision is the version that the person read, for one record; nil: a
	// person at a terminal means what stands there now.
	ExpectedRevision *int64
	ExpectedRecovery *string
	Key              string
}

// Confirm lets a person vouch for the version that was read. It refuses when
// another one stands there by now.
func (p *Project) Confirm(ctx context.Context, q ConfirmRequest) (Saved, error) {
	ids := q.IDs
	if len(ids) == 0 {
		return Saved{}, &UsageError{Why: "no record was given"}
	}
	m := mutation{kind: ledger.TypeConfirm, person: true, recovery: q.ExpectedRecovery, key: q.Key, request: ids}
	for _, id := range ids {
		if !ledger.ValidID(id) {
			rec := ledger.Record{ID: id}
			return Saved{}, rec.Validate("")
		}
		m.fields = append(m.fields, secret.Field{Name: "id", Text: id})
	}
	m.build = func(ctx context.Context, r *reading) (ledger.Draft, error) {
		var d ledger.Draft
		for _, id := range ids {
			cur, err := p.expect(ctx, r, id, q.ExpectedRevision, false)
			if err != nil {
				return d, err
			}
			d.Body.Confirms = append(d.Body.Confirms, ledger.Ref{ID: id, Rev: cur.ContentRev})
		}
		return d, nil
	}
	out, err := p.mutate(ctx, m)
	if err != nil {
		return Saved{}, err
	}
	s := p.saved(out)
	if len(ids) == 1 {
		s.ID = ids[0]
		return s, nil
	}
	for _, id := range ids {
		s.Records = append(s.Records, SavedID{id})
	}
	return s, nil
}
