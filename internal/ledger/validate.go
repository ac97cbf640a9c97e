package ledger

import (
	"path"
	"strings"
	"unicode/utf8"
)

// Limits of a record's fields, in code points unless said otherwise.
const (
	MaxID       = 80 // bytes
	MaxText     = 2000
	MaxSource   = 500
	MaxRejected = 10   // options
	MaxCites    = 20   // files
	MaxPath     = 1000 // bytes
	MaxKey      = 200  // bytes
	MaxRecords  = 100  // records of one save
)

// ValidID reports whether id can name a record or a check:
// [A-Za-z0-9][A-Za-z0-9._-]{0,79}.
func ValidID(id string) bool {
	if id == "" || len(id) > MaxID {
		return false
	}
	for i := 0; i < len(id); i++ {
		c := id[i]
		alnum := 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
		if !alnum && (i == 0 || c != '.' && c != '_' && c != '-') {
			return false
		}
	}
	return true
}

// ValidKind reports whether kind is a kind of record.
func ValidKind(kind string) bool {
	for _, k := range Kinds {
		if k == kind {
			return true
		}
	}
	return false
}

// Validate checks r as it would be stored. field is the path of r in the
// request, such as records[2], or empty. The error is a *FieldError.
func (r *Record) Validate(field string) error {
	at := func(name string) string {
		if field == "" {
			return name
		}
		return field + "." + name
	}
	if !ValidID(r.ID) {
		return &FieldError{at("id"), "must be 1 to 80 of the characters A-Z a-z 0-9 . _ - and start with a letter or digit"}
	}
	if !ValidKind(r.Kind) {
		return &FieldError{at("kind"), "must be one of goal, question, answer, decision, next, note"}
	}
	for _, f := range []struct {
		name, text string
		min, max   int
	}{
		{"text", r.Text, 1, MaxText}, {"answer", r.Answer, 0, MaxText}, {"why", r.Why, 0, MaxText},
		{"source", r.Source, 0, MaxSource}, {"revisit_when", r.RevisitWhen, 0, MaxText},
		{"without_evidence", r.WithoutEvidence, 0, MaxSource},
	} {
		if err := CheckText(at(f.name), f.text, f.min, f.max); err != nil {
			return err
		}
	}
	if err := r.validateKind(at); err != nil {
		return err
	}
	return r.validateLists(at)
}

func (r *Record) validateKind(at func(string) string) error {
	switch {
	case r.Kind == KindAnswer && r.Answer == "":
		return &FieldError{at("answer"), "an answer needs the answer itself; text holds the question"}
	case r.Kind != KindAnswer && r.Answer != "":
		return &FieldError{at("answer"), "only a record of kind answer has one"}
	case r.Kind != KindDecision && len(r.Rejected) > 0:
		return &FieldError{at("rejected"), "only a decision has rejected options"}
	case r.Kind != KindDecision && r.RevisitWhen != "":
		return &FieldError{at("revisit_when"), "only a decision has one"}
	case r.Kind != KindNext && r.DoneWhen != "":
		return &FieldError{at("done_when"), "only a next action has one"}
	case r.DoneWhen != "" && !ValidID(r.DoneWhen):
		return &FieldError{at("done_when"), "must be the id of a check"}
	case r.Supersedes != "" && (!ValidID(r.Supersedes) || r.Supersedes == r.ID):
		return &FieldError{at("supersedes"), "must be the id of another record"}
	}
	switch r.Status {
	case "", StatusOpen:
	case StatusDone, StatusDropped:
		if r.Kind != KindNext && r.Kind != KindGoal {
			return &FieldError{at("status"), "only goals and next actions can be done or dropped"}
		}
	default:
		return &FieldError{at("status"), "must be open, done or dropped"}
	}
	return nil
}

func (r *Record) validateLists(at func(string) string) error {
	if len(r.Rejected) > MaxRejected {
		return &FieldError{at("rejected"), "at most 10 options"}
	}
	for _, x := range r.Rejected {
		if err := CheckText(at("rejected.option"), x.Option, 1, MaxSource); err != nil {
			return err
		}
		if err := CheckText(at("rejected.why"), x.Why, 0, MaxText); err != nil {
			return err
		}
	}
	if len(r.Cites) > MaxCites {
		return &FieldError{at("cites"), "at most 20 files"}
	}
	for _, c := range r.Cites {
		if !ValidPath(c.Path) {
			return &FieldError{at("cites"), "each must be a relative slash path inside the project"}
		}
	}
	return nil
}

// ValidPath reports whether p is a clean slash path inside the project, and
// neither the project itself nor inside a .git or .holdfast. It must mean the
// same on every system: so no backslash and no drive. Names that only one
// system reserves, such as nul.txt, are left to opening.
func ValidPath(p string) bool {
	if p == "" || len(p) > MaxPath || !utf8.ValidString(p) || strings.ContainsAny(p, "\x00\n\r\\") {
		return false
	}
	if path.Clean(p) != p || path.IsAbs(p) || p == "." || p == ".." || strings.HasPrefix(p, "../") {
		return false
	}
	if len(p) > 1 && p[1] == ':' && ('a' <= p[0]|0x20 && p[0]|0x20 <= 'z') {
		return false
	}
	for name := range strings.SplitSeq(p, "/") {
		name = strings.TrimRight(name, ". ") // as Windows reads it
		if strings.EqualFold(name, ".git") || strings.EqualFold(name, ".holdfast") {
			return false
		}
	}
	return true
}

// CheckText checks the length of text in code points, and that it is UTF-8
// without NUL.
func CheckText(field, text string, min, max int) error {
	switch {
	case !utf8.ValidString(text):
		return &FieldError{field, "is not valid UTF-8"}
	case strings.ContainsRune(text, 0):
		return &FieldError{field, "has a NUL character"}
	case min > 0 && strings.TrimSpace(text) == "":
		return &FieldError{field, "is missing or empty"}
	}
	if n := utf8.RuneCountInString(text); n > max {
		return &LimitError{What: field, Limit: max, Got: n, Unit: "characters"}
	}
	return nil
}

// Texts calls yield with every field of r that holds text from outside, for
// the screening. A field added to Record must be added here; a test holds that.
func (r *Record) Texts(field string, yield func(name, text string)) {
	at := func(name string) string {
		if field == "" {
			return name
		}
		return field + "." + name
	}
	yield(at("id"), r.ID)
	yield(at("kind"), r.Kind)
	yield(at("text"), r.Text)
	yield(at("answer"), r.Answer)
	yield(at("why"), r.Why)
	yield(at("revisit_when"), r.RevisitWhen)
	yield(at("supersedes"), r.Supersedes)
	yield(at("status"), r.Status)
	yield(at("source"), r.Source)
	yield(at("done_when"), r.DoneWhen)
	yield(at("without_evidence"), r.WithoutEvidence)
	for _, x := range r.Rejected {
		yield(at("rejected.option"), x.Option)
		yield(at("rejected.why"), x.Why)
	}
	for _, c := range r.Cites {
		yield(at("cites"), c.Path)
	}
}
