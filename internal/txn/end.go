package txn

import "fmt"

// complete is what the entry of a completed transaction keeps.
func (s *session) complete() *End {
	e := &End{}
	for i := range s.m.units {
		u := s.m.units[i]
		if len(e.Observed) == maxShown {
			e.Omitted = len(s.m.units) - i
			break
		}
		e.Observed = append(e.Observed, Observed{Surface: s.m.wants[u.want].Surface, Name: u.name, Content: s.v.contents[i]})
	}
	return e
}

// block is what the entry of a blocked transaction keeps: what is wrong, what
// it had to come below, the circle if there was one, and the smallest next
// decision.
func (s *session) block(reason string) *End {
	e := &End{Code: reason, Reason: reasons[reason], Decision: decisions[reason], Kept: s.t.Kept.summary()}
	switch reason {
	case CodeOscillated, codeNoProgress, codeRegressed:
		e.Progress = reason
	}
	e.Mismatches = s.m.mismatches(&s.v, s.seen, maxShown)
	if n := len(e.Mismatches); n > maxShown {
		e.Mismatches, e.Omitted = e.Mismatches[:maxShown], n-maxShown
	}
	for size(e.Mismatches) > maxBody/2 {
		n := len(e.Mismatches)
		e.Mismatches, e.Omitted = e.Mismatches[:n/2], e.Omitted+n-n/2
	}
	if s.t.Floor != "" {
		e.Before = s.m.names(s.t.Floor)
	}
	if reason == CodeOscillated {
		e.Cycle = s.cycle()
	}
	return e
}

// told lists the attempts with how they were reported and judged; v is the
// judgement that stands in the same entry, and outcome what is reported in it.
func (e *End) told(attempts []Attempt, outcome string, v *verdict) {
	for i := range attempts {
		a := &attempts[i]
		x := Told{Attempt: a.ID, Operation: a.Operation, Role: a.Role, Outcome: a.Outcome, Classification: a.Classification, Progress: a.Progress}
		if a.Open {
			x.Outcome = outcome
		}
		if v != nil && v.Attempt == a.ID {
			x.Classification, x.Progress = v.Classification, v.Progress
		}
		e.Attempts = append(e.Attempts, x)
	}
}

// names lists the items of a set in words, at most 50.
func (m *model) names(set Set) []string {
	var out []string
	for i := range min(len(set), len(m.items)) {
		if set[i] == met || len(out) == 50 {
			continue
		}
		it := &m.items[i]
		name := m.wants[it.want].Surface + " " + it.key
		if it.name != "" {
			name += " " + it.name
		}
		out = append(out, fmt.Sprintf("%s (%d)", name, severityOf(set[i])))
	}
	return out
}

// next is the next step of a transaction that stands as it does, in fixed words.
func (s *session) next() string {
	switch s.t.State {
	case StateComplete, StateCompleteReported:
		return "Everything holds. There is nothing to do."
	case StateBlocked:
		return afterBlock(s.t.ID)
	case StateAbandoned:
		return "It was given up. If the work is wanted after all, begin a new transaction."
	}
	switch {
	case s.t.Erased:
		return "Its text was erased, so it can't be observed. " + afterBlock(s.t.ID)
	case len(s.v.unknown) > 0:
		return fmt.Sprintf("Make what could not be read readable, then observe transaction %s. Change nothing else.", s.t.ID)
	}
	if op, ok := s.nextOperation(); ok {
		return fmt.Sprintf("Before changing anything, ask for an attempt: transaction %s, operation %d.", s.t.ID, op)
	}
	return fmt.Sprintf("Observe transaction %s again when what it waits for may have happened.", s.t.ID)
}

// nextOperation is the first operation with something left to do by a mutation.
func (s *session) nextOperation() (int, bool) {
	for i := range s.t.Operations {
		if s.t.Operations[i].mutates() && !s.m.holdsAll(i, s.v.set) {
			return i, true
		}
	}
	return 0, false
}

// nextObserved is the next step after a look or a report.
func (s *session) nextObserved(class, inFlight string) string {
	switch {
	case s.t.State != StateOpen:
		return s.next()
	case inFlight != "":
		return fmt.Sprintf("Attempt %s is open. Whoever made it reports it; if nobody knows what came of it, report its outcome as unknown. Do not repeat the change.", inFlight)
	case class == classPending:
		return fmt.Sprintf("The effect may still arrive. Wait for the settle time, then observe transaction %s. Do not repeat the change.", s.t.ID)
	}
	return s.next()
}

// nextAfter is the next step after a refused attempt.
func (s *session) nextAfter(code string, op int) string {
	switch code {
	case CodeInFlight:
		if a := s.t.openAttempt(); a != nil {
			return s.nextObserved("", a.ID)
		}
	case CodeObservationNeeded:
		return s.nextObserved(classPending, "")
	case CodeNothingToMutate:
		return fmt.Sprintf("Observe transaction %s; that completes it when all holds.", s.t.ID)
	case CodeDestructive:
		return fmt.Sprintf("Tell the user what would be lost. A person allows it with: holdfast txn allow %s %d.", s.t.ID, op)
	}
	return s.next()
}

// interrupted reports whether somebody must look what came of an attempt: it is
// open, or its owner is gone and its target not reached.
func (t *Transaction) interrupted() bool {
	n := len(t.Attempts)
	if t.State != StateOpen || n == 0 {
		return false
	}
	a := &t.Attempts[n-1]
	reached := a.Classification == classReached || a.Classification == classReachedDespite
	return t.openAttempt() != nil || a.Outcome == outcomeInterrupted && !reached
}
