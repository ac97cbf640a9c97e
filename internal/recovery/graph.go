package recovery

import (
	"encoding/hex"

	"holdfast/internal/filelog"
	"holdfast/internal/ledger"
)

// id is the first half of an entry's hash, enough to tell entries apart: what is
// built from them is verified in full.
type id [16]byte

func idOf(hash string) (x id) {
	if len(hash) >= 32 {
		_, _ = hex.Decode(x[:], []byte(hash[:32])) // what is no hash equals no entry's
	}
	return x
}

// node is one entry, wherever copies of it stand.
type node struct {
	hash, prev id
	rev        int64
	offset     int64
	size       int32
	file       int32 // into graph.files; -1: an export's
	parent     int32 // -1: none is known
	recovers   int16 // trusted recover entries up to here
	flags      uint8
}

const (
	isSealed  = 1 << iota // of type sealed: it goes nowhere
	isRecover             // a recovery whose word counts
	goesBack              // a recovery takes it back
	erased                // no copy has a body
	chained               // it goes back to revision 0 without a gap
	hasChild
	inCurrent // a copy stands in the current generation
	isVoid
)

func (n *node) is(flag uint8) bool { return n.flags&flag != 0 }

// graph is every entry that was found, in the order in which it was.
type graph struct {
	nodes []node
	at    map[id]int32
	files []string
	names map[string]int32
	order []int32 // of nodes by revision

	redacts []redact
	dead    map[id]ledger.Pos // heads that a trusted recovery replaced
	used    map[string]int64  // fingerprints of recoveries, and their revisions
}

// redact is a trusted redact entry.
type redact struct {
	by   int32
	revs []int64
}

func newGraph() *graph {
	return &graph{at: map[id]int32{}, names: map[string]int32{}, dead: map[id]ledger.Pos{}, used: map[string]int64{}}
}

// add notes one copy of an entry. Of two copies the one with a body counts.
func (g *graph) add(e *ledger.Entry, spot filelog.Spot, sealed ledger.SealState, current bool) {
	h := idOf(e.Hash)
	i, known := g.at[h]
	if !known {
		i = int32(len(g.nodes))
		g.at[h] = i
		g.nodes = append(g.nodes, node{hash: h, prev: idOf(e.Prev), rev: e.Rev, file: -1, parent: -1, flags: flagsOf(e, sealed)})
		g.learn(i, e, sealed)
	}
	n := &g.nodes[i]
	if !known || n.is(erased) && e.BodyRaw != nil {
		n.offset, n.size, n.file = spot.Offset, spot.Size, g.fileOf(spot.Path)
		if e.BodyRaw != nil {
			n.flags &^= erased
		}
	}
	if current {
		n.flags |= inCurrent
	}
}

func flagsOf(e *ledger.Entry, sealed ledger.SealState) (f uint8) {
	if e.Type == ledger.TypeSealed {
		f |= isSealed
	}
	if e.Type == ledger.TypeRecover && sealed == ledger.SealedHere {
		f |= isRecover
	}
	if ledger.GoesBack(e.Type) {
		f |= goesBack
	}
	if e.BodyRaw == nil {
		f |= erased
	}
	if e.Void() {
		f |= isVoid
	}
	return f
}

// learn takes what an entry says about others, on the word of this machine's seal.
func (g *graph) learn(i int32, e *ledger.Entry, sealed ledger.SealState) {
	if sealed != ledger.SealedHere {
		return
	}
	switch e.Type {
	case ledger.TypeRedact:
		g.redacts = append(g.redacts, redact{i, e.Revisions})
	case ledger.TypeRecover:
		for _, p := range e.Replaces {
			g.dead[idOf(p.Hash)] = p
		}
		if e.Fingerprint != "" {
			g.used[e.Fingerprint] = e.Rev
		}
	}
}

func (g *graph) fileOf(path string) int32 {
	if path == "" {
		return -1
	}
	i, ok := g.names[path]
	if !ok {
		i = int32(len(g.files))
		g.files, g.names[path] = append(g.files, path), i
	}
	return i
}

// link finds every entry's parent and which entries go back to revision 0. It
// goes by revision, so that a parent comes before its children.
func (g *graph) link() {
	g.sort()
	may := map[int64]bool{}
	for _, r := range g.redacts {
		for _, rev := range r.revs {
			may[rev] = true
		}
	}
	for _, i := range g.order {
		n := &g.nodes[i]
		if n.is(erased) && !may[n.rev] {
			continue // its body is gone, and nothing says that it was redacted
		}
		if n.rev == 0 && n.prev == (id{}) {
			n.flags |= chained
			continue
		}
		p, ok := g.at[n.prev]
		if !ok || g.nodes[p].rev != n.rev-1 {
			continue
		}
		n.parent = p
		parent := &g.nodes[p]
		if !parent.is(chained) || parent.is(isSealed) {
			continue
		}
		n.flags |= chained
		n.recovers = parent.recovers
		if n.is(isRecover) {
			n.recovers++
		}
		if !n.is(isSealed) {
			parent.flags |= hasChild
		}
	}
}

// sort orders by revision: counting is enough, revisions are dense.
func (g *graph) sort() {
	most := int64(0)
	for i := range g.nodes {
		most = max(most, g.nodes[i].rev)
	}
	g.order = make([]int32, 0, len(g.nodes))
	if most > 8*int64(len(g.nodes))+1024 { // some revision is far out: it can't be chained
		most = 8*int64(len(g.nodes)) + 1024
	}
	starts := make([]int32, most+2)
	for i := range g.nodes {
		if r := g.nodes[i].rev; r <= most {
			starts[r+1]++
		}
	}
	for r := int64(1); r < int64(len(starts)); r++ {
		starts[r] += starts[r-1]
	}
	g.order = make([]int32, starts[len(starts)-1])
	for i := range g.nodes {
		if r := g.nodes[i].rev; r <= most {
			g.order[starts[r]] = int32(i)
			starts[r]++
		}
	}
}

// best is the end of the best chain that verifies: more recoveries first, then
// longer, then that of the current generation. Heads that a recovery replaced are
// left out. -1: there is none.
func (g *graph) best() int32 {
	best := int32(-1)
	for i := range g.nodes {
		n := &g.nodes[i]
		if !n.is(chained) || n.is(isSealed|hasChild) || g.isDead(n) {
			continue
		}
		if best < 0 || g.better(n, &g.nodes[best]) {
			best = int32(i)
		}
	}
	return best
}

func (g *graph) isDead(n *node) bool { _, dead := g.dead[n.hash]; return dead }

func (g *graph) better(a, b *node) bool {
	switch {
	case a.recovers != b.recovers:
		return a.recovers > b.recovers
	case a.rev != b.rev:
		return a.rev > b.rev
	case a.is(inCurrent) != b.is(inCurrent):
		return a.is(inCurrent)
	}
	return string(a.hash[:]) < string(b.hash[:])
}

// chain lists the entries from revision 0 to an end.
func (g *graph) chain(end int32) []int32 {
	if end < 0 {
		return nil
	}
	out := make([]int32, g.nodes[end].rev+1)
	for i := end; i >= 0; i = g.nodes[i].parent {
		out[g.nodes[i].rev] = i
	}
	return out
}

// find gives the entry of a position, -1 if there is none.
func (g *graph) find(hash string) int32 {
	if i, ok := g.at[idOf(hash)]; ok {
		return i
	}
	return -1
}

func (g *graph) spot(i int32) filelog.Spot {
	n := &g.nodes[i]
	if n.file < 0 {
		return filelog.Spot{}
	}
	return filelog.Spot{Path: g.files[n.file], Offset: n.offset, Size: n.size}
}

// erasures are the entries whose bodies a redact entry names, by the redact
// entry's own chain: its ancestors of these revisions.
func (g *graph) erasures() map[int32]int32 {
	out := map[int32]int32{}
	for _, r := range g.redacts {
		want := map[int64]bool{}
		least := g.nodes[r.by].rev
		for _, rev := range r.revs {
			want[rev] = true
			least = min(least, rev)
		}
		for i := g.nodes[r.by].parent; i >= 0 && g.nodes[i].rev >= least; i = g.nodes[i].parent {
			if want[g.nodes[i].rev] {
				out[i] = r.by
			}
		}
	}
	return out
}
