package project

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"

	"holdfast/internal/archive"
	"holdfast/internal/ledger"
	"holdfast/internal/secret"
)

// ImportRequest asks to bring records over from elsewhere.
type ImportRequest struct {
	Path             string
	Passphrase       string // of an encrypted source
	Identity         string // file with the private key of an export of ours
	Expect           string // fingerprint of a preview; empty: only preview
	ExpectedRecovery *string
}

// Import is a preview, or what was done.
type Import struct {
	Source      string         `json:"source"`
	Format      string         `json:"format"` // memoir or ledger
	SHA256      string         `json:"sha256"` // of the source
	Add         []ImportedItem `json:"add"`
	Present     int            `json:"present"`          // stand here already, as they are there
	Common      int            `json:"common,omitempty"` // entries that both ledgers have
	LeftOut     []ImportedItem `json:"left_out"`
	Fingerprint string         `json:"fingerprint"`
	Applied     bool           `json:"applied"`
	Revisions   []int64        `json:"revisions,omitempty"` // that were saved
	Warnings    []string       `json:"warnings,omitempty"`
}

// ImportedItem is one thing of the source, without its text.
type ImportedItem struct {
	What     string `json:"what"` // record, check or retraction
	ID       string `json:"id"`
	Revision int64  `json:"revision"` // in the source
	Branch   string `json:"branch,omitempty"`
	Why      string `json:"why,omitempty"` // why it is left out, or what becomes of it
}

// importItem is one thing of a source that may become a revision here.
type importItem struct {
	ImportedItem
	key     string // idempotency key: by it an item is known again
	origin  ledger.Origin
	git     ledger.Git
	record  *ledger.Record
	receipt *ledger.Receipt
	change  *ledger.Change // of a retraction, a restoration or a status; Replaces is for the importer
	kind    string         // entry type
	problem string         // why it can't stand here
	follows int64          // revision in the source that it replaces, 0 if the source doesn't say or there is none
	strict  bool           // what follows what goes by id and branch, and an id that others use here is left out
}

func (it *importItem) fields() []secret.Field {
	fields := []secret.Field{{Name: "id", Text: it.ID}, {Name: "branch", Text: it.Branch}, {Name: "receipt", Text: string(it.origin.Rest)}}
	if it.record != nil {
		it.record.Texts("", func(name, text string) { fields = append(fields, secret.Field{Name: name, Text: text}) })
	}
	if it.receipt != nil {
		for _, t := range append([]string{it.receipt.Title, it.receipt.Output.Tail}, it.receipt.Argv...) {
			fields = append(fields, secret.Field{Name: "receipt", Text: t})
		}
	}
	return fields
}

// ImportMemoir brings a project over from memoir's project handoff. What it saves
// is unconfirmed, and says where it came from. Importing twice adds nothing; an
// import that was cut short goes on when it is repeated.
func (p *Project) ImportMemoir(ctx context.Context, q ImportRequest) (Import, error) {
	b, err := p.readGiven("source", q.Path, archive.MaxMemoir+8192)
	if err != nil {
		return Import{}, err
	}
	m, err := archive.ReadMemoir(q.Path, b, q.Passphrase)
	if err != nil {
		return Import{}, err
	}
	return p.importItems(ctx, q, Import{Format: "memoir", SHA256: hexSHA256(b)}, memoirItems(m), nil)
}

// MemoirNeedsPassphrase tells whether the source is an encrypted export.
func (p *Project) MemoirNeedsPassphrase(path string) (bool, error) {
	f, err := p.openGiven("source", path)
	if err != nil {
		return false, err
	}
	defer f.Close()
	b := make([]byte, 16)
	n, err := io.ReadFull(f, b)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF) {
		return false, &UsageError{Why: "the source can't be read: " + reason(err)}
	}
	return archive.IsMemoirExport(b[:n]), nil
}

// readGiven reads a whole file that the caller named.
func (p *Project) readGiven(what, path string, limit int64) ([]byte, error) {
	f, err := p.openGiven(what, path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, &UsageError{Why: "the " + what + " is no file"}
	}
	b, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err != nil {
		return nil, &UsageError{Why: "the " + what + " can't be read: " + reason(err)}
	}
	if int64(len(b)) > limit {
		return nil, &ledger.LimitError{What: "the " + what, Limit: int(limit), Got: len(b), Unit: "bytes"}
	}
	return b, nil
}

func hexSHA256(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// importItems previews the import of some items, or does what a preview showed.
// shared are revisions of the source that stand here too, under the same number.
func (p *Project) importItems(ctx context.Context, q ImportRequest, out Import, items []importItem, shared map[int64]bool) (Import, error) {
	out.Source, out.Add, out.LeftOut = p.fromHere(q.Path), []ImportedItem{}, []ImportedItem{}
	plan, err := p.planImport(ctx, &out, items, shared)
	if err != nil || q.Expect == "" {
		return out, err
	}
	if q.Expect != out.Fingerprint {
		return out, &FingerprintError{Current: out.Fingerprint}
	}
	for i, it := range plan.add {
		done, err := p.importOne(ctx, q, plan, it)
		if err != nil {
			return out, &ImportUnfinishedError{Done: i, Of: len(plan.add), Err: err}
		}
		plan.stands(it, done.Rev)
		out.Revisions, out.Warnings = append(out.Revisions, done.Rev), append(out.Warnings, done.Warnings...)
	}
	out.Applied = true
	return out, nil
}

// ImportUnfinishedError: some of the items are saved, and repeating the import adds
// the rest.
type ImportUnfinishedError struct {
	Done, Of int
	Err      error
}

func (e *ImportUnfinishedError) Error() string { return "import: " + e.Err.Error() }
func (e *ImportUnfinishedError) Unwrap() error { return e.Err }

func (e *ImportUnfinishedError) explain() Problem {
	in := Explain(e.Err)
	if e.Done == 0 {
		return in
	}
	in.Message = fmt.Sprintf("%d of %d were imported and stay; then: %s", e.Done, e.Of, in.Message)
	in.Next = "look at the preview again, which shows the rest: holdfast import"
	return in
}

// importPlan is what an import will do, and what of it stands here.
type importPlan struct {
	add    []*importItem
	shared map[int64]bool
	last   map[string]int64          // by line: the revision that the next item follows; toCome for one to be saved
	revs   map[sourceRev]int64       // the same by its revision in the source
	mine   map[string]map[int64]bool // by id: the revisions that came from this source
	left   map[string]bool           // by subject: something was left out, and what follows it can't be told
}

type sourceRev struct {
	rev int64
	id  string
}

// toCome stands for a revision that the import will make.
const toCome = -1

func newImportPlan(shared map[int64]bool) *importPlan {
	return &importPlan{shared: shared, last: map[string]int64{}, revs: map[sourceRev]int64{}, mine: map[string]map[int64]bool{}, left: map[string]bool{}}
}

// subject tells records and checks of one name apart.
func (it *importItem) subject() string {
	if it.receipt != nil || it.change != nil && it.change.Category == ledger.CategoryCheck {
		return "check " + it.ID
	}
	return "record " + it.ID
}

// line is what an item corrects: what its branch has under its id.
func (it *importItem) line() string { return it.subject() + "\x00" + it.Branch }

// stands notes the revision that an item has here.
func (pl *importPlan) stands(it *importItem, rev int64) {
	pl.last[it.line()], pl.revs[sourceRev{it.origin.Rev, it.ID}] = rev, rev
	if pl.mine[it.ID] == nil {
		pl.mine[it.ID] = map[int64]bool{}
	}
	pl.mine[it.ID][rev] = true
}

// before is the revision here that an item says it follows: 0 for none, and ok is
// false for one that isn't here.
func (pl *importPlan) before(it *importItem) (rev int64, ok bool) {
	switch {
	case it.follows == 0 && it.strict:
		rev = pl.last[it.line()]
		return rev, rev != 0 || it.change == nil
	case it.follows == 0:
		return 0, it.change == nil
	case pl.shared[it.follows]:
		return it.follows, true
	}
	rev = pl.revs[sourceRev{it.follows, it.ID}]
	return rev, rev != 0
}

// planImport decides about each item, in their order.
func (p *Project) planImport(ctx context.Context, out *Import, items []importItem, shared map[int64]bool) (*importPlan, error) {
	for i := range items { // before the ledger is looked at: what is allowed stands in it
		it := &items[i]
		if it.problem != "" {
			continue
		}
		if found := p.screen.Check(it.fields()); len(found) > 0 {
			it.problem = "the screening takes something in it for a secret: rule " + found[0].Rule
		}
	}
	plan := newImportPlan(shared)
	sum := []string{}
	err := p.look(ctx, "", func(r *reading) error {
		sum = []string{"import", out.Format, out.SHA256, r.head.Hash}
		out.Add, out.LeftOut, out.Present = out.Add[:0], out.LeftOut[:0], 0
		*plan = *newImportPlan(shared)
		for i := range items {
			if err := p.planItem(ctx, r, out, plan, &items[i]); err != nil {
				return err
			}
		}
		return nil
	})
	for _, it := range plan.add {
		sum = append(sum, it.key)
	}
	out.Fingerprint = digest(sum)
	return plan, err
}

func (p *Project) planItem(ctx context.Context, r *reading, out *Import, plan *importPlan, it *importItem) error {
	use, known, err := r.view.KeyUse(ctx, ledger.KeyHash(it.key))
	if err != nil {
		return err
	}
	if known {
		plan.stands(it, use.Rev)
		out.Present++
		return nil
	}
	why := it.problem
	if _, ok := plan.before(it); why == "" && (plan.left[it.subject()] || !ok) {
		why = "what it follows is not here"
	}
	if why == "" && it.record != nil && it.follows == 0 {
		same, problem, err := p.clash(ctx, r, plan, it)
		if err != nil {
			return err
		}
		if same {
			out.Present++
			return nil
		}
		if it.strict {
			why = problem
		}
	}
	if why != "" {
		plan.left[it.subject()] = true
		told := it.ImportedItem
		told.Why = why
		out.LeftOut = append(out.LeftOut, told)
		return nil
	}
	plan.last[it.line()], plan.revs[sourceRev{it.origin.Rev, it.ID}] = toCome, toCome
	out.Add, plan.add = append(out.Add, it.ImportedItem), append(plan.add, it)
	return nil
}

// clash says whether an id stands here already: as the item is, or in a way that
// another source or a person here made.
func (p *Project) clash(ctx context.Context, r *reading, plan *importPlan, it *importItem) (same bool, why string, err error) {
	vs, err := r.view.Versions(ctx, it.ID)
	if err != nil {
		return false, "", err
	}
	for i := range vs {
		switch v := &vs[i].Record; {
		case plan.mine[it.ID][vs[i].Rev]:
			continue
		case plan.last[it.line()] != 0:
			return false, "it was changed here since it was imported", nil
		case v.Kind == it.record.Kind && v.Text == it.record.Text && v.Answer == it.record.Answer && v.Why == it.record.Why && v.Status == it.record.Status:
			return true, "", nil
		}
		why = "another record here has the id"
	}
	return false, why, nil
}

// importOne saves one item, under the same guards as any save.
func (p *Project) importOne(ctx context.Context, q ImportRequest, plan *importPlan, it *importItem) (outcome, error) {
	m := mutation{kind: it.kind, creates: true, recovery: q.ExpectedRecovery, key: it.key, request: it.key, fields: it.fields()}
	m.build = func(ctx context.Context, r *reading) (ledger.Draft, error) {
		origin := it.origin
		d := ledger.Draft{Body: ledger.Body{Actor: ledger.Actor{Kind: ledger.Tool, Client: "import", Via: p.caller.Via}, Git: it.git, Origin: &origin, Receipt: it.receipt}}
		replaces, _ := plan.before(it)
		if it.record != nil && it.strict { // what the preview saw must still be so
			if _, why, err := p.clash(ctx, r, plan, it); err != nil || why != "" {
				return d, errors.Join(err, &FingerprintError{})
			}
		}
		if it.change != nil && it.change.Category == ledger.CategoryCheck {
			s, _, err := p.checkStateOf(ctx, r, it.ID)
			if err != nil {
				return d, err
			}
			replaces = s.Rev
		}
		if it.record != nil {
			rec := *it.record
			rec.Replaces, rec.Settles = replaces, nil
			d.Body.Records = []ledger.Record{rec}
		}
		if it.change != nil {
			c := *it.change
			c.Replaces, c.Settles = replaces, nil
			d.Body.Change = &c
		}
		return d, nil
	}
	return p.mutate(ctx, m)
}
