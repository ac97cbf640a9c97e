package txn

import (
	"encoding/json"
	"maps"
	"slices"

	"holdfast/internal/ledger"
)

// Engine answers every question about transactions. The zero Engine is ready.
type Engine struct {
	off rules // rules that a test switched off, to see that their absence is noticed
}

// rules names the engine's rules one by one.
type rules uint32

func (e Engine) on(r rules) bool { return e.off&r == 0 }

// The rules, each of which the tests can switch off.
const (
	ruleSpent         rules = 1 << iota // a fingerprint has one recovery
	ruleSpentAcross                     // attempts in other transactions count
	ruleBudget                          // two recoveries a transaction
	ruleInFlight                        // one attempt at a time
	ruleHolds                           // nothing is granted while the target holds
	ruleUnknown                         // nothing is granted while something can't be read
	ruleSettle                          // nothing is judged before the settle time is over
	ruleOscillated                      // a state that comes back ends it
	ruleProgress                        // a recovery must shrink the mismatch
	ruleRegressed                       // a recovery must not add to it
	ruleFloor                           // what is made worse in between doesn't raise the floor
	ruleOverlap                         // nothing begins over what is unfinished
	ruleRole                            // repairing what was attempted is a recovery
	ruleDestructive                     // only kept content may be destroyed
	ruleBlocked                         // blocked is final
	ruleFresh                           // only a look completes
	rulePerson                          // some things only a person decides
	ruleOwner                           // an attempt is closed only when its owner is gone
	ruleReadOnly                        // reading is never granted
	ruleReplace                         // only an untouched transaction can be replaced
	ruleKeep                            // originals are preserved first
	ruleMissingIsNone                   // what wasn't looked at is unknown
	ruleFingerprint                     // a label is no identity
	ruleEnd
)

// session is one call about one transaction: what is known and what is seen.
type session struct {
	e    Engine
	b    *Book
	c    Call
	t    *Transaction
	m    *model
	seen Looks
	v    view
	news map[string]json.RawMessage // statements that differ from the last
	used map[string]use             // by fingerprint; nil until it is asked for
}

// open starts a call about transaction id. The statements given with the call
// join the looks. The error is a *Refusal or a *ledger.FieldError.
func (e Engine) open(b *Book, c Call, id string, reported map[string]json.RawMessage, seen Looks) (*session, error) {
	t, err := b.Get(id)
	if err != nil {
		return nil, err
	}
	s := &session{e: e, b: b, c: c, t: t, m: t.model(), news: t.newStatements(reported)}
	if !t.Erased {
		if err := checkNamesOf(reported, s.m); err != nil {
			return nil, err
		}
	}
	s.seen = e.complete(s.m, t.overlay(reported), seen)
	s.v = s.m.view(s.seen, t.Base)
	if t.Erased {
		s.v.unknown = append(s.v.unknown, 0)
		s.v.state = ""
	}
	return s, nil
}

// complete adds the looks that need no look outside: reported surfaces.
func (e Engine) complete(m *model, statements map[string]json.RawMessage, seen Looks) Looks {
	all := maps.Clone(seen)
	if all == nil {
		all = Looks{}
	}
	for i := range m.areas {
		w := &m.wants[i]
		if m.areas[i].family.name == "reported" {
			all[w.Key] = stated(w.Key, statements[m.areas[i].identity])
		}
		if _, ok := all[w.Key]; !ok && !e.on(ruleMissingIsNone) {
			all[w.Key] = Look{Key: w.Key, State: stateAbsent}
		}
	}
	return all
}

// overlay is what is stated about each reported surface: newly, else last.
func (t *Transaction) overlay(reported map[string]json.RawMessage) map[string]json.RawMessage {
	all := map[string]json.RawMessage{}
	for name, s := range t.Reported {
		all[name] = s.Value
	}
	for name, v := range reported {
		all[reportedName(name)] = v
	}
	return all
}

// newStatements are those that say something else than the last ones did.
func (t *Transaction) newStatements(reported map[string]json.RawMessage) map[string]json.RawMessage {
	out := map[string]json.RawMessage{}
	for name, v := range reported {
		name = reportedName(name)
		old := stated("", t.Reported[name].Value)
		now := stated("", v)
		if t.Reported[name].Value == nil || old.State != now.State || !maps.Equal(old.Facts, now.Facts) {
			out[name] = v
		}
	}
	return out
}

// holdsAll reports whether the transaction's whole target holds.
func (s *session) holdsAll() bool {
	return !s.t.Erased && len(s.m.items) > 0 && s.v.set.empty()
}

// observation is what is seen, as the entry of ev keeps it.
func (s *session) observation(ev *event) *Seen {
	if s.t.Erased {
		return nil
	}
	return &Seen{State: s.v.state, Set: s.v.set, Floor: s.lowered(ev.Judge)}
}

// lowered is the new floor where something else than a recovery brought the
// mismatch below it; empty where the floor stays. While an attempt is open or
// waits for its judgement nothing is judged, and so the floor stays too.
func (s *session) lowered(judged *verdict) Set {
	t := s.t
	if t.Floor == "" || s.v.state == "" || judged == nil && (s.unjudged() != nil || t.openAttempt() != nil) {
		return ""
	}
	if s.v.set.below(t.Floor) || !s.e.on(ruleFloor) && s.v.set != t.Floor {
		return s.v.set
	}
	return ""
}

// isNew reports whether the state is worth an entry: it is not the last seen.
func (s *session) isNew() bool {
	t := s.t
	if t.Erased {
		return false
	}
	return len(s.news) > 0 || s.v.state != "" && (len(t.States) == 0 || t.States[len(t.States)-1] != s.v.state)
}

// cycle is the round of states that the present one closes: it was seen
// earlier, with another in between. Nil for none.
func (s *session) cycle() []string {
	all := s.t.States
	if s.v.state == "" {
		return nil
	}
	if n := len(all); n == 0 || all[n-1] != s.v.state {
		all = append(slices.Clip(all), s.v.state)
	}
	if first := slices.Index(all, s.v.state); first < len(all)-1 {
		return all[first:]
	}
	return nil
}

// unjudged is the last attempt if it was closed and not judged yet.
func (s *session) unjudged() *Attempt {
	if n := len(s.t.Attempts); n > 0 && !s.t.Attempts[n-1].Open && !s.t.Attempts[n-1].Judged {
		return &s.t.Attempts[n-1]
	}
	return nil
}

func (t *Transaction) openAttempt() *Attempt {
	for i := range t.Attempts {
		if t.Attempts[i].Open {
			return &t.Attempts[i]
		}
	}
	return nil
}

// Counts reports whether what was spent in the transaction counts: it is open
// or blocked, and no later one of its chain takes its place.
func (t *Transaction) Counts() bool {
	return (t.State == StateOpen || t.State == StateBlocked) && t.FollowedBy == ""
}

// use is how often a fingerprint was attempted.
type use struct{ initial, recovery int }

// spent counts the attempts of a fingerprint in all transactions that count.
func (s *session) spent(fingerprint string) use {
	if s.used == nil {
		s.used = map[string]use{}
		for _, id := range s.b.Order {
			if t := s.b.Txns[id]; t == s.t || t.Counts() && s.e.on(ruleSpentAcross) {
				t.uses(s.used)
			}
		}
	}
	return s.used[fingerprint]
}

func (t *Transaction) uses(all map[string]use) {
	for i := range t.Attempts {
		u := all[t.Attempts[i].Fingerprint]
		if t.Attempts[i].Role == RoleRecovery {
			u.recovery++
		} else {
			u.initial++
		}
		all[t.Attempts[i].Fingerprint] = u
	}
}

// recoveries counts those granted in the transaction.
func (t *Transaction) recoveries() int {
	n := 0
	for i := range t.Attempts {
		if t.Attempts[i].Role == RoleRecovery {
			n++
		}
	}
	return n
}

// head is the head of an entry about the transaction that leaves it in state.
func (s *session) head(state string) ledger.TxnHead {
	return ledger.TxnHead{Transaction: s.t.ID, State: state}
}
