package ledger

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// Parse reads one entry from a line with its final newline. It checks the
// form, that the hash is the head's, and nothing about neighbours; the body's
// bytes are checked by CheckBody. An entry that a newer build wrote comes back
// with Newer set. The error is an *EntryError and never holds the line's text.
func Parse(line []byte) (Entry, error) {
	e := Entry{Raw: line}
	if len(line) == 0 || line[len(line)-1] != '\n' {
		return e, &EntryError{Rev: -1, Why: "it is cut short"}
	}
	if len(line) > MaxEntry {
		return e, &EntryError{Rev: -1, Why: "it is larger than an entry can be"}
	}
	if bytes.IndexByte(line, '\n') != len(line)-1 {
		return e, &EntryError{Rev: -1, Why: "it is more than one line"}
	}
	if !e.split(line[:len(line)-1]) {
		return e, &EntryError{Rev: -1, Why: "it is not an entry"}
	}
	if err := e.parseHead(); err != nil {
		return e, err
	}
	if !sumIs(e.HeadRaw, e.Hash) {
		return e, &EntryError{Rev: e.Rev, Why: "its hash is not that of its head"}
	}
	return e, nil
}

// split takes the outer object apart without decoding anything: exactly
// {"head":…,"body":…,"hash":"…","seal":"…"}, and after these only fields that a
// newer build may have added.
func (e *Entry) split(b []byte) bool {
	var ok bool
	if b, ok = bytes.CutPrefix(b, []byte(`{"head":`)); !ok {
		return false
	}
	if e.HeadRaw, b, ok = cutObject(b); !ok {
		return false
	}
	if b, ok = bytes.CutPrefix(b, []byte(`,"body":`)); !ok {
		return false
	}
	if rest, null := bytes.CutPrefix(b, []byte("null")); null {
		b = rest
	} else if e.BodyRaw, b, ok = cutObject(b); !ok {
		return false
	}
	n := min(len(b), len(`,"hash":"","seal":""`)+2*64)
	tail := string(b[:n])                                    // one copy for hash and seal
	if e.Hash, tail, ok = cutValue(tail, `,"hash":"`); !ok { // Parse checks its digits
		return false
	}
	if e.Seal, tail, ok = cutValue(tail, `,"seal":"`); !ok || e.Seal != "" && !hexDigits(e.Seal) {
		return false
	}
	b = b[n-len(tail):]
	if len(b) == 1 && b[0] == '}' {
		return true
	}
	e.Newer = true
	return furtherFields(b)
}

// furtherFields reports whether b, the rest of the outer object, has fields of
// a newer build and nothing that could be taken for one of ours.
func furtherFields(b []byte) bool {
	if len(b) < 2 || b[0] != ',' {
		return false
	}
	names, ok := objectFields(append([]byte("{"), b[1:]...))
	return ok && len(names) > 0 && !slices.ContainsFunc(names, func(n string) bool {
		return slices.Contains(outerNames, fold(n))
	})
}

// cutObject cuts one JSON object from the front of b by its braces. It does
// not check what is inside: the hash does.
func cutObject(b []byte) (obj, rest []byte, ok bool) {
	if len(b) == 0 || b[0] != '{' {
		return nil, b, false
	}
	depth := 0
	for i := 0; i < len(b); i++ {
		switch b[i] {
		case '{':
			depth++
		case '}':
			if depth--; depth == 0 {
				return b[:i+1], b[i+1:], true
			}
		case '"':
			n := stringEnd(b[i+1:])
			if n < 0 {
				return nil, b, false
			}
			i += n + 1
		}
	}
	return nil, b, false
}

// stringEnd is the offset of the quote that ends a string whose first byte is
// b[0], or -1.
func stringEnd(b []byte) int {
	for i := 0; i < len(b); {
		n := bytes.IndexByte(b[i:], '"')
		if n < 0 {
			return -1
		}
		q := i + n
		esc := 0
		for j := q - 1; j >= 0 && b[j] == '\\'; j-- {
			esc++
		}
		if esc%2 == 0 {
			return q
		}
		i = q + 1
	}
	return -1
}

func cutValue(s, prefix string) (value, rest string, ok bool) {
	if s, ok = strings.CutPrefix(s, prefix); !ok {
		return "", s, false
	}
	return strings.Cut(s, `"`)
}

// hexDigits reports whether s is 64 lower-case hex digits.
func hexDigits(s string) bool {
	for i := range len(s) {
		if c := s[i]; (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return len(s) == 64
}

func (e *Entry) parseHead() error {
	if e.quickHead() {
		e.Newer = e.Newer || !KnownType(e.Type)
		return nil
	}
	return e.fullHead()
}

// fullHead reads any head. What version 1 knows has one form only, that in
// which Encode writes it: so no two readers can take a head for two things.
func (e *Entry) fullHead() error {
	if e.asWritten() {
		e.Newer = e.Newer || !KnownType(e.Type)
		return nil
	}
	e.Head = Head{}
	names, ok := objectFields(e.HeadRaw)
	if !ok {
		return &EntryError{Rev: -1, Why: "its head is not an object with distinct fields"}
	}
	// The version is read before anything that a newer version may mean otherwise.
	var v struct {
		V   int   `json:"v"`
		Rev int64 `json:"rev"`
	}
	err := json.Unmarshal(e.HeadRaw, &v)
	if err != nil || v.V < 1 || v.Rev < 0 || !slices.Contains(names, "v") || !slices.Contains(names, "rev") {
		return &EntryError{Rev: -1, Why: "its head has no version and revision"}
	}
	err = json.Unmarshal(e.HeadRaw, &e.Head)
	switch {
	case v.V > FormatVersion:
		e.V, e.Rev = v.V, v.Rev
	case err != nil:
		return &EntryError{Rev: v.Rev, Why: "its head has a field of another type"}
	case !unknownNames(names, e.HeadRaw):
		return &EntryError{Rev: v.Rev, Why: "its head is not written as version 1 writes it"}
	}
	e.Newer = true
	return nil
}

// asWritten reads a head that stands as version 1 writes it.
func (e *Entry) asWritten() bool {
	if !plain(e.HeadRaw) || json.Unmarshal(e.HeadRaw, &e.Head) != nil || e.V != FormatVersion || e.Rev < 0 {
		return false
	}
	again, err := marshal(&e.Head)
	return err == nil && bytes.Equal(again, e.HeadRaw)
}

// Names of fields that this build knows; a test holds them to the types.
var (
	outerNames = []string{"head", "body", "hash", "seal"}
	headNames  = []string{
		"v", "rev", "type", "at", "prev", "recovery", "key_sha256", "body_sha256", "seal_key",
		"ledger", "tool", "base", "replaces", "fingerprint", "successor", "revisions", "id", "txn",
	}
	posNames = []string{"rev", "hash"}
	txnNames = []string{
		"transaction", "attempt", "operation", "fingerprints", "fingerprint", "role", "outcome", "state", "follows", "person",
	}
)

// unknownNames reports whether a head whose fields are names has, at any
// level, a field that this build doesn't know.
func unknownNames(names []string, head []byte) bool {
	strange := func(known, names []string) bool {
		return slices.ContainsFunc(names, func(n string) bool { return !slices.Contains(known, n) })
	}
	if strange(headNames, names) {
		return true
	}
	var in struct {
		Replaces []json.RawMessage `json:"replaces"`
		Txn      json.RawMessage   `json:"txn"`
	}
	if json.Unmarshal(head, &in) != nil {
		return false
	}
	for _, r := range in.Replaces {
		if names, ok := objectFields(r); ok && strange(posNames, names) {
			return true
		}
	}
	names, ok := objectFields(in.Txn)
	return ok && strange(txnNames, names)
}

// quickHead reads a head that stands as this build writes it and has no fields
// by type: nearly all entries. Anything else is left to the full reading.
func (e *Entry) quickHead() bool {
	if !bytes.HasPrefix(e.HeadRaw, []byte(`{"v":1,"rev":`)) {
		return false
	}
	b := string(e.HeadRaw[len(`{"v":1,"rev":`):]) // one copy for all fields
	n := strings.IndexByte(b, ',')
	if n < 1 || n > 18 || (b[0] == '0' && n > 1) {
		return false
	}
	rev, err := strconv.ParseUint(b[:n], 10, 63)
	if err != nil {
		return false
	}
	h := Head{V: 1, Rev: int64(rev)}
	b = b[n:]
	for _, f := range []struct {
		name string
		to   *string
	}{
		{`,"type":"`, &h.Type}, {`,"at":"`, &h.At}, {`,"prev":"`, &h.Prev}, {`,"recovery":"`, &h.Recovery},
		{`,"key_sha256":"`, &h.KeySHA256}, {`,"body_sha256":"`, &h.BodySHA256}, {`,"seal_key":"`, &h.SealKey},
	} {
		rest, ok := strings.CutPrefix(b, f.name)
		if !ok {
			return false
		}
		n := strings.IndexByte(rest, '"')
		if n < 0 || !plain(rest[:n]) {
			return false
		}
		*f.to, b = rest[:n], rest[n+1:]
	}
	if b != "}" {
		return false
	}
	e.Head = h
	return true
}

// plain reports whether b is printable ASCII without a backslash, as every
// head of version 1 is: no encoder has a choice there.
func plain[T string | []byte](b T) bool {
	for i := range len(b) {
		if c := b[i]; c < 0x20 || c > 0x7e || c == '\\' {
			return false
		}
	}
	return true
}

// objectFields lists the names in a JSON object; false when it is not one or
// when a name stands twice, whatever the case of its letters.
func objectFields(b []byte) ([]string, bool) {
	d := json.NewDecoder(bytes.NewReader(b))
	t, err := d.Token()
	if err != nil || t != json.Delim('{') {
		return nil, false
	}
	var names []string
	seen := map[string]bool{}
	for d.More() {
		t, err := d.Token()
		name, ok := t.(string)
		if err != nil || !ok || seen[fold(name)] {
			return nil, false
		}
		seen[fold(name)] = true
		names = append(names, name)
		var skip json.RawMessage
		if err := d.Decode(&skip); err != nil {
			return nil, false
		}
	}
	if t, err = d.Token(); err != nil || t != json.Delim('}') {
		return nil, false
	}
	return names, d.InputOffset() == int64(len(b))
}

// fold gives the same text for names that encoding/json takes for one another.
func fold(name string) string {
	return strings.Map(func(r rune) rune {
		for {
			next := unicode.SimpleFold(r)
			if next <= r {
				return unicode.ToLower(next)
			}
			r = next
		}
	}, name)
}
