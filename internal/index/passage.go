package index

import (
	"cmp"
	"slices"
	"unicode"
	"unicode/utf8"
)

// occurrences finds phrases in a text: pairs of byte offsets, in order, and how
// many of the phrases there are.
func occurrences(text string, ps []phrase) (marks [][2]int, distinct int) {
	ws := spans(nil, text)
	for i := range ps {
		before := len(marks)
		for at := range ws {
			if to := ps[i].at(text, ws[at:]); to > 0 {
				marks = append(marks, [2]int{ws[at].from, to})
			}
		}
		if len(marks) > before {
			distinct++
		}
	}
	return merged(marks), distinct
}

// merged sorts marks and joins those that overlap.
func merged(marks [][2]int) [][2]int {
	slices.SortFunc(marks, func(a, b [2]int) int { return cmp.Compare(a[0], b[0]) })
	var out [][2]int
	for _, m := range marks {
		if n := len(out); n > 0 && m[0] <= out[n-1][1] {
			out[n-1][1] = max(out[n-1][1], m[1])
			continue
		}
		out = append(out, m)
	}
	return out
}

// Sizes of a passage, in bytes.
const (
	passageSize = 240
	passageLead = 60 // before the first mark
)

// cut takes the passage of text around its first mark, and the marks in it.
func cut(text string, marks [][2]int) (string, [][2]int) {
	if len(text) <= passageSize {
		return text, marks
	}
	from := 0
	if len(marks) > 0 && marks[0][1] > passageSize {
		from = marks[0][0] - passageLead
		for from < marks[0][0] && !wordStart(text, from) {
			from++
		}
	}
	to := min(from+passageSize, len(text))
	for to > from && to < len(text) && !utf8.RuneStart(text[to]) {
		to--
	}
	var kept [][2]int
	for _, m := range marks {
		if m[0] >= from && m[1] <= to {
			kept = append(kept, [2]int{m[0] - from, m[1] - from})
		}
	}
	return text[from:to], kept
}

// wordStart: a passage may begin here.
func wordStart(text string, at int) bool {
	if at <= 0 || !utf8.RuneStart(text[at]) {
		return at <= 0
	}
	r, _ := utf8.DecodeLastRuneInString(text[:at])
	return unicode.IsSpace(r)
}

// field is a part of a text with its name.
type field struct{ name, text string }

// passage picks the field in which most of the phrases stand, the first of
// these, and cuts the passage out of it.
func passage(fields []field, ps []phrase) (name, text string, marks [][2]int) {
	best := -1
	for _, f := range fields {
		if f.text == "" {
			continue
		}
		if ms, n := occurrences(f.text, ps); n > best {
			best, name = n, f.name
			text, marks = cut(f.text, ms)
		}
	}
	return name, text, marks
}
