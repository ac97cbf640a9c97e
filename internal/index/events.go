package index

import (
	"context"
	"encoding/json"
	"math"
	"slices"

	"holdfast/internal/ledger"
)

// Events implements ledger.Reader.
func (v *View) Events(ctx context.Context, q ledger.EventQuery) (out []ledger.Event, err error) {
	err = v.do(ctx, func() error {
		if v.over != nil {
			for _, e := range slices.Backward(v.over.events) {
				if (q.Limit == 0 || len(out) < q.Limit) && wantsEvent(&q, &e) {
					out = append(out, e)
				}
			}
		}
		if q.Limit == 0 || len(out) < q.Limit {
			if out, err = v.eventsInFile(q, out); err != nil {
				return err
			}
		}
		for i := range out {
			out[i].Live = !ledger.GoesBack(out[i].Type) || v.spans.Live(out[i].Rev)
		}
		return nil
	})
	return out, err
}

func wantsEvent(q *ledger.EventQuery, e *ledger.Event) bool {
	return e.Rev > q.Since && (q.Before == 0 || e.Rev < q.Before) && (q.Branch == "" || e.Git.Branch == q.Branch) &&
		(q.Kind == "" || e.Kind == q.Kind || e.Type == q.Kind)
}

func (v *View) eventsInFile(q ledger.EventQuery, out []ledger.Event) ([]ledger.Event, error) {
	before, limit := v.upTo+1, int64(math.MaxInt64)
	if q.Before > 0 {
		before = min(before, q.Before)
	}
	if q.Limit > 0 {
		limit = int64(q.Limit - len(out))
	}
	stmt := eventColumns + eventWhere + " AND (?5 = '' OR e.n > 0 AND e.kind = ?5 OR m.type = ?5)"
	if v.rare(q.Kind) {
		stmt = eventColumns + " INDEXED BY entries_type" + eventWhere + " AND e.n = 0 AND e.kind = ?5"
	}
	err := v.x.d.each(func(scan func(...any) error) error {
		e, err := scanEvent(scan)
		out = append(out, e)
		return err
	}, stmt+" ORDER BY e.rev DESC LIMIT ?6", q.Since, before, entryNewer, q.Branch, q.Kind, limit)
	return out, err
}

const (
	eventColumns = `SELECT e.rev, e.hash, e.flags, e.at, iif(e.n > 0, e.kind, ''), e.ids, e.text, t.rec, m.type, m.actor, m.seal, p.branch, p.commit_id, p.base, p.detached FROM entries e`
	eventWhere   = ` JOIN places p ON p.n = e.place JOIN makers m ON m.n = e.maker LEFT JOIN versions t ON t.vn = e.text_vn
		WHERE e.rev > ?1 AND e.rev < ?2 AND e.flags & ?3 = 0 AND (?4 = '' OR p.branch = ?4)`
)

// rare reports whether kind is the name of a type that makes no versions: such
// entries may lie far apart, and are found by an index.
func (v *View) rare(kind string) bool {
	switch kind {
	case ledger.TypeRecord, ledger.TypeMerge, ledger.TypeStatus, ledger.TypeRetract, ledger.TypeRestore:
		return false
	}
	return ledger.KnownType(kind) && v.seen.odd == 0 && !v.seen.filling
}

func scanEvent(scan func(...any) error) (ledger.Event, error) {
	var e ledger.Event
	var flags int
	var hash any
	var ids, actor string
	var text, rec *string
	err := scan(&e.Rev, &hash, &flags, &e.At, &e.Kind, &ids, &text, &rec, &e.Type, &actor, &e.SealKey, &e.Git.Branch, &e.Git.Commit, &e.Git.Base, &e.Git.Detached)
	if err != nil {
		return e, err
	}
	e.Hash, e.Doubtful = unpackHex(hash), flags&entryDoubtful != 0
	if decode(actor, &e.Actor) != nil || decode(ids, &e.IDs) != nil {
		return e, errContent
	}
	switch {
	case text != nil:
		e.Text = *text
	case rec != nil:
		var r struct {
			Text string `json:"text"`
		}
		if json.Unmarshal([]byte(*rec), &r) != nil {
			return e, errContent
		}
		e.Text = r.Text
	}
	return e, nil
}
