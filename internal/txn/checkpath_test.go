package txn_test

import (
	"slices"
	"strings"
)

// point is a path that a surface covers.
type ckPoint struct {
	path string
	deep bool
}

func points(surface string, names []string, whole bool) []ckPoint {
	kind, p, _ := strings.Cut(surface, ":")
	if kind != "dir" || whole || len(names) == 0 {
		return []ckPoint{{p, kind != "reported"}}
	}
	out := []ckPoint{{p, false}}
	for _, n := range names {
		out = append(out, ckPoint{p + "/" + n, true})
	}
	return out
}

func overlap(a, b []ckPoint) bool {
	for _, p := range a {
		for _, q := range b {
			if p.path == q.path || p.deep && strings.HasPrefix(q.path, p.path+"/") || q.deep && strings.HasPrefix(p.path, q.path+"/") {
				return true
			}
		}
	}
	return false
}

// collision names an unfinished transaction that new operations touch.
func (c *checker) collision(ops []simOp, wt, replaced string) string {
	all, names, whole := surfaces(ops)
	for _, id := range c.order {
		t := c.txs[id]
		if !t.counts() || id == replaced {
			continue
		}
		_, tNames, tWhole := surfaces(t.ops)
		for _, op := range t.ops {
			for _, it := range op.items {
				if c.met(t, it) && c.readable(t, it.surface, tNames, tWhole) {
					continue
				}
				for _, s := range all {
					same := t.wt == wt || strings.HasPrefix(s, "reported:")
					if same && kindOf(s) == kindOf(it.surface) && overlap(points(s, names, whole), points(it.surface, tNames, tWhole)) {
						return id
					}
				}
			}
		}
	}
	return ""
}

func kindOf(surface string) string {
	if strings.HasPrefix(surface, "reported:") {
		return "reported"
	}
	return "path"
}

// endangered lists the paths whose content op could destroy now.
func (c *checker) endangered(t *ckTxn, op *simOp) []string {
	if op.kind == "verify" {
		return nil
	}
	var out []string
	for _, it := range op.items {
		if !it.reported() && !c.met(t, it) {
			out = append(out, it.path())
		}
	}
	if p, ok := strings.CutPrefix(op.src, "file:"); ok && (op.kind == "move" || op.kind == "delete") {
		out = append(out, p)
	}
	if p, ok := strings.CutPrefix(op.dst, "file:"); ok && !slices.ContainsFunc(op.items, func(it simItem) bool { return it.path() == p }) {
		out = append(out, p)
	}
	return slices.DeleteFunc(out, func(p string) bool { return c.content(t, p) == "" })
}

// safe reports whether the content at p may be destroyed by op: it is kept,
// part of the target, or what the transaction's own attempts left there.
func (c *checker) safe(t *ckTxn, op *simOp, p string) bool {
	now := c.content(t, p)
	if t.debris[p+"="+now] || slices.ContainsFunc(op.items, func(it simItem) bool { return it.want == now }) {
		return true
	}
	if p != "d" {
		return c.w.stored[t.id+":"+p] == now
	}
	for _, f := range c.w.in(t.wt) {
		if c.w.stored[t.id+":"+f] != c.content(t, f) {
			return false
		}
	}
	return now == t.baseDir
}

// left notes what is there when an attempt is closed, wherever its operation
// reaches.
func (c *checker) left(t *ckTxn, op *simOp) {
	touched, names, whole := surfaces([]simOp{*op})
	paths := append(slices.Clone(simPaths), "d")
	for _, p := range paths {
		in := []ckPoint{{p, p == "d"}}
		if slices.ContainsFunc(touched, func(s string) bool {
			return overlap(points(s, names, whole), in)
		}) {
			t.debris[p+"="+c.content(t, p)] = true
		}
	}
}
