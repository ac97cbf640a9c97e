package client

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"
)

// tdoc is a TOML document: its values by a full parser, its places by ours.
type tdoc struct {
	d     []byte
	tree  map[string]any
	stmts []tstmt
}

func parseTOML(data []byte) (document, error) {
	stmts, err := scanTOML(data)
	if err != nil {
		return nil, err
	}
	t := &tdoc{d: data, stmts: stmts}
	if err := toml.Unmarshal(data[bomLen(data):], &t.tree); err != nil {
		f := flawAt(-1, "the file is not valid TOML")
		var de *toml.DecodeError
		if errors.As(err, &de) {
			f.line, f.col = de.Position()
			if strings.Contains(de.Error(), "already") {
				f.why = "a table or key is defined here a second time"
			}
		}
		return nil, f
	}
	return t, nil
}

// itemPath is the whole path of an item.
func itemPath(it *Item) []string { return append(slices.Clone(it.At), it.Name) }

func (t *tdoc) look(it *Item) ([]found, error) {
	tree := t.tree
	for i, key := range it.At {
		v, ok := tree[key]
		if !ok {
			return nil, nil
		}
		if tree, ok = v.(map[string]any); !ok {
			return nil, t.flaw(it.At[:i+1], "%q is not a table", strings.Join(it.At[:i+1], "."))
		}
	}
	v, ok := tree[it.Name]
	if !ok {
		return nil, nil
	}
	return []found{{value: v, form: t.plain(it), place: itemPath(it)}}, nil
}

// flaw puts a reason at the first statement under a path.
func (t *tdoc) flaw(under []string, format string, a ...any) *flaw {
	for _, s := range t.stmts {
		if hasPrefix(s.path, under) || s.kind == 'A' && hasPrefix(s.path[1:], under) {
			return flawAt(s.start, format, a...)
		}
	}
	return flawAt(-1, format, a...)
}

// plain reports whether the item stands as setup writes it: one table, or one
// member of an inline table.
func (t *tdoc) plain(it *Item) bool {
	if n := t.inline(it); n != nil {
		return string(t.d[n.start:n.end]) == tomlValue(it.Want)
	}
	r := t.ranges(it)
	return len(r) == 1 && string(t.d[r[0].from:r[0].to]) == t.table(it, r[0].from)
}

// inline finds the item's value where it is one value.
func (t *tdoc) inline(it *Item) *jnode {
	full := itemPath(it)
	for _, s := range t.stmts {
		if s.kind != '=' || !hasPrefix(full, s.path) {
			continue
		}
		if len(s.path) == len(full) {
			return s.val
		}
		for _, k := range s.val.kids {
			if slices.Equal(append(slices.Clone(s.path), k.path...), full) {
				return k.val
			}
		}
	}
	return nil
}

func (t *tdoc) table(it *Item, off int) string {
	eol := eolAt(t.d, off)
	var b strings.Builder
	fmt.Fprintf(&b, "[%s]%s", strings.Join(itemPath(it), "."), eol)
	for _, f := range it.Want.(Obj) {
		fmt.Fprintf(&b, "%s = %s%s", f.Key, tomlValue(f.Val), eol)
	}
	return b.String()
}

// insert adds a table at the end or, where the parent is an inline table, a
// member to it: TOML forbids a header for a table that was written inline.
func (t *tdoc) insert(it *Item) (edit, error) {
	for _, s := range t.stmts {
		if s.kind != '=' || !hasPrefix(it.At, s.path) {
			continue
		}
		if s.val.kind != '{' || len(s.path) != len(it.At) {
			return edit{}, t.flaw(s.path, "%q is written in a form that is not edited here", strings.Join(s.path, "."))
		}
		return edit{steps: []Step{t.member(s.val, it)}}, nil
	}
	n := len(t.d)
	text := t.table(it, n)
	if n > bomLen(t.d) {
		text = gap(t.d, eolAt(t.d, n)) + text
	}
	return edit{steps: []Step{{At: n, Text: text}}}, nil
}

// member puts the item behind the last member of an inline table.
func (t *tdoc) member(n *jnode, it *Item) Step {
	text := it.Name + " = " + tomlValue(it.Want)
	if len(n.kids) == 0 {
		return Step{At: n.end - 1, Text: " " + text + " "}
	}
	last := n.kids[len(n.kids)-1]
	if last.comma >= 0 {
		return Step{At: last.comma + 1, Text: " " + text + ","}
	}
	return Step{At: last.val.end, Text: ", " + text}
}

// update changes single keys where the table is written in statements, and the
// value as a whole where it is written inline.
func (t *tdoc) update(it *Item, f found) ([]Step, error) {
	full := itemPath(it)
	if n := t.inline(it); n != nil {
		return []Step{{At: n.start, Was: string(t.d[n.start:n.end]), Text: tomlValue(it.Want)}}, nil
	}
	have, ok := f.value.(map[string]any)
	var steps []Step
	var anchor *tstmt // the last statement of ours that stays
	kept := map[string]bool{}
	for i := range t.stmts {
		s := &t.stmts[i]
		if !ok || !hasPrefix(s.path, full) {
			continue
		}
		rest := s.path[len(full):]
		want, known := lookup(it.Want.(Obj), rest)
		switch {
		case len(rest) == 0:
			anchor = s
		case !known || s.kind != '=':
			steps = append(steps, Step{At: s.start, Was: string(t.d[s.start:s.end])})
		default:
			anchor, kept[rest[0]] = s, true
			if canon(have[rest[0]]) != canon(want) {
				steps = append(steps, Step{At: s.val.start, Was: string(t.d[s.val.start:s.val.end]), Text: tomlValue(want)})
			}
		}
	}
	if anchor == nil || anchor.kind == 'A' {
		return nil, t.flaw(full, "%q is written in a form that is not edited here", strings.Join(full, "."))
	}
	more, err := t.missing(it, anchor, kept)
	if err != nil {
		return nil, err
	}
	steps = append(steps, more...)
	slices.SortStableFunc(steps, func(a, b Step) int { return b.At - a.At })
	return steps, nil
}

// lookup finds a key of one part in what is wanted.
func lookup(o Obj, key []string) (any, bool) {
	for _, f := range o {
		if len(key) == 1 && f.Key == key[0] {
			return f.Val, true
		}
	}
	return nil, false
}

// missing writes the keys that are wanted and not there, behind anchor.
func (t *tdoc) missing(it *Item, anchor *tstmt, kept map[string]bool) ([]Step, error) {
	line := string(t.d[anchor.start:anchor.end])
	prefix := line[:len(line)-len(strings.TrimLeft(line, " \t"))]
	if anchor.kind == '=' && anchor.parts > 1 {
		key := string(t.d[anchor.start:anchor.val.start])
		if strings.ContainsAny(key, "\"'") {
			return nil, t.flaw(itemPath(it), "%q is written in a form that is not edited here", strings.Join(itemPath(it), "."))
		}
		prefix = key[:strings.LastIndex(key, ".")+1]
	}
	eol := eolAt(t.d, anchor.end)
	text := ""
	for _, f := range it.Want.(Obj) {
		if !kept[f.Key] {
			text += prefix + f.Key + " = " + tomlValue(f.Val) + eol
		}
	}
	if text == "" {
		return nil, nil
	}
	if !strings.HasSuffix(line, "\n") {
		text = eol + text
	}
	return []Step{{At: anchor.end, Text: text}}, nil
}

// span is a range of bytes.
type span struct{ from, to int }

// ranges are the lines of the item's statements; white space between two of
// them is taken along, a comment is not.
func (t *tdoc) ranges(it *Item) []span {
	var out []span
	for _, s := range t.stmts {
		if !hasPrefix(s.path, itemPath(it)) {
			continue
		}
		if k := len(out); k > 0 && len(bytes.TrimSpace(t.d[out[k-1].to:s.start])) == 0 {
			out[k-1].to = s.end
			continue
		}
		out = append(out, span{s.start, s.end})
	}
	return out
}

// cut takes the item out in whatever form it stands: a table, its sub-tables,
// dotted keys, or members of an inline table.
func (t *tdoc) cut(it *Item, _ found) ([]Step, error) {
	var steps []Step
	for _, r := range slices.Backward(t.ranges(it)) {
		from, to := cutLines(t.d, r.from, r.to)
		steps = append(steps, Step{At: from, Was: string(t.d[from:to])})
	}
	for {
		data, ok := run(t.d, steps)
		stmts, err := scanTOML(data)
		if !ok || err != nil {
			return nil, errVerify
		}
		step, ok := (&tdoc{d: data, stmts: stmts}).cutMember(it)
		if !ok {
			break
		}
		steps = append(steps, step)
	}
	if len(steps) == 0 {
		return nil, t.flaw(it.At, "%q is written in a form that is not edited here", strings.Join(itemPath(it), "."))
	}
	return steps, nil
}

// cutMember takes one member of the item out of an inline table.
func (t *tdoc) cutMember(it *Item) (Step, bool) {
	for _, s := range t.stmts {
		if s.kind != '=' || s.val.kind != '{' || len(s.path) > len(it.At) || !hasPrefix(it.At, s.path) {
			continue
		}
		for i, k := range s.val.kids {
			if hasPrefix(append(slices.Clone(s.path), k.path...), itemPath(it)) {
				return cutKid(t.d, s.val, i), true
			}
		}
	}
	return Step{}, false
}

func (t *tdoc) prune(string) ([]Step, bool) { return nil, false }

func (t *tdoc) bare([]Item) bool { return len(bytes.TrimSpace(t.d[bomLen(t.d):])) == 0 }

// outline lists the leaves in the order of their keys. Empty tables do not
// count: a header of ours implies its parent.
func (t *tdoc) outline(skip []found, _ []string) string {
	var out []string
	var walk func(v any, at []string)
	walk = func(v any, at []string) {
		m, ok := v.(map[string]any)
		if !ok {
			out = append(out, fmt.Sprintf("%q = %s", at, canon(v)))
			return
		}
		for _, k := range slices.Sorted(maps.Keys(m)) {
			sub := append(slices.Clone(at), k)
			if !slices.ContainsFunc(skip, func(f found) bool { return slices.Equal(f.place.([]string), sub) }) {
				walk(m[k], sub)
			}
		}
	}
	walk(t.tree, nil)
	return strings.Join(out, "\n")
}

// tomlValue writes a value on one line.
func tomlValue(v any) string {
	switch v := v.(type) {
	case Obj:
		parts := make([]string, len(v))
		for i, f := range v {
			parts[i] = f.Key + " = " + tomlValue(f.Val)
		}
		return "{ " + strings.Join(parts, ", ") + " }"
	case []any:
		parts := make([]string, len(v))
		for i, e := range v {
			parts[i] = tomlValue(e)
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case string:
		if strings.ContainsAny(v, `"\`) && !strings.ContainsAny(v, "'\n\r\t\x7f") {
			return "'" + v + "'" // a literal string: no escapes in paths of Windows
		}
		return quoteJSON(v)
	}
	return fmt.Sprint(v)
}
