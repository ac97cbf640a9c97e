package txn_test

import (
	"encoding/json"
	"strconv"
	"testing"
	"time"

	"holdfast/internal/ledger"
	"holdfast/internal/txn"
)

// sim is one random world with its agents: honest, lying, impatient, renaming,
// splitting, crashing, two at once, in two worktrees and on two machines.
type sim struct {
	pick  func(n int) int // a number below n
	w     *simWorld
	ck    *checker
	hubs  []*hub
	does  map[*hub]*doing
	alive map[txn.Owner]bool
	clock int64 // ms
	ids   int
	known []string // transactions
	open  []grantHeld
	depth int
	quiet bool // nobody comes between
	tame  bool // one transaction at a time, little from outside: it comes further
}

// grantHeld is a grant that an agent has and did not report.
type grantHeld struct {
	h           *hub
	txn, id     string
	op          int
	transaction *ckTxn
}

func newSim(tb testing.TB, pick func(int) int, eng txn.Engine, onDisk bool) *sim {
	s := &sim{pick: pick, does: map[*hub]*doing{}, alive: map[txn.Owner]bool{}, clock: 1_800_000_000_000}
	s.w = &simWorld{files: map[string]string{}, bad: map[string]bool{}, stored: map[string]string{}}
	s.tame = s.pick(2) == 0
	s.w.drop = func() bool { return !s.tame && s.pick(60) == 0 }
	if onDisk {
		s.w.disks = map[string]*disk{"main": newDisk(tb, "main"), "side": newDisk(tb, "side")}
	}
	s.ck = &checker{
		w: s.w, now: func() int64 { return s.clock }, alive: func(o txn.Owner) bool { return s.alive[o] },
		txs: map[string]*ckTxn{}, stats: map[string]int{},
	}
	for _, wt := range []string{"main", "side"} {
		for _, p := range simPaths {
			s.w.set(wt, p, s.anyContent())
		}
	}
	log := newLog()
	s.add(log, eng, ledger.ViaMCP, "main", "boot one")
	s.add(log, eng, ledger.ViaMCP, "main", "boot one")
	s.add(log, eng, ledger.ViaMCP, "side", "boot one")
	s.add(log, eng, ledger.ViaCLI, "main", "boot one")
	s.add(log, eng, ledger.ViaMCP, "main", "boot two")
	return s
}

func (s *sim) add(log ledger.Log, eng txn.Engine, via, worktree, boot string) {
	h := &hub{log: log, world: simView{s.w, worktree}, eng: eng, via: via, worktree: worktree}
	h.owner = s.process(boot)
	h.now = func() time.Time { return time.UnixMilli(s.clock) }
	h.up = func() time.Duration { return time.Duration(s.clock) * time.Millisecond }
	h.running = func(o txn.Owner) bool { return s.alive[o] }
	h.id = func(prefix string) string { s.ids++; return prefix + strconv.Itoa(s.ids) }
	h.saved = func(d *ledger.Draft) { s.ck.committed(h, s.does[h], d) }
	h.between = func() { s.between(h) }
	s.hubs = append(s.hubs, h)
	s.does[h] = &doing{}
}

func (s *sim) process(boot string) txn.Owner {
	s.ids++
	o := txn.Owner{Boot: boot, Space: "ns", PID: s.ids, Start: strconv.Itoa(s.ids)}
	s.alive[o] = true
	return o
}

// between lets another process come in after one has looked.
func (s *sim) between(h *hub) {
	if s.quiet || s.depth > 0 || s.pick(8) > 0 {
		return
	}
	other := s.hubs[s.pick(len(s.hubs))]
	if other == h {
		return
	}
	s.depth++
	dropped := append([]string(nil), s.w.dropped...)
	switch s.pick(3) {
	case 0:
		s.begin(other)
	case 1:
		s.observe(other)
	case 2:
		s.attempt(other)
	}
	s.w.dropped = dropped
	s.depth--
}

func (s *sim) anyContent() string {
	if s.tame {
		return []string{"", "0", "2"}[s.pick(3)]
	}
	return []string{"", "0", "1", "2", "big"}[s.pick(5)]
}

func (s *sim) hub() *hub { return s.hubs[s.pick(len(s.hubs))] }

// one is any transaction, mostly one of the last.
func (s *sim) one() (*ckTxn, bool) {
	if len(s.known) == 0 {
		return nil, false
	}
	n := len(s.known)
	i := n - 1 - s.pick(min(n, 3))
	if s.pick(6) == 0 {
		i = s.pick(n)
	}
	return s.ck.txs[s.known[i]], true
}

// step does one random thing.
func (s *sim) step() {
	n := s.pick(40)
	if t, ok := s.one(); s.tame && n >= 5 && s.pick(5) > 0 || s.tame && n < 5 && ok && t.state == txn.StateOpen && s.pick(6) > 0 {
		n = 5
	}
	switch {
	case n < 5:
		s.begin(s.hub())
	case n < 20:
		s.drive(s.hub())
	case n < 22:
		s.attempt(s.hub())
	case n < 25:
		s.late()
	case n < 28:
		s.observe(s.hub())
	case n < 31:
		s.outside()
	case n < 33:
		s.kill(s.hub())
	case n < 34:
		s.spoil()
	case n < 36:
		s.clock += []int64{10, 700, 1200, 60_000, 16 * 60_000}[s.pick(5)]
	case n < 38:
		s.decide(s.hubs[3], true)
	default:
		s.decide(s.hub(), false)
	}
}

func (s *sim) begin(h *hub) {
	do := &doing{}
	r := &txn.BeginRequest{Intent: "whatever"}
	few := 1 + s.pick(3)
	if s.tame {
		few = 3
	}
	for range few {
		op := pool[s.pick(len(pool))]
		if s.tame {
			op = pool[[]int{0, 1, 4, 6, 7, 9, 10, 12}[s.pick(8)]]
		}
		do.ops = append(do.ops, op)
		r.Operations = append(r.Operations, op.request(s.pick))
	}
	if t, ok := s.one(); ok && s.pick(4) == 0 {
		r.Replaces, do.replaces = t.id, t.id
	}
	if s.depth == 0 && s.pick(30) == 0 { // the one before gets its files in order first
		for _, it := range do.ops[0].items {
			if !it.reported() && it.path() != "d" {
				s.w.set(h.worktree, it.path(), it.want)
			}
		}
	}
	s.does[h] = do
	a, err := h.begin(r)
	s.ck.count("begin " + code(err))
	if err == nil {
		s.known = append(s.known, a.Transaction)
		s.ck.answered(s.ck.txs[a.Transaction])
	}
}

// call makes a call about t; nobody comes between where it brings a statement,
// which only this call knows.
func (s *sim) call(h *hub, t *ckTxn, f func(map[string]json.RawMessage) error) error {
	s.does[h] = &doing{}
	said := s.stated(t)
	quiet := s.quiet
	s.quiet = s.quiet || said != nil
	err := f(said)
	s.quiet = quiet
	if err == nil {
		s.ck.answered(t)
	}
	return err
}

func (s *sim) observe(h *hub) {
	if t, ok := s.one(); ok {
		err := s.call(h, t, func(said map[string]json.RawMessage) error {
			_, err := h.observe(&txn.ObserveRequest{Transaction: t.id, Reported: said})
			return err
		})
		s.ck.count("observe " + code(err))
	}
}

// attempt asks for an attempt; the agent may never learn that it was granted.
func (s *sim) attempt(h *hub) (g grantHeld, ok bool) {
	t, ok := s.one()
	if !ok {
		return g, false
	}
	op := s.pick(len(t.ops))
	for range len(t.ops) {
		if s.tame && s.ck.holds(t, op) {
			op = (op + 1) % len(t.ops)
		}
	}
	var a txn.AttemptAnswer
	err := s.call(h, t, func(said map[string]json.RawMessage) (err error) {
		a, err = h.attempt(&txn.AttemptRequest{Transaction: t.id, Operation: &op, Reported: said})
		return err
	})
	s.ck.count("attempt " + code(err) + " " + a.Code)
	if err != nil || !a.Granted {
		return g, false
	}
	g = grantHeld{h: h, txn: t.id, id: a.Attempt, op: op, transaction: t}
	s.open = append(s.open, g)
	return g, true
}

// run does steps until a promise is broken.
func (s *sim) run(steps int) string {
	for range steps {
		s.step()
		if s.ck.fault == "" {
			s.sameStates()
		}
		if s.ck.fault != "" {
			return s.ck.fault
		}
	}
	return ""
}

// sameStates compares what every fresh reader of the log sees.
func (s *sim) sameStates() {
	h := s.hubs[s.pick(len(s.hubs))]
	if err := h.sync(); err != nil {
		s.ck.failf("fold: %v", err)
	}
	for _, id := range s.ck.order {
		if got, want := h.book.Txns[id], s.ck.txs[id]; got == nil || got.State != want.state {
			s.ck.failf("%s is not what was committed: %v, want %s", id, got, want.state)
		}
	}
}
