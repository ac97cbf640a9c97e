package index

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"

	"holdfast/internal/ledger"
)

// writer applies entries inside a writing transaction.
type writer struct {
	d *database
	b *base

	entries, versions *inserter
	docs              []doc

	recent    map[int64][]*found // versions by revision, of this transaction
	makers    map[maker]int64
	places    map[ledger.Git]*placed
	changed   map[string]bool // records concerned
	recovered bool
	redacted  []int64 // revisions that redact entries name
}

// maker is what entries of one type have in common that one client made.
type maker struct{ typ, actor, seal, tree string }

// placed is a place's number, and its last revision in this transaction.
type placed struct{ n, last int64 }

func newWriter(d *database, b *base) *writer {
	return &writer{
		d: d, b: b,
		entries: newInserter(d, "entries", 14), versions: newInserter(d, "versions", 15),
		recent: map[int64][]*found{}, makers: map[maker]int64{}, places: map[ledger.Git]*placed{{}: {0, -1}},
		changed: map[string]bool{},
	}
}

// finish writes what is gathered. The full-text index comes last and row by
// row: any statement in between that could be undone alone would make it write
// out what it has gathered.
func (w *writer) finish() error {
	for _, i := range []*inserter{w.entries, w.versions} {
		if err := i.flush(); err != nil {
			return err
		}
	}
	for _, p := range w.places {
		if p.n > 0 && p.last >= 0 {
			if err := w.d.exec("UPDATE places SET last = ? WHERE n = ?", p.last, p.n); err != nil {
				return err
			}
		}
	}
	for i := range w.docs {
		d := &w.docs[i]
		if err := w.d.exec("INSERT INTO fts (rowid, text) VALUES (?, ?)", d.vn, d.all()); err != nil {
			return err
		}
	}
	return nil
}

func (w *writer) all(items []item) error {
	for i := range items {
		if err := w.apply(&items[i]); err != nil {
			return fmt.Errorf("revision %d: %w", items[i].delta.Rev, err)
		}
	}
	return nil
}

func (w *writer) apply(it *item) error {
	d := &it.delta
	w.b.pos = d.Pos
	if d.Newer {
		if err := w.d.exec("INSERT INTO newer VALUES (?)", d.Rev); err != nil {
			return err
		}
		return w.entry(it, &ledger.Event{}, nil, entryNewer)
	}
	var old *found
	var err error
	vs := d.Resolve(func(id string, rev int64) (ledger.Version, bool) {
		if old, err = w.find(id, rev); old == nil || err != nil {
			return ledger.Version{}, false
		}
		return old.version(), true
	})
	if err != nil {
		return err
	}
	ev := ledger.NewEvent(d, vs, w.b.lastAt)
	w.b.lastAt = max(w.b.lastAt, d.At)
	if !w.b.filling {
		for _, id := range ev.IDs {
			w.changed[id] = true
		}
	}
	if ledger.KnownType(ev.Kind) {
		w.b.odd++
	}
	flags := 0
	if d.Erased {
		flags |= entryErased
	}
	if ev.Doubtful {
		flags |= entryDoubtful
	}
	if d.Void {
		return w.entry(it, &ev, nil, flags|entryVoid)
	}
	if !ledger.GoesBack(d.Type) {
		flags |= entryStands
	}
	numbers := numbers(vs, w.b.vn)
	if err := w.entry(it, &ev, w.found(d, vs, numbers, old), flags); err != nil {
		return err
	}
	return w.parts(it, vs, numbers)
}

// found turns versions into rows. old is the one that a change builds on.
func (w *writer) found(d *ledger.Delta, vs []ledger.Version, numbers []int64, old *found) []*found {
	out := make([]*found, len(vs))
	for i := range vs {
		v := &vs[i]
		f := &found{id: v.ID, vn: numbers[i], rev: v.Rev, at: v.At, kind: v.Kind, status: v.Status,
			flags: flagsOf(v), contentRev: v.ContentRev, sup: v.Supersedes}
		if d.Body.Change == nil {
			f.content = f.vn
		} else if old != nil {
			f.content = old.content
		}
		out[i] = f
	}
	if len(out) > 0 {
		w.recent[d.Rev] = out
	}
	return out
}

// version is as much of a version as a change of it needs to know.
func (f *found) version() ledger.Version {
	v := ledger.Version{Record: ledger.Record{ID: f.id, Kind: f.kind, Status: f.status, Supersedes: f.sup}, Rev: f.rev, ContentRev: f.contentRev,
		Retracted: f.flags&versionRetracted != 0, Redacted: f.flags&versionRedacted != 0}
	if f.flags&versionPerson != 0 {
		v.Author.Kind = ledger.Person
	}
	return v
}

// find finds a version by the revision that made it.
func (w *writer) find(id string, rev int64) (*found, error) {
	for _, f := range w.recent[rev] {
		if f.id == id {
			return f, nil
		}
	}
	var f *found
	err := w.d.each(func(scan func(...any) error) error {
		f = &found{}
		return f.scan(scan)
	}, "SELECT "+foundColumns+" FROM versions WHERE vn > (SELECT vn FROM entries WHERE rev = ?1) AND vn <= (SELECT vn + n FROM entries WHERE rev = ?1) AND id = ?2", rev, id)
	return f, err
}

// entry adds the rows of an entry and its versions. Its numbers begin behind
// entries.vn.
func (w *writer) entry(it *item, ev *ledger.Event, vs []*found, flags int) error {
	d := &it.delta
	p, err := w.place(d.Body.Git)
	if err != nil {
		return err
	}
	if flags&(entryVoid|entryNewer) == 0 {
		p.last = d.Rev
	}
	var key, request, text any
	kind := ev.Kind
	if len(vs) == 0 {
		kind = d.Type
	}
	var textVN int64
	if d.KeySHA256 != "" && flags&(entryVoid|entryNewer) == 0 {
		key, request = it.key, it.request
	}
	if d.Body.Receipt != nil {
		text = ev.Text
	}
	if len(vs) > 0 {
		textVN = vs[0].content
	}
	m, err := w.maker(maker{d.Type, it.actor, d.SealKey, d.Body.Worktree})
	if err != nil {
		return err
	}
	err = w.entries.add(d.Rev, it.hash, flags, d.At, p.n, m, key, request, w.b.vn, len(vs), kind, textVN, text, idList(ev.IDs))
	for i := 0; i < len(vs) && err == nil; i++ {
		vs[i].place = p.n
	}
	w.b.vn += int64(len(vs))
	return err
}

// parts adds what the entry says, by its type.
func (w *writer) parts(it *item, vs []ledger.Version, numbers []int64) error {
	d := &it.delta
	order := make([]int, len(vs))
	for i := range order {
		order[i] = i
	}
	// The full-text index wants its rows in the order of their numbers.
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(numbers[a], numbers[b]) })
	for _, i := range order {
		if err := w.version(it, &vs[i], w.recent[d.Rev][i], i); err != nil {
			return err
		}
	}
	if r := d.Body.Receipt; r != nil {
		if err := w.receipt(d, checkedOf(r)); err != nil {
			return err
		}
	}
	return w.byType(d)
}

func (w *writer) byType(d *ledger.Delta) error {
	switch d.Type {
	case ledger.TypeLedger:
		w.b.ledger = d.Ledger
	case ledger.TypeAdopt:
		if d.ID != "" {
			w.b.ledger = d.ID
		}
	case ledger.TypeRecover:
		w.b.recovery = d.Recovery
		if d.Base != nil {
			w.b.marks = append(w.b.marks, [2]int64{d.Rev, *d.Base})
			w.b.spans.Recover(d.Rev, *d.Base)
			w.recovered = true
		}
	case ledger.TypeCarry:
		if c := d.Body.Carry; c != nil {
			return w.d.exec("INSERT INTO carries VALUES (?, ?, ?)", d.Rev, w.places[d.Body.Git].n, list(c.Branches))
		}
	case ledger.TypeConfirm:
		for _, r := range d.Body.Confirms {
			if err := w.d.exec("INSERT OR IGNORE INTO confirms VALUES (?, ?, ?)", r.ID, r.Rev, d.Rev); err != nil {
				return err
			}
		}
	case ledger.TypeAllow:
		if a := d.Body.Allow; a != nil {
			j, err := json.Marshal(a)
			if err != nil {
				return err
			}
			return w.d.exec("INSERT INTO allows VALUES (?, ?)", d.Rev, string(j))
		}
	case ledger.TypeRedact:
		w.redacted = append(w.redacted, d.Revisions...)
	}
	return nil
}

func (w *writer) version(it *item, v *ledger.Version, f *found, i int) error {
	var settles, reason any
	if len(v.Settles) > 0 {
		settles = list(v.Settles)
	}
	if f.content != f.vn && v.WithoutEvidence != "" {
		reason = v.WithoutEvidence
	}
	if it.delta.Body.Change != nil {
		return w.versions.add(f.vn, f.id, f.rev, f.place, f.at, f.kind, f.status, f.flags, f.content, f.contentRev, v.Replaces, settles, reason, f.sup, nil)
	}
	w.docs = append(w.docs, doc{f.vn, v.ID, mainText(&v.Record), it.more[i]})
	return w.versions.add(f.vn, f.id, f.rev, f.place, f.at, f.kind, f.status, f.flags, f.content, f.contentRev, v.Replaces, settles, reason, f.sup, it.recs[i])
}

func (w *writer) receipt(d *ledger.Delta, c checked) error {
	w.b.vn++
	j, err := json.Marshal(c)
	if err != nil {
		return err
	}
	if err := w.d.exec("INSERT INTO receipts VALUES (?, ?, ?, ?, ?)", w.b.vn, d.Rev, w.places[d.Body.Git].n, c.ID, string(j)); err != nil {
		return err
	}
	w.docs = append(w.docs, c.doc(w.b.vn))
	return nil
}

func (w *writer) maker(m maker) (int64, error) {
	if n, ok := w.makers[m]; ok {
		return n, nil
	}
	var n int64
	ok, err := w.d.one("SELECT n FROM makers WHERE type = ? AND actor = ? AND seal = ? AND tree = ?", []any{m.typ, m.actor, m.seal, m.tree}, &n)
	if err == nil && !ok {
		_, err = w.d.one("INSERT INTO makers (type, actor, seal, tree) VALUES (?, ?, ?, ?) RETURNING n", []any{m.typ, m.actor, m.seal, m.tree}, &n)
	}
	w.makers[m] = n
	return n, err
}

func (w *writer) place(g ledger.Git) (*placed, error) {
	if p := w.places[g]; p != nil {
		return p, nil
	}
	p := &placed{last: -1}
	ok, err := w.d.one("SELECT n FROM places WHERE branch = ? AND commit_id = ? AND base = ? AND detached = ?", []any{g.Branch, g.Commit, g.Base, g.Detached}, &p.n)
	if err == nil && !ok {
		_, err = w.d.one("INSERT INTO places (branch, commit_id, base, detached, last) VALUES (?, ?, ?, ?, -1) RETURNING n", []any{g.Branch, g.Commit, g.Base, g.Detached}, &p.n)
	}
	w.places[g] = p
	return p, err
}
