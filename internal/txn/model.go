package txn

import (
	"maps"
	"slices"
)

// Operation is one operation with its surfaces resolved, as the ledger keeps it.
type Operation struct {
	Label       string   `json:"label,omitempty"`
	Kind        string   `json:"kind"`
	Fingerprint string   `json:"fingerprint"`
	Source      *Place   `json:"source,omitempty"`
	Destination *Place   `json:"destination,omitempty"`
	Posts       []Post   `json:"postconditions"`
	SettleMS    int64    `json:"settle_ms,omitempty"`
	Ignore      []string `json:"ignore,omitempty"`
}

// Post is a postcondition with its surface resolved and its values in normal form.
type Post struct {
	Place
	Expect Expect `json:"expect"`
}

// mutates reports whether the operation can be granted at all.
func (o *Operation) mutates() bool { return o.Kind != "read" && o.Kind != "verify" }

// model is what a transaction's operations amount to: what must be looked at,
// and the single things that must hold there. It depends on the operations
// alone, so that entries can name its parts by index.
type model struct {
	wants []Want
	areas []area // by want
	units []unit // the first len(wants) are the wanted surfaces themselves
	items []item
	ops   []opModel
}

// unit is one thing that can hold content: a surface, or a named entry of a folder.
type unit struct {
	want int
	name string
}

// item is one thing that must hold.
type item struct {
	want, unit int
	family     string
	key        string // expectation key
	name       string // of contains
	value      string
	typ        string // type that the thing must have; empty where there are no types
}

// opModel lists an operation's parts by index, and what it reaches by itself.
type opModel struct {
	items, wants []int
	src, dst     int  // wants; -1 for none
	moves        bool // the source goes to the destination
	reach        []area
}

// newModel builds the model of ops in a worktree.
func newModel(ops []Operation, worktree string, roots []string, probes map[string]Probe) *model {
	b := builder{index: map[string]int{}, items: map[item]int{}, units: map[unit]int{}, worktree: worktree}
	m := &model{}
	for i := range ops {
		m.ops = append(m.ops, b.operation(&ops[i]))
	}
	for i := range b.wants {
		w := &b.wants[i]
		w.finish(roots, probes)
		m.wants = append(m.wants, w.Want)
		m.areas = append(m.areas, w.area())
		b.unit(m, unit{want: i})
	}
	for i := range ops {
		b.addItems(m, &ops[i], &m.ops[i])
	}
	return m
}

// builder collects wants: one for each surface and what is ignored of it.
type builder struct {
	worktree string
	index    map[string]int
	wants    []building
	items    map[item]int
	units    map[unit]int
}

type building struct {
	Want
	place        *Place
	bare, listed bool // a folder is asked as a whole; by names
}

func (b *builder) want(p *Place, ignore []string) int {
	ignore = slices.Sorted(slices.Values(ignore))
	key := digest(append([]string{p.identity()}, ignore...)...)
	if i, ok := b.index[key]; ok {
		return i
	}
	b.index[key] = len(b.wants)
	b.wants = append(b.wants, building{place: p, Want: Want{
		Surface: p.Surface, Worktree: b.worktree, Outside: p.Outside, Ignore: ignore,
	}})
	return len(b.wants) - 1
}

func (b *builder) operation(o *Operation) opModel {
	m := opModel{src: -1, dst: -1, moves: o.Kind == "move" || o.Kind == "rename"}
	m.reach = o.reach(b.worktree)
	if o.Source != nil {
		m.src = b.want(o.Source, o.Ignore)
		m.wants = append(m.wants, m.src)
	}
	if o.Destination != nil {
		m.dst = b.want(o.Destination, o.Ignore)
		m.wants = append(m.wants, m.dst)
	}
	for i := range o.Posts {
		p := &o.Posts[i]
		at := b.want(&p.Place, o.Ignore)
		m.wants = append(m.wants, at)
		w := &b.wants[at]
		if p.Expect.Contains != nil {
			w.listed = true
			w.Names = append(w.Names, slices.Collect(maps.Keys(p.Expect.Contains))...)
		}
		_, tree := p.Expect.Values["tree"]
		w.bare = w.bare || tree || p.Expect.Contains == nil
	}
	slices.Sort(m.wants)
	m.wants = slices.Compact(m.wants)
	return m
}

// finish decides how a folder is looked at: by the names asked for where only
// these are asked, else as a whole.
func (w *building) finish(roots []string, probes map[string]Probe) {
	switch f, _ := familyOf(w.Surface); f.name {
	case "dir":
		slices.Sort(w.Names)
		w.Names = slices.Compact(w.Names)
		w.Whole = w.bare || !w.listed
	case "probe":
		p := probes[w.Surface[len(f.prefix):]]
		w.Argv, w.TimeoutS = p.Argv, p.TimeoutS
	}
	if w.Outside {
		w.Roots = roots
	}
	parts := append([]string{w.place.identity(), w.Worktree, fmtBool(w.Whole)}, w.Ignore...)
	w.Key = digest(append(append(parts, "names"), w.Names...)...)
}

func fmtBool(b bool) string {
	if b {
		return "whole"
	}
	return ""
}

// addItems adds what o expects; what two operations expect alike is one item.
func (b *builder) addItems(m *model, o *Operation, om *opModel) {
	for i := range o.Posts {
		p := &o.Posts[i]
		at := b.want(&p.Place, o.Ignore)
		it := item{want: at, unit: at, family: p.family().name, typ: typeOf(p)}
		for _, k := range slices.Sorted(maps.Keys(p.Expect.Values)) {
			it.key, it.value = k, p.Expect.Values[k]
			om.items = append(om.items, b.item(m, it))
		}
		for _, n := range slices.Sorted(maps.Keys(p.Expect.Contains)) {
			om.items = append(om.items, b.item(m, item{
				want: at, unit: b.unit(m, unit{at, n}), family: it.family,
				key: keyContains, name: n, value: p.Expect.Contains[n], typ: "file",
			}))
		}
	}
	slices.Sort(om.items)
	om.items = slices.Compact(om.items)
}

// typeOf is the type that a path must have for p to hold.
func typeOf(p *Post) string {
	switch p.family().name {
	case "dir":
		return "dir"
	case "file":
		if _, link := p.Expect.Values["link"]; link {
			return "link"
		}
		return "file"
	}
	return ""
}

func (b *builder) item(m *model, it item) int {
	i, ok := b.items[it]
	if !ok {
		i = len(m.items)
		b.items[it], m.items = i, append(m.items, it)
	}
	return i
}

func (b *builder) unit(m *model, u unit) int {
	i, ok := b.units[u]
	if !ok {
		i = len(m.units)
		b.units[u], m.units = i, append(m.units, u)
	}
	return i
}
