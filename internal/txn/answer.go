package txn

import (
	"maps"
	"slices"
)

// BeginAnswer answers begin.
type BeginAnswer struct {
	Transaction string          `json:"transaction"`
	State       string          `json:"state"`
	Operations  []OperationInfo `json:"operations"`
	Mismatches  []Mismatch      `json:"mismatches"`
	Preserved   []Preserved     `json:"preserved"`
	Budget      Budget          `json:"budget"`
	Next        string          `json:"next"`
}

// OperationInfo names one operation.
type OperationInfo struct {
	Index       int    `json:"index"`
	Label       string `json:"label,omitempty"`
	Fingerprint string `json:"fingerprint"`
}

// ObserveAnswer answers observe and report.
type ObserveAnswer struct {
	Transaction    string     `json:"transaction"`
	State          string     `json:"state"`
	Classification string     `json:"classification,omitempty"`
	Attempt        string     `json:"attempt,omitempty"` // one that is in flight
	Mismatches     []Mismatch `json:"mismatches"`
	AlsoChanged    []string   `json:"also_changed"`
	Progress       string     `json:"progress,omitempty"`
	Reason         string     `json:"reason,omitempty"` // of a block
	Budget         Budget     `json:"budget"`
	Next           string     `json:"next"`
}

// AttemptAnswer answers attempt.
type AttemptAnswer struct {
	Granted     bool       `json:"granted"`
	Transaction string     `json:"transaction"`
	Attempt     string     `json:"attempt,omitempty"`
	Role        string     `json:"role,omitempty"`
	Code        string     `json:"code,omitempty"`
	Reason      string     `json:"reason,omitempty"`
	State       string     `json:"state"`
	Mismatches  []Mismatch `json:"mismatches"`
	Budget      Budget     `json:"budget"`
	Next        string     `json:"next"`
}

// Budget is what was used of what there is.
type Budget struct {
	RecoveriesUsed int               `json:"recoveries_used"`
	RecoveriesMax  int               `json:"recoveries_max"`
	Operations     []OperationBudget `json:"operations"`
}

// OperationBudget is the same for one operation.
type OperationBudget struct {
	Index        int  `json:"index"`
	InitialUsed  bool `json:"initial_used"`
	RecoveryUsed bool `json:"recovery_used"`
}

// MaxRecoveries is how many recoveries a transaction has.
const MaxRecoveries = 2

// Mismatch is one surface that is not as it should be.
type Mismatch struct {
	Surface  string            `json:"surface"`
	Expected map[string]string `json:"expected"`
	Observed map[string]string `json:"observed"`
	Severity int               `json:"severity"` // of the gravest item
	Items    []MismatchItem    `json:"items,omitempty"`
	Omitted  int               `json:"omitted,omitempty"` // items left out
}

// MismatchItem is one entry of a folder that is not as it should be.
type MismatchItem struct {
	Name     string `json:"name"`
	Expected string `json:"expected"`
	Observed string `json:"observed"`
	Severity int    `json:"severity"`
}

// maxItems is how many names of one folder an answer lists.
const maxItems = 20

func (s *session) budget() Budget {
	b := Budget{RecoveriesUsed: s.t.recoveries(), RecoveriesMax: MaxRecoveries, Operations: []OperationBudget{}}
	for i, f := range s.t.Fingerprints {
		u := s.spent(f)
		b.Operations = append(b.Operations, OperationBudget{i, u.initial > 0, u.recovery > 0})
	}
	return b
}

// mismatches lists the surfaces that are not as they should be, the gravest
// first, with at most names entries of each folder.
func (m *model) mismatches(v *view, looks Looks, names int) []Mismatch {
	byWant := map[int]*Mismatch{}
	out := []Mismatch{}
	var order []int
	for i := range m.items {
		if v.set[i] == met {
			continue
		}
		it := &m.items[i]
		x := byWant[it.want]
		look := looks.at(&m.wants[it.want])
		if x == nil {
			x = &Mismatch{Surface: m.wants[it.want].Surface, Expected: map[string]string{}, Observed: observed(&look)}
			byWant[it.want] = x
			order = append(order, it.want)
		}
		sev := severityOf(v.set[i])
		x.Severity = max(x.Severity, sev)
		switch {
		case it.key != keyContains:
			x.Expected[it.key] = it.value
		case len(x.Items) < names:
			x.Items = append(x.Items, MismatchItem{it.name, it.value, observedName(&look, it.name), sev})
		default:
			x.Omitted++
		}
	}
	for _, w := range order {
		out = append(out, *byWant[w])
	}
	slices.SortStableFunc(out, func(a, b Mismatch) int { return b.Severity - a.Severity })
	return out
}

// severityOf is the number of a digit; what can't be read counts as gravest in
// the order of an answer, and is never compared.
func severityOf(c byte) int {
	if c == unread {
		return 3
	}
	return int(c - met)
}

func observed(l *Look) map[string]string {
	if l.State != statePresent {
		out := map[string]string{"state": l.State}
		if l.Why != "" {
			out["why"] = l.Why
		}
		return out
	}
	return maps.Clone(l.Facts)
}

func observedName(l *Look, name string) string {
	entry, ok := l.Names[name]
	switch {
	case l.State == stateUnknown || ok && entry["state"] == stateUnknown:
		return stateUnknown
	case !ok:
		return stateAbsent
	case entry["type"] == "file":
		return entry["sha256"]
	}
	return entry["type"]
}

// alsoChanged lists surfaces outside the last attempt's operation that are not
// as they were before it.
func (s *session) alsoChanged() []string {
	out := []string{}
	n := len(s.t.Attempts)
	if n == 0 || s.t.Erased {
		return out
	}
	a := &s.t.Attempts[n-1]
	if len(a.Wants) != len(s.v.digests) {
		return out
	}
	for i, d := range s.v.digests {
		if d != a.Wants[i] && !slices.Contains(s.m.ops[a.Operation].wants, i) && !slices.Contains(out, s.m.wants[i].Surface) {
			out = append(out, s.m.wants[i].Surface)
		}
	}
	return out
}
