package filelog

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"holdfast/internal/ledger"
)

// checkMirrors checks that the ledger still has what the mirrors' last lines
// acknowledged, unless a recovery says that it replaced it. Ends that are found
// in the ledger are remembered with the mirrors' stamps.
func (l *Log) checkMirrors(ctx context.Context, v *view, head *ledger.Entry) error {
	for _, s := range v.st {
		t := s.tail
		if t.last.Hash == "" {
			continue
		}
		if was, ok := l.seen.tails[s.root]; ok && was == t && l.seen.headGen == v.f.gen {
			continue
		}
		if err := l.checkMirror(ctx, v, head, t); err != nil {
			return err
		}
		l.remember(t)
	}
	return nil
}

// remember keeps the end of a mirror that is in the ledger or was replaced.
func (l *Log) remember(t tail) {
	if l.seen.tails == nil {
		l.seen.tails = map[string]tail{}
	}
	l.seen.tails[t.root] = t
}

func (l *Log) checkMirror(ctx context.Context, v *view, head *ledger.Entry, t tail) error {
	if in, err := v.holds(t.last, head); in || err != nil {
		return err
	}
	if yes, err := l.replaced(ctx, v, head, t.last); yes || err != nil {
		return err
	}
	d := damage(DamageRegressed, t.last.Rev, place(t.root, t.id, mirrorName),
		fmt.Sprintf("it has revision %d, which the ledger has not or has otherwise", t.last.Rev))
	if d.original = l.original(v, t.last); d.original == "" && t.last.Rev > head.Rev {
		return d.may(waits)
	}
	return d.may(briefly)
}

// holds reports whether p is in the ledger up to head.
func (v *view) holds(p ledger.Pos, head *ledger.Entry) (bool, error) {
	if p.Rev >= head.Rev {
		return p == head.Pos(), nil
	}
	e, err := v.entry(p.Rev)
	if d, ok := errors.AsType[*DamageError](err); ok {
		return false, d.may(briefly)
	}
	return err == nil && e.Hash == p.Hash, err
}

// replaced reports whether a recover entry names p as a head that it replaced,
// or one that p leads to. Only a recovery that was sealed here counts, or one
// that was there when a person of this machine adopted the ledger.
func (l *Log) replaced(ctx context.Context, v *view, head *ledger.Entry, p ledger.Pos) (bool, error) {
	if head.Recovery == "" {
		return false, nil
	}
	found, adopted := false, false
	var later []ledger.Pos // replaced heads that p may lead to
	err := v.back(ctx, func(e *ledger.Entry) bool {
		adopted = adopted || adoptsHere(e, v.seals, v.f.id)
		if e.Type == ledger.TypeRecover && trusted(e, v.seals, adopted) {
			for _, r := range e.Replaces {
				found = found || r == p
				if r.Rev > p.Rev {
					later = append(later, r)
				}
			}
		}
		return found || e.Recovery == ""
	})
	if found || err != nil {
		return found, err
	}
	for _, r := range later {
		if l.leads(ctx, v, p, r) {
			return true, nil
		}
	}
	return false, nil
}

// trusted: e takes something away by the word of a person of this machine.
func trusted(e *ledger.Entry, seals ledger.Seals, adopted bool) bool {
	switch seals.Check(e) {
	case ledger.SealedHere:
		return true
	case ledger.SealedElsewhere:
		return adopted
	}
	return false
}

// leads reports whether p is an ancestor of a replaced head, as an older
// generation or the mirrors' own lines show.
func (l *Log) leads(ctx context.Context, v *view, p, head ledger.Pos) bool {
	for n := v.f.gen - 1; n > 0; n-- {
		old, err := v.older(n)
		if err != nil {
			continue
		}
		ok := old.leads(ctx, p, head)
		old.f.close()
		if ok {
			return true
		}
	}
	prev := map[string]ledger.Pos{}
	for _, s := range v.st {
		for e, err := range l.entriesOf(ctx, s.root, v.f.id) {
			if err == nil && e.Rev > p.Rev && e.Rev <= head.Rev {
				prev[e.Hash] = ledger.Pos{Rev: e.Rev - 1, Hash: e.Prev}
			}
		}
	}
	for head.Rev > p.Rev {
		before, ok := prev[head.Hash]
		if !ok {
			return false
		}
		head = before
	}
	return head == p
}

// older opens a lower generation as far as it is listed.
func (v *view) older(n int) (*view, error) {
	gens, err := v.f.top.Sub(genName)
	if err != nil {
		return nil, err
	}
	defer gens.Close()
	return openGeneration(gens, genFolder(n), n)
}

// leads: both are entries of this generation, and p comes first.
func (v *view) leads(ctx context.Context, p, head ledger.Pos) bool {
	if head.Rev > v.s.head {
		return false
	}
	v.s.head = head.Rev
	at := p
	_, err := v.walk(ctx, p.Rev, func(e ledger.Entry) error {
		if e.Rev == p.Rev && e.Hash != p.Hash || e.Rev > p.Rev && e.Prev != at.Hash {
			return fs.ErrInvalid
		}
		at = e.Pos()
		return nil
	})
	return err == nil && at == head
}
