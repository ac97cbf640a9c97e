package index

import (
	"encoding/json"
	"strings"

	"holdfast/internal/ledger"
)

// textsOf gives the searched texts of a stored record. A search reads a thousand
// of them, so the usual one, an object of plain strings, isn't decoded.
func textsOf(rec string) (main, more string, err error) {
	var f flat
	if f.read(rec) {
		return parts(f.text, f.answer), parts(f.why, f.revisit, f.source), nil
	}
	var r ledger.Record
	if json.Unmarshal([]byte(rec), &r) != nil {
		return "", "", errContent
	}
	return mainText(&r), moreText(&r), nil
}

// flat is what is searched of a record without lists.
type flat struct{ text, answer, why, revisit, source string }

// read reports whether rec, which json.Marshal wrote, is an object whose values
// are all strings without an escape.
func (f *flat) read(rec string) bool {
	rest, ok := strings.CutPrefix(rec, "{")
	for ok {
		var name, value string
		if name, rest, ok = quoted(rest); !ok {
			return false
		}
		if rest, ok = strings.CutPrefix(rest, ":"); !ok {
			return false
		}
		if value, rest, ok = quoted(rest); !ok {
			return false
		}
		f.set(name, value)
		if rest == "}" {
			return true
		}
		rest, ok = strings.CutPrefix(rest, ",")
	}
	return false
}

func (f *flat) set(name, value string) {
	switch name {
	case "text":
		f.text = value
	case "answer":
		f.answer = value
	case "why":
		f.why = value
	case "revisit_when":
		f.revisit = value
	case "source":
		f.source = value
	}
}

// quoted takes a string without an escape off the front of s.
func quoted(s string) (value, rest string, ok bool) {
	if s == "" || s[0] != '"' {
		return "", s, false
	}
	end := strings.IndexByte(s[1:], '"')
	if end < 0 || strings.IndexByte(s[1:1+end], '\\') >= 0 {
		return "", s, false
	}
	return s[1 : 1+end], s[2+end:], true
}
