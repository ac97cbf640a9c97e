package recovery

import (
	"context"
	"iter"

	"holdfast/internal/filelog"
	"holdfast/internal/ledger"
)

// Entries yields what is brought back, without the bodies that must not come.
func (p *Plan) Entries(ctx context.Context) iter.Seq2[ledger.Entry, error] {
	return func(yield func(ledger.Entry, error) bool) {
		x := p.s.log.Fetch()
		defer x.Close()
		exported := func() (ledger.Entry, error) { return ledger.Entry{}, ErrNothing }
		if p.s.export != nil {
			next, stop := iter.Pull2(p.s.export.Lines(ctx))
			defer stop()
			exported = func() (ledger.Entry, error) {
				e, err, ok := next()
				if !ok {
					err = ErrNothing
				}
				return e, err
			}
		}
		for _, i := range p.chain {
			e, err := p.entry(x, i, exported)
			if err == nil && p.erase[i] && e.BodyRaw != nil {
				e = e.Erase()
			}
			if !yield(e, err) || err != nil {
				return
			}
		}
	}
}

// entry reads one entry where it stands. The export's are read in step, since it
// is one chain from revision 0.
func (p *Plan) entry(x *filelog.Fetcher, i int32, exported func() (ledger.Entry, error)) (ledger.Entry, error) {
	n := &p.s.g.nodes[i]
	var e ledger.Entry
	var err error
	if p.s.export != nil && n.rev <= p.s.export.Head.Rev {
		if e, err = exported(); err != nil {
			return e, err
		}
	}
	if n.file >= 0 {
		e, err = x.Entry(p.s.g.spot(i))
	}
	if err == nil && idOf(e.Hash) != n.hash {
		err = &StaleError{Path: p.s.g.spot(i).Path}
	}
	return e, err
}

// StaleError: a source is not what the preview read.
type StaleError struct{ Path string }

func (e *StaleError) Error() string { return "a source changed since the preview: " + e.Path }
