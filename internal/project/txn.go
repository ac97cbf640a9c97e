package project

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"holdfast/internal/ledger"
	"holdfast/internal/secret"
	"holdfast/internal/surface"
	"holdfast/internal/txn"
)

// errTxnMoved: the ledger or a surface changed between a look and its entry.
var errTxnMoved = errors.New("the ledger or a surface changed meanwhile")

// txnTries is how often an operation on transactions starts over because others
// saved first or a surface changed under it.
const txnTries = 20

// txnCall is one call about transactions: what is known and who asks.
type txnCall struct {
	p     *Project
	book  *txn.Book
	obs   *surface.Observer
	call  txn.Call
	wants []txn.Want
	seen  []surface.Look
	held  *reading // under the ledger's lock
}

// look looks at wants, and remembers what must not change before the entry.
func (c *txnCall) look(ctx context.Context, wants []txn.Want) (txn.Looks, error) {
	list := surfaceWants(wants)
	looks, err := c.obs.Look(ctx, list)
	if err != nil {
		return nil, fmt.Errorf("look at surfaces: %w", err)
	}
	c.wants, c.seen = wants, looks
	out := make([]txn.Look, len(looks))
	for i, l := range looks {
		out[i] = txn.Look(l)
	}
	return txn.NewLooks(out...), nil
}

func surfaceWants(wants []txn.Want) []surface.Want {
	list := make([]surface.Want, len(wants))
	for i, w := range wants {
		list[i] = surface.Want(w)
	}
	return list
}

// lookAt looks at the surfaces of one transaction.
func (c *txnCall) lookAt(ctx context.Context, id string) (txn.Looks, error) {
	wants, err := c.book.Wants(id)
	if err != nil {
		return nil, err
	}
	return c.look(ctx, wants)
}

// txnSave is how the entry of a call is saved.
type txnSave struct {
	key     string
	request any
	texts   func(yield func(name, text string))
	prefix  string // of what the call may begin
	creates bool
}

// transact folds what is new, lets f look and ask the engine, and commits its
// draft: the answer that f made may be given away when transact returns nil.
// When others were faster or a surface changed it does so again.
func (p *Project) transact(ctx context.Context, s txnSave, f func(*txnCall) (*ledger.Draft, error)) error {
	var fields []secret.Field
	s.texts(func(name, text string) { fields = append(fields, secret.Field{Name: name, Text: text}) })
	if found := p.screen.Check(fields); len(found) > 0 {
		return &secret.FoundError{Findings: found}
	}
	if err := p.txnLedger(ctx, s.creates); err != nil {
		return err
	}
	var err error
	for range txnTries {
		var c *txnCall
		if c, err = p.txnCall(ctx, s.prefix); err != nil {
			return err
		}
		var d *ledger.Draft
		if d, err = f(c); err != nil {
			return err
		}
		if d == nil {
			return nil
		}
		m := mutation{kind: d.Type, key: s.key, request: s.request, fields: fields, anyRecovery: true}
		m.build = func(ctx context.Context, r *reading) (ledger.Draft, error) { return *d, c.still(ctx, r) }
		if _, err = p.mutate(ctx, m); !errors.Is(err, errTxnMoved) {
			return err
		}
	}
	return &TooBusyError{Err: err}
}

// still: neither the ledger nor what was looked at has changed since.
func (c *txnCall) still(ctx context.Context, r *reading) error {
	if r.head != c.book.At {
		return errTxnMoved
	}
	c.held = r
	defer func() { c.held = nil }()
	same, err := c.obs.Unchanged(ctx, surfaceWants(c.wants), c.seen)
	switch {
	case err != nil:
		return fmt.Errorf("look again: %w", err)
	case !same:
		return errTxnMoved
	}
	return nil
}

// txnLedger makes sure that there is a ledger.
func (p *Project) txnLedger(ctx context.Context, creates bool) error {
	head, err := p.log.Head(ctx)
	if err != nil || head.Hash != "" || !creates {
		return err
	}
	m := mutation{kind: ledger.TypeTxnBegin, creates: true, anyRecovery: true,
		build: func(context.Context, *reading) (ledger.Draft, error) { return ledger.Draft{}, errTxnMoved }}
	if _, err := p.mutate(ctx, m); !errors.Is(err, errTxnMoved) {
		return err
	}
	return nil
}

func (p *Project) txnCall(ctx context.Context, prefix string) (*txnCall, error) {
	book, err := p.txnBook(ctx)
	if err != nil {
		return nil, err
	}
	id := make([]byte, 6)
	if _, err := io.ReadFull(p.w.Rand, id); err != nil {
		return nil, fmt.Errorf("make id: %w", err)
	}
	c := txn.Call{Now: p.w.Now(), Via: p.caller.Via, Person: p.caller.Kind == ledger.Person, ID: prefix + "-" + hex.EncodeToString(id), Tops: map[string]string{}}
	if x := p.w.Process; x != nil {
		c.Boot, c.Up, c.Running = x.Boot, x.Up(), p.txnRunning
		c.Owner = txn.Owner{Boot: x.Boot, Space: x.Space, PID: p.w.PID, Start: x.Start(p.w.PID)}
	}
	for name, top := range p.tops() {
		c.Tops[name] = filepath.ToSlash(top)
	}
	call := &txnCall{p: p, book: book, call: c}
	call.obs = call.observer()
	return call, nil
}

// txnRunning tells whether the process that holds a grant still runs.
func (p *Project) txnRunning(o txn.Owner) bool {
	start := p.w.Process.Start(o.PID)
	return start != "" && start == o.Start
}

// TxnBegin begins a transaction. request is the JSON of begin; roots are folders
// outside of the project that a person allowed at the command line.
func (p *Project) TxnBegin(ctx context.Context, request []byte, roots []string) (a txn.BeginAnswer, err error) {
	r, err := txn.ParseBegin(request, p.caller.Via == ledger.ViaCLI)
	if err != nil {
		return a, err
	}
	r.AllowRoots = roots
	if err := r.Validate(); err != nil {
		return a, err
	}
	if answer, found, err := p.txnRepeated(ctx, r); found || err != nil {
		return answer, err
	}
	s := txnSave{key: r.Key, request: r, texts: r.Texts, prefix: "t", creates: true}
	var eng txn.Engine
	err = p.transact(ctx, s, func(c *txnCall) (*ledger.Draft, error) {
		plan, err := eng.Resolve(r, p.loc.worktree, func(s string) (txn.Place, error) {
			at, err := c.obs.Place(s, r.AllowRoots)
			return txn.Place(at), err
		})
		if err != nil {
			return nil, err
		}
		seen, err := c.look(ctx, eng.BeginWants(c.book, c.call, plan))
		if err != nil {
			return nil, err
		}
		res, err := eng.Begin(c.book, c.call, plan, seen, nil)
		if err == nil && res.Keep != nil {
			var kept *txn.Kept
			if kept, err = c.keep(ctx, res.Keep); err == nil {
				res, err = eng.Begin(c.book, c.call, plan, seen, kept)
			}
		}
		a = res.Answer
		return res.Draft, err
	})
	return a, err
}

// txnRepeated answers a begin whose key was used: the transaction as it stands.
func (p *Project) txnRepeated(ctx context.Context, r *txn.BeginRequest) (a txn.BeginAnswer, found bool, err error) {
	if r.Key == "" {
		return a, false, nil
	}
	var use ledger.KeyUse
	err = p.look(ctx, "", func(v *reading) error {
		if v.head.Hash == "" {
			return nil
		}
		var err error
		use, found, err = v.view.KeyUse(ctx, ledger.KeyHash(r.Key))
		return err
	})
	if err != nil || !found {
		return a, false, err
	}
	if use.Request != "" && use.Request != digest(r) {
		return a, true, &KeyError{Rev: use.Rev}
	}
	e, err := p.log.Entry(ctx, use.Rev)
	if err != nil {
		return a, true, err
	}
	if e.Txn == nil {
		return a, true, &KeyError{Rev: use.Rev}
	}
	shown, err := p.TxnShow(ctx, e.Txn.Transaction)
	return shown.begun(), true, err
}

// txnStep is transact for a call about one transaction, which f is asked with a
// fresh look at its surfaces.
func (p *Project) txnStep(ctx context.Context, s txnSave, id string, f func(*txnCall, txn.Looks) (*ledger.Draft, error)) error {
	return p.transact(ctx, s, func(c *txnCall) (*ledger.Draft, error) {
		seen, err := c.lookAt(ctx, id)
		if err != nil {
			return nil, err
		}
		return f(c, seen)
	})
}

// TxnObserve looks at a transaction: it may close an attempt, complete or block.
func (p *Project) TxnObserve(ctx context.Context, request []byte) (a txn.ObserveAnswer, err error) {
	r, err := txn.ParseObserve(request)
	if err != nil {
		return a, err
	}
	err = p.txnStep(ctx, txnSave{texts: r.Texts, prefix: "n"}, r.Transaction, func(c *txnCall, seen txn.Looks) (*ledger.Draft, error) {
		res, err := txn.Engine{}.Observe(c.book, c.call, r, seen)
		a = res.Answer
		return res.Draft, err
	})
	return a, err
}

// TxnAttempt asks leave for one mutation. A grant stands in the ledger before it
// is given away.
func (p *Project) TxnAttempt(ctx context.Context, request []byte) (a txn.AttemptAnswer, err error) {
	r, err := txn.ParseAttempt(request)
	if err != nil {
		return a, err
	}
	err = p.txnStep(ctx, txnSave{texts: r.Texts, prefix: "a"}, r.Transaction, func(c *txnCall, seen txn.Looks) (*ledger.Draft, error) {
		res, err := txn.Engine{}.Attempt(c.book, c.call, r, seen)
		a = res.Answer
		return res.Draft, err
	})
	return a, err
}

// TxnReport says how a mutation went; the tool looks what really happened.
func (p *Project) TxnReport(ctx context.Context, request []byte) (a txn.ObserveAnswer, err error) {
	r, err := txn.ParseReport(request)
	if err != nil {
		return a, err
	}
	err = p.txnStep(ctx, txnSave{texts: r.Texts, prefix: "n"}, r.Transaction, func(c *txnCall, seen txn.Looks) (*ledger.Draft, error) {
		res, err := txn.Engine{}.Report(c.book, c.call, r, seen)
		a = res.Answer
		return res.Draft, err
	})
	return a, err
}

// TxnRequest is the JSON of a request that the command line puts together.
func TxnRequest(fields map[string]any) ([]byte, error) {
	b, err := json.Marshal(fields)
	if err != nil {
		return nil, fmt.Errorf("encode request: %w", err)
	}
	return b, nil
}
