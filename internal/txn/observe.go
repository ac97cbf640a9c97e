package txn

import (
	"slices"

	"holdfast/internal/ledger"
)

// ObserveResult is what a look or a report comes to. Draft, if there is one,
// must be committed before the answer is given away.
type ObserveResult struct {
	Answer ObserveAnswer
	Draft  *ledger.Draft
}

// Wants lists what must be looked at for any question about transaction id.
// The error is a *Refusal.
func (b *Book) Wants(id string) ([]Want, error) {
	t, err := b.Get(id)
	if err != nil {
		return nil, err
	}
	return slices.Clone(t.model().wants), nil
}

// Observe says where a transaction stands. It costs nothing and may be asked by
// anyone; an entry is made only when something changed: an attempt closed, a
// state not seen last, an end.
func (e Engine) Observe(b *Book, c Call, r *ObserveRequest, seen Looks) (ObserveResult, error) {
	s, err := e.open(b, c, r.Transaction, r.Reported, seen)
	if err != nil {
		return ObserveResult{}, err
	}
	return s.observe()
}

// Peek is what Observe would answer now, closing and keeping nothing: for
// briefings and diagnosis.
func (e Engine) Peek(b *Book, c Call, id string, seen Looks) (ObserveAnswer, error) {
	s, err := e.open(b, c, id, nil, seen)
	if err != nil {
		return ObserveAnswer{}, err
	}
	return s.answer(s.lastClass(), nil), nil
}

func (s *session) observe() (ObserveResult, error) {
	if s.t.State != StateOpen {
		return ObserveResult{Answer: s.answer("", nil)}, nil
	}
	if a := s.t.openAttempt(); a != nil {
		if outcome, ok := s.closable(a); ok {
			return s.close(ledger.TypeTxnObserve, a, outcome, "")
		}
		return s.note(ledger.TypeTxnObserve, s.head(StateOpen), event{}, s.isNew(), "")
	}
	class, v := s.lastClass(), (*verdict)(nil)
	if a := s.unjudged(); a != nil {
		class, v = s.judge(a, a.Outcome, a.Closed)
	}
	return s.conclude(ledger.TypeTxnObserve, s.head(StateOpen), event{Judge: v}, class)
}

// lastClass classifies the last attempt by what is seen now.
func (s *session) lastClass() string {
	n := len(s.t.Attempts)
	switch {
	case n == 0 || s.t.Attempts[n-1].Open:
		return ""
	case s.t.over():
		return s.t.Attempts[n-1].Classification
	}
	return s.classify(&s.t.Attempts[n-1], s.t.Attempts[n-1].Outcome, s.t.Attempts[n-1].Closed)
}

// Report takes an agent's word for how its attempt went, and looks for itself.
// A report about an attempt that was closed meanwhile is kept as a note and
// answered like Observe.
func (e Engine) Report(b *Book, c Call, r *ReportRequest, seen Looks) (ObserveResult, error) {
	s, err := e.open(b, c, r.Transaction, r.Reported, seen)
	if err != nil {
		return ObserveResult{}, err
	}
	a := s.t.attempt(r.Attempt)
	if a == nil {
		return ObserveResult{}, refuse(CodeNoAttempt, "The transaction has no attempt of this id.", "Observe the transaction to see where it stands.")
	}
	if a.Open && s.t.State == StateOpen {
		return s.close(ledger.TypeTxnReport, a, r.Outcome, r.Detail)
	}
	if !a.Open && a.told(r.Outcome, r.Detail) {
		return s.observe()
	}
	head := s.head(s.t.State)
	head.Attempt, head.Outcome = a.ID, r.Outcome
	ev := event{Close: &closing{At: c.moment(), Detail: r.Detail}}
	if s.t.State != StateOpen || s.t.openAttempt() != nil {
		return s.note(ledger.TypeTxnReport, head, ev, true, s.lastClass())
	}
	class := s.lastClass()
	if last := s.unjudged(); last != nil {
		class, ev.Judge = s.judge(last, last.Outcome, last.Closed)
	}
	return s.conclude(ledger.TypeTxnReport, head, ev, class)
}

// told reports whether this very report was made before: its answer got lost.
func (a *Attempt) told(outcome, detail string) bool {
	if a.Outcome == outcome && a.Detail == detail {
		return true
	}
	return slices.ContainsFunc(a.Notes, func(n Note) bool { return n.Outcome == outcome && n.Detail == detail })
}

// note keeps what is seen without deciding anything.
func (s *session) note(typ string, head ledger.TxnHead, ev event, write bool, class string) (ObserveResult, error) {
	res := ObserveResult{Answer: s.answer(class, nil)}
	if !write {
		return res, nil
	}
	var err error
	res.Draft, err = s.draft(typ, head, ev)
	return res, err
}

// close closes an open attempt and judges it by what is seen.
func (s *session) close(typ string, a *Attempt, outcome, detail string) (ObserveResult, error) {
	head := s.head(StateOpen)
	head.Attempt, head.Outcome = a.ID, outcome
	ev := event{Close: &closing{At: s.c.moment(), Detail: detail, Debris: nil}}
	class := classUnknown
	if !s.t.Erased {
		ev.Close.Debris = s.t.debris(a.Operation, &s.v, s.c.Tops)
		class, ev.Judge = s.judge(a, outcome, s.c.moment())
	}
	if !s.e.on(ruleFresh) && outcome == outcomeSucceeded {
		s.v.set = Set(slices.Repeat([]byte{met}, len(s.v.set)))
	}
	return s.conclude(typ, head, ev, class)
}

// conclude ends the transaction where what is seen says so, and makes the
// entry and the answer. Nothing is made where nothing changed.
func (s *session) conclude(typ string, head ledger.TxnHead, ev event, class string) (ObserveResult, error) {
	write := ev.Judge != nil || ev.Close != nil || s.isNew()
	v := ev.Judge
	switch {
	case s.holdsAll():
		head.State = s.m.completes()
		ev.End = s.complete()
	case v.blocks():
		head.State = StateBlocked
		ev.End = s.block(v.Progress)
		ev.End.told(s.t.Attempts, head.Outcome, v)
	}
	if head.State != StateOpen {
		write = true
		if typ == ledger.TypeTxnObserve {
			typ = ledger.TypeTxnEnd
		}
		s.t = s.t.ended(head.State)
		s.t.End = ev.End
	}
	res := ObserveResult{Answer: s.answer(class, v)}
	if !write {
		return res, nil
	}
	var err error
	res.Draft, err = s.draft(typ, head, ev)
	return res, err
}

// answer is the answer to a look, with the verdict it brought.
func (s *session) answer(class string, v *verdict) ObserveAnswer {
	a := ObserveAnswer{
		Transaction: s.t.ID, State: s.t.State, Classification: class,
		Mismatches: s.m.mismatches(&s.v, s.seen, maxItems), AlsoChanged: s.alsoChanged(),
		Progress: s.t.Progress, Budget: s.budget(),
	}
	if v != nil && v.Progress != "" {
		a.Progress = v.Progress
	}
	if open := s.t.openAttempt(); open != nil && s.t.State == StateOpen && class == "" {
		a.Attempt = open.ID
	}
	if e := s.t.End; e != nil && s.t.State == StateBlocked {
		a.Reason = e.Reason
	}
	a.Next = s.nextObserved(class, a.Attempt)
	return a
}
