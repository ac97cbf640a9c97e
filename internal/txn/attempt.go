package txn

import (
	"fmt"
	"slices"

	"holdfast/internal/ledger"
)

// AttemptResult is what became of asking for an attempt. Draft, if there is
// one, must be committed before the answer is given away; a refusal may have
// one too.
type AttemptResult struct {
	Answer AttemptAnswer
	Draft  *ledger.Draft
}

// ask is the question whether one operation may be attempted now.
type ask struct {
	*session
	op     int
	class  string   // how the last attempt is classified now, if that was still open
	judged *verdict // its judgement
}

// tests decide about an attempt: the first that holds refuses it, and may end
// the transaction. The order is that of the specification. A recovery that
// could not be judged when it was reported is judged as soon as it can be, and
// one without progress ends the transaction then.
var tests = [...]struct {
	code  string
	ends  string
	rule  rules
	holds func(*ask) bool
}{
	{CodeAlreadySatisfied, "", 0, func(a *ask) bool { return a.t.State == StateComplete || a.t.State == StateCompleteReported }},
	{CodeBlocked, "", ruleBlocked, func(a *ask) bool { return a.t.State != StateOpen || a.t.FollowedBy != "" }},
	{CodeInFlight, "", ruleInFlight, func(a *ask) bool { return a.t.openAttempt() != nil }},
	{CodeAlreadySatisfied, StateComplete, ruleHolds, func(a *ask) bool { return a.holdsAll() }},
	{CodeBlocked, StateBlocked, ruleProgress, func(a *ask) bool { return a.judged.blocks() }},
	{CodeAlreadySatisfied, "", ruleHolds, func(a *ask) bool { return !a.t.Erased && a.m.holdsAll(a.op, a.v.set) }},
	{CodeNothingToMutate, "", ruleReadOnly, func(a *ask) bool { return !a.t.Erased && !a.t.Operations[a.op].mutates() }},
	{CodeUnknownState, "", ruleUnknown, func(a *ask) bool { return len(a.v.unknown) > 0 }},
	{CodeObservationNeeded, "", ruleSettle, func(a *ask) bool { return a.class == classPending }},
	{CodeOscillated, StateBlocked, ruleOscillated, func(a *ask) bool { return a.cycle() != nil }},
	{CodeFingerprintSpent, StateBlocked, ruleSpent, (*ask).fingerprintSpent},
	{CodeBudgetSpent, StateBlocked, ruleBudget, func(a *ask) bool { return a.role() == RoleRecovery && a.t.recoveries() >= MaxRecoveries }},
	{CodeDestructive, "", ruleDestructive, func(a *ask) bool {
		return !slices.Contains(a.t.Allowed, a.op) && len(a.t.destroys(a.op, &a.v)) > 0
	}},
}

// Attempt decides whether an operation may be attempted now. The error is a
// *Refusal for a transaction or an operation that there is none of, or a
// *ledger.FieldError.
func (e Engine) Attempt(b *Book, c Call, r *AttemptRequest, seen Looks) (AttemptResult, error) {
	s, err := e.open(b, c, r.Transaction, r.Reported, seen)
	if err != nil {
		return AttemptResult{}, err
	}
	if r.Operation == nil || *r.Operation < 0 || *r.Operation >= len(s.t.Fingerprints) {
		return AttemptResult{}, refuse(CodeNoOperation, "The transaction has no operation of this index.", fmt.Sprintf("Operations are numbered from 0 to %d.", len(s.t.Fingerprints)-1))
	}
	a := &ask{session: s, op: *r.Operation}
	if last := s.unjudged(); last != nil {
		a.class, a.judged = s.judge(last, last.Outcome, last.Closed)
	}
	for _, test := range tests {
		if (test.rule == 0 || e.on(test.rule)) && test.holds(a) {
			return a.refuse(test.code, test.ends)
		}
	}
	return a.grant()
}

// role tells what an attempt of the operation is now. A recovery is a further
// attempt of its fingerprint, or one that mends what was attempted already, or
// what was not so bad before an earlier attempt.
func (a *ask) role() string {
	if a.spent(a.t.Fingerprints[a.op]) != (use{}) {
		return RoleRecovery
	}
	if !a.e.on(ruleRole) {
		return RoleInitial
	}
	for _, i := range a.m.ops[a.op].items {
		if a.v.set[i] == met {
			continue
		}
		if i < len(a.t.Least) && a.t.Least[i] < a.v.set[i] {
			return RoleRecovery
		}
		for j := range a.t.Attempts {
			if slices.Contains(a.m.ops[a.t.Attempts[j].Operation].items, i) {
				return RoleRecovery
			}
		}
	}
	return RoleInitial
}

func (a *ask) fingerprintSpent() bool {
	return a.spent(a.t.Fingerprints[a.op]).recovery > 0
}

func (a *ask) refuse(code, ends string) (AttemptResult, error) {
	s := a.session
	reason := code
	if ends == StateBlocked && code == CodeBlocked {
		reason = a.judged.Progress
	}
	res := AttemptResult{}
	var err error
	switch {
	case ends == StateComplete:
		s.t = s.t.ended(s.m.completes())
		res.Draft, err = s.draft(ledger.TypeTxnEnd, s.head(s.t.State), event{Judge: a.judged, End: s.complete()})
	case ends == StateBlocked:
		s.t = s.t.ended(StateBlocked)
		s.t.End = s.block(reason)
		s.t.End.told(s.t.Attempts, "", a.judged)
		res.Draft, err = s.draft(ledger.TypeTxnEnd, s.head(StateBlocked), event{Judge: a.judged, End: s.t.End})
	case s.t.State == StateOpen && (s.isNew() || a.judged != nil):
		res.Draft, err = s.draft(ledger.TypeTxnObserve, s.head(StateOpen), event{Judge: a.judged})
	}
	if err != nil {
		return AttemptResult{}, err
	}
	why := reasons[reason]
	if code == CodeBlocked && s.t.State == StateBlocked && s.t.End != nil {
		why = s.t.End.Reason
	}
	res.Answer = AttemptAnswer{
		Transaction: s.t.ID, Code: code, Reason: why, State: s.t.State,
		Mismatches: s.m.mismatches(&s.v, s.seen, maxItems), Budget: s.budget(), Next: s.nextAfter(code, a.op),
	}
	return res, nil
}

// draft makes an entry with what is seen now. What is over stays as it was: a
// late report adds itself and nothing else.
func (s *session) draft(typ string, head ledger.TxnHead, ev event) (*ledger.Draft, error) {
	if s.b.Txns[s.t.ID].State == StateOpen {
		ev.Seen, ev.Reported = s.observation(&ev), s.news
	}
	return s.c.draft(typ, head, ev, s.t.Worktree)
}

// ended is a copy of t in its last state, for the answer: the book changes
// only by entries.
func (t *Transaction) ended(state string) *Transaction {
	c := *t
	c.State = state
	return &c
}

func (a *ask) grant() (AttemptResult, error) {
	s := a.session
	role := a.role()
	op := a.op
	head := s.head(StateOpen)
	head.Attempt, head.Operation, head.Role = s.c.ID, &op, role
	head.Fingerprint = s.t.Fingerprints[op]
	g := &grant{Owner: s.c.Owner, Via: s.c.Via, Wants: s.v.digests}
	if role == RoleRecovery && s.t.recoveries() == 0 {
		g.Floor = s.v.set
	}
	for u, content := range s.t.Base {
		if content == contentUnknown {
			if g.Base == nil {
				g.Base = map[int]string{}
			}
			g.Base[u] = s.v.contents[u]
		}
	}
	draft, err := s.draft(ledger.TypeTxnAttempt, head, event{Grant: g, Judge: a.judged})
	if err != nil {
		return AttemptResult{}, err
	}
	budget := s.budget()
	budget.Operations[op].InitialUsed = budget.Operations[op].InitialUsed || role == RoleInitial
	if role == RoleRecovery {
		budget.RecoveriesUsed++
		budget.Operations[op].RecoveryUsed = true
	}
	return AttemptResult{Draft: draft, Answer: AttemptAnswer{
		Granted: true, Transaction: s.t.ID, Attempt: s.c.ID, Role: role, State: StateOpen,
		Mismatches: s.m.mismatches(&s.v, s.seen, maxItems), Budget: budget,
		Next: fmt.Sprintf("Make the change of operation %d once. Then report attempt %s with what came of it; if you don't know, report the outcome unknown. Do not repeat the change.", op, s.c.ID),
	}}, nil
}
