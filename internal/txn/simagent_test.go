package txn_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"holdfast/internal/ledger"
	"holdfast/internal/txn"
)

// code names what became of a call.
func code(err error) string {
	var r *txn.Refusal
	var f *ledger.FieldError
	switch {
	case err == nil:
		return "ok"
	case errors.As(err, &r):
		return r.Code
	case errors.As(err, &f):
		return "invalid"
	}
	return err.Error()
}

// stated is what an agent says of the drive, true or not.
func (s *sim) stated(t *ckTxn) map[string]json.RawMessage {
	has := false
	for _, op := range t.ops {
		has = has || op.dst == "reported:r"
	}
	if !has || s.pick(3) == 0 {
		return nil
	}
	v := fmt.Sprintf("v%d", 1+s.pick(3))
	if t.state == txn.StateOpen {
		t.stated = v
	}
	return map[string]json.RawMessage{"r": json.RawMessage(`{"etag":"` + v + `","seen":"` + strconv.Itoa(s.pick(9)) + `"}`)}
}

// drive is one agent's go: attempt, change, report, each with its faults.
func (s *sim) drive(h *hub) {
	if n := len(s.open); s.tame && n > 0 && s.pick(8) > 0 {
		if g := s.open[n-1]; g.transaction.find(g.id).open {
			s.report(&g)
			return
		}
	}
	if t, ok := s.one(); ok && s.tame && s.pick(8) == 0 { // somebody makes things worse in between
		op := t.ops[s.pick(len(t.ops))]
		if it := op.items[s.pick(len(op.items))]; !it.reported() {
			s.w.set(t.wt, it.path(), []string{"", "0", "3"}[s.pick(3)])
		}
	}
	g, ok := s.attempt(h)
	if !ok {
		return
	}
	if s.pick(10) == 0 {
		s.kill(h)
		return
	}
	s.mutate(&g)
	switch s.pick(8) {
	case 0:
		s.kill(h)
	case 1:
	case 2:
		s.outside()
		fallthrough
	default:
		s.report(&g)
	}
}

// mutate changes the world as an agent with a grant does: well, half, not at
// all, wrongly, or breaking something else.
func (s *sim) mutate(g *grantHeld) {
	t := g.transaction
	op := &t.ops[g.op]
	mode := s.pick(9)
	if s.tame {
		mode = []int{0, 4, 5, 5, 5, 6}[s.pick(6)]
	}
	for i, it := range op.items {
		content := it.want
		switch {
		case mode == 4 && i > 0, mode == 5, it.reported():
			continue
		case mode == 6:
			content = s.anyContent()
		case mode == 7:
			content = t.base[it.path()]
		case mode == 8 && i == 0:
			other := t.ops[s.pick(len(t.ops))]
			if x := other.items[s.pick(len(other.items))]; !x.reported() && x.path() != "d" {
				s.w.set(t.wt, x.path(), s.anyContent())
			}
		}
		if it.path() == "d" {
			for _, p := range s.w.in(t.wt) {
				s.w.set(t.wt, p, "")
			}
			continue
		}
		s.w.set(t.wt, it.path(), content)
	}
}

func (s *sim) report(g *grantHeld) {
	outcome := []string{"succeeded", "failed", "timed_out", "interrupted", "unknown"}[s.pick(5)]
	h := g.h
	if s.pick(10) == 0 {
		h = s.hub() // somebody else tells
	}
	err := s.call(h, g.transaction, func(said map[string]json.RawMessage) error {
		_, err := h.report(&txn.ReportRequest{Transaction: g.txn, Attempt: g.id, Outcome: outcome, Reported: said})
		return err
	})
	s.ck.count("report " + code(err))
}

// late changes and reports what was left lying, perhaps for the second time.
func (s *sim) late() {
	if len(s.open) == 0 {
		return
	}
	g := s.open[len(s.open)-1-s.pick(min(len(s.open), 4))]
	if s.pick(2) == 0 {
		s.mutate(&g)
	}
	if s.pick(4) > 0 {
		s.report(&g)
	}
}

// outside is somebody who knows nothing of transactions.
func (s *sim) outside() {
	wt := []string{"main", "main", "side"}[s.pick(3)]
	s.w.set(wt, simPaths[s.pick(len(simPaths))], s.anyContent())
}

// kill ends a process; another takes its place, with nothing in memory.
func (s *sim) kill(h *hub) {
	if s.depth > 0 {
		return
	}
	delete(s.alive, h.owner)
	h.owner = s.process(h.owner.Boot)
	h.book = txn.Book{}
}

// spoil makes a file unreadable, or all readable again.
func (s *sim) spoil() {
	clear(s.w.bad)
	if s.w.disks == nil && s.pick(2) == 0 {
		s.w.bad["main:"+simPaths[s.pick(len(simPaths))]] = true
	}
}

// decide tries what only a person may.
func (s *sim) decide(h *hub, person bool) {
	t, ok := s.one()
	if !ok {
		return
	}
	s.does[h] = &doing{person: person}
	h.person = person
	quiet := s.quiet
	s.quiet = true
	var err error
	what := []string{"reopen", "reopen", "reopen", "abandon", "allow"}[s.pick(5)]
	switch what {
	case "reopen":
		s.does[h].ops, s.does[h].follows = t.ops, t.id
		var a txn.BeginAnswer
		if a, err = h.reopen(t.id, "because"); err == nil {
			s.known = append(s.known, a.Transaction)
		}
	case "abandon":
		err = h.decide(func(c txn.Call) (*ledger.Draft, error) { return h.eng.Abandon(&h.book, c, t.id, "because") })
	case "allow":
		op := s.pick(len(t.ops))
		err = h.decide(func(c txn.Call) (*ledger.Draft, error) { return h.eng.Allow(&h.book, c, t.id, op, "") })
	}
	h.person, s.quiet = false, quiet
	s.ck.count(fmt.Sprint(what, " by a person: ", person, " ", code(err)))
}
