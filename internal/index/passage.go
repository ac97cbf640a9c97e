package index

import (
	"cmp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// word is a word of a text: where it stands, in bytes, and how it is compared.
type word struct {
	from, to int
	folded   string
}

// words takes a text apart much as the full-text index does (letters, digits
// and private use; without case and diacritics). It only decides what is marked
// in a passage, never what is found.
func words(text string) []word {
	var out []word
	start := -1
	end := func(at int) {
		if start >= 0 {
			out = append(out, word{start, at, folded(text[start:at])})
			start = -1
		}
	}
	for i, r := range text {
		switch {
		case unicode.In(r, unicode.L, unicode.N, unicode.Co):
			if start < 0 {
				start = i
			}
		case start >= 0 && unicode.Is(unicode.Mn, r): // an accent of its own
		default:
			end(i)
		}
	}
	end(len(text))
	return out
}

func folded(s string) string {
	ascii := true
	for i := 0; i < len(s) && ascii; i++ {
		ascii = s[i] < utf8.RuneSelf
	}
	if ascii {
		return strings.ToLower(s)
	}
	return strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Mn, r) {
			return -1
		}
		return unicode.ToLower(r)
	}, norm.NFD.String(s))
}

// occurrences finds phrases in a text: pairs of byte offsets, in order, and how
// many of the phrases there are.
func occurrences(text string, ps []phrase) (marks [][2]int, distinct int) {
	ws := words(text)
	for i := range ps {
		before := len(marks)
		for at := range ws {
			if to := ps[i].at(ws[at:]); to > 0 {
				marks = append(marks, [2]int{ws[at].from, to})
			}
		}
		if len(marks) > before {
			distinct++
		}
	}
	return merged(marks), distinct
}

// at reports where p ends if it begins with the first of ws, else 0.
func (p *phrase) at(ws []word) int {
	if len(ws) < len(p.words) {
		return 0
	}
	for i, w := range p.words {
		last := i == len(p.words)-1
		if ws[i].folded != w && !(p.prefix && last && strings.HasPrefix(ws[i].folded, w)) {
			return 0
		}
	}
	return ws[len(p.words)-1].to
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
