package project

import (
	"context"
	"fmt"
	"slices"

	"holdfast/internal/ledger"
	"holdfast/internal/secret"
)

// Record saves one record or several, all or nothing, in one revision. A record
// whose id exists is corrected: only what is given changes, and the request
// must name the revision that it replaces.
func (p *Project) Record(ctx context.Context, reqs []RecordRequest) (Saved, error) {
	m := mutation{kind: ledger.TypeRecord, creates: true}
	if err := p.prepareRecords(&m, reqs); err != nil {
		return Saved{}, err
	}
	cites, err := p.citeAll(&m, reqs)
	if err != nil {
		return Saved{}, err
	}
	m.build = func(ctx context.Context, r *reading) (ledger.Draft, error) {
		var d ledger.Draft
		for i := range reqs {
			rec, err := p.resolve(ctx, r, &reqs[i], at(reqs, i), cites[i])
			if err != nil {
				return d, err
			}
			d.Body.Records = append(d.Body.Records, rec)
		}
		return d, nil
	}
	p.lookAtEvidence(ctx, closing(reqs)...)
	out, err := p.mutate(ctx, m)
	if err != nil {
		return Saved{}, err
	}
	s := p.saved(out)
	if len(reqs) == 1 {
		s.ID = reqs[0].ID
		return s, nil
	}
	for _, r := range reqs {
		s.Records = append(s.Records, SavedID{r.ID})
	}
	return s, nil
}

// at is the path of a record in the request, for messages.
func at(reqs []RecordRequest, i int) string {
	if len(reqs) == 1 {
		return ""
	}
	return fmt.Sprintf("records[%d]", i)
}

func dot(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

// prepareRecords checks what needs no ledger, and collects key, generation and
// the texts to screen.
func (p *Project) prepareRecords(m *mutation, reqs []RecordRequest) error {
	if len(reqs) == 0 {
		return &UsageError{Why: "no record was given"}
	}
	if len(reqs) > ledger.MaxRecords {
		return &ledger.LimitError{What: "a save", Limit: ledger.MaxRecords, Got: len(reqs), Unit: "records"}
	}
	seen := map[string]bool{}
	plain := slices.Clone(reqs)
	for i := range reqs {
		r := &reqs[i]
		path := at(reqs, i)
		if !ledger.ValidID(r.ID) {
			// An id of another form is refused before it is repeated anywhere.
			rec := ledger.Record{ID: r.ID}
			m.fields = append(m.fields, secret.Field{Name: dot(path, "id"), Text: r.ID})
			if found := p.screen.Check(m.fields); len(found) > 0 {
				return &secret.FoundError{Findings: found}
			}
			return rec.Validate(path)
		}
		if seen[r.ID] {
			return &ledger.FieldError{Field: dot(path, "id"), Why: "the same id stands twice in one save"}
		}
		seen[r.ID] = true
		if r.Key != "" && m.key != "" && r.Key != m.key {
			return &ledger.FieldError{Field: dot(path, "key"), Why: "one save has one key"}
		}
		if r.Key != "" {
			m.key = r.Key
		}
		if r.ExpectedRecovery != nil {
			if m.recovery != nil && *m.recovery != *r.ExpectedRecovery {
				return &ledger.FieldError{Field: dot(path, "expected_recovery"), Why: "one save has one recovery generation"}
			}
			m.recovery = r.ExpectedRecovery
		}
		rec := r.apply(ledger.Record{})
		rec.Texts(path, func(name, text string) { m.fields = append(m.fields, secret.Field{Name: name, Text: text}) })
		if r.Cites != nil {
			for _, c := range *r.Cites {
				m.fields = append(m.fields, secret.Field{Name: dot(path, "cites"), Text: c})
			}
		}
		plain[i].ExpectedRevision, plain[i].ExpectedRecovery, plain[i].Key = nil, nil, ""
	}
	m.request = plain
	return nil
}

func (p *Project) citeAll(m *mutation, reqs []RecordRequest) ([][]ledger.Cite, error) {
	out := make([][]ledger.Cite, len(reqs))
	for i := range reqs {
		if reqs[i].Cites == nil {
			continue
		}
		field := dot(at(reqs, i), "cites")
		if len(*reqs[i].Cites) > ledger.MaxCites {
			return nil, &ledger.FieldError{Field: field, Why: "at most 20 files"}
		}
		cites, files, err := p.cite(field, *reqs[i].Cites)
		if err != nil {
			return nil, err
		}
		out[i] = cites
		m.files = append(m.files, files...)
	}
	return out, nil
}

// apply lays what r gives over old. Cites are left to the caller.
func (r *RecordRequest) apply(old ledger.Record) ledger.Record {
	old.ID = r.ID
	if r.Kind != "" {
		old.Kind = r.Kind
	}
	for _, f := range []struct {
		from *string
		to   *string
	}{
		{r.Text, &old.Text}, {r.Answer, &old.Answer}, {r.Why, &old.Why}, {r.RevisitWhen, &old.RevisitWhen},
		{r.Supersedes, &old.Supersedes}, {r.Status, &old.Status}, {r.Source, &old.Source}, {r.DoneWhen, &old.DoneWhen},
	} {
		if f.from != nil {
			*f.to = *f.from
		}
	}
	if r.Rejected != nil {
		old.Rejected = *r.Rejected
	}
	old.WithoutEvidence = r.WithoutEvidence
	return old
}

// resolve makes the record as it will be stored, under the guards.
func (p *Project) resolve(ctx context.Context, r *reading, q *RecordRequest, path string, cites []ledger.Cite) (ledger.Record, error) {
	cur, err := p.expect(ctx, r, q.ID, q.ExpectedRevision, true)
	if err != nil {
		return ledger.Record{}, err
	}
	var old ledger.Record
	if cur != nil {
		if cur.Retracted {
			return old, &StateError{ID: q.ID, Why: "it is retracted; restore it first"}
		}
		old = cur.Record
		if q.Kind != "" && q.Kind != old.Kind && (old.Kind != ledger.KindQuestion || q.Kind != ledger.KindAnswer) {
			return old, &ledger.FieldError{Field: dot(path, "kind"), Why: "a correction can't change the kind, except from question to answer"}
		}
	}
	rec := q.apply(old)
	if q.Cites != nil {
		rec.Cites = cites
	}
	if cur != nil {
		rec.Replaces, rec.Settles = cur.Rev, revs(cur.Diverged)
	} else {
		rec.Replaces, rec.Settles = 0, nil
	}
	if rec.Status == "" && (rec.Kind == ledger.KindNext || rec.Kind == ledger.KindGoal) {
		rec.Status = ledger.StatusOpen
	}
	if rec.Source == "" && p.caller.Kind == ledger.Person && p.caller.Asked {
		rec.Source = "said at the terminal"
	}
	if err := rec.Validate(path); err != nil {
		return rec, err
	}
	if rec.Source == "" {
		return rec, &ledger.FieldError{Field: dot(path, "source"), Why: "is missing: say in words where this comes from"}
	}
	return rec, p.checkLinks(ctx, r, path, &rec, old.Status)
}

// checkLinks checks what a record says of others.
func (p *Project) checkLinks(ctx context.Context, r *reading, path string, rec *ledger.Record, oldStatus string) error {
	if rec.Supersedes != "" {
		vs, err := r.view.Versions(ctx, rec.Supersedes)
		if err != nil {
			return err
		}
		if len(vs) == 0 {
			return &ledger.FieldError{Field: dot(path, "supersedes"), Why: "names no record"}
		}
	}
	if rec.Status == ledger.StatusDone && oldStatus != ledger.StatusDone {
		return p.checkEvidence(ctx, r, rec, rec.WithoutEvidence)
	}
	return nil
}

// expect finds the version that a change replaces and checks that the caller
// knows it. A person at a terminal may leave the revision out, unless strict.
// The result is nil for a new record, which strict alone allows.
func (p *Project) expect(ctx context.Context, r *reading, id string, expected *int64, strict bool) (*ledger.Current, error) {
	vs, err := r.view.Versions(ctx, id)
	if err != nil {
		return nil, err
	}
	cur, ok := ledger.CurrentOf(vs, r.scope)
	switch {
	case !ok && len(vs) > 0:
		return nil, &ElsewhereError{ID: id, Branch: vs[len(vs)-1].Git.Branch}
	case !ok && strict && (expected == nil || *expected == 0):
		return nil, nil
	case !ok && strict:
		return nil, &ConflictError{ID: id, Expected: *expected}
	case !ok:
		return nil, &NotFoundError{What: "record", ID: id}
	case expected == nil && !strict && p.caller.Kind == ledger.Person:
		return &cur, nil
	case expected == nil:
		return nil, &ConflictError{ID: id, Current: &cur}
	case *expected != cur.Rev:
		return nil, &ConflictError{ID: id, Expected: *expected, Current: &cur}
	}
	return &cur, nil
}

func revs(vs []ledger.Version) []int64 {
	var out []int64
	for _, v := range vs {
		out = append(out, v.Rev)
	}
	return out
}

func (p *Project) saved(out outcome) Saved {
	actor := p.caller.Kind
	if out.entry != nil {
		if b, ok, err := out.entry.Body(); err == nil && ok {
			actor = b.Actor.Kind
		}
	}
	return Saved{Revision: out.Rev, Hash: out.Hash, Durable: true, Protected: out.Protected, Recovery: out.Recovery,
		Unconfirmed: actor != ledger.Person, Replayed: out.Replayed, Warnings: out.Warnings}
}
