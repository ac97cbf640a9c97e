package client

import (
	"bytes"
	"slices"
	"strings"
)

// update turns what was found into the wanted value: only the parts that differ
// where the shape is the same, else the value as a whole.
func (j *jdoc) update(it *Item, f found) ([]Step, error) {
	s := f.place.(spot)
	steps := j.differ(s.node(), it.Want, lineIndent(j.d, s.holder().kids[s.at].start))
	slices.SortFunc(steps, func(a, b Step) int { return b.At - a.At })
	return steps, nil
}

func (j *jdoc) differ(n *jnode, want any, indent string) []Step {
	if canon(toAny(j.d, n)) == canon(want) {
		return nil
	}
	var out []Step
	switch w := want.(type) {
	case Obj:
		if n.kind != '{' || len(n.kids) != len(w) {
			break
		}
		for _, f := range w {
			at, err := member(n, f.Key)
			if err != nil || at < 0 {
				return []Step{j.replace(n, want, indent)}
			}
			k := n.kids[at]
			out = append(out, j.differ(k.val, f.Val, lineIndent(j.d, k.start))...)
		}
		return out
	case []any:
		if n.kind != '[' || len(n.kids) != len(w) {
			break
		}
		for i, e := range w {
			k := n.kids[i]
			out = append(out, j.differ(k.val, e, lineIndent(j.d, k.start))...)
		}
		return out
	}
	return []Step{j.replace(n, want, indent)}
}

func (j *jdoc) replace(n *jnode, want any, indent string) Step {
	raw := string(j.d[n.start:n.end])
	multi := strings.Contains(raw, "\n") || n.kind != '{' && n.kind != '['
	return Step{At: n.start, Was: raw, Text: j.style(n.start).render(want, indent, multi)}
}

// cut takes a child out, with the comma that came with it.
func (j *jdoc) cut(it *Item, f found) ([]Step, error) {
	s := f.place.(spot)
	if s.elem >= 0 {
		return []Step{cutKid(j.d, s.node(), s.elem)}, nil
	}
	return []Step{cutKid(j.d, s.holder(), s.at)}, nil
}

// cutKid takes out one child and the white space before it.
func cutKid(d []byte, n *jnode, at int) Step {
	k := n.kids[at]
	from, to := k.before, k.val.end
	switch {
	case len(n.kids) == 1 && len(bytes.TrimSpace(d[n.start+1:k.start])) == 0 && n.tail == lastOf(k):
		from, to = n.start+1, n.end-1
	case k.comma >= 0 && len(bytes.TrimSpace(d[to:k.comma])) == 0:
		to = k.comma + 1
	case k.comma >= 0: // a comment stands between the value and its comma
		return Step{At: from, Was: string(d[from : k.comma+1]), Text: string(d[to:k.comma])}
	case at > 0:
		// The last one without a comma: the comma before it goes as well, and
		// the comments between the two stay.
		c := n.kids[at-1].comma
		return Step{At: c, Was: string(d[c:to]), Text: string(d[c+1 : from])}
	}
	return Step{At: from, Was: string(d[from:to])}
}

// lastOf is the end of a child with its comma.
func lastOf(k jkid) int {
	if k.comma >= 0 {
		return k.comma + 1
	}
	return k.val.end
}

// prune takes out a container that is empty, comments included.
func (j *jdoc) prune(container string) ([]Step, bool) {
	keys := strings.Split(container, "/")
	n := j.root
	for i, key := range keys {
		at, err := member(n, key)
		if err != nil || at < 0 {
			return nil, false
		}
		kid := n.kids[at].val
		if i < len(keys)-1 {
			if kid.kind != '{' {
				return nil, false
			}
			n = kid
			continue
		}
		if kid.kind != '{' && kid.kind != '[' || len(kid.kids) > 0 || kid.tail != kid.start+1 {
			return nil, false
		}
		return []Step{cutKid(j.d, n, at)}, true
	}
	return nil, false
}

// bare reports whether nothing is left but frames of ours, with no comment.
func (j *jdoc) bare(frames []Item) bool {
	if j.comments {
		return false
	}
	for _, k := range j.root.kids {
		ours := slices.ContainsFunc(frames, func(f Item) bool {
			return f.Role == Frame && f.Name == k.key && canon(toAny(j.d, k.val)) == canon(f.Want)
		})
		if !ours {
			return false
		}
	}
	return true
}

// framed reports whether anything is left that a frame belongs to.
func (j *jdoc) framed(items []Item) bool {
	return slices.ContainsFunc(items, func(it Item) bool {
		return len(it.At) > 0 && slices.ContainsFunc(j.root.kids, func(k jkid) bool { return k.key == it.At[0] })
	})
}

// Gemini's context.fileName names the instruction files it reads: one string or
// a list; GEMINI.md when it is absent.

// fileNames judges what stands there.
func (j *jdoc) fileNames(it *Item, f found) ([]found, error) {
	s := f.place.(spot)
	n := s.node()
	name := it.Want.(string)
	f.preset = Foreign
	switch n.kind {
	case '"':
		if f.value == name {
			f.preset = Present
		}
		return []found{f}, nil
	case '[':
	default:
		return nil, flawAt(n.start, "%q is %s, not a string or a list", it.Name, n.name())
	}
	f.preset = Absent
	whole := canon(f.value) == canon(it.Also[0])
	for i, k := range n.kids {
		if k.val.kind != '"' {
			return nil, flawAt(k.start, "%q holds %s, not only strings", it.Name, k.val.name())
		}
		if toAny(j.d, k.val) == name && f.preset == Absent {
			f.preset = Present
			if !whole {
				s.elem = i
				f.value, f.place = name, s
			}
		}
	}
	return []found{f}, nil
}

// insertName adds the name to the list, or the whole list.
func (j *jdoc) insertName(it *Item) (edit, error) {
	whole := Item{Role: Entry, At: it.At, Name: it.Name, Want: it.Also[0]}
	chain, missing, err := j.descend(it.At, false)
	if err != nil || len(missing) > 0 {
		if err != nil {
			return edit{}, err
		}
		return j.insert(&whole)
	}
	holder := chain[len(chain)-1]
	at, err := member(holder, it.Name)
	if err != nil {
		return edit{}, err
	}
	if at < 0 {
		return j.insert(&whole)
	}
	return edit{steps: []Step{j.add(append(chain, holder.kids[at].val), "", it.Want)}}, nil
}
