package txn

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
)

// Preserved is one original, or what became of the try to keep it.
type Preserved struct {
	Surface string `json:"surface"`
	Name    string `json:"name,omitempty"` // below the folder
	SHA256  string `json:"sha256,omitempty"`
	Seen    string `json:"-"`              // where parts are ignored: the SHA-256 that a look gives
	Link    string `json:"link,omitempty"` // target of a symbolic link
	Mode    string `json:"mode,omitempty"`
	Size    int64  `json:"size"`
	Kept    bool   `json:"kept"`
	Where   string `json:"where,omitempty"` // quarantine file, or git:OID for content that HEAD has
	Why     string `json:"why,omitempty"`   // not kept: a fixed phrase
}

// Kept is what was preserved before a transaction's first grant.
type Kept struct {
	List     []Preserved `json:"list,omitempty"` // those not kept first; the whole list is in the manifest
	Count    int         `json:"count"`
	Unkept   int         `json:"unkept,omitempty"`
	Manifest string      `json:"manifest,omitempty"` // name of the file that lists all
	// Safe are the units whose content at the beginning is kept as a whole.
	Safe []int `json:"safe,omitempty"`
}

// maxKeptBytes is how much of an entry the list of originals may take.
const maxKeptBytes = 48 << 10

// endangered lists the units whose content operation op could destroy in the
// state of v.
func (m *model) endangered(op int, o *Operation, v *view) []int {
	if !o.mutates() {
		return nil
	}
	var out []int
	om := &m.ops[op]
	judged := map[int]bool{} // units that the operation says something about
	for _, i := range om.items {
		it := &m.items[i]
		judged[it.unit] = true
		if v.set[i] != met && it.key != "mode" && m.areas[it.want].family.path {
			out = append(out, it.unit)
		}
	}
	if om.src >= 0 && (om.moves || o.Kind == "delete") && m.areas[om.src].family.path {
		out = append(out, om.src)
	}
	if om.dst >= 0 && !judged[om.dst] && m.areas[om.dst].family.name == "file" {
		out = append(out, om.dst)
	}
	out = slices.DeleteFunc(out, func(u int) bool { return !precious(v.contents[u]) })
	slices.Sort(out)
	return slices.Compact(out)
}

// precious reports whether content is something that can be kept and missed:
// no absent thing, no device, no folder asked by names alone.
func precious(content string) bool {
	return strings.HasPrefix(content, "file:") || strings.HasPrefix(content, "link:") ||
		strings.HasPrefix(content, "dir:") && content != "dir:"
}

// keep lists what must be preserved before anything is granted, as wants for
// package surface: a file, a whole folder, or named entries of one.
func (m *model) keep(ops []Operation, v *view) []Want {
	byWant := map[int]*Want{}
	var order []int
	for i := range ops {
		for _, u := range m.endangered(i, &ops[i], v) {
			at := m.units[u].want
			w := byWant[at]
			if w == nil {
				c := m.wants[at]
				w = &Want{Key: c.Key, Surface: c.Surface, Worktree: c.Worktree, Outside: c.Outside, Roots: c.Roots, Ignore: c.Ignore}
				byWant[at] = w
				order = append(order, at)
			}
			if name := m.units[u].name; name != "" {
				w.Names = append(w.Names, name)
			} else {
				w.Whole = m.wants[at].Whole
			}
		}
	}
	out := make([]Want, 0, len(order))
	for _, at := range order {
		w := byWant[at]
		slices.Sort(w.Names)
		w.Names = slices.Compact(w.Names)
		out = append(out, *w)
	}
	return out
}

// settle fills in what follows from the list: counts, and the units that are
// safe. The list is cut to what an entry can hold.
func (k *Kept) settle(m *model, ops []Operation, v *view) *Kept {
	if k == nil {
		k = &Kept{}
	}
	out := &Kept{Manifest: k.Manifest}
	have := map[[2]string][]string{}
	files, bad := map[string]int{}, map[string]bool{}
	var list []Preserved
	for _, p := range k.List {
		at := [2]string{p.Surface, p.Name}
		if _, twice := have[at]; !twice {
			list = append(list, p)
			files[p.Surface]++
		}
		have[at] = append(have[at], p.contents()...)
		if !p.Kept {
			out.Unkept++
			bad[p.Surface] = true
		}
	}
	out.Count, out.List = len(list), shortList(list)
	for i := range ops {
		for _, u := range m.endangered(i, &ops[i], v) {
			w := &m.wants[m.units[u].want]
			kept := slices.Contains(have[[2]string{w.Surface, m.units[u].name}], v.contents[u])
			if w.Whole && m.units[u].name == "" && strings.HasPrefix(v.contents[u], "dir:") {
				kept = !bad[w.Surface] && strconv.Itoa(files[w.Surface]) == v.files[m.units[u].want]
			}
			if kept {
				out.Safe = append(out.Safe, u)
			}
		}
	}
	slices.Sort(out.Safe)
	out.Safe = slices.Compact(out.Safe)
	return out
}

// summary is k without its list.
func (k *Kept) summary() *Kept {
	if k == nil {
		return nil
	}
	return &Kept{Count: k.Count, Unkept: k.Unkept, Manifest: k.Manifest}
}

// contents are the names of the content that is kept: as it is, and as a look
// that ignores parts of it sees it.
func (p *Preserved) contents() []string {
	switch {
	case !p.Kept:
		return []string{}
	case p.Link != "":
		return []string{"link:" + digest(p.Link)}
	case p.Seen != "":
		return []string{fileContent(p.SHA256), fileContent(p.Seen)}
	}
	return []string{fileContent(p.SHA256)}
}

// shortList is as much of the list as an entry has room for, those not kept first.
func shortList(all []Preserved) []Preserved {
	list := slices.Clone(all)
	slices.SortStableFunc(list, func(a, b Preserved) int {
		switch {
		case a.Kept == b.Kept:
			return 0
		case !a.Kept:
			return -1
		}
		return 1
	})
	room := maxKeptBytes
	for i := range list {
		if room -= size(list[i]); room < 0 || i == maxShown {
			return list[:i]
		}
	}
	return list
}

// destroys lists the units whose content operation op would destroy though it
// is neither preserved, nor part of the target, nor left by an attempt of the
// transaction itself.
func (t *Transaction) destroys(op int, v *view) []int {
	var out []int
	m := t.model()
	for _, u := range m.endangered(op, &t.Operations[op], v) {
		content := v.contents[u]
		kept := t.Kept != nil && slices.Contains(t.Kept.Safe, u) && u < len(t.Base) && t.Base[u] == content
		if !kept && !slices.Contains(t.Debris[u], content) && !m.target(op, content) {
			out = append(out, u)
		}
	}
	return out
}

// target reports whether content will be there, somewhere, when the operation
// has reached its target.
func (m *model) target(op int, content string) bool {
	for _, i := range m.ops[op].items {
		it := &m.items[i]
		switch it.key {
		case "sha256", keyContains:
			if content == fileContent(it.value) {
				return true
			}
		case "tree":
			if content == "dir:"+clipHex(it.value) {
				return true
			}
		case "link":
			if content == "link:"+digest(it.value) {
				return true
			}
		}
	}
	return false
}

// debris lists what an attempt of operation op left at the surfaces that it
// touches: content that was not there at the beginning. Surfaces outside the
// operation are never taken for its work.
func (t *Transaction) debris(op int, v *view, tops map[string]string) map[int]string {
	out := map[int]string{}
	m := t.model()
	for u, content := range v.contents {
		if !precious(content) || u < len(t.Base) && t.Base[u] == content || slices.Contains(t.Debris[u], content) {
			continue
		}
		if m.touches(op, u, tops) {
			out[u] = content
		}
	}
	return out
}

// touches reports whether operation op reaches unit u.
func (m *model) touches(op, u int, tops map[string]string) bool {
	a := m.unitArea(u)
	return slices.ContainsFunc(m.ops[op].reach, func(r area) bool { return r.overlaps(&a, tops) })
}

// size is how many bytes v takes in an entry, roughly.
func size(v any) int {
	b, err := json.Marshal(v)
	if err != nil {
		return 0
	}
	return len(b)
}
