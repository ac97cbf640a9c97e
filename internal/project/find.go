package project

import (
	"cmp"
	"context"
	"encoding/hex"
	"io"
	"math"
	"slices"
	"strconv"

	"holdfast/internal/ledger"
)

// ListRequest asks for records, one line each.
type ListRequest struct {
	Kind   string // empty: all
	All    bool   // also done, dropped, retracted and superseded
	Branch string
	Limit  int // 0: no limit
}

// List gives the records as they stand for the caller.
func (p *Project) List(ctx context.Context, q ListRequest) ([]Item, int, error) {
	if q.Kind != "" && !ledger.ValidKind(q.Kind) {
		return nil, 0, &UsageError{Why: "a kind is one of goal, question, answer, decision, next, note"}
	}
	items, total := []Item{}, 0
	err := p.look(ctx, q.Branch, func(r *reading) error {
		query := ledger.Query{Scope: r.scope, Limit: q.Limit}
		if q.Kind != "" {
			query.Kinds = []string{q.Kind}
		}
		if q.All {
			query.State = ledger.FindAny
		}
		page, err := r.view.Find(ctx, query)
		if err != nil {
			return err
		}
		items, total = items[:0], page.Total
		for i := range page.Items {
			items = append(items, p.item(ctx, &page.Items[i], r))
		}
		return nil
	})
	return items, total, err
}

// Shown is one record, with its history if asked for.
type Shown struct {
	Item
	History []Historic `json:"history,omitempty"`

	Incomplete bool `json:"incomplete,omitempty"` // of a damaged ledger
}

// Historic is one version in a record's history.
type Historic struct {
	Item
	Event    string       `json:"event"`
	By       ledger.Actor `json:"by"`
	Commit   string       `json:"commit,omitempty"`
	InForce  bool         `json:"in_force"`
	Replaces int64        `json:"replaces,omitempty"`
	Sealed   bool         `json:"sealed"`
}

// Show gives one record, and its versions oldest first.
func (p *Project) Show(ctx context.Context, id string, history bool) (s Shown, err error) {
	err = p.look(ctx, "", func(r *reading) error {
		s, err = p.show(ctx, r, id, history)
		return err
	})
	s.Incomplete = Incomplete(err)
	return s, err
}

func (p *Project) show(ctx context.Context, r *reading, id string, history bool) (Shown, error) {
	vs, err := r.view.Versions(ctx, id)
	if err != nil {
		return Shown{}, err
	}
	if len(vs) == 0 {
		return Shown{}, &NotFoundError{What: "record", ID: id}
	}
	cur, ok := ledger.CurrentOf(vs, r.scope)
	if !ok && !history {
		return Shown{}, &ElsewhereError{ID: id, Branch: vs[len(vs)-1].Git.Branch}
	}
	if !ok {
		cur.Version = vs[len(vs)-1]
	}
	s := Shown{Item: p.item(ctx, &cur, r)}
	s.CitesChanged = p.changedCites(cur.Cites)
	if history {
		s.History = p.history(ctx, r, vs)
	}
	return s, nil
}

func (p *Project) history(ctx context.Context, r *reading, vs []ledger.Version) []Historic {
	out := make([]Historic, 0, len(vs))
	for _, v := range vs {
		via, in := r.scope.InForce(v.Git, v.Rev)
		it := p.item(ctx, &ledger.Current{Version: v, Via: via}, r)
		out = append(out, Historic{Item: it, Event: v.Event, By: v.Actor, Commit: v.Git.Commit, InForce: in, Replaces: v.Replaces, Sealed: v.SealKey != ""})
	}
	return out
}

// LogRequest asks for the timeline.
type LogRequest struct {
	Since  *int64 // only above this revision
	Before int64  // only below it: the cursor
	Branch string
	Kind   string
	Limit  int
}

// LogEntry is one entry for people.
type LogEntry struct {
	Revision int64        `json:"revision"`
	Hash     string       `json:"hash"`
	Type     string       `json:"type"`
	At       string       `json:"at"`
	Actor    ledger.Actor `json:"actor"`
	Branch   string       `json:"branch,omitempty"`
	Commit   string       `json:"commit,omitempty"`
	IDs      []string     `json:"ids,omitempty"`
	Kind     string       `json:"kind,omitempty"`
	Text     string       `json:"text,omitempty"`
	Hidden   bool         `json:"hidden,omitempty"`        // a recovery went back behind it
	Doubtful bool         `json:"time_doubtful,omitempty"` // its time contradicts the order
	Sealed   bool         `json:"sealed"`
}

// Log is the timeline, newest first. cursor is empty at its end.
func (p *Project) Log(ctx context.Context, q LogRequest) (entries []LogEntry, cursor string, err error) {
	eq := ledger.EventQuery{Since: -1, Before: q.Before, Branch: q.Branch, Kind: q.Kind, Limit: q.Limit}
	if q.Since != nil {
		eq.Since = *q.Since
	}
	var events []ledger.Event
	var newer []LogEntry
	err = p.look(ctx, "", func(r *reading) (err error) {
		if newer, err = p.newerEntries(ctx, r, &eq); err == nil {
			events, err = r.view.Events(ctx, eq)
		}
		return err
	})
	if err != nil && !Incomplete(err) {
		return nil, "", err
	}
	entries = make([]LogEntry, 0, len(events))
	for _, e := range events {
		entries = append(entries, LogEntry{Revision: e.Rev, Hash: e.Hash, Type: e.Type, At: e.At, Actor: e.Actor, Branch: e.Git.Branch, Commit: e.Git.Commit,
			IDs: e.IDs, Kind: e.Kind, Text: e.Text, Hidden: !e.Live, Doubtful: e.Doubtful, Sealed: e.SealKey != ""})
	}
	if entries = append(entries, newer...); len(newer) > 0 {
		slices.SortFunc(entries, func(a, b LogEntry) int { return cmp.Compare(b.Revision, a.Revision) })
		if q.Limit > 0 {
			entries = entries[:min(len(entries), q.Limit)]
		}
	}
	if n := len(entries); q.Limit > 0 && n == q.Limit && entries[n-1].Revision > 0 {
		cursor = strconv.FormatInt(entries[n-1].Revision, 10)
	}
	return entries, cursor, err
}

// newerEntries are those that this build doesn't understand: they are kept and
// counted, and all that is told of them is that they are there. On which branch
// they were made isn't known.
func (p *Project) newerEntries(ctx context.Context, r *reading, q *ledger.EventQuery) ([]LogEntry, error) {
	if q.Branch != "" || q.Kind != "" && q.Kind != typeNewer {
		return nil, nil
	}
	revs, err := r.view.Newer(ctx)
	if err != nil {
		return nil, err
	}
	var out []LogEntry
	for i := len(revs) - 1; i >= 0; i-- {
		rev := revs[i]
		if rev > q.Since && (q.Before == 0 || rev < q.Before) && (q.Limit == 0 || len(out) < q.Limit) {
			out = append(out, LogEntry{Revision: rev, Type: typeNewer, Text: "newer than this build"})
		}
	}
	return out, nil
}

// typeNewer stands for the type of an entry that this build doesn't know.
const typeNewer = "newer"

// Fence is a random word for marking stored text in one answer.
func (p *Project) Fence() string {
	b := make([]byte, 8)
	if _, err := io.ReadFull(p.w.Rand, b); err != nil {
		return strconv.FormatInt(p.w.Now().UnixNano()%math.MaxInt32, 16)
	}
	return hex.EncodeToString(b)
}
