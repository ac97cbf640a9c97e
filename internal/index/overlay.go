package index

import (
	"slices"

	"holdfast/internal/ledger"
)

// overlay is what the entries behind the file add to it, folded in memory. A
// nil overlay adds nothing.
type overlay struct {
	vers     map[string][]*ver  // by id, oldest first
	byRev    map[int64][]*ver   // by revision
	ids      map[string]bool    // records whose standing may be another by it
	confirms map[string][]vouch // by id, oldest first
	keys     map[string][]keyUse
	uses     map[ledger.Git]int64
	carries  []ledger.CarryUse
	allows   []ledger.Allow
	newer    []int64
	events   []ledger.Event // oldest first
	marks    [][2]int64
	receipts []receipt
	texts    map[int64]*tailText // by number
	redacts  []int64             // revisions that its redact entries name

	lastAt string
	vn     int64
}

// ver is a version with the number of its row and of its text.
type ver struct {
	ledger.Version
	vn      int64
	content int64
}

// vouch is a person's word for one revision of a record.
type vouch struct{ rev, by int64 }

type keyUse struct {
	ledger.KeyUse
	stands bool // even if a recovery went back behind it
}

// receipt is a check's receipt.
type receipt struct {
	vn, rev int64
	id      string
}

// lookup finds a version by the revision that made it.
type lookup func(id string, rev int64) (*ver, error)

// fold adds tail to what b says. below finds versions in the file.
func fold(b *base, tail []ledger.Entry, below lookup) (*overlay, error) {
	o := &overlay{
		vers: map[string][]*ver{}, byRev: map[int64][]*ver{}, ids: map[string]bool{}, confirms: map[string][]vouch{},
		keys: map[string][]keyUse{}, uses: map[ledger.Git]int64{}, texts: map[int64]*tailText{},
		lastAt: b.lastAt, vn: b.vn,
	}
	for i := range tail {
		d, err := ledger.ReadDelta(&tail[i])
		if err == nil {
			err = o.apply(&d, below)
		}
		if err != nil {
			return nil, err
		}
	}
	return o, nil
}

func (o *overlay) apply(d *ledger.Delta, below lookup) error {
	if d.Newer {
		o.newer = append(o.newer, d.Rev)
		return nil
	}
	var old *ver
	var err error
	vs := d.Resolve(func(id string, rev int64) (ledger.Version, bool) {
		if old, err = o.find(id, rev, below); old == nil || err != nil {
			return ledger.Version{}, false
		}
		return old.Version, true
	})
	if err != nil {
		return err
	}
	ev := ledger.NewEvent(d, vs, o.lastAt)
	o.events = append(o.events, ev)
	o.lastAt = max(o.lastAt, d.At)
	if d.Void {
		return nil
	}
	for _, id := range ev.IDs {
		o.ids[id] = true
	}
	o.addVersions(d, vs, old)
	if r := d.Body.Receipt; r != nil {
		o.vn++
		o.receipts = append(o.receipts, receipt{o.vn, d.Rev, r.ID})
		o.texts[o.vn] = receiptText(d, checkedOf(r), o.vn)
	}
	if d.KeySHA256 != "" {
		u := keyUse{ledger.KeyUse{Rev: d.Rev, Request: d.Body.Request}, !ledger.GoesBack(d.Type)}
		o.keys[d.KeySHA256] = append(o.keys[d.KeySHA256], u)
	}
	if d.Body.Git != (ledger.Git{}) {
		o.uses[d.Body.Git] = d.Rev
	}
	o.applyType(d)
	return nil
}

func (o *overlay) find(id string, rev int64, below lookup) (*ver, error) {
	for _, v := range o.byRev[rev] {
		if v.ID == id {
			return v, nil
		}
	}
	return below(id, rev)
}

// addVersions numbers and keeps versions. old is the one that a change builds
// on, if there is one.
func (o *overlay) addVersions(d *ledger.Delta, vs []ledger.Version, old *ver) {
	for i, vn := range numbers(vs, o.vn) {
		v := &ver{Version: vs[i], vn: vn}
		if d.Body.Change == nil {
			v.content = vn
			o.texts[vn] = recordText(&v.Version, vn)
		} else if old != nil {
			v.content = old.content
		}
		o.vers[v.ID] = append(o.vers[v.ID], v)
		o.byRev[v.Rev] = append(o.byRev[v.Rev], v)
	}
	o.vn += int64(len(vs))
}

// numbers gives each of the versions of one entry its number behind last: the
// higher the id, the lower.
func numbers(vs []ledger.Version, last int64) []int64 {
	order := make([]int, len(vs))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int {
		if vs[a].ID > vs[b].ID {
			return -1
		}
		return 1
	})
	out := make([]int64, len(vs))
	for n, i := range order {
		out[i] = last + 1 + int64(n)
	}
	return out
}

func (o *overlay) applyType(d *ledger.Delta) {
	switch d.Type {
	case ledger.TypeRecover:
		if d.Base != nil {
			o.marks = append(o.marks, [2]int64{d.Rev, *d.Base})
		}
	case ledger.TypeCarry:
		if c := d.Body.Carry; c != nil {
			o.carries = append(o.carries, ledger.CarryUse{Rev: d.Rev, Git: d.Body.Git, Branches: c.Branches})
		}
	case ledger.TypeConfirm:
		for _, r := range d.Body.Confirms {
			o.confirms[r.ID] = append(o.confirms[r.ID], vouch{r.Rev, d.Rev})
		}
	case ledger.TypeAllow:
		if d.Body.Allow != nil {
			o.allows = append(o.allows, *d.Body.Allow)
		}
	case ledger.TypeRedact:
		o.redacts = append(o.redacts, d.Revisions...)
	}
}

// newest lists the versions of a record, newest first, as the file would tell.
func (o *overlay) newest(id string) []*found {
	if o == nil {
		return nil
	}
	var out []*found
	for _, v := range slices.Backward(o.vers[id]) {
		out = append(out, v.found())
	}
	return out
}

func (v *ver) found() *found {
	return &found{id: v.ID, vn: v.vn, rev: v.Rev, at: v.At, kind: v.Kind, status: v.Status,
		content: v.content, contentRev: v.ContentRev, sup: v.Supersedes, flags: flagsOf(&v.Version), git: &v.Git}
}

func flagsOf(v *ledger.Version) (flags int) {
	if v.Retracted {
		flags |= versionRetracted
	}
	if v.Redacted {
		flags |= versionRedacted
	}
	if v.Author.Kind == ledger.Person {
		flags |= versionPerson
	}
	return flags
}

// confirmed finds the last entry behind the file by which a person vouched for
// a version, or 0.
func (o *overlay) confirmed(id string, rev, contentRev int64, spans *ledger.Spans) (by int64) {
	if o == nil {
		return 0
	}
	return lastVouch(o.confirms[id], rev, contentRev, spans)
}

// touches reports whether the overlay has versions or confirmations of a record.
func (o *overlay) touches(id string) bool { return o != nil && o.ids[id] }
