package txn_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"holdfast/internal/ledger"
	"holdfast/internal/ledger/ledgertest"
	"holdfast/internal/txn"
)

// outside is the world as a hub sees it: places, looks, and originals kept.
type outside interface {
	place(surface string, roots []string) (txn.Place, error)
	look(wants []txn.Want) (txn.Looks, error)
	keep(transaction string, wants []txn.Want) (*txn.Kept, error)
}

// hub does what package project does for transactions, without its lock: it
// folds what is new, looks, asks the engine, and commits before it answers.
// Several hubs share a log; each is one process.
type hub struct {
	log      ledger.Log
	world    outside
	eng      txn.Engine
	book     txn.Book
	owner    txn.Owner
	via      string
	person   bool
	worktree string
	tops     map[string]string
	now      func() time.Time
	up       func() time.Duration
	running  func(txn.Owner) bool
	id       func(prefix string) string
	between  func()              // called between looking and committing
	saved    func(*ledger.Draft) // called when an entry stands
}

func newLog() ledger.Log {
	key := ledgertest.Key()
	return ledgertest.NewMemory(ledgertest.Options{Sealer: key, Entries: ledgertest.Entries(key, ledgertest.First())})
}

func (h *hub) call(prefix string) txn.Call {
	c := txn.Call{
		Now: h.now(), Boot: h.owner.Boot, Owner: h.owner, Via: h.via, Person: h.person,
		Running: h.running, Tops: h.tops, ID: h.id(prefix),
	}
	if h.up != nil {
		c.Up = h.up()
	}
	return c
}

func (h *hub) sync() error {
	for e, err := range h.log.Entries(context.Background(), h.book.At) {
		if err != nil {
			return err
		}
		d, err := ledger.ReadDelta(&e)
		if err != nil {
			return err
		}
		if err := h.book.Apply(d); err != nil {
			return err
		}
	}
	return nil
}

// save commits a draft right behind what was folded.
func (h *hub) save(d *ledger.Draft) error {
	if d == nil {
		return nil
	}
	if h.between != nil {
		h.between()
	}
	d.Body.Actor = ledger.Actor{Kind: ledger.Agent, Client: "test", Via: h.via}
	if h.person {
		d.Body.Actor = ledger.Actor{Kind: ledger.Person, Via: h.via}
	}
	if _, err := h.log.Append(context.Background(), h.book.At, *d); err != nil {
		return err
	}
	if h.saved != nil {
		h.saved(d)
	}
	return h.sync()
}

// again runs f until it isn't beaten to the next revision.
func (h *hub) again(f func() error) error {
	for range 10 {
		if err := h.sync(); err != nil {
			return err
		}
		err := f()
		var conflict *ledger.ConflictError
		if !errors.As(err, &conflict) {
			return err
		}
	}
	return errors.New("beaten ten times")
}

func (h *hub) begin(r *txn.BeginRequest) (a txn.BeginAnswer, err error) {
	p, err := h.eng.Resolve(r, h.worktree, func(s string) (txn.Place, error) { return h.world.place(s, r.AllowRoots) })
	if err != nil {
		return a, err
	}
	err = h.again(func() error {
		c := h.call("t")
		seen, err := h.world.look(h.eng.BeginWants(&h.book, c, p))
		if err != nil {
			return err
		}
		res, err := h.eng.Begin(&h.book, c, p, seen, nil)
		if err == nil && res.Keep != nil {
			var kept *txn.Kept
			if kept, err = h.world.keep(c.ID, res.Keep); err == nil {
				res, err = h.eng.Begin(&h.book, c, p, seen, kept)
			}
		}
		if err != nil {
			return err
		}
		a = res.Answer
		return h.save(res.Draft)
	})
	return a, err
}

func (h *hub) reopen(id, reason string) (a txn.BeginAnswer, err error) {
	err = h.again(func() error {
		c := h.call("t")
		p, err := h.eng.ReopenPlan(&h.book, c, id)
		if err != nil {
			return err
		}
		in := txn.ReopenInput{}
		if in.Seen, err = h.world.look(h.eng.BeginWants(&h.book, c, p)); err != nil {
			return err
		}
		res, err := h.eng.Reopen(&h.book, c, id, reason, in)
		if err == nil && res.Keep != nil {
			if in.Kept, err = h.world.keep(c.ID, res.Keep); err == nil {
				res, err = h.eng.Reopen(&h.book, c, id, reason, in)
			}
		}
		if err != nil {
			return err
		}
		a = res.Answer
		return h.save(res.Draft)
	})
	return a, err
}

func (h *hub) looks(id string) (txn.Looks, error) {
	wants, err := h.book.Wants(id)
	if err != nil {
		return nil, err
	}
	return h.world.look(wants)
}

func (h *hub) observe(r *txn.ObserveRequest) (a txn.ObserveAnswer, err error) {
	err = h.again(func() error {
		seen, err := h.looks(r.Transaction)
		if err != nil {
			return err
		}
		res, err := h.eng.Observe(&h.book, h.call("n"), r, seen)
		if err != nil {
			return err
		}
		a = res.Answer
		return h.save(res.Draft)
	})
	return a, err
}

func (h *hub) attempt(r *txn.AttemptRequest) (a txn.AttemptAnswer, err error) {
	err = h.again(func() error {
		seen, err := h.looks(r.Transaction)
		if err != nil {
			return err
		}
		res, err := h.eng.Attempt(&h.book, h.call("a"), r, seen)
		if err != nil {
			return err
		}
		a = res.Answer
		return h.save(res.Draft)
	})
	return a, err
}

func (h *hub) report(r *txn.ReportRequest) (a txn.ObserveAnswer, err error) {
	err = h.again(func() error {
		seen, err := h.looks(r.Transaction)
		if err != nil {
			return err
		}
		res, err := h.eng.Report(&h.book, h.call("n"), r, seen)
		if err != nil {
			return err
		}
		a = res.Answer
		return h.save(res.Draft)
	})
	return a, err
}

// decide commits what a person decides.
func (h *hub) decide(f func(c txn.Call) (*ledger.Draft, error)) error {
	return h.again(func() error {
		d, err := f(h.call("n"))
		if err != nil {
			return err
		}
		return h.save(d)
	})
}

// ask sends a request as JSON, as the faces do, and gives the answer as JSON.
func (h *hub) ask(verb string, args []byte) (any, error) {
	switch verb {
	case "begin":
		r, err := txn.ParseBegin(args, h.via == ledger.ViaCLI)
		if err != nil {
			return nil, err
		}
		return h.begin(r)
	case "observe":
		r, err := txn.ParseObserve(args)
		if err != nil {
			return nil, err
		}
		return h.observe(r)
	case "attempt":
		r, err := txn.ParseAttempt(args)
		if err != nil {
			return nil, err
		}
		return h.attempt(r)
	case "report":
		r, err := txn.ParseReport(args)
		if err != nil {
			return nil, err
		}
		return h.report(r)
	}
	return nil, fmt.Errorf("no verb %q", verb)
}

func toJSON(v any) any {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	var out any
	if err := json.Unmarshal(b, &out); err != nil {
		panic(err)
	}
	return out
}
