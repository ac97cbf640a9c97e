package txn

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"holdfast/internal/ledger"
)

// Expect is what a surface is expected to be: a value for each key, and for a
// folder the SHA-256 of files in it by name.
type Expect struct {
	Values   map[string]string
	Contains map[string]string
}

// keyContains is the one key whose value is an object.
const keyContains = "contains"

// intKeys are the keys whose values are numbers in JSON.
var intKeys = []string{"size", "revision", "exit"}

// UnmarshalJSON reads an object of strings and whole numbers.
func (x *Expect) UnmarshalJSON(b []byte) error {
	var raw map[string]json.RawMessage
	if err := json.Unmarshal(b, &raw); err != nil {
		return &ledger.FieldError{Field: "expect", Why: "must be an object"}
	}
	x.Values = make(map[string]string, len(raw))
	for k, v := range raw {
		if k == keyContains {
			if err := json.Unmarshal(v, &x.Contains); err != nil || x.Contains == nil {
				return &ledger.FieldError{Field: "expect.contains", Why: "must be an object of names and SHA-256 digests"}
			}
			continue
		}
		s, ok := scalar(v)
		if !ok {
			return &ledger.FieldError{Field: "expect." + clip(k, 60), Why: "must be a string or a whole number"}
		}
		x.Values[k] = s
	}
	return nil
}

// scalar reads a string, or a whole number as its digits.
func scalar(v json.RawMessage) (string, bool) {
	var s string
	if json.Unmarshal(v, &s) == nil && len(v) > 0 && v[0] == '"' {
		return s, true
	}
	if _, err := strconv.ParseInt(string(v), 10, 64); err == nil {
		return string(v), true
	}
	return "", false
}

// MarshalJSON writes the object that UnmarshalJSON reads.
func (x Expect) MarshalJSON() ([]byte, error) {
	out := make(map[string]any, len(x.Values)+1)
	for k, v := range x.Values {
		if n, err := strconv.ParseInt(v, 10, 64); err == nil && slices.Contains(intKeys, k) {
			out[k] = n
			continue
		}
		out[k] = v
	}
	if x.Contains != nil {
		out[keyContains] = x.Contains
	}
	return json.Marshal(out)
}

// ParsePostcondition reads the short form of the command line:
// SURFACE=absent, SURFACE=present or SURFACE=KEY:VALUE.
func ParsePostcondition(s string) (Postcondition, error) {
	for i := 0; i < len(s); i++ {
		if s[i] != '=' {
			continue
		}
		surface, want := s[:i], s[i+1:]
		if want == stateAbsent || want == statePresent {
			return Postcondition{surface, Expect{Values: map[string]string{"state": want}}}, nil
		}
		key, value, ok := strings.Cut(want, ":")
		if fam, known := familyOf(surface); ok && known && key != keyContains && slices.Contains(fam.keys, key) {
			return Postcondition{surface, Expect{Values: map[string]string{key: value}}}, nil
		}
	}
	return Postcondition{}, &ledger.FieldError{Field: "expect", Why: "must be SURFACE=absent, SURFACE=present or SURFACE=KEY:VALUE, such as file:notes.md=sha256:…"}
}

// family is a kind of surface.
type family struct {
	name   string
	prefix string
	keys   []string
	path   bool // its name is a path
	shared bool // it is the same thing from every worktree
}

var families = [...]family{
	{name: "file", prefix: "file:", keys: []string{"state", "sha256", "size", "mode", "link"}, path: true},
	{name: "dir", prefix: "dir:", keys: []string{"state", "tree", keyContains}, path: true},
	{name: "ref", prefix: "git:ref:", keys: []string{"state", "oid"}, shared: true},
	{name: "record", prefix: "record:", keys: []string{"state", "revision", "status"}, shared: true},
	{name: "probe", prefix: "probe:", keys: []string{"exit", "sha256"}},
	{name: "reported", prefix: reportedPrefix, keys: []string{"etag", "sha256", "version", "state"}, shared: true},
}

const reportedPrefix = "reported:"

func familyOf(surface string) (family, bool) {
	for _, f := range families {
		if len(surface) > len(f.prefix) && strings.HasPrefix(surface, f.prefix) {
			return f, true
		}
	}
	return family{}, false
}

// normal gives a value the one form in which it is compared. why says what is
// wrong with one that has none.
func normal(key, value string) (norm, why string) {
	switch key {
	case "state":
		if value != stateAbsent && value != statePresent {
			return "", "must be absent or present"
		}
	case "sha256", "tree":
		value = strings.ToLower(value)
		if !isHex(value, 64) {
			return "", "must be 64 hex digits"
		}
	case "oid":
		value = strings.ToLower(value)
		if !isHex(value, 40) && !isHex(value, 64) {
			return "", "must be a full object id"
		}
	case "mode":
		n, err := strconv.ParseUint(strings.TrimPrefix(value, "0o"), 8, 12)
		if err != nil {
			return "", "must be permission bits in octal, such as 0644"
		}
		value = fmt.Sprintf("%04o", n)
	case "size", "revision", "exit":
		n, err := strconv.ParseInt(value, 10, 64)
		if err != nil || n < 0 {
			return "", "must be a whole number, not below 0"
		}
		value = strconv.FormatInt(n, 10)
	case "status":
		if value != ledger.StatusOpen && value != ledger.StatusDone && value != ledger.StatusDropped {
			return "", "must be open, done or dropped"
		}
	default: // link, etag, version
		if err := ledger.CheckText(key, value, 1, MaxValue); err != nil {
			return "", "must be 1 to 1000 characters of text"
		}
	}
	return value, ""
}

func isHex(s string, n int) bool {
	return len(s) == n && strings.Trim(s, "0123456789abcdef") == ""
}
