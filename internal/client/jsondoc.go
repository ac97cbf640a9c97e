package client

import (
	"crypto/sha256"
	"hash"
	"regexp"
	"slices"
	"strings"
)

// jdoc is a JSON document that was read as a whole.
type jdoc struct {
	d        []byte
	root     *jnode
	comments bool
	habits   *style // read once
}

func parseJSON(data []byte) (document, error) {
	root, comments, err := scanJSON(data)
	if err != nil {
		return nil, err
	}
	if root.kind != '{' {
		return nil, flawAt(root.start, "the document is %s, not an object", root.name())
	}
	return &jdoc{d: data, root: root, comments: comments}, nil
}

// member finds the child of that key. Two of them are a flaw: programs differ
// in which one they read.
func member(n *jnode, key string) (int, error) {
	at := -1
	for i, k := range n.kids {
		if k.key != key {
			continue
		}
		if at >= 0 {
			return 0, flawAt(k.start, "the key %q stands here twice", key)
		}
		at = i
	}
	return at, nil
}

// descend walks from the root along keys as far as they exist. Every node on
// the way but a last list must be an object.
func (j *jdoc) descend(keys []string, list bool) (chain []*jnode, missing []string, err error) {
	chain = []*jnode{j.root}
	for i, key := range keys {
		n := chain[len(chain)-1]
		at, err := member(n, key)
		if err != nil {
			return nil, nil, err
		}
		if at < 0 {
			return chain, keys[i:], nil
		}
		kid, want := n.kids[at].val, byte('{')
		if list && i == len(keys)-1 {
			want = '['
		}
		if kid.kind != want {
			return nil, nil, flawAt(kid.start, "%q is %s, not %s", strings.Join(keys[:i+1], "."), kid.name(), (&jnode{kind: want}).name())
		}
		chain = append(chain, kid)
	}
	return chain, nil, nil
}

// spot is where an item stands in a JSON document.
type spot struct {
	chain []*jnode // from the root to the container
	at    int      // index of the child
	elem  int      // index within the child's list, for a name in a list; else -1
}

func (s spot) holder() *jnode { return s.chain[len(s.chain)-1] }
func (s spot) node() *jnode   { return s.holder().kids[s.at].val }

func (j *jdoc) look(it *Item) ([]found, error) {
	chain, missing, err := j.descend(it.At, it.Role == Hook)
	if err != nil || len(missing) > 0 {
		return nil, err
	}
	holder := chain[len(chain)-1]
	if it.Role == Hook {
		return j.elements(it, chain)
	}
	at, err := member(holder, it.Name)
	if err != nil || at < 0 {
		return nil, err
	}
	f := j.found(it, spot{chain: chain, at: at, elem: -1})
	if it.Role == FileName {
		return j.fileNames(it, f)
	}
	if it.Role == Frame && canon(f.value) != canon(it.Want) && !it.New {
		return nil, flawAt(holder.kids[at].val.start, "%q has a value that is not known", it.Name)
	}
	return []found{f}, nil
}

func (j *jdoc) found(it *Item, s spot) found {
	n := s.node()
	f := found{value: toAny(j.d, n), place: s}
	if canon(f.value) == canon(it.Want) {
		raw := string(j.d[n.start:n.end])
		st := j.style(n.start)
		indent := lineIndent(j.d, s.holder().kids[s.at].start)
		f.form = raw == st.render(it.Want, indent, true) || raw == st.render(it.Want, indent, false)
	}
	return f
}

func (j *jdoc) style(off int) style {
	if j.habits == nil {
		st := styleOf(j.d, j.root)
		j.habits = &st
	}
	st := *j.habits
	st.eol = eolAt(j.d, off)
	return st
}

// elements finds the elements of a list that are ours: by value, or by a
// command of ours in them.
func (j *jdoc) elements(it *Item, chain []*jnode) ([]found, error) {
	var mark *regexp.Regexp
	if it.Mark != "" {
		mark = regexp.MustCompile(it.Mark)
	}
	var out []found
	for i, k := range chain[len(chain)-1].kids {
		v := toAny(j.d, k.val)
		if marked(v, mark) || canon(v) == canon(it.Want) {
			out = append(out, j.found(it, spot{chain: chain, at: i, elem: -1}))
		}
		if len(out) > maxCopies {
			break
		}
	}
	return out, nil
}

// insert puts the item behind the last child of its container, which is
// created where it is missing.
func (j *jdoc) insert(it *Item) (edit, error) {
	if it.Role == FileName {
		return j.insertName(it)
	}
	chain, missing, err := j.descend(it.At, it.Role == Hook)
	if err != nil {
		return edit{}, err
	}
	val := it.Want
	key := it.Name
	if it.Role == Hook && len(missing) > 0 {
		val = []any{val}
		key = missing[len(missing)-1]
	} else if len(missing) > 0 {
		val, key = Obj{{it.Name, val}}, missing[len(missing)-1]
	}
	for i := len(missing) - 2; i >= 0; i-- {
		val, key = Obj{{key, val}}, missing[i]
	}
	e := edit{steps: []Step{j.add(chain, key, val)}}
	for i := range missing {
		e.containers = append(e.containers, strings.Join(it.At[:len(it.At)-len(missing)+i+1], "/"))
	}
	return e, nil
}

// add makes one child the last of the innermost node of chain. Nothing but the
// new text changes; a comment on the line of the child before stays there.
func (j *jdoc) add(chain []*jnode, key string, val any) Step {
	n := chain[len(chain)-1]
	st := j.style(n.end - 1)
	multi := spread(j.d, chain)
	base := lineIndent(j.d, n.start)
	indent := base + st.unit
	if k := len(n.kids); k > 0 {
		indent = lineIndent(j.d, n.kids[k-1].start)
	}
	text := st.render(val, indent, multi)
	if n.kind == '{' {
		text = quoteJSON(key) + st.colon + text
	}
	if len(n.kids) == 0 {
		open, shut := st.pad, st.pad
		if multi {
			open, shut = st.eol+indent, st.eol+base
		}
		return j.addFirst(n, open+text, shut, multi)
	}
	last := n.kids[len(n.kids)-1]
	from, comma, after := last.val.end, ",", ""
	if last.comma >= 0 {
		from, comma, after = last.comma+1, "", ","
	}
	lead := st.sep[1:]
	if multi {
		lead = st.eol + indent
	}
	end, line := j.sameLine(from)
	if line && comma != "" {
		note := string(j.d[from:end])
		return Step{At: from, Was: note, Text: comma + note + lead + text}
	}
	return Step{At: end, Text: comma + lead + text + after}
}

// addFirst fills an empty container. What stands before its closing bracket
// may close the line already.
func (j *jdoc) addFirst(n *jnode, text, shut string, multi bool) Step {
	rest := string(j.d[n.tail : n.end-1])
	switch {
	case multi && strings.Contains(rest, "\n"), !multi && rest != "":
		return Step{At: n.tail, Text: text}
	case multi:
		return Step{At: n.end - 1, Text: text + shut}
	}
	return Step{At: n.tail, Text: text + shut}
}

// sameLine finds the end of the comments that follow on the line of off, and
// whether the last of them is a line comment.
func (j *jdoc) sameLine(off int) (end int, line bool) {
	end = off
	for i := off; i < len(j.d); {
		switch j.d[i] {
		case ' ', '\t':
			i++
			continue
		case '/':
		default:
			return end, false
		}
		stop, ok := comment(j.d, i)
		if !ok || slices.Contains(j.d[i:stop], '\n') {
			return end, false
		}
		if j.d[i+1] == '/' {
			return stop, true
		}
		i, end = stop, stop
	}
	return end, false
}

// outline sums up all that a document says, in order, without the children that
// skip names and without the brackets and keys of the containers in bare.
func (j *jdoc) outline(skip []found, bare []string) string {
	o := outliner{d: j.d, bare: bare, sum: sha256.New()}
	for _, f := range skip {
		s, ok := f.place.(spot)
		switch {
		case !ok:
		case s.elem >= 0:
			o.hide(s.node(), s.elem)
		default:
			o.hide(s.holder(), s.at)
		}
	}
	o.walk(j.root, "", len(bare) > 0)
	return string(o.sum.Sum(nil))
}

type outliner struct {
	d      []byte
	bare   []string
	hidden map[*jnode][]int
	sum    hash.Hash
}

func (o *outliner) hide(n *jnode, at int) {
	if o.hidden == nil {
		o.hidden = map[*jnode][]int{}
	}
	o.hidden[n] = append(o.hidden[n], at)
}

// token adds a piece of the document, set apart from its neighbours.
func (o *outliner) token(from, to int) {
	o.sum.Write(o.d[from:to])
	o.sum.Write([]byte{0})
}

// walk adds a node. Paths are followed only as long as a container may be bare:
// those are objects and lists below objects.
func (o *outliner) walk(n *jnode, path string, follow bool) {
	if n.kind != '{' && n.kind != '[' {
		o.token(n.start, n.end)
		return
	}
	open := !follow || path == "" || !slices.Contains(o.bare, path)
	if open {
		o.token(n.start, n.start+1)
	}
	gone := o.hidden[n]
	for i, k := range n.kids {
		if slices.Contains(gone, i) {
			continue
		}
		below, sub := follow && n.kind == '{', ""
		if below {
			sub = strings.TrimPrefix(path+"/"+k.key, "/")
		}
		if n.kind == '{' && !(below && slices.Contains(o.bare, sub)) {
			o.token(k.start, k.keyEnd)
		}
		o.walk(k.val, sub, below)
	}
	if open {
		o.token(n.end-1, n.end)
	}
}
