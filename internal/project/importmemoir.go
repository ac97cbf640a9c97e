package project

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"holdfast/internal/archive"
	"holdfast/internal/ledger"
)

// memoirItems are the parts of a ledger of memoir, in the order in which they were
// made.
func memoirItems(m *archive.Memoir) []importItem {
	var items []importItem
	for i := range m.Records {
		items = append(items, memoirRecord(&m.Records[i]))
	}
	for i := range m.Checks {
		items = append(items, memoirCheck(&m.Checks[i]))
	}
	for i := range m.Retractions {
		items = append(items, memoirRetraction(&m.Retractions[i]))
	}
	for i := range items {
		it := &items[i]
		it.origin.Rev, it.origin.Branch, it.origin.Format, it.strict = it.Revision, it.Branch, "memoir", true
		it.git.Branch = it.Branch
		it.key = "import-memoir-" + digest([]any{m.RecoveryID, it.What, it.ID, it.Revision, it.Branch, it.record, it.receipt, it.change, it.origin})[:40]
		if it.problem == "" && !ledger.ValidID(it.ID) {
			it.problem = "its id has characters that ids here don't have"
		}
	}
	slices.SortStableFunc(items, func(a, b importItem) int { return int(a.Revision - b.Revision) })
	return items
}

func memoirPlace(branch, commit *string) (name string, git ledger.Git) {
	if branch != nil {
		name = *branch
	}
	if commit != nil && (len(*commit) == 40 || len(*commit) == 64) && strings.Trim(*commit, "0123456789abcdef") == "" {
		git.Commit = *commit
	}
	return name, git
}

func memoirRecord(r *archive.MemoirRecord) importItem {
	it := importItem{ImportedItem: ImportedItem{What: "record", ID: r.ID, Revision: r.Revision}, kind: ledger.TypeMerge, origin: ledger.Origin{At: r.RecordedAt}}
	it.Branch, it.git = memoirPlace(r.Branch, r.ObservedHead)
	rec := ledger.Record{ID: r.ID, Kind: r.Kind, Text: r.Text, Source: r.Source, Why: r.Why}
	whole := true // everything has a place here
	if rec.Source == "" {
		rec.Source = "imported from memoir"
	}
	switch {
	case r.Kind == ledger.KindAnswer && r.Answer == "":
		rec.Kind = ledger.KindQuestion
	case r.Kind == ledger.KindAnswer:
		rec.Answer = r.Answer
	default:
		whole = r.Answer == ""
	}
	if r.Kind == ledger.KindGoal || r.Kind == ledger.KindNext {
		rec.Status = r.Status
	} else {
		whole = whole && (r.Status == "" || r.Status == ledger.StatusOpen)
	}
	if r.ObservedHead != nil && it.git.Commit == "" {
		whole = false
	}
	if raw, err := json.Marshal(r); err == nil && !whole {
		it.origin.Rest = raw
	}
	if err := rec.Validate(""); err != nil {
		it.problem = "it can't stand here: " + sentence(err)
	}
	it.record = &rec
	return it
}

// memoirCheck keeps the whole receipt as it was, and what of it has a place here.
func memoirCheck(c *archive.MemoirCheck) importItem {
	it := importItem{ImportedItem: ImportedItem{What: "check", ID: c.ID, Revision: c.Revision}, kind: ledger.TypeCheck, origin: ledger.Origin{At: c.StartedAt, Rest: c.Raw}}
	it.Branch, it.git = memoirPlace(c.Branch, nil)
	var more struct {
		Argv    []string `json:"argv"`
		Runtime string   `json:"runtime"`
	}
	_ = json.Unmarshal(c.Raw, &more) // what has another form stays in the rest alone
	rec := ledger.Receipt{
		ID: c.ID, Title: "imported from memoir", Argv: more.Argv, Dir: ".", InputsStable: c.InputsStable, TimedOut: c.TimedOut, External: c.Environment == "external",
		Output: ledger.Output{Bytes: c.OutputBytes, SHA256: c.OutputSHA256}, Outcome: ledger.Failed, StartedAt: c.StartedAt,
	}
	if at, err := time.Parse(time.RFC3339Nano, c.StartedAt); err == nil {
		rec.StartedAt = at.UTC().Format(ledger.TimeLayout)
	} else {
		it.problem = "its receipt has no time"
	}
	if part := strings.SplitN(more.Runtime, "/", 3); len(part) == 3 {
		rec.Runtime = ledger.Runtime{OS: part[0], Arch: part[1], Version: part[2]}
	}
	if c.Signal != nil {
		rec.Signal = *c.Signal
	}
	if c.ExitCode != nil {
		rec.ExitCode = *c.ExitCode
	}
	switch {
	case c.TimedOut:
		rec.Outcome = ledger.TimedOut
	case rec.Signal != "":
		rec.Outcome = ledger.Killed
	case c.ExitCode != nil && *c.ExitCode == 0 && c.InputsStable:
		rec.Outcome = ledger.Passed
	case c.ExitCode != nil && *c.ExitCode == 0:
		rec.Outcome = ledger.InputsChanged
	}
	it.receipt = &rec
	return it
}

func memoirRetraction(r *archive.MemoirRetracted) importItem {
	it := importItem{ImportedItem: ImportedItem{What: "retraction", ID: r.ID, Revision: r.Revision, Why: "of a " + r.Category}, kind: ledger.TypeRetract, origin: ledger.Origin{At: r.RecordedAt}}
	it.Branch, it.git = memoirPlace(r.Branch, nil)
	c := ledger.Change{ID: r.ID}
	if r.Category == ledger.CategoryCheck {
		c.Category = ledger.CategoryCheck
	}
	it.change = &c
	return it
}

// memoir writes the records in force as a ledger of memoir, and notes what that
// format has no place for.
func (x *export) memoir(now time.Time, out io.Writer) error {
	m := archive.Memoir{Version: 1, Revision: x.revision, UpdatedAt: now.UTC().Format(ledger.TimeLayout),
		Records: []archive.MemoirRecord{}, Checks: []archive.MemoirCheck{}, Retractions: []archive.MemoirRetracted{}}
	lost := map[string]int{}
	kept := x.records[:0]
	for _, s := range x.records {
		if r, ok := toMemoir(&s.Item, lost); ok {
			m.Records, kept = append(m.Records, r), append(kept, s)
		}
	}
	x.records = kept
	for _, what := range slices.Sorted(maps.Keys(lost)) {
		x.lost = append(x.lost, fmt.Sprintf("the format has no place for %s: %d", what, lost[what]))
	}
	x.lost = append(x.lost, "earlier versions and receipts of checks are not part of it")
	text, err := archive.WriteMemoir(&m)
	if err != nil {
		return err
	}
	if _, err := out.Write(text); err != nil {
		return fmt.Errorf("write export: %w", err)
	}
	return nil
}

// toMemoir is false for a record that can't stand there.
func toMemoir(r *Item, lost map[string]int) (archive.MemoirRecord, bool) {
	m := archive.MemoirRecord{ID: r.ID, Kind: r.Kind, Text: r.Text, Source: r.Source, Answer: r.Answer, Why: r.Why, Status: r.Status, Scope: "project", Revision: r.Revision, RecordedAt: r.At}
	switch {
	case r.Retracted || r.Redacted:
		lost["what is hidden or erased"]++
		return m, false
	case r.Kind == ledger.KindNote:
		lost["notes"]++
		return m, false
	case r.Kind == ledger.KindQuestion:
		m.Kind = ledger.KindAnswer // that is still to come
	}
	switch m.Status {
	case ledger.StatusDropped:
		lost["that something was dropped rather than done"]++
		m.Status = ledger.StatusDone
	case "":
		m.Status = ledger.StatusOpen
	}
	if r.Branch != "" {
		branch := r.Branch
		m.Branch = &branch
	}
	if len(r.Rejected) > 0 || r.RevisitWhen != "" || len(r.Cites) > 0 || r.Supersedes != "" || r.DoneWhen != "" {
		lost["rejected options, citations and links of records"]++
	}
	return m, true
}
