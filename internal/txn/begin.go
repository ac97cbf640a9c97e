package txn

import (
	"fmt"
	"slices"

	"holdfast/internal/ledger"
)

// BeginResult is what a begin comes to. With Keep set nothing was decided yet:
// these originals must be preserved first, and the call made again with what
// became of them. Else Draft must be committed before the answer is given away.
type BeginResult struct {
	Answer BeginAnswer
	Keep   []Want
	Draft  *ledger.Draft
}

// BeginWants lists what must be looked at to begin p: its own surfaces, and
// those of unfinished transactions that it may collide with.
func (e Engine) BeginWants(b *Book, c Call, p *Plan) []Want {
	wants := slices.Clone(p.m.wants)
	have := map[string]bool{}
	for i := range wants {
		have[wants[i].Key] = true
	}
	for _, t := range e.rivals(b, c, p) {
		m := t.model()
		for i, w := range m.wants {
			if !have[w.Key] && p.m.overlaps(&m.areas[i], c.Tops) {
				have[w.Key] = true
				wants = append(wants, w)
			}
		}
	}
	return wants
}

// Begin begins the transaction of p, or refuses. kept is nil until the hub has
// preserved what Keep asked for. The error is a *Refusal, or a
// *ledger.LimitError for a transaction that no entry can hold.
func (e Engine) Begin(b *Book, c Call, p *Plan, seen Looks, kept *Kept) (BeginResult, error) {
	t := &Transaction{
		ID: c.ID, State: StateOpen, Intent: p.Intent, Worktree: p.Worktree, Progress: progressNoneYet,
		Operations: p.Operations, Roots: p.Roots, Probes: p.Probes, m: p.m,
	}
	s := e.first(b, c, t, seen)
	s.news = t.newStatements(p.Reported)
	s.seen = e.complete(s.m, t.overlay(p.Reported), seen)
	s.v = s.m.view(s.seen, nil)
	replaced, err := s.replaced(p.Replaces)
	if !s.holdsAll() {
		if err != nil {
			return BeginResult{}, err
		}
		if err := s.collides(p, replaced); err != nil {
			return BeginResult{}, err
		}
	}
	return s.begin(kept, ledger.TxnHead{Follows: replaced}, "")
}

// first is the session of a transaction that is about to begin.
func (e Engine) first(b *Book, c Call, t *Transaction, seen Looks) *session {
	for i := range t.Operations {
		t.Fingerprints = append(t.Fingerprints, t.Operations[i].Fingerprint)
	}
	return &session{e: e, b: b, c: c, t: t, m: t.model()}
}

// begin makes the entry and the answer. The target's holding already ends the
// transaction before anything is preserved.
func (s *session) begin(kept *Kept, head ledger.TxnHead, reason string) (BeginResult, error) {
	t := s.t
	ev := event{Reported: s.news, Reason: reason}
	ev.Seen = s.observation(&ev)
	t.Base = s.v.contents
	if s.holdsAll() {
		t.State = s.m.completes()
		ev.End = s.complete()
	} else if keep := s.m.keep(t.Operations, &s.v); kept == nil && len(keep) > 0 && s.e.on(ruleKeep) {
		return BeginResult{Keep: keep}, nil
	} else {
		t.Kept = kept.settle(s.m, t.Operations, &s.v)
	}
	ev.Begin = &begun{
		Intent: t.Intent, Worktree: t.Worktree, Operations: t.Operations,
		Roots: t.Roots, Probes: t.Probes, Base: t.Base, Kept: t.Kept,
	}
	head.Transaction, head.State, head.Fingerprints = t.ID, t.State, t.Fingerprints
	draft, err := s.c.draft(ledger.TypeTxnBegin, head, ev, t.Worktree)
	if err != nil {
		return BeginResult{}, err
	}
	return BeginResult{Draft: draft, Answer: s.beginAnswer()}, nil
}

func (s *session) beginAnswer() BeginAnswer {
	a := BeginAnswer{
		Transaction: s.t.ID, State: s.t.State, Operations: []OperationInfo{}, Preserved: []Preserved{},
		Mismatches: s.m.mismatches(&s.v, s.seen, maxItems), Budget: s.budget(), Next: s.next(),
	}
	for i := range s.t.Operations {
		o := &s.t.Operations[i]
		a.Operations = append(a.Operations, OperationInfo{i, o.Label, o.Fingerprint})
	}
	if s.t.Kept != nil {
		a.Preserved = append(a.Preserved, s.t.Kept.List...)
	}
	return a
}

// replaced checks what a begin wants to replace, and gives the id that the
// head names. One that was given up meanwhile needs no replacing: the begin
// before this one got its answer lost.
func (s *session) replaced(id string) (string, error) {
	if id == "" {
		return "", nil
	}
	t, err := s.b.Get(id)
	if err != nil {
		return "", err
	}
	switch {
	case t.State == StateAbandoned && len(t.Attempts) == 0:
		return "", nil
	case t.State == StateOpen && (len(t.Attempts) == 0 || !s.e.on(ruleReplace)):
		return id, nil
	}
	return "", refuse(CodeCannotReplace,
		"Only an open transaction in which nothing was granted can be replaced.",
		fmt.Sprintf("Go on with transaction %s: observe it.", id))
}

// rivals lists the unfinished transactions that p overlaps with, or that
// have one of its operations and whose text was erased.
func (e Engine) rivals(b *Book, c Call, p *Plan) []*Transaction {
	var out []*Transaction
	for _, id := range b.Order {
		t := b.Txns[id]
		if !t.Counts() || id == p.Replaces && t.State == StateOpen && len(t.Attempts) == 0 {
			continue
		}
		if t.Erased && sameOperation(t, p) || slices.ContainsFunc(t.model().areas, func(a area) bool { return p.m.overlaps(&a, c.Tops) }) {
			out = append(out, t)
		}
	}
	return out
}

func sameOperation(t *Transaction, p *Plan) bool {
	return slices.ContainsFunc(p.Operations, func(o Operation) bool { return slices.Contains(t.Fingerprints, o.Fingerprint) })
}

func (m *model) overlaps(a *area, tops map[string]string) bool {
	for i := range m.areas {
		if m.areas[i].overlaps(a, tops) {
			return true
		}
	}
	return false
}

// collides refuses a plan that touches what an open or blocked transaction has
// not finished, judged by a fresh look: splitting, renaming or starting over
// refreshes nothing.
func (s *session) collides(p *Plan, replaced string) error {
	if !s.e.on(ruleOverlap) {
		return nil
	}
	r := refuse(CodeOverlapsBlocked, "")
	for _, t := range s.e.rivals(s.b, s.c, p) {
		if t.ID != replaced && (t.Erased || s.unmetIn(t, p)) {
			r.BlockedBy = append(r.BlockedBy, t.ID)
		}
	}
	if r.BlockedBy == nil {
		return nil
	}
	first := s.b.Txns[r.BlockedBy[0]]
	r.Message = fmt.Sprintf("Transaction %s has not finished with surfaces that this one would touch.", first.ID)
	r.Next = fmt.Sprintf("Go on with transaction %s: observe it.", first.ID)
	if first.State == StateBlocked || first.Erased {
		r.Next = afterBlock(first.ID)
	}
	return r
}

// unmetIn reports whether p overlaps with a surface of t that has an unmet item.
func (s *session) unmetIn(t *Transaction, p *Plan) bool {
	m := t.model()
	v := m.view(s.e.complete(m, t.overlay(p.Reported), s.seen), t.Base)
	for i := range m.items {
		if v.set[i] != met && p.m.overlaps(&m.areas[m.items[i].want], s.c.Tops) {
			return true
		}
	}
	return false
}
