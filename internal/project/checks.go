package project

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"holdfast/internal/check"
	"holdfast/internal/ledger"
)

// CheckList is every check with its newest receipt.
type CheckList struct {
	Checks []CheckItem `json:"checks"`

	Incomplete bool `json:"incomplete,omitempty"` // of a damaged ledger
}

// CheckItem is one check as its newest receipt has it, and whether that still
// holds.
type CheckItem struct {
	ID        string          `json:"id"`
	Title     string          `json:"title,omitempty"`
	Outcome   string          `json:"outcome"`
	Why       string          `json:"why,omitempty"`
	Freshness string          `json:"freshness"`
	Changed   []string        `json:"changed"`
	Command   string          `json:"command,omitempty"` // to run it again; empty unless sealed here
	Runs      string          `json:"runs,omitempty"`    // what that runs: recorded, not vetted
	StartedAt string          `json:"started_at"`
	Age       string          `json:"age"`
	Counts    *ledger.Counts  `json:"counts,omitempty"`
	Earlier   *ledger.Counts  `json:"earlier_counts,omitempty"`
	History   []string        `json:"history,omitempty"` // outcomes, oldest first
	Actor     ledger.Actor    `json:"actor"`
	Revision  int64           `json:"revision"`
	Retracted bool            `json:"retracted,omitempty"`
	Receipt   *ledger.Receipt `json:"receipt,omitempty"`

	sealed bool
}

// holds: it passed, and nothing that it rests on is known to have changed.
func (c *CheckItem) holds() bool {
	return c.Outcome == ledger.Passed && c.Freshness == check.Fresh && !c.Retracted
}

// maxHistory is how many outcomes of a check are told.
const maxHistory = 10

// Checks lists the checks, or the one of that id. It executes nothing.
func (p *Project) Checks(ctx context.Context, id string) (CheckList, error) {
	list := CheckList{Checks: []CheckItem{}}
	err := p.look(ctx, "", func(r *reading) error {
		items, err := p.checkItems(ctx, r, id)
		if err == nil && id == "" {
			items = slices.DeleteFunc(items, func(c CheckItem) bool { return c.Retracted })
		}
		list.Checks = append(list.Checks[:0], items...)
		return err
	})
	list.Incomplete = Incomplete(err)
	if err != nil && !list.Incomplete {
		return CheckList{}, err
	}
	if id != "" && len(list.Checks) == 0 {
		return CheckList{}, &NotFoundError{What: "check", ID: id}
	}
	p.judgeAll(ctx, list.Checks)
	return list, err
}

// judgeAll says of each whether it still holds.
func (p *Project) judgeAll(ctx context.Context, items []CheckItem) {
	if len(items) == 0 {
		return
	}
	var recs []*ledger.Receipt
	for n := range items {
		if p.expires(items[n].Receipt) == "" {
			recs = append(recs, items[n].Receipt)
		}
	}
	i := p.inspect(ctx, recs...)
	for n := range items {
		p.judge(ctx, &items[n], i)
	}
	p.keepCache(i)
}

// expires says how a receipt stands whose inputs need no look; empty for one whose
// inputs do.
func (p *Project) expires(rec *ledger.Receipt) string {
	started, err := time.Parse(time.RFC3339Nano, rec.StartedAt)
	switch {
	case rec.External:
		return check.External
	case rec.ValidForMS > 0 && (err != nil || p.w.Now().Sub(started) > time.Duration(rec.ValidForMS)*time.Millisecond):
		return check.Expired
	}
	return ""
}

// judge compares a receipt with the world as it is. It runs nothing.
func (p *Project) judge(ctx context.Context, c *CheckItem, i *inspection) {
	rec := c.Receipt
	c.Changed = []string{}
	if c.Freshness = p.expires(rec); c.Freshness != "" {
		return
	}
	now := i.hasher.Runtime(ctx, rec.Argv, filepath.Join(p.loc.top, filepath.FromSlash(rec.Dir)), p.w.Env, p.platform())
	c.Changed = append(c.Changed, check.RuntimeChanges(&rec.Runtime, &now)...)
	for _, name := range slices.Sorted(maps.Keys(rec.Env)) {
		if p.keyedEnv(i.key, name) != rec.Env[name] {
			c.Changed = append(c.Changed, "variable: "+name)
		}
	}
	in := i.inputs(ctx, rec)
	switch {
	case in.err != nil:
		c.Freshness = check.Unknown
		c.Changed = append(c.Changed, "the inputs could not be looked at")
	case in.digest != rec.Inputs.Digest:
		c.Changed = append(c.Changed, p.inputChanges(rec, in.files)...)
	}
	if ctx.Err() != nil { // what was seen until then says nothing
		c.Freshness, c.Changed = check.Unknown, []string{"there was no time to look at what it rests on"}
	}
	if c.Freshness == "" {
		c.Freshness = check.Fresh
		if len(c.Changed) > 0 {
			c.Freshness = check.Stale
		}
	}
}

// inputChanges names the inputs that differ. The receipt's list may lie in a
// manifest; without it only the names are unknown.
func (p *Project) inputChanges(rec *ledger.Receipt, now []ledger.InputFile) []string {
	then := rec.Inputs.Files
	if sum := rec.Inputs.Manifest; sum != "" {
		packed, err := p.log.ReadManifest(p.log.ID(), sum)
		if err == nil {
			then, err = check.DecodeManifest(packed, sum)
		}
		if err != nil || check.Digest(then) != rec.Inputs.Digest {
			return []string{"inputs: changed; which is not known, since their list is gone"}
		}
	}
	return check.Named(check.Changes(then, now))
}

// checkItems are the checks, or the one of that id, with their newest receipts,
// newest first. p.mu is held.
func (p *Project) checkItems(ctx context.Context, r *reading, id string) ([]CheckItem, error) {
	var order []string
	byID := map[string][]ledger.Event{} // newest first
	for e, err := range eachAboutChecks(ctx, r, ledger.TypeCheck) {
		if err != nil {
			return nil, err
		}
		name := e.IDs[0]
		if id != "" && name != id {
			continue
		}
		if byID[name] == nil {
			order = append(order, name)
		}
		byID[name] = append(byID[name], e)
	}
	if len(order) == 0 {
		return nil, nil
	}
	hidden, err := retractedChecks(ctx, r)
	if err != nil {
		return nil, err
	}
	var out []CheckItem
	for _, name := range order {
		item, ok, err := p.newestReceipt(ctx, r, byID[name])
		if err != nil {
			return nil, err
		}
		if ok {
			item.Retracted = hidden[name]
			out = append(out, item)
		}
	}
	return out, nil
}

// retractedChecks are the checks that are hidden.
func retractedChecks(ctx context.Context, r *reading) (map[string]bool, error) {
	last := map[string]int64{}
	hidden := map[string]bool{}
	for _, typ := range []string{ledger.TypeRetract, ledger.TypeRestore} {
		for e, err := range eachAboutChecks(ctx, r, typ) {
			if err != nil {
				return nil, err
			}
			if e.Rev > last[e.IDs[0]] {
				last[e.IDs[0]], hidden[e.IDs[0]] = e.Rev, typ == ledger.TypeRetract
			}
		}
	}
	return hidden, nil
}

// newestReceipt finds the one that started last among a check's entries, newest
// first. A run that was saved before another began can't have started later, so
// few are read.
func (p *Project) newestReceipt(ctx context.Context, r *reading, events []ledger.Event) (c CheckItem, ok bool, err error) {
	var best *ledger.Receipt
	var elsewhere bool // best was
	var at ledger.Event
	var before *ledger.Receipt
	for _, e := range events {
		if best != nil && before != nil && e.At <= best.StartedAt {
			break
		}
		rec, imported, err := p.receipt(ctx, r, e.Rev)
		if err != nil {
			return c, false, err
		}
		switch {
		case rec == nil: // redacted
		case best == nil || rec.StartedAt > best.StartedAt:
			best, at, before, elsewhere = rec, e, best, imported
		case before == nil || rec.StartedAt > before.StartedAt:
			before = rec
		}
	}
	if best == nil {
		return c, false, nil
	}
	c = CheckItem{ID: best.ID, Title: best.Title, Outcome: best.Outcome, Why: best.Why, StartedAt: best.StartedAt, Age: ageText(age(p.w.Now(), best.StartedAt)),
		Counts: best.Counts, Actor: at.Actor, Revision: at.Rev, Receipt: best, sealed: !elsewhere && r.sealedHere(at.SealKey)}
	if before != nil {
		c.Earlier = before.Counts
	}
	for i := min(len(events), maxHistory) - 1; i >= 0; i-- {
		c.History = append(c.History, events[i].Text)
	}
	if c.sealed {
		c.Command, c.Runs = "holdfast check "+c.ID, check.Quote(best.Argv)
	}
	return c, true, nil
}

// receipt reads one, nil if its body was erased, and whether it was imported: then
// nothing here saw what it says.
func (p *Project) receipt(ctx context.Context, r *reading, rev int64) (rec *ledger.Receipt, imported bool, err error) {
	e, err := p.entryOf(ctx, r, rev)
	if err != nil {
		return nil, false, err
	}
	b, ok, err := e.Body()
	if err != nil || !ok {
		return nil, false, err
	}
	return b.Receipt, b.Origin != nil, nil
}

// entryOf reads an entry of what is being looked at.
func (p *Project) entryOf(ctx context.Context, r *reading, rev int64) (ledger.Entry, error) {
	e, err := ledger.Entry{}, error(nil)
	if v, damaged := r.view.(*verified); damaged {
		i := slices.IndexFunc(v.entries, func(e ledger.Entry) bool { return e.Rev == rev })
		if i < 0 {
			return e, &NotFoundError{What: "revision", ID: strconv.FormatInt(rev, 10)}
		}
		e = v.entries[i]
	} else if e, err = p.log.Entry(ctx, rev); err != nil {
		return e, fmt.Errorf("read check: %w", err)
	}
	return p.vetted(e, r.seals())
}
