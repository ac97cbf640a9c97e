package index

import (
	"context"
	"encoding/json"
	"maps"
	"slices"

	"holdfast/internal/ledger"
)

// Versions implements ledger.Reader.
func (v *View) Versions(ctx context.Context, id string) ([]ledger.Version, error) {
	var out []ledger.Version
	err := v.do(ctx, func() error {
		vs, err := v.versions(map[string]bool{id: true})
		if err != nil {
			return err
		}
		if err := v.complete(vs[id]); err != nil {
			return err
		}
		for _, w := range vs[id] {
			out = append(out, w.Version)
		}
		return nil
	})
	return out, err
}

// versions gives the versions of records that count, oldest first. Of those in
// the file only what complete doesn't add is there: where and how they stand.
func (v *View) versions(ids map[string]bool) (map[string][]*ver, error) {
	vs, err := v.inFile(ids)
	if err != nil {
		return nil, err
	}
	for id := range ids {
		if v.over != nil {
			for _, w := range v.over.vers[id] {
				own := *w
				vs[id] = append(vs[id], &own)
			}
		}
		vs[id] = slices.DeleteFunc(vs[id], func(w *ver) bool { return !v.spans.Live(w.Rev) })
	}
	return vs, v.confirm(vs)
}

// confirm notes by which entries a person vouched for versions.
func (v *View) confirm(vs map[string][]*ver) error {
	vouched := map[string][]vouch{}
	err := v.x.d.each(func(scan func(...any) error) error {
		var id string
		var c vouch
		err := scan(&id, &c.rev, &c.by)
		vouched[id] = append(vouched[id], c)
		return err
	}, "SELECT id, rev, by FROM confirms WHERE id IN (SELECT value FROM json_each(?)) AND by <= ? ORDER BY by", list(slices.Collect(maps.Keys(vs))), v.upTo)
	if err != nil {
		return err
	}
	for id, ws := range vs {
		cs := vouched[id]
		if v.over != nil {
			cs = append(cs, v.over.confirms[id]...)
		}
		for _, w := range ws {
			w.Confirmed = lastVouch(cs, w.Rev, w.ContentRev, &v.spans)
		}
	}
	return nil
}

// inFile gives the versions of records that the file has, oldest first and
// without their texts.
func (v *View) inFile(ids map[string]bool) (map[string][]*ver, error) {
	out := make(map[string][]*ver, len(ids))
	err := v.x.d.each(func(scan func(...any) error) error {
		w := &ver{}
		var flags int
		var settles *string
		var reason *string
		err := scan(&w.vn, &w.ID, &w.Rev, &w.At, &w.Kind, &w.Status, &flags, &w.content, &w.ContentRev, &w.Replaces, &settles, &reason, &w.Supersedes,
			&w.Git.Branch, &w.Git.Commit, &w.Git.Base, &w.Git.Detached)
		if err != nil {
			return err
		}
		w.Retracted, w.Redacted = flags&versionRetracted != 0, flags&versionRedacted != 0
		if flags&versionPerson != 0 {
			w.Author.Kind = ledger.Person
		}
		if reason != nil {
			w.WithoutEvidence = *reason
		}
		if settles != nil && json.Unmarshal([]byte(*settles), &w.Settles) != nil {
			return errContent
		}
		out[w.ID] = append(out[w.ID], w)
		return nil
	}, `SELECT v.vn, v.id, v.rev, v.at, v.kind, v.status, v.flags, v.content, v.content_rev, v.replaces, v.settles, v.reason, v.sup,
			p.branch, p.commit_id, p.base, p.detached
		FROM json_each(?) j CROSS JOIN versions v ON v.id = j.value JOIN places p ON p.n = v.place
		WHERE v.rev <= ? ORDER BY v.vn`, list(slices.Collect(maps.Keys(ids))), v.upTo)
	return out, err
}

// complete adds to versions of the file what their entries and texts say.
func (v *View) complete(ws []*ver) error {
	byNumber := map[int64]*ver{}
	var vns []int64
	for _, w := range ws {
		if w.Event == "" { // not of the overlay, not done yet
			byNumber[w.vn] = w
			vns = append(vns, w.vn)
		}
	}
	if len(vns) == 0 {
		return nil
	}
	return v.x.d.each(func(scan func(...any) error) error {
		var vn int64
		var event, actor, tree, author, seal string
		var rec *string
		if err := scan(&vn, &event, &actor, &tree, &author, &seal, &rec); err != nil {
			return err
		}
		return byNumber[vn].complete(event, actor, tree, author, seal, rec)
	}, `SELECT v.vn, m.type, m.actor, m.tree, w.actor, w.seal, t.rec
		FROM json_each(?) j CROSS JOIN versions v ON v.vn = j.value
		JOIN entries e ON e.rev = v.rev JOIN makers m ON m.n = e.maker
		LEFT JOIN versions t ON t.vn = v.content
		LEFT JOIN entries c ON c.rev = v.content_rev AND v.content > 0
		JOIN makers w ON w.n = ifnull(c.maker, 0)`, list(vns))
}

func (w *ver) complete(event, actor, tree, author, seal string, rec *string) error {
	w.Event, w.Worktree, w.SealKey = event, tree, seal
	w.Author = ledger.Actor{}
	if decode(actor, &w.Actor) != nil || decode(author, &w.Author) != nil {
		return errContent
	}
	if rec == nil {
		return nil
	}
	var r ledger.Record
	if json.Unmarshal([]byte(*rec), &r) != nil {
		return errContent
	}
	if w.content != w.vn { // a change of that record, which says for itself
		r.Status, r.Replaces, r.Settles, r.WithoutEvidence = w.Status, w.Replaces, w.Settles, w.WithoutEvidence
	}
	w.Record = r
	return nil
}

// decode reads what a name holds; the empty one is a zero value.
func decode(s string, into any) error {
	if s == "" {
		return nil
	}
	return json.Unmarshal([]byte(s), into)
}

// list writes a list as json_each takes it.
func list[T any](items []T) string {
	b, err := json.Marshal(items)
	if err != nil || len(items) == 0 {
		return "[]"
	}
	return string(b)
}
