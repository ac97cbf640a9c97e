package txn

import (
	"encoding/json"
	"slices"
	"strings"

	"holdfast/internal/ledger"
)

// Limits of a request. Texts are counted in code points.
const (
	MaxIntent         = 2000
	MaxLabel          = 200
	MaxDetail         = 2000
	MaxReason         = 2000
	MaxOperations     = 100
	MaxPostconditions = 100      // of one operation
	MaxNames          = 1000     // of one contains
	MaxItems          = 5000     // of one transaction
	MaxSurface        = 2000     // bytes
	MaxValue          = 1000     // of an expected value
	MaxReported       = 4 << 10  // bytes of one reported surface
	MaxReportedNames  = 100      // reported surfaces of one call
	MaxSettleMS       = 86400000 // a day
	MaxIgnore         = 20
	MaxProbes         = 20
	MaxArgv           = 100
	MaxProbeTimeoutS  = 600
	MaxRoots          = 10
)

const (
	stateAbsent  = "absent"
	statePresent = "present"
	stateUnknown = "unknown"
)

// Outcomes that an agent can report.
var outcomes = [...]string{"succeeded", "failed", "timed_out", "interrupted", "unknown"}

// Validate checks everything about the request that needs no look outside. The
// error is a *ledger.FieldError or a *ledger.LimitError.
func (r *BeginRequest) Validate() error {
	if err := ledger.CheckText("intent", r.Intent, 1, MaxIntent); err != nil {
		return err
	}
	if len(r.Operations) == 0 {
		return &ledger.FieldError{Field: "operations", Why: "needs at least one operation"}
	}
	if len(r.Operations) > MaxOperations {
		return &ledger.LimitError{What: "operations", Limit: MaxOperations, Got: len(r.Operations), Unit: "operations"}
	}
	items := 0
	for i := range r.Operations {
		n, err := r.Operations[i].validate(at("operations[%d]", i))
		if err != nil {
			return err
		}
		items += n
	}
	if items > MaxItems {
		return &ledger.LimitError{What: "the transaction", Limit: MaxItems, Got: items, Unit: "expectations"}
	}
	if len(r.Key) > ledger.MaxKey {
		return &ledger.LimitError{What: "key", Limit: ledger.MaxKey, Got: len(r.Key), Unit: "bytes"}
	}
	if err := ledger.CheckText("key", r.Key, 0, ledger.MaxKey); err != nil {
		return err
	}
	if r.Replaces != "" && !ledger.ValidID(r.Replaces) {
		return &ledger.FieldError{Field: "replaces", Why: "must be the id of a transaction"}
	}
	if len(r.AllowRoots) > MaxRoots {
		return &ledger.LimitError{What: "allowed roots", Limit: MaxRoots, Got: len(r.AllowRoots), Unit: "folders"}
	}
	if err := validateProbes(r.Probes); err != nil {
		return err
	}
	return validateReported(r.Reported)
}

func (o *OperationRequest) validate(field string) (items int, err error) {
	if err := ledger.CheckText(field+".label", o.Label, 0, MaxLabel); err != nil {
		return 0, err
	}
	if !validKind(o.Kind) {
		return 0, &ledger.FieldError{Field: field + ".kind", Why: "must be read, write, move, rename, delete, upload, verify or another lower-case word"}
	}
	for _, s := range []struct{ name, text string }{{"source", o.Source}, {"destination", o.Destination}} {
		if s.text == "" {
			continue
		}
		if _, err := validSurface(field+"."+s.name, s.text); err != nil {
			return 0, err
		}
	}
	if n := len(o.Postconditions); n == 0 {
		return 0, &ledger.FieldError{Field: field + ".postconditions", Why: "needs at least one: what can't be observed can't be completed"}
	} else if n > MaxPostconditions {
		return 0, &ledger.LimitError{What: field + ".postconditions", Limit: MaxPostconditions, Got: n, Unit: "entries"}
	}
	if o.SettleMS < 0 || o.SettleMS > MaxSettleMS {
		return 0, &ledger.FieldError{Field: field + ".settle_ms", Why: "must be 0 to 86400000"}
	}
	if err := o.validateIgnore(field + ".ignore"); err != nil {
		return 0, err
	}
	for i := range o.Postconditions {
		n, err := o.Postconditions[i].validate(at("%s.postconditions[%d]", field, i), o.Ignore)
		if err != nil {
			return 0, err
		}
		items += n
	}
	return items, nil
}

// validKind reports whether kind is a lower-case word.
func validKind(kind string) bool {
	if kind == "" || len(kind) > 32 {
		return false
	}
	for i := 0; i < len(kind); i++ {
		if c := kind[i]; (c < 'a' || c > 'z') && (i == 0 || c != '_' && c != '-') {
			return false
		}
	}
	return true
}

func validSurface(field, text string) (family, error) {
	if len(text) > MaxSurface {
		return family{}, &ledger.LimitError{What: field, Limit: MaxSurface, Got: len(text), Unit: "bytes"}
	}
	if err := ledger.CheckText(field, text, 1, MaxSurface); err != nil {
		return family{}, err
	}
	f, ok := familyOf(text)
	if !ok {
		return f, &ledger.FieldError{Field: field, Why: "must be file:PATH, dir:PATH, git:ref:NAME, record:ID, probe:NAME or reported:NAME"}
	}
	if f.name == "record" && !ledger.ValidID(text[len(f.prefix):]) {
		return f, &ledger.FieldError{Field: field, Why: "must name a record by its id"}
	}
	return f, nil
}

func (o *OperationRequest) validateIgnore(field string) error {
	if len(o.Ignore) > MaxIgnore {
		return &ledger.LimitError{What: field, Limit: MaxIgnore, Got: len(o.Ignore), Unit: "entries"}
	}
	for i, g := range o.Ignore {
		if err := ledger.CheckText(field, g, 1, MaxValue); err != nil {
			return err
		}
		if g != ignoreMode && !strings.HasPrefix(g, ignoreJSON+"/") {
			return &ledger.FieldError{Field: field, Why: "each must be mode or json:/pointer"}
		}
		if slices.Contains(o.Ignore[:i], g) {
			return &ledger.FieldError{Field: field, Why: "names something twice"}
		}
	}
	return nil
}

// Parts that an operation can declare volatile.
const (
	ignoreMode = "mode"
	ignoreJSON = "json:"
)

func (p *Postcondition) validate(field string, ignore []string) (items int, err error) {
	f, err := validSurface(field+".surface", p.Surface)
	if err != nil {
		return 0, err
	}
	x := p.Expect
	if len(x.Values) == 0 && x.Contains == nil && f.name != "probe" {
		return 0, &ledger.FieldError{Field: field + ".expect", Why: "expects nothing"}
	}
	for k, v := range x.Values {
		if !slices.Contains(f.keys, k) {
			return 0, &ledger.FieldError{Field: field + ".expect." + clip(k, 60), Why: "is not something to expect of " + f.prefix + "; known: " + strings.Join(f.keys, ", ")}
		}
		if _, why := normal(k, v); why != "" {
			return 0, &ledger.FieldError{Field: field + ".expect." + k, Why: why}
		}
	}
	if err := x.validateContains(field+".expect.contains", f); err != nil {
		return 0, err
	}
	if err := x.clash(field+".expect", ignore); err != nil {
		return 0, err
	}
	return len(x.Values) + len(x.Contains), nil
}

func (x *Expect) validateContains(field string, f family) error {
	if x.Contains == nil {
		return nil
	}
	if f.name != "dir" {
		return &ledger.FieldError{Field: field, Why: "can be expected of a folder only"}
	}
	if len(x.Contains) == 0 {
		return &ledger.FieldError{Field: field, Why: "names nothing"}
	}
	if len(x.Contains) > MaxNames {
		return &ledger.LimitError{What: field, Limit: MaxNames, Got: len(x.Contains), Unit: "names"}
	}
	for name, sum := range x.Contains {
		if !ledger.ValidPath(name) || reservedPath(name) {
			return &ledger.FieldError{Field: field, Why: "each name must be a clean slash path below the folder, outside of .git and .holdfast"}
		}
		if _, why := normal("sha256", sum); why != "" {
			return &ledger.FieldError{Field: field, Why: "each digest " + why}
		}
	}
	return nil
}

// reservedPath reports whether a part of path names git's folder or ours.
func reservedPath(path string) bool {
	for part := range strings.SplitSeq(path, "/") {
		if strings.EqualFold(part, ".git") || strings.EqualFold(part, ".holdfast") {
			return true
		}
	}
	return false
}

// clash finds what can't hold together in one expectation.
func (x *Expect) clash(field string, ignore []string) error {
	if x.Values["state"] == stateAbsent && len(x.Values)+len(x.Contains) > 1 {
		return &ledger.FieldError{Field: field, Why: "expects something of what must be absent"}
	}
	if _, link := x.Values["link"]; link {
		for _, k := range []string{"sha256", "size", "mode"} {
			if _, both := x.Values[k]; both {
				return &ledger.FieldError{Field: field, Why: "expects a link and a file's " + k}
			}
		}
	}
	if _, mode := x.Values["mode"]; mode && slices.Contains(ignore, ignoreMode) {
		return &ledger.FieldError{Field: field + ".mode", Why: "is expected and ignored"}
	}
	return nil
}

func validateProbes(probes map[string]Probe) error {
	if len(probes) > MaxProbes {
		return &ledger.LimitError{What: "probes", Limit: MaxProbes, Got: len(probes), Unit: "probes"}
	}
	for name, p := range probes {
		field := "probes." + clip(name, 60)
		if !ledger.ValidID(name) {
			return &ledger.FieldError{Field: field, Why: "must be named with 1 to 80 of the characters A-Z a-z 0-9 . _ -"}
		}
		if len(p.Argv) == 0 || p.Argv[0] == "" || len(p.Argv) > MaxArgv {
			return &ledger.FieldError{Field: field + ".argv", Why: "must be a command and at most 99 arguments"}
		}
		for _, a := range p.Argv {
			if err := ledger.CheckText(field+".argv", a, 0, MaxValue); err != nil {
				return err
			}
		}
		if p.TimeoutS < 0 || p.TimeoutS > MaxProbeTimeoutS {
			return &ledger.FieldError{Field: field + ".timeout_s", Why: "must be 0 to 600"}
		}
	}
	return nil
}

func validateReported(reported map[string]json.RawMessage) error {
	if len(reported) > MaxReportedNames {
		return &ledger.LimitError{What: "reported", Limit: MaxReportedNames, Got: len(reported), Unit: "surfaces"}
	}
	for name, raw := range reported {
		field := "reported." + clip(name, 60)
		if _, err := validSurface(field, reportedPrefix+name); err != nil {
			return err
		}
		if len(raw) > MaxReported {
			return &ledger.LimitError{What: field, Limit: MaxReported, Got: len(raw), Unit: "bytes"}
		}
		if _, err := readStatement(field, raw); err != nil {
			return err
		}
	}
	return nil
}

// Validate checks the request's form.
func (r *ObserveRequest) Validate() error {
	if err := validID("transaction", r.Transaction); err != nil {
		return err
	}
	return validateReported(r.Reported)
}

// Validate checks the request's form.
func (r *AttemptRequest) Validate() error {
	if err := validID("transaction", r.Transaction); err != nil {
		return err
	}
	if r.Operation == nil || *r.Operation < 0 {
		return &ledger.FieldError{Field: "operation", Why: "must be the index of an operation, from 0"}
	}
	return validateReported(r.Reported)
}

// Validate checks the request's form.
func (r *ReportRequest) Validate() error {
	if err := validID("transaction", r.Transaction); err != nil {
		return err
	}
	if err := validID("attempt", r.Attempt); err != nil {
		return err
	}
	if !slices.Contains(outcomes[:], r.Outcome) {
		return &ledger.FieldError{Field: "outcome", Why: "must be succeeded, failed, timed_out, interrupted or unknown"}
	}
	if err := ledger.CheckText("detail", r.Detail, 0, MaxDetail); err != nil {
		return err
	}
	return validateReported(r.Reported)
}

func validID(field, id string) error {
	if !ledger.ValidID(id) {
		return &ledger.FieldError{Field: field, Why: "must be an id that an earlier answer gave"}
	}
	return nil
}
