package txn

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"holdfast/internal/ledger"
)

// BeginRequest asks for a transaction.
type BeginRequest struct {
	Intent     string                     `json:"intent"`
	Operations []OperationRequest         `json:"operations"`
	Reported   map[string]json.RawMessage `json:"reported,omitempty"`
	Replaces   string                     `json:"replaces,omitempty"` // an open transaction in which nothing was granted
	Key        string                     `json:"key,omitempty"`
	Probes     map[string]Probe           `json:"probes,omitempty"` // only at the command line
	AllowRoots []string                   `json:"-"`                // folders outside the worktree; only at the command line
}

// OperationRequest is one operation as it was asked for.
type OperationRequest struct {
	Label          string          `json:"label,omitempty"` // for people; never identity
	Kind           string          `json:"kind"`
	Source         string          `json:"source,omitempty"`
	Destination    string          `json:"destination,omitempty"`
	Postconditions []Postcondition `json:"postconditions"`
	SettleMS       int64           `json:"settle_ms,omitempty"`
	Ignore         []string        `json:"ignore,omitempty"` // mode, json:/pointer
}

// Postcondition is what must hold of one surface.
type Postcondition struct {
	Surface string `json:"surface"`
	Expect  Expect `json:"expect"`
}

// Probe is a command whose exit status and output are looked at.
type Probe struct {
	Argv     []string `json:"argv"`
	TimeoutS int      `json:"timeout_s,omitempty"`
}

// ObserveRequest asks for a look at a transaction.
type ObserveRequest struct {
	Transaction string                     `json:"transaction"`
	Reported    map[string]json.RawMessage `json:"reported,omitempty"`
}

// AttemptRequest asks leave for one mutation.
type AttemptRequest struct {
	Transaction string                     `json:"transaction"`
	Operation   *int                       `json:"operation"` // index
	Reported    map[string]json.RawMessage `json:"reported,omitempty"`
}

// ReportRequest says how a mutation went, as its agent saw it.
type ReportRequest struct {
	Transaction string                     `json:"transaction"`
	Attempt     string                     `json:"attempt"`
	Outcome     string                     `json:"outcome"`
	Detail      string                     `json:"detail,omitempty"`
	Reported    map[string]json.RawMessage `json:"reported,omitempty"`
}

// ParseBegin reads and validates a begin request. Probes are refused unless
// cli is set.
func ParseBegin(data []byte, cli bool) (*BeginRequest, error) {
	var r BeginRequest
	if err := parse(data, &r); err != nil {
		return nil, err
	}
	if len(r.Probes) > 0 && !cli {
		return nil, &ledger.FieldError{Field: "probes", Why: "can be given at the command line only"}
	}
	return &r, r.Validate()
}

// ParseObserve reads and validates an observe request.
func ParseObserve(data []byte) (*ObserveRequest, error) {
	var r ObserveRequest
	if err := parse(data, &r); err != nil {
		return nil, err
	}
	return &r, r.Validate()
}

// ParseAttempt reads and validates an attempt request.
func ParseAttempt(data []byte) (*AttemptRequest, error) {
	var r AttemptRequest
	if err := parse(data, &r); err != nil {
		return nil, err
	}
	return &r, r.Validate()
}

// ParseReport reads and validates a report request.
func ParseReport(data []byte) (*ReportRequest, error) {
	var r ReportRequest
	if err := parse(data, &r); err != nil {
		return nil, err
	}
	return &r, r.Validate()
}

// ParseReported reads the object that --reported names at the command line.
func ParseReported(data []byte) (map[string]json.RawMessage, error) {
	var m map[string]json.RawMessage
	if err := parse(data, &m); err != nil {
		return nil, err
	}
	return m, validateReported(m)
}

// parse decodes one JSON value: no unknown field, no name twice in an object,
// nothing behind it. The error is a *ledger.FieldError.
func parse(data []byte, to any) error {
	if err := checkNames(json.NewDecoder(bytes.NewReader(data))); err != nil {
		return err
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(to); err != nil {
		return explainJSON(err)
	}
	if _, err := d.Token(); err != io.EOF {
		return &ledger.FieldError{Field: "request", Why: "must be one JSON value"}
	}
	return nil
}

func explainJSON(err error) error {
	var field *ledger.FieldError
	var kind *json.UnmarshalTypeError
	switch {
	case errors.As(err, &field):
		return field
	case errors.As(err, &kind):
		return &ledger.FieldError{Field: orRequest(kind.Field), Why: "has a value of another type"}
	}
	if name, ok := strings.CutPrefix(err.Error(), "json: unknown field "); ok {
		return &ledger.FieldError{Field: clip(strings.Trim(name, `"`), 60), Why: "is not a field of this request"}
	}
	return &ledger.FieldError{Field: "request", Why: "is not valid JSON"}
}

func orRequest(field string) string {
	if field == "" {
		return "request"
	}
	return field
}

// clip cuts s to at most max bytes, between characters.
func clip(s string, max int) string {
	if len(s) <= max {
		return s
	}
	s = strings.ToValidUTF8(s[:max], "")
	return s + "…"
}

// checkNames refuses an object with one name twice: encoding/json would take
// the last, and two readers of a request could see two requests.
func checkNames(d *json.Decoder) error {
	type level struct {
		names map[string]bool // nil in an array
		value bool            // the next token of an object is a value
	}
	var stack []level
	for {
		t, err := d.Token()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return &ledger.FieldError{Field: "request", Why: "is not valid JSON"}
		}
		if n := len(stack); n > 0 && stack[n-1].names != nil && !stack[n-1].value && t != json.Delim('}') {
			name := t.(string)
			if stack[n-1].names[name] {
				return &ledger.FieldError{Field: clip(name, 60), Why: "stands twice in one object"}
			}
			stack[n-1].names[name], stack[n-1].value = true, true
			continue
		}
		switch t {
		case json.Delim('{'):
			stack = append(stack, level{names: map[string]bool{}})
			continue
		case json.Delim('['):
			stack = append(stack, level{})
			continue
		case json.Delim('}'), json.Delim(']'):
			stack = stack[:len(stack)-1]
		}
		if n := len(stack); n > 0 {
			stack[n-1].value = false
		}
		if len(stack) > 100 {
			return &ledger.FieldError{Field: "request", Why: "is nested too deeply"}
		}
	}
}

func at(format string, args ...any) string { return fmt.Sprintf(format, args...) }
