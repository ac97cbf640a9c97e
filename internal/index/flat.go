package index

import (
	"encoding/json"
	"strings"

	"holdfast/internal/ledger"
)

// textsOf gives the searched texts of a stored record. A search reads a thousand
// of them, so the usual one, an object of plain strings, isn't decoded.
func textsOf(rec string) (main, more string, err error) {
	var r ledger.Record
	if !readFlat(&r, rec) && json.Unmarshal([]byte(rec), &r) != nil {
		return "", "", errContent
	}
	return mainText(&r), moreText(&r), nil
}

// readFlat reads the searched texts of rec, which json.Marshal wrote, into r. It
// reports whether rec is an object whose values are all strings without an
// escape.
func readFlat(r *ledger.Record, rec string) bool {
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
		setText(r, name, value)
		if rest == "}" {
			return true
		}
		rest, ok = strings.CutPrefix(rest, ",")
	}
	return false
}

func setText(r *ledger.Record, name, value string) {
	switch name {
	case "text":
		r.Text = value
	case "answer":
		r.Answer = value
	case "why":
		r.Why = value
	case "revisit_when":
		r.RevisitWhen = value
	case "source":
		r.Source = value
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
