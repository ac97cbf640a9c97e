package secret

import "sort"

// view is a text as a rule sees it: the one that was given, or one with a
// disguise taken off. It remembers where each of its bytes came from.
type view struct {
	text   string
	parent *view   // nil for the text that was given
	from   []int32 // by byte: where it begins in the parent's text
	to     []int32 // by byte: where it ends there
	edits  []edit  // what was taken off, in order of position
}

// edit marks a position of a view where its text departs from the parent's.
type edit struct {
	at   int32 // the change lies before, or at, this byte of the view
	form string
}

// origin translates a range of the view into the text that was given, and
// names the disguise that lay over it.
func (v *view) origin(start, end int) (from, to int, form string) {
	for v.parent != nil {
		if start >= end {
			return 0, 0, form
		}
		if f := v.formAt(start, end); f != "" {
			form = f
		}
		start, end = int(v.from[start]), int(v.to[end-1])
		v = v.parent
	}
	return start, end, form
}

// formAt returns the form of the first edit inside a range. An edit that
// removed something counts only between the range's bytes, not before them.
func (v *view) formAt(start, end int) string {
	i := sort.Search(len(v.edits), func(i int) bool { return int(v.edits[i].at) >= start })
	for ; i < len(v.edits) && int(v.edits[i].at) < end; i++ {
		at := int(v.edits[i].at)
		if at > start || v.to[at]-v.from[at] != 1 {
			return v.edits[i].form
		}
	}
	return ""
}

// builder makes a view byte by byte.
type builder struct {
	v    view
	text []byte
}

func newBuilder(parent *view) *builder {
	n := len(parent.text)
	return &builder{
		v:    view{parent: parent, from: make([]int32, 0, n), to: make([]int32, 0, n)},
		text: make([]byte, 0, n),
	}
}

// keep copies the parent's byte at i.
func (b *builder) keep(i int) {
	b.text = append(b.text, b.v.parent.text[i])
	b.v.from = append(b.v.from, int32(i))
	b.v.to = append(b.v.to, int32(i+1))
}

// put writes a byte that stands for the parent's range from i to j.
func (b *builder) put(c byte, i, j int, form string) {
	b.note(form)
	b.text = append(b.text, c)
	b.v.from = append(b.v.from, int32(i))
	b.v.to = append(b.v.to, int32(j))
}

// note marks that something was taken off before the next byte.
func (b *builder) note(form string) {
	at := int32(len(b.text))
	if n := len(b.v.edits); n > 0 && b.v.edits[n-1].at == at {
		return
	}
	b.v.edits = append(b.v.edits, edit{at, form})
}

func (b *builder) done() *view {
	b.v.text = string(b.text)
	return &b.v
}
