package project

import (
	"context"
	"iter"
	"slices"

	"holdfast/internal/ledger"
)

// checkState is how a check stands, apart from its receipts' freshness.
type checkState struct {
	Rev       int64 // the newest entry about it: what a change must expect
	Receipt   int64 // its newest receipt
	Retracted bool
}

// checkStateOf finds the newest entries about a check. found is false when there
// is none. A retracted check stays hidden, whatever is run, until it is restored.
func (p *Project) checkStateOf(ctx context.Context, r *reading, id string) (s checkState, found bool, err error) {
	newest := map[string]int64{}
	for _, typ := range []string{ledger.TypeCheck, ledger.TypeRetract, ledger.TypeRestore} {
		if newest[typ], err = newestAbout(ctx, r, typ, id); err != nil {
			return s, false, err
		}
	}
	s.Receipt = newest[ledger.TypeCheck]
	s.Rev = max(s.Receipt, newest[ledger.TypeRetract], newest[ledger.TypeRestore])
	s.Retracted = newest[ledger.TypeRetract] > newest[ledger.TypeRestore]
	return s, s.Receipt > 0, nil
}

// newestAbout is the newest entry of a type about one check, 0 for none.
func newestAbout(ctx context.Context, r *reading, typ, id string) (int64, error) {
	for e, err := range eachAboutChecks(ctx, r, typ) {
		if err != nil {
			return 0, err
		}
		if slices.Contains(e.IDs, id) {
			return e.Rev, nil
		}
	}
	return 0, nil
}

// eachAboutChecks gives the entries of a type that concern checks and that no
// recovery took back, newest first; after an error, nothing more. An entry about
// a record has the record's kind, and a record may have a check's name.
func eachAboutChecks(ctx context.Context, r *reading, typ string) iter.Seq2[ledger.Event, error] {
	return func(yield func(ledger.Event, error) bool) {
		const page = 500
		q := ledger.EventQuery{Since: -1, Kind: typ, Limit: page}
		for {
			events, err := r.view.Events(ctx, q)
			if err != nil {
				yield(ledger.Event{}, err)
				return
			}
			for _, e := range events {
				if record := e.Kind != "" && e.Kind != typ; e.Live && e.Type == typ && !record && len(e.IDs) > 0 && !yield(e, nil) {
					return
				}
			}
			if len(events) < page {
				return
			}
			q.Before = events[len(events)-1].Rev
		}
	}
}

// changeCheck is what retract and restore write about a check. Only a person at
// a terminal may leave the revision out where a record's could be.
func (p *Project) changeCheck(ctx context.Context, r *reading, q ChangeRequest, kind string) (ledger.Draft, error) {
	var d ledger.Draft
	s, found, err := p.checkStateOf(ctx, r, q.ID)
	switch {
	case err != nil:
		return d, err
	case !found:
		return d, &NotFoundError{What: "check", ID: q.ID}
	case q.ExpectedRevision == nil || *q.ExpectedRevision != s.Rev:
		return d, &CheckConflictError{ID: q.ID, Current: s.Rev}
	case kind == ledger.TypeRetract && s.Retracted:
		return d, &StateError{ID: q.ID, Why: "the check is retracted already"}
	case kind == ledger.TypeRestore && !s.Retracted:
		return d, &StateError{ID: q.ID, Why: "the check is not retracted"}
	case kind != ledger.TypeRetract && kind != ledger.TypeRestore:
		return d, &UsageError{Why: "a check can only be retracted or restored"}
	}
	d.Body.Change = &ledger.Change{ID: q.ID, Category: ledger.CategoryCheck, Replaces: s.Rev}
	return d, nil
}

// CheckConflictError: the check is not at the revision that the caller expected.
type CheckConflictError struct {
	ID      string
	Current int64
}

func (e *CheckConflictError) Error() string { return "check " + e.ID + " is at another revision" }
