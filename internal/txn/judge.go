package txn

import "holdfast/internal/ledger"

// settling reports whether the effect of a may still arrive: its operation's
// settle time since the report (or since it was closed) has not passed.
func (s *session) settling(a *Attempt, closed Moment) bool {
	if a.Operation >= len(s.t.Operations) || !s.e.on(ruleSettle) {
		return false
	}
	settle := s.t.Operations[a.Operation].SettleMS
	return settle > 0 && s.c.moment().since(closed) < settle
}

// classify says what really happened of an attempt, whatever its outcome said.
// The first that holds decides.
func (s *session) classify(a *Attempt, outcome string, closed Moment) string {
	switch {
	case s.t.Erased || len(s.v.unknown) > 0 && !s.holdsAll():
		return classUnknown
	case s.settling(a, closed) && !s.holdsAll():
		return classPending
	case s.m.holdsAll(a.Operation, s.v.set):
		if outcome == outcomeSucceeded {
			return classReached
		}
		return classReachedDespite
	case s.v.state == a.State:
		return classNoEffect
	case s.v.set.graver(a.Set):
		return classDiverged
	}
	return classPartial
}

// judge judges a closed attempt by what is seen now. Nil: it can't be judged
// yet. A recovery is judged by its progress too.
func (s *session) judge(a *Attempt, outcome string, closed Moment) (class string, v *verdict) {
	class = s.classify(a, outcome, closed)
	if class == classUnknown || class == classPending {
		return class, nil
	}
	v = &verdict{Attempt: a.ID, Classification: class}
	if a.Role == RoleRecovery {
		v.Progress = s.progress(a)
		if v.Progress == progressDecreased {
			v.Floor = s.v.set
		}
	}
	return class, v
}

// progress judges a recovery.
func (s *session) progress(a *Attempt) string {
	floor := s.floor(a)
	switch {
	case s.holdsAll():
		return progressDecreased
	case s.e.on(ruleProgress) && s.v.state == a.State:
		return codeNoProgress
	case s.e.on(ruleOscillated) && s.cycle() != nil:
		return CodeOscillated
	case !s.e.on(ruleRegressed) && s.v.set.count() < floor.count():
		return progressDecreased
	case s.v.set.graver(floor):
		return codeRegressed
	case s.v.set.below(floor) || !s.e.on(ruleProgress):
		return progressDecreased
	}
	return codeNoProgress
}

// floor is the set that a recovery must come below. Where the entry that held
// it was erased, the last set known before the recovery takes its place, else
// one that nothing is below.
func (s *session) floor(a *Attempt) Set {
	switch {
	case s.t.Floor != "":
		return s.t.Floor
	case a.Set != "":
		return a.Set
	}
	return Set(make([]byte, 0))
}

// blocks reports whether the verdict ends the transaction.
func (v *verdict) blocks() bool {
	return v != nil && v.Progress != "" && v.Progress != progressDecreased
}

// closable tells whether observing closes an open attempt, and as what.
//
// A grant over MCP belongs to the server process: it is closed when that
// process is gone on this boot and namespace, or, seen from elsewhere, after 15
// minutes. A grant at the command line has no process to watch: observing
// there closes it. The owner itself has made its change if all holds.
func (s *session) closable(a *Attempt) (outcome string, ok bool) {
	switch {
	case !s.e.on(ruleOwner):
		return outcomeInterrupted, true
	case a.Via == ledger.ViaCLI:
		return outcomeInterrupted, s.c.Via == ledger.ViaCLI
	case a.Owner.here(&s.c.Owner):
		if s.c.Running != nil && !s.c.Running(a.Owner) {
			return outcomeInterrupted, true
		}
		return outcomeUnknown, a.Owner == s.c.Owner && s.holdsAll()
	}
	return outcomeInterrupted, s.c.Now.UnixMilli()-a.Wall >= otherSideMS
}

// here reports whether both processes live on one boot and in one pid
// namespace, so that one can tell whether the other runs.
func (o *Owner) here(c *Owner) bool {
	return o.Boot != "" && o.Boot == c.Boot && o.Space == c.Space && o.PID != 0
}
