package project

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"holdfast/internal/check"
	"holdfast/internal/ledger"
	"holdfast/internal/secret"
)

// CheckRequest asks for one run of a check. Without Argv, what the last receipt
// that this machine sealed declared is run again.
type CheckRequest struct {
	ID               string
	Title            string
	Inputs           []string // patterns relative to the working directory
	Argv             []string
	Env              []string // names of variables that the result rests on
	External         bool
	TTY              bool
	KeepTail         bool
	IfStale          bool
	Timeout          time.Duration // 0: none
	ValidFor         time.Duration // 0: for ever
	ExpectedRecovery *string

	In       *os.File
	Out, Err io.Writer
}

// RanCheck is what a run came to.
type RanCheck struct {
	Receipt   ledger.Receipt `json:"receipt"`
	Revision  int64          `json:"revision,omitempty"`
	Hash      string         `json:"hash,omitempty"`
	Durable   bool           `json:"durable"`
	Protected bool           `json:"protected"`
	Earlier   *ledger.Counts `json:"earlier_counts,omitempty"` // of the receipt before
	Held      bool           `json:"held,omitempty"`           // nothing was run: the newest receipt still holds
	Warnings  []string       `json:"warnings,omitempty"`

	Unsaved error `json:"-"` // why the receipt could not be saved
}

// Limits of a check's fields, in bytes.
const (
	maxTitle = 200
	maxArgv  = 32 << 10
	keptTail = 4 << 10
)

// RunCheck runs a command and records what was seen. The error is of what kept
// it from running; a receipt that can't be saved is RanCheck.Unsaved.
func (p *Project) RunCheck(ctx context.Context, q CheckRequest) (RanCheck, error) {
	before, err := p.beforeCheck(ctx, &q)
	if err != nil {
		return RanCheck{}, err
	}
	if q.IfStale && before.item != nil && slices.Equal(before.plan.Argv, before.item.Receipt.Argv) {
		now := []CheckItem{*before.item}
		if p.judgeAll(ctx, now); now[0].holds() {
			return RanCheck{Receipt: *before.item.Receipt, Revision: before.item.Revision, Durable: true, Protected: true, Held: true}, nil
		}
	}
	if err := p.screenCheck(&before.plan, &q); err != nil {
		return RanCheck{}, err
	}
	_, _ = p.m.EnsureKey() // without one, variables and secret files are not told apart
	out := RanCheck{Receipt: before.plan}
	if before.item != nil {
		out.Earlier = before.item.Receipt.Counts
	}
	if err := p.runPlanned(ctx, &q, &out); err != nil {
		return RanCheck{}, err
	}
	p.saveReceipt(context.WithoutCancel(ctx), before, &out)
	return out, nil
}

// checkBefore is what was known before a run.
type checkBefore struct {
	plan     ledger.Receipt
	item     *CheckItem // newest receipt; nil: none
	recovery string
}

// beforeCheck reads the ledger and says what is to be run.
func (p *Project) beforeCheck(ctx context.Context, q *CheckRequest) (checkBefore, error) {
	var b checkBefore
	if !ledger.ValidID(q.ID) {
		rec := ledger.Record{ID: q.ID}
		return b, rec.Validate("")
	}
	err := p.look(ctx, "", func(r *reading) error {
		b = checkBefore{recovery: r.view.Recovery()}
		items, err := p.checkItems(ctx, r, q.ID)
		if len(items) > 0 {
			b.item = &items[0]
		}
		return err
	})
	if err != nil {
		return b, err
	}
	if q.ExpectedRecovery != nil && *q.ExpectedRecovery != b.recovery {
		return b, &RecoveryError{Expected: *q.ExpectedRecovery, Current: b.recovery}
	}
	b.plan, err = p.planCheck(q, b.item)
	return b, err
}

// planCheck fills in what a receipt says before anything ran.
func (p *Project) planCheck(q *CheckRequest, last *CheckItem) (ledger.Receipt, error) {
	rec := ledger.Receipt{ID: q.ID, Title: q.Title, Worktree: p.loc.worktree}
	if len(q.Argv) == 0 {
		if last == nil {
			return rec, &NotFoundError{What: "check", ID: q.ID}
		}
		if !last.sealed {
			return rec, &UnsealedCheckError{ID: q.ID}
		}
		old := last.Receipt
		rec.Argv, rec.Dir, rec.Env, rec.External, rec.ValidForMS, rec.Options = old.Argv, old.Dir, old.Env, old.External, old.ValidForMS, old.Options
		rec.Inputs.Declared = old.Inputs.Declared
		if rec.Title == "" {
			rec.Title = old.Title
		}
		return rec, nil
	}
	rec.Argv, rec.Dir, rec.External, rec.ValidForMS = q.Argv, p.here(), q.External, q.ValidFor.Milliseconds()
	rec.Options = ledger.Options{TimeoutMS: q.Timeout.Milliseconds(), TTY: q.TTY, KeepTail: q.KeepTail}
	if rec.Title == "" && last != nil {
		rec.Title = last.Title
	}
	for _, given := range q.Inputs {
		pat, err := check.ParsePattern(given, rec.Dir)
		if err != nil {
			return rec, err
		}
		rec.Inputs.Declared = append(rec.Inputs.Declared, pat.Text)
	}
	slices.Sort(rec.Inputs.Declared)
	rec.Inputs.Declared = slices.Compact(rec.Inputs.Declared)
	for _, name := range q.Env {
		if name == "" || strings.ContainsAny(name, "=\x00") {
			return rec, &UsageError{Why: "--env takes the name of a variable"}
		}
		if rec.Env == nil {
			rec.Env = map[string]string{}
		}
		rec.Env[name] = ""
	}
	return rec, nil
}

// here is the working directory as a slash path from the worktree's top, "."
// where it lies elsewhere.
func (p *Project) here() string {
	dir, err := filepath.EvalSymlinks(p.w.Dir)
	if err != nil || p.w.Dir == "" {
		return "."
	}
	rel, err := filepath.Rel(p.loc.top, dir)
	if err != nil || rel == ".." || strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
		return "."
	}
	return filepath.ToSlash(rel)
}

// screenCheck refuses what could not be saved, before anything runs.
func (p *Project) screenCheck(rec *ledger.Receipt, q *CheckRequest) error {
	n := 0
	for _, a := range rec.Argv {
		n += len(a) + 1
		if strings.ContainsRune(a, 0) {
			return &UsageError{Why: "an argument has a NUL"}
		}
	}
	if n > maxArgv {
		return &ledger.LimitError{What: "command", Limit: maxArgv, Got: n, Unit: "bytes"}
	}
	if err := ledger.CheckText("title", rec.Title, 0, maxTitle); err != nil {
		return err
	}
	if q.Timeout < 0 || q.ValidFor < 0 {
		return &UsageError{Why: "a time can't be negative"}
	}
	if found := p.screen.Check(receiptFields(rec)); len(found) > 0 {
		return &secret.FoundError{Findings: found}
	}
	return nil
}

func receiptFields(rec *ledger.Receipt) []secret.Field {
	fields := []secret.Field{{Name: "id", Text: rec.ID}, {Name: "title", Text: rec.Title}, {Name: "command", Text: strings.Join(rec.Argv, " ")},
		{Name: "directory", Text: rec.Dir}, {Name: "inputs", Text: strings.Join(rec.Inputs.Declared, "\n")}}
	for _, a := range rec.Argv {
		fields = append(fields, secret.Field{Name: "command", Text: a})
	}
	return fields
}

// saveReceipt commits what was seen, under the recovery generation in which the
// run began.
func (p *Project) saveReceipt(ctx context.Context, b checkBefore, out *RanCheck) {
	rec := &out.Receipt
	manifest, err := listInputs(rec)
	if err != nil {
		out.Warnings = append(out.Warnings, err.Error())
	}
	if tail := rec.Output.Tail; tail != "" && len(p.screen.Check([]secret.Field{{Name: "output", Text: tail}})) > 0 {
		rec.Output.Tail, rec.Flags = "", append(rec.Flags, "tail_withheld")
	}
	place, err := p.where(ctx)
	if err != nil {
		out.Unsaved = err
		return
	}
	if p.loc.repo != nil && !place.NoGit {
		if rec.DirtyDigest, err = p.loc.repo.DirtyDigest(ctx); err != nil {
			rec.DirtyDigest = "unknown"
		}
	}
	m := mutation{kind: ledger.TypeCheck, recovery: &b.recovery, fields: receiptFields(rec), creates: true}
	m.build = func(context.Context, *reading) (ledger.Draft, error) {
		var d ledger.Draft
		d.Body.Receipt = rec
		return d, nil
	}
	saved, err := p.mutate(ctx, m)
	if err != nil {
		out.Unsaved = err
		return
	}
	out.Revision, out.Hash, out.Durable, out.Protected = saved.Rev, saved.Hash, true, saved.Protected
	out.Warnings = append(out.Warnings, saved.Warnings...)
	if manifest != nil {
		if err := p.log.KeepManifest(rec.Inputs.Manifest, manifest); err != nil {
			out.Warnings = append(out.Warnings, "the list of inputs was not kept: "+err.Error())
		}
	}
}

// listInputs moves a long list of inputs out of the receipt.
func listInputs(rec *ledger.Receipt) ([]byte, error) {
	if len(rec.Inputs.Files) <= check.MaxListed {
		return nil, nil
	}
	sum, packed, err := check.EncodeManifest(rec.Inputs.Files)
	rec.Inputs.Files = nil
	if err != nil {
		return nil, fmt.Errorf("list inputs: %w", err)
	}
	rec.Inputs.Manifest = sum
	return packed, nil
}

// UnsealedCheckError: what a receipt declares was not sealed by this machine, so
// it isn't run on its word.
type UnsealedCheckError struct{ ID string }

func (e *UnsealedCheckError) Error() string {
	return "check " + e.ID + " was not recorded by this machine"
}
