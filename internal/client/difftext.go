package client

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// visible shows what a terminal would act on or an eye would miss: control
// characters, marks of direction, spaces that are none, broken UTF-8. A tab
// stays.
func visible(s string) string {
	plain := func(r rune) bool {
		return r == '\t' || r == ' ' || r != utf8.RuneError && unicode.IsPrint(r)
	}
	if utf8.ValidString(s) && !strings.ContainsFunc(s, func(r rune) bool { return !plain(r) }) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			fmt.Fprintf(&b, "‹%02X›", s[i])
		case plain(r):
			b.WriteRune(r)
		default:
			fmt.Fprintf(&b, "‹U+%04X›", r)
		}
		i += n
	}
	return b.String()
}

// Sizes of an excerpt, in bytes.
const (
	longLine = 600 // longer ones are cut
	lead     = 60  // kept before the first difference
	shown    = 300 // kept from there
)

// excerpt shows a line, a long one from a little before the place where it
// starts to differ from the other.
func excerpt(text, other string) string {
	if len(text) <= longLine {
		return visible(text)
	}
	from := 0
	if other != "" {
		from = max(0, common(text, other)-lead)
	}
	from = min(from, len(text)-shown)
	for from > 0 && !utf8.RuneStart(text[from]) {
		from--
	}
	to := from + shown
	for to < len(text) && !utf8.RuneStart(text[to]) {
		to++
	}
	out := visible(text[from:to])
	if from > 0 {
		out = fmt.Sprintf("…[%d bytes]…%s", from, out)
	}
	if to < len(text) {
		out = fmt.Sprintf("%s…[%d bytes]…", out, len(text)-to)
	}
	return out
}

// common is the length of the common start.
func common(a, b string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

// notes say how two lines differ where that is hard to see.
func notes(before, after string) (out []string) {
	a, endA := splitEnd(before)
	b, endB := splitEnd(after)
	if endA != endB && endA != "" && endB != "" {
		out = append(out, fmt.Sprintf("line end: %s, was %s", endName(endB), endName(endA)))
	}
	if a == b {
		return out
	}
	ta, tb := strings.TrimRight(a, " \t"), strings.TrimRight(b, " \t")
	if a[len(ta):] != b[len(tb):] {
		out = append(out, fmt.Sprintf("white space at the end: %s, was %s", spaces(b[len(tb):]), spaces(a[len(ta):])))
	}
	p, e := common(a, b), commonEnd(a, b)
	wa, wb := window(ta, p, len(a)-e), window(tb, p, len(b)-e)
	switch {
	case ta == tb:
	case norm.NFC.String(wa) == norm.NFC.String(wb):
		out = append(out, "the same letters in composed and decomposed form")
	case strings.Join(strings.Fields(wa), "") == strings.Join(strings.Fields(wb), ""):
		out = append(out, "only white space differs")
	case visible(wa) == visible(wb):
		out = append(out, "the bytes differ although both look alike")
	}
	out = append(out, numbers(wa, wb)...)
	if max(len(a), len(b)) > longLine {
		out = append(out, fmt.Sprintf("long lines, %d and %d bytes: all differences lie from byte %d on, before the last %d", len(a), len(b), p+1, e))
	}
	return out
}

// commonEnd is the length of the common end that is not part of the common
// start.
func commonEnd(a, b string) int {
	n, most := 0, min(len(a), len(b))-common(a, b)
	for n < most && a[len(a)-1-n] == b[len(b)-1-n] {
		n++
	}
	return n
}

// window is the part of a line from a little before one place to a little
// behind another.
func window(s string, from, to int) string {
	from, to = max(0, from-lead), min(len(s), to+lead)
	return s[min(from, to):to]
}

func endName(end string) string {
	if end == "\r\n" {
		return "CRLF"
	}
	return "LF"
}

func spaces(s string) string {
	tabs := strings.Count(s, "\t")
	switch {
	case s == "":
		return "none"
	case tabs > 0:
		return fmt.Sprintf("%d spaces, %d tabs", len(s)-tabs, tabs)
	}
	return fmt.Sprintf("%d spaces", len(s))
}

var number = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?`) })

// numbers points at numbers that differ in their last digit only, or that a
// program which reads them as float64 takes for the same.
func numbers(a, b string) []string {
	na, nb := number().FindAllString(a, -1), number().FindAllString(b, -1)
	var out []string
	for i := range min(len(na), len(nb)) {
		x, y := na[i], nb[i]
		if x == y || len(x) != len(y) || len(x) < 5 {
			continue
		}
		fx, errX := strconv.ParseFloat(x, 64)
		fy, errY := strconv.ParseFloat(y, 64)
		note := ""
		switch {
		case errX == nil && errY == nil && fx == fy:
			note = "a number differs although a float64 holds both as one"
		case x[:len(x)-1] == y[:len(y)-1]:
			note = "a number differs in its last digit"
		}
		if note != "" && !slices.Contains(out, note) {
			out = append(out, note)
		}
	}
	return out
}
