package project

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"holdfast/internal/ledger"
	"holdfast/internal/secret"
)

// RedactRequest names what loses its text: whole revisions, since a revision is
// saved and erased as one.
type RedactRequest struct {
	IDs              []string // every version of these records, on all branches
	Revisions        []int64
	Why              string  // kept, and shown in the log
	Expect           string  // fingerprint of a preview; empty: only preview
	ExpectedRecovery *string // generation that the person resumed in; nil: none was given
}

// Redaction is a preview, or what was done.
type Redaction struct {
	Fingerprint string        `json:"fingerprint"`
	Revisions   []RedactedRev `json:"revisions"`
	Unreachable []string      `json:"unreachable"` // what no redaction can reach
	Applied     bool          `json:"applied"`
	Revision    int64         `json:"revision,omitempty"` // of the redact entry
	Hash        string        `json:"hash,omitempty"`
	Durable     bool          `json:"durable,omitempty"`
	Protected   bool          `json:"protected,omitempty"`
	Erased      []string      `json:"erased,omitempty"` // files that were rewritten or removed
	Warnings    []string      `json:"warnings,omitempty"`
	refs        []ledger.Ref
	hashes      map[int64]string
	request     []int64
}

// RedactedRev is one revision, without any of its text.
type RedactedRev struct {
	Revision int64        `json:"revision"`
	Type     string       `json:"type"`
	At       string       `json:"at"`
	Actor    ledger.Actor `json:"actor"`
	IDs      []string     `json:"ids"` // every record in it loses this version's text
}

// unreachable is where copies of a text may be that nobody can list.
var unreachable = []string{
	"encrypted exports and other backups",
	"copies of the project or its ledger on other machines, in other folders, in synced folders and in snapshots of the file system",
	"files of the project itself, and quarantined originals that hold only a part of the text",
	"git commits that hold the text or the ledger's files",
	"transcripts and logs of coding tools that were shown it",
}

// RedactUnfinishedError: the redact entry stands, and not every copy could be
// erased.
type RedactUnfinishedError struct {
	Rev int64
	Err error
}

func (e *RedactUnfinishedError) Error() string {
	return fmt.Sprintf("revision %d says what is redacted, and some of it could not be erased: %v", e.Rev, e.Err)
}
func (e *RedactUnfinishedError) Unwrap() error { return e.Err }

// FingerprintError: what a preview showed is not what is there now.
type FingerprintError struct{ Current string }

func (e *FingerprintError) Error() string { return "it is not what the preview showed" }

// Redact shows what a redaction would erase, or, given the preview's
// fingerprint, erases it: first the redact entry is saved, then the texts go
// from every copy that this machine has. Only a person can. The error is a
// *RedactUnfinishedError, together with the answer, where a copy could not be
// erased: whoever meets it next goes on.
func (p *Project) Redact(ctx context.Context, q RedactRequest) (Redaction, error) {
	if p.caller.Kind != ledger.Person {
		return Redaction{}, ErrPersonOnly
	}
	if err := ledger.CheckText("why", q.Why, 0, ledger.MaxSource); err != nil {
		return Redaction{}, err
	}
	if found := p.screen.Check([]secret.Field{{Name: "why", Text: q.Why}}); len(found) > 0 {
		return Redaction{}, &secret.FoundError{Findings: found}
	}
	d, err := p.previewRedaction(ctx, q)
	if errors.Is(err, errNoText) {
		return p.redactAgain(ctx, d, err)
	}
	if err != nil || q.Expect == "" {
		return d, err
	}
	if q.Expect != d.Fingerprint {
		return d, &FingerprintError{Current: d.Fingerprint}
	}
	out, err := p.mutate(ctx, mutation{
		kind: ledger.TypeRedact, person: true, recovery: q.ExpectedRecovery, request: d.request,
		fields: []secret.Field{{Name: "why", Text: q.Why}},
		build: func(ctx context.Context, r *reading) (ledger.Draft, error) {
			if err := p.unchangedRevs(ctx, &d); err != nil {
				return ledger.Draft{}, err
			}
			return ledger.Draft{HeadFields: ledger.HeadFields{Revisions: d.request}, Body: ledger.Body{Reason: q.Why, Redacted: d.refs}}, nil
		}})
	if err != nil {
		return d, err
	}
	d.Applied, d.Revision, d.Hash, d.Durable, d.Protected, d.Warnings = true, out.Rev, out.Hash, true, out.Protected, out.Warnings
	// From here on the redaction stands, and is finished whatever the caller does.
	if d.Erased, err = p.finishRedaction(context.WithoutCancel(ctx), d.request); err != nil {
		return d, &RedactUnfinishedError{Rev: out.Rev, Err: err}
	}
	return d, nil
}

var errNoText = &UsageError{Why: "what was named has no text any more"}

// redactAgain looks for copies of texts that were redacted before, such as in a
// mirror that came back.
func (p *Project) redactAgain(ctx context.Context, d Redaction, none error) (Redaction, error) {
	files, err := p.finishRedaction(context.WithoutCancel(ctx), nil)
	switch {
	case err != nil:
		return d, &RedactUnfinishedError{Rev: d.Revision, Err: err}
	case len(files) == 0:
		return d, none
	}
	d.Applied, d.Erased = true, files
	return d, nil
}

// previewRedaction finds the revisions and what stands in them.
func (p *Project) previewRedaction(ctx context.Context, q RedactRequest) (d Redaction, err error) {
	if len(q.IDs)+len(q.Revisions) == 0 {
		return d, &UsageError{Why: "nothing was named: give a record's ID or a revision"}
	}
	d = Redaction{Revisions: []RedactedRev{}, Unreachable: unreachable, hashes: map[int64]string{}}
	revs := map[int64]bool{}
	for _, rev := range q.Revisions {
		revs[rev] = true
	}
	err = p.look(ctx, "", func(r *reading) error {
		for _, id := range q.IDs {
			vs, err := r.view.Versions(ctx, id)
			if err != nil {
				return err
			}
			if len(vs) == 0 {
				return &NotFoundError{What: "record", ID: id}
			}
			for i := range vs {
				revs[vs[i].Rev] = true
				if c := vs[i].ContentRev; c > 0 {
					revs[c] = true
				}
			}
		}
		return nil
	})
	if err != nil {
		return d, err
	}
	for rev := range revs {
		d.request = append(d.request, rev)
	}
	slices.Sort(d.request)
	if err := p.describeRevs(ctx, &d, len(q.Revisions) > 0); err != nil {
		return d, err
	}
	sum := make([]string, 0, len(d.request)+2)
	sum = append(sum, "redact", p.log.ID())
	for _, rev := range d.request {
		sum = append(sum, fmt.Sprint(rev), d.hashes[rev])
	}
	d.Fingerprint = digest(sum)
	return d, nil
}

// describeRevs reads the revisions. Those that were named by themselves must
// have a text to lose; of a record's versions the erased ones are left out.
func (p *Project) describeRevs(ctx context.Context, d *Redaction, named bool) error {
	head, err := p.log.Head(ctx)
	if err != nil {
		return err
	}
	kept := d.request[:0]
	for _, rev := range d.request {
		if rev < 1 || rev > head.Rev {
			return &NotFoundError{What: "revision to redact,", ID: fmt.Sprint(rev)}
		}
		e, err := p.log.Entry(ctx, rev)
		if err != nil {
			return err
		}
		if e.BodyRaw == nil {
			continue
		}
		b, _, err := e.Body()
		if err != nil {
			return err
		}
		ids := b.IDs()
		slices.Sort(ids)
		row := RedactedRev{Revision: rev, Type: e.Type, At: e.At, Actor: b.Actor, IDs: slices.Compact(ids)}
		for _, id := range row.IDs {
			d.refs = append(d.refs, ledger.Ref{ID: id, Rev: rev})
		}
		d.Revisions, d.hashes[rev] = append(d.Revisions, row), e.Hash
		kept = append(kept, rev)
	}
	if d.request = kept; len(kept) == 0 {
		return errNoText
	}
	return nil
}

// unchangedRevs looks again under the lock: a recovery may have put others in
// their place.
func (p *Project) unchangedRevs(ctx context.Context, d *Redaction) error {
	for rev, hash := range d.hashes {
		e, err := p.log.Entry(ctx, rev)
		if err != nil {
			return err
		}
		if e.Hash != hash {
			return errors.Join(&FingerprintError{}, fmt.Errorf("revision %d is another", rev))
		}
	}
	return nil
}

func (e *RedactUnfinishedError) explain() Problem {
	return Problem{Code: "unfinished", Exit: ExitBusy,
		Message: fmt.Sprintf("the redaction is saved as revision %d, and not every copy could be erased: %s", e.Rev, sentence(e.Err)),
		Next:    "put right what stands in the way, then run any command here, such as holdfast resume: it goes on with it"}
}
