package txn_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"holdfast/internal/ledger"
	"holdfast/internal/txn"
)

// checker watches a simulation from outside: it knows the world and what was
// committed, and nothing of the engine. What it holds are the promises of the
// specification.
type checker struct {
	w     *simWorld
	now   func() int64
	alive func(txn.Owner) bool
	txs   map[string]*ckTxn
	order []string
	fault string // the first broken promise
	stats map[string]int
}

type ckTxn struct {
	id, wt   string
	ops      []simOp
	state    string
	followed bool
	atts     []*ckAtt
	base     map[string]string // content at the beginning, by path
	baseDir  string
	unread   []string // paths that could not be read then
	floor    map[string]int
	states   []string
	stated   string
	allowed  map[int]bool
	must     string          // why its next entry has to block it
	debris   map[string]bool // "path=content" left by its own attempts
}

type ckAtt struct {
	id      string
	op      int
	role    string
	owner   txn.Owner
	via     string
	granted int64
	open    bool
	closed  int64
	state   string
	set     map[string]int
	judged  bool
}

func (c *checker) failf(format string, args ...any) {
	if c.fault == "" {
		c.fault = fmt.Sprintf(format, args...)
	}
}

func (t *ckTxn) counts() bool {
	return (t.state == txn.StateOpen || t.state == txn.StateBlocked) && !t.followed
}

func (t *ckTxn) last() *ckAtt {
	if len(t.atts) == 0 {
		return nil
	}
	return t.atts[len(t.atts)-1]
}

// surfaces lists what the operations name, and for the folder which files.
func surfaces(ops []simOp) (all []string, names []string, whole bool) {
	for _, op := range ops {
		for _, s := range []string{op.src, op.dst} {
			if s != "" {
				all = append(all, s)
			}
		}
		for _, it := range op.items {
			all = append(all, it.surface)
			if it.name != "" {
				names = append(names, it.name)
			}
			whole = whole || it.surface == "dir:d" && it.name == ""
		}
	}
	slices.Sort(all)
	slices.Sort(names)
	return slices.Compact(all), slices.Compact(names), whole
}

func (c *checker) content(t *ckTxn, path string) string {
	if path == "r" {
		return t.stated
	}
	if path == "d" {
		return c.dir(t.wt)
	}
	return c.w.files[t.wt+":"+path]
}

// dir is what the folder d holds, empty if it isn't there.
func (c *checker) dir(wt string) string {
	var all []string
	for _, p := range c.w.in(wt) {
		all = append(all, p+"="+c.w.files[wt+":"+p])
	}
	return strings.Join(all, " ")
}

// readable reports whether a surface of t can be read, and its look wasn't lost.
func (c *checker) readable(t *ckTxn, surface string, names []string, whole bool) bool {
	if slices.Contains(c.w.dropped, t.wt+":"+surface) {
		return false
	}
	kind, p, _ := strings.Cut(surface, ":")
	if kind != "dir" {
		return kind == "reported" || !c.w.bad[t.wt+":"+p]
	}
	if c.dir(t.wt) == "" {
		return true
	}
	for _, n := range names {
		if c.w.bad[t.wt+":d/"+n] {
			return false
		}
	}
	return !whole || !slices.ContainsFunc(c.w.in(t.wt), func(p string) bool { return c.w.bad[t.wt+":"+p] })
}

func (c *checker) unknown(t *ckTxn) bool {
	all, names, whole := surfaces(t.ops)
	return slices.ContainsFunc(all, func(s string) bool { return !c.readable(t, s, names, whole) })
}

// unreadable lists the paths of t that can't be read.
func (c *checker) unreadable(t *ckTxn) (out []string) {
	all, names, whole := surfaces(t.ops)
	for _, s := range all {
		_, p, _ := strings.Cut(s, ":")
		if s == "dir:d" {
			for _, n := range names {
				if !c.readable(t, s, []string{n}, false) {
					out = append(out, "d/"+n)
				}
			}
			names := names
			if whole {
				names = nil
			}
			if !c.readable(t, s, names, whole) {
				out = append(out, "d")
			}
		} else if !c.readable(t, s, nil, false) {
			out = append(out, p)
		}
	}
	return out
}

// see is the state of all that t is about.
func (c *checker) see(t *ckTxn) string {
	all, names, whole := surfaces(t.ops)
	var b strings.Builder
	for _, s := range all {
		kind, p, _ := strings.Cut(s, ":")
		fmt.Fprint(&b, s, "=")
		if kind != "dir" || whole {
			fmt.Fprintln(&b, c.content(t, p))
			continue
		}
		fmt.Fprint(&b, c.dir(t.wt) != "")
		for _, n := range names {
			fmt.Fprint(&b, " ", n, "=", c.content(t, "d/"+n))
		}
		fmt.Fprintln(&b)
	}
	return b.String()
}

func (c *checker) met(t *ckTxn, it simItem) bool { return c.content(t, it.path()) == it.want }

func (c *checker) holds(t *ckTxn, op int) bool {
	return !slices.ContainsFunc(t.ops[op].items, func(it simItem) bool { return !c.met(t, it) })
}

// set is the mismatch set with severities.
func (c *checker) set(t *ckTxn) map[string]int {
	out := map[string]int{}
	for _, op := range t.ops {
		for _, it := range op.items {
			if !c.met(t, it) {
				key := fmt.Sprint(it)
				out[key] = max(out[key], c.severity(t, &op, it))
			}
		}
	}
	return out
}

func (c *checker) severity(t *ckTxn, op *simOp, it simItem) int {
	p := it.path()
	now, base := c.content(t, p), t.base[p]
	switch {
	case it.want == "":
		return 2
	case base != "" && base != now:
		return 3
	}
	if src, ok := strings.CutPrefix(op.src, "file:"); ok && op.kind == "move" && op.dst == it.surface {
		if was := t.base[src]; was != "" && c.content(t, src) != was && now != was {
			return 3
		}
	}
	if now == "" {
		return 2
	}
	return 1
}

// below reports whether n lies strictly below m, item by item.
func below(n, m map[string]int) bool {
	for k, s := range n {
		if m[k] < s {
			return false
		}
	}
	return !maps.Equal(n, m)
}

// cycle reports whether the last state was seen before, with another between.
func cycle(states []string) bool {
	return len(states) > 0 && slices.Index(states, states[len(states)-1]) < len(states)-1
}

func add(states []string, s string) []string {
	if len(states) > 0 && states[len(states)-1] == s {
		return states
	}
	return append(states, s)
}

// looked takes in what a call about t has seen, and judges what it must judge.
func (c *checker) looked(t *ckTxn) {
	if t.state != txn.StateOpen || c.unknown(t) {
		return
	}
	t.states = add(t.states, c.see(t))
	a := t.last()
	set := c.set(t)
	switch {
	case a != nil && (a.open || !a.judged && !c.settled(t, a) && len(set) > 0):
		return
	case a != nil && !a.judged:
		a.judged = true
		if a.role == txn.RoleRecovery {
			if c.shrank(t, a, set) {
				t.floor = set
			} else {
				t.state, t.must = mustBlock, c.verdict(t, a, set)
			}
			return
		}
	}
	if t.floor != nil && below(set, t.floor) {
		t.floor = set
	}
}

func (c *checker) shrank(t *ckTxn, a *ckAtt, set map[string]int) bool {
	return len(set) == 0 || c.see(t) != a.state && !cycle(t.states) && below(set, t.floor)
}

// verdict is what a recovery that did not shrink the mismatch has to be called.
func (c *checker) verdict(t *ckTxn, a *ckAtt, set map[string]int) string {
	switch {
	case c.see(t) == a.state:
		return "no_progress"
	case cycle(t.states):
		return "oscillated"
	}
	for k, s := range set {
		if s > t.floor[k] {
			return "regressed"
		}
	}
	return "no_progress"
}

func (c *checker) settled(t *ckTxn, a *ckAtt) bool {
	return c.now()-a.closed >= t.ops[a.op].settle
}

// spent counts what was granted of an operation in all transactions that count.
func (c *checker) spent(identity string) (initial, recovery int) {
	for _, id := range c.order {
		t := c.txs[id]
		for _, a := range t.atts {
			switch {
			case !t.counts() || t.ops[a.op].identity(t.wt) != identity:
			case a.role == txn.RoleRecovery:
				recovery++
			default:
				initial++
			}
		}
	}
	return initial, recovery
}

// role is what an attempt of op is.
func (c *checker) role(t *ckTxn, op int) string {
	initial, recovery := c.spent(t.ops[op].identity(t.wt))
	if initial+recovery > 0 {
		return txn.RoleRecovery
	}
	set := c.set(t)
	for _, it := range t.ops[op].items {
		now := set[fmt.Sprint(it)]
		for _, a := range t.atts {
			if now > a.set[fmt.Sprint(it)] || now > 0 && slices.Contains(t.ops[a.op].items, it) {
				return txn.RoleRecovery
			}
		}
	}
	return txn.RoleInitial
}

func (c *checker) count(what string) { c.stats[what]++ }

// headState is the state that a committed head leaves the transaction in.
func headState(h *ledger.TxnHead) string {
	if h.State == "" {
		return txn.StateOpen
	}
	return h.State
}
