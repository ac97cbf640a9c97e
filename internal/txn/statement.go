package txn

import (
	"encoding/json"

	"holdfast/internal/ledger"
)

// statementKeys are what a statement about a reported surface is judged by.
// Whatever else it says is kept as evidence.
var statementKeys = [...]string{"etag", "sha256", "version", "state"}

// readStatement reads what an agent states about a surface that the tool can't
// see: an object whose known keys are strings or whole numbers.
func readStatement(field string, raw json.RawMessage) (map[string]string, error) {
	var all map[string]json.RawMessage
	if err := json.Unmarshal(raw, &all); err != nil || all == nil {
		return nil, &ledger.FieldError{Field: field, Why: "must be an object"}
	}
	facts := map[string]string{}
	for _, k := range statementKeys {
		v, ok := all[k]
		if !ok {
			continue
		}
		s, ok := scalar(v)
		if !ok {
			return nil, &ledger.FieldError{Field: field + "." + k, Why: "must be a string or a whole number"}
		}
		s, why := normal(k, s)
		if why != "" {
			return nil, &ledger.FieldError{Field: field + "." + k, Why: why}
		}
		facts[k] = s
	}
	if len(facts) == 0 {
		return nil, &ledger.FieldError{Field: field, Why: "must have at least one of etag, sha256, version, state"}
	}
	if facts["state"] == stateAbsent && len(facts) > 1 {
		return nil, &ledger.FieldError{Field: field, Why: "says more about something absent"}
	}
	return facts, nil
}

// stated is the look at a reported surface that a statement amounts to. The
// times of a statement, and what else it says, don't count.
func stated(key string, raw json.RawMessage) Look {
	facts, err := readStatement("reported", raw)
	if len(raw) == 0 || err != nil || facts["state"] == stateAbsent {
		return Look{Key: key, State: stateAbsent}
	}
	delete(facts, "state")
	facts["type"] = "reported"
	return Look{Key: key, State: statePresent, Facts: facts}
}
