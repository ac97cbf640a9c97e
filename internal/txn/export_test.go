package txn

// Rule is one rule of the engine that a test can switch off.
type Rule struct {
	Name string
	bit  rules
}

// Rules lists every rule that can be switched off.
var Rules = []Rule{
	{"a fingerprint has one recovery", ruleSpent},
	{"attempts in other transactions count", ruleSpentAcross},
	{"two recoveries a transaction", ruleBudget},
	{"one attempt at a time", ruleInFlight},
	{"nothing is granted while the target holds", ruleHolds},
	{"nothing is granted while something can't be read", ruleUnknown},
	{"nothing is judged before the settle time is over", ruleSettle},
	{"a state that comes back ends it", ruleOscillated},
	{"a recovery must shrink the mismatch", ruleProgress},
	{"a recovery must not add to the mismatch", ruleRegressed},
	{"the floor stays when somebody makes things worse", ruleFloor},
	{"nothing begins over what is unfinished", ruleOverlap},
	{"mending what was attempted is a recovery", ruleRole},
	{"only kept content may be destroyed", ruleDestructive},
	{"blocked is final", ruleBlocked},
	{"only a look completes", ruleFresh},
	{"some things only a person decides", rulePerson},
	{"an attempt is closed only when its owner is gone", ruleOwner},
	{"reading is never granted", ruleReadOnly},
	{"only an untouched transaction can be replaced", ruleReplace},
	{"originals are preserved first", ruleKeep},
	{"what was not looked at is unknown", ruleMissingIsNone},
	{"a label is no identity", ruleFingerprint},
}

// Without is the engine with rules switched off.
func (e Engine) Without(rs ...Rule) Engine {
	for _, r := range rs {
		e.off |= r.bit
	}
	return e
}

// AllRules says how many rules there are, to compare with the list.
func AllRules() (n int) {
	for r := rules(1); r < ruleEnd; r <<= 1 {
		n++
	}
	return n
}
