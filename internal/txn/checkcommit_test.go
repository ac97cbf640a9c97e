package txn_test

import (
	"encoding/json"
	"strings"

	"holdfast/internal/ledger"
	"holdfast/internal/txn"
)

// doing is what a hub's call is about, as its agent knows it.
type doing struct {
	ops      []simOp // begin
	replaces string
	follows  string
	person   bool
}

// committed checks one entry at the moment when it stands, in the world of
// that moment.
func (c *checker) committed(h *hub, do *doing, d *ledger.Draft) {
	head := d.Txn
	if head.Person && !do.person {
		c.failf("an agent decided what only a person decides: %s %s", d.Type, head.Outcome)
	}
	if d.Type == ledger.TypeTxnBegin {
		c.begun(h, do, head)
		return
	}
	t := c.txs[head.Transaction]
	if t == nil {
		c.failf("an entry about a transaction that never began")
		return
	}
	if d.Type == ledger.TypeTxnAttempt {
		if len(t.atts) == 0 { // what could not be read at first is known now
			for _, p := range t.unread {
				t.base[p] = c.content(t, p)
			}
		}
		c.looked(t)
		c.granted(h, t, head)
		return
	}
	if head.Person { // decided without a look
		if head.Outcome == "allowed" {
			t.allowed[*head.Operation] = true
		}
		c.moved(t, headState(head), do.person)
		return
	}
	if a := t.find(head.Attempt); a != nil && a.open {
		c.closes(h, t, a, d)
	}
	c.looked(t)
	if headState(head) == txn.StateBlocked && (t.state == txn.StateOpen || t.state == mustBlock) {
		c.reason(t, d)
	}
	c.moved(t, headState(head), do.person)
}

// reason checks that what a block says is true.
func (c *checker) reason(t *ckTxn, d *ledger.Draft) {
	var body struct {
		End struct{ Code, Decision string }
	}
	if err := json.Unmarshal(d.Body.Txn, &body); err != nil || body.End.Decision == "" {
		c.failf("%s was blocked without a word (%v)", t.id, err)
	}
	code := body.End.Code
	c.count("blocked: " + code)
	if t.state == mustBlock {
		if code != t.must {
			c.failf("%s is blocked because of %s and says %s", t.id, t.must, code)
		}
		return
	}
	recoveries, spent := 0, false
	for _, a := range t.atts {
		if a.role == txn.RoleRecovery {
			recoveries++
		}
	}
	for i := range t.ops {
		_, n := c.spent(t.ops[i].identity(t.wt))
		spent = spent || n > 0
	}
	if code == "oscillated" && !cycle(t.states) || code == "fingerprint_spent" && !spent || code == "budget_spent" && recoveries < 2 {
		c.failf("%s says %s, which is not so", t.id, code)
	}
	if code != "oscillated" && code != "fingerprint_spent" && code != "budget_spent" {
		c.failf("%s is blocked for no reason: %s", t.id, code)
	}
}

// mustBlock is the checker's word for a transaction whose next entry has to
// block it.
const mustBlock = "must be blocked"

func (t *ckTxn) find(id string) *ckAtt {
	for _, a := range t.atts {
		if a.id == id {
			return a
		}
	}
	return nil
}

func (c *checker) begun(h *hub, do *doing, head *ledger.TxnHead) {
	wt := h.worktree
	if do.follows != "" {
		wt = c.txs[do.follows].wt
	}
	t := &ckTxn{
		id: head.Transaction, wt: wt, ops: do.ops, state: txn.StateOpen, base: map[string]string{},
		allowed: map[int]bool{}, debris: map[string]bool{},
	}
	if do.follows != "" {
		t.stated = c.txs[do.follows].stated
	}
	for _, p := range append(simPaths, "r") {
		t.base[p] = c.content(t, p)
	}
	t.baseDir = c.dir(wt)
	t.unread = c.unreadable(t)
	state := headState(head)
	c.count("begun " + state)
	if state == txn.StateOpen && do.follows == "" {
		if other := c.collision(do.ops, wt, do.replaces); other != "" {
			c.failf("%s began over what %s has not finished", t.id, other)
		}
	}
	if head.Follows != "" {
		c.links(head, do)
	}
	if state == txn.StateOpen && !c.unknown(t) {
		for i := range t.ops {
			for _, p := range c.endangered(t, &t.ops[i]) {
				if now := c.content(t, p); p != "d" && now != "big" && c.w.stored[t.id+":"+p] != now {
					c.failf("%s began and did not keep %s", t.id, p)
				}
			}
		}
	}
	c.txs[t.id] = t
	c.order = append(c.order, t.id)
	c.looked(t)
	c.moved(t, state, do.person)
}

func (c *checker) links(head *ledger.TxnHead, do *doing) {
	old := c.txs[head.Follows]
	switch {
	case do.follows != "":
		if old.state != txn.StateBlocked || old.followed {
			c.failf("%s was reopened while it was %s", old.id, old.state)
		}
		old.followed = true
		c.count("reopened")
	case old.state != txn.StateOpen || len(old.atts) > 0:
		c.failf("%s was replaced though something was granted in it", old.id)
	default:
		old.state = txn.StateAbandoned
		c.count("replaced")
	}
}

// granted checks everything that must hold when a mutation is allowed.
func (c *checker) granted(h *hub, t *ckTxn, head *ledger.TxnHead) {
	op := *head.Operation
	what := t.ops[op]
	role := c.role(t, op)
	initial, recovery := c.spent(what.identity(t.wt))
	recoveries := 0
	for _, a := range t.atts {
		if a.open {
			c.failf("two grants at once in %s", t.id)
		}
		if a.role == txn.RoleRecovery {
			recoveries++
		}
	}
	c.count("granted " + head.Role)
	if head.Role == txn.RoleRecovery {
		recoveries++
		recovery++
	}
	switch {
	case t.state != txn.StateOpen:
		c.failf("a grant in %s, which is %s", t.id, t.state)
	case what.kind == "verify":
		c.failf("a grant for verifying")
	case c.unknown(t):
		c.failf("a grant in %s while something can't be read", t.id)
	case c.holds(t, op):
		c.failf("a grant in %s for what holds already", t.id)
	case head.Role != role:
		c.failf("an attempt in %s is called %s and is %s", t.id, head.Role, role)
	case recovery > 1 || initial+recovery > 2:
		c.failf("%s: a second recovery of one operation", t.id)
	case recoveries > 2:
		c.failf("%s: a third recovery", t.id)
	case cycle(t.states):
		c.failf("%s: a grant in a state that came back", t.id)
	case t.last() != nil && !c.settled(t, t.last()):
		c.failf("%s: a grant before the settle time is over", t.id)
	}
	for _, p := range c.endangered(t, &what) {
		if !t.allowed[op] && !c.safe(t, &what, p) {
			c.failf("%s: a grant to destroy %s, which is not kept", t.id, p)
		}
	}
	a := &ckAtt{
		id: head.Attempt, op: op, role: head.Role, owner: h.owner, via: h.via, granted: c.now(),
		open: true, state: c.see(t), set: c.set(t),
	}
	if a.role == txn.RoleRecovery && t.floor == nil {
		t.floor = a.set
	}
	t.atts = append(t.atts, a)
}

// closes checks that an attempt may be closed, and notes what it left.
func (c *checker) closes(h *hub, t *ckTxn, a *ckAtt, d *ledger.Draft) {
	here := a.owner.Boot == h.owner.Boot && a.owner.Space == h.owner.Space
	gone := here && !c.alive(a.owner)
	switch {
	case d.Type == ledger.TypeTxnReport:
	case a.via == ledger.ViaCLI && h.via == ledger.ViaCLI:
	case a.via == ledger.ViaMCP && (gone || !here && c.now()-a.granted >= 15*60*1000):
	case a.via == ledger.ViaMCP && a.owner == h.owner && len(c.set(t)) == 0:
	default:
		c.failf("%s: an attempt was closed while its owner may still work", t.id)
	}
	c.count("closed " + d.Txn.Outcome)
	a.open, a.closed = false, c.now()
	c.left(t, &t.ops[a.op])
}

// moved checks the step from one state to the next.
func (c *checker) moved(t *ckTxn, to string, person bool) {
	if strings.HasPrefix(to, "complete") && t.state != to {
		if len(c.set(t)) > 0 || !c.allReadable(t) {
			c.failf("%s is called complete, and the world says otherwise", t.id)
		}
	}
	switch {
	case t.state == to:
		return
	case t.state == mustBlock:
		if to != txn.StateBlocked {
			c.failf("%s: a recovery without progress left it %s", t.id, to)
		}
	case t.state == txn.StateOpen && to == txn.StateAbandoned, t.state == txn.StateBlocked && to == txn.StateAbandoned:
		if !person {
			c.failf("%s was given up without a person", t.id)
		}
	case t.state != txn.StateOpen:
		c.failf("%s was %s and is %s", t.id, t.state, to)
	}
	t.state = to
	c.count("now " + to)
}

// allReadable reports whether every item of t could be read.
func (c *checker) allReadable(t *ckTxn) bool {
	_, names, whole := surfaces(t.ops)
	for _, op := range t.ops {
		for _, it := range op.items {
			if !c.readable(t, it.surface, names, whole) {
				return false
			}
		}
	}
	return true
}

// answered checks what must hold after a call about t, entry or no entry.
func (c *checker) answered(t *ckTxn) {
	if t == nil {
		return
	}
	c.looked(t)
	if t.state == mustBlock {
		c.failf("%s: a recovery without progress left it open", t.id)
	}
}
