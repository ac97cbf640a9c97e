package web

import (
	"strings"
	"unicode"

	"holdfast/internal/project"
)

// Part is a run of words of a comparison.
type Part struct {
	Text     string
	Old, New bool // only in the old text, only in the new one
}

// Change is one field of a record, compared.
type Change struct {
	Field string
	Parts []Part
	Same  bool
}

// mostCells bounds the work of one comparison: longer texts are shown whole,
// old and new.
const mostCells = 4 << 20

// compare marks, word by word, what differs between two texts.
func compare(old, now string) []Part {
	if old == now {
		return []Part{{Text: now}}
	}
	a, b := words(old), words(now)
	head := 0
	for head < len(a) && head < len(b) && a[head] == b[head] {
		head++
	}
	tail := 0
	for tail < len(a)-head && tail < len(b)-head && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	var out parts
	out.add(a[:head], false, false)
	out.middle(a[head:len(a)-tail], b[head:len(b)-tail])
	out.add(b[len(b)-tail:], false, false)
	return out.joined()
}

// joined takes the blanks between two replaced words into one replaced run.
func (ps parts) joined() []Part {
	var out []Part
	for i := 0; i < len(ps); {
		end := i // behind the last changed part that only blanks part from the first
		for j := i; j < len(ps); j++ {
			if p := ps[j]; p.Old || p.New {
				end = j + 1
			} else if j == i || strings.TrimSpace(p.Text) != "" {
				break
			}
		}
		run := ps[i:max(end, i+1)]
		i += len(run)
		if !hasBoth(run) {
			out = append(out, run...)
			continue
		}
		old, now := Part{Old: true}, Part{New: true}
		for _, p := range run {
			if !p.New {
				old.Text += p.Text
			}
			if !p.Old {
				now.Text += p.Text
			}
		}
		out = append(out, old, now)
	}
	return out
}

func hasBoth(run []Part) bool {
	old, now := false, false
	for _, p := range run {
		old, now = old || p.Old, now || p.New
	}
	return old && now
}

type parts []Part

func (ps *parts) add(words []string, old, now bool) {
	if len(words) == 0 {
		return
	}
	text := strings.Join(words, "")
	if n := len(*ps); n > 0 && (*ps)[n-1].Old == old && (*ps)[n-1].New == now {
		(*ps)[n-1].Text += text
		return
	}
	*ps = append(*ps, Part{text, old, now})
}

// middle is the longest common subsequence of the words.
func (ps *parts) middle(a, b []string) {
	if len(a)*len(b) > mostCells || len(a) == 0 || len(b) == 0 {
		ps.add(a, true, false)
		ps.add(b, false, true)
		return
	}
	w := len(b) + 1
	best := make([]uint16, (len(a)+1)*w)
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			if a[i] == b[j] {
				best[i*w+j] = best[(i+1)*w+j+1] + 1
			} else {
				best[i*w+j] = max(best[(i+1)*w+j], best[i*w+j+1])
			}
		}
	}
	i, j := 0, 0
	for i < len(a) && j < len(b) {
		switch {
		case a[i] == b[j]:
			ps.add(a[i:i+1], false, false)
			i, j = i+1, j+1
		case best[(i+1)*w+j] >= best[i*w+j+1]:
			ps.add(a[i:i+1], true, false)
			i++
		default:
			ps.add(b[j:j+1], false, true)
			j++
		}
	}
	ps.add(a[i:], true, false)
	ps.add(b[j:], false, true)
}

// words cuts a text into words, blanks and single signs.
func words(s string) []string {
	var out []string
	start, last := 0, -1
	for i, r := range s {
		class := 2
		switch {
		case unicode.IsSpace(r):
			class = 0
		case unicode.IsLetter(r), unicode.IsDigit(r), r == '_', unicode.IsMark(r):
			class = 1
		}
		if class != last && i > 0 || class == 2 && i > 0 {
			out = append(out, s[start:i])
			start = i
		}
		last = class
	}
	if start < len(s) {
		out = append(out, s[start:])
	}
	return out
}

// fields are a record's texts with their names, in the order they are shown.
func fields(it *project.Item) []struct{ name, text string } {
	rejected := make([]string, 0, len(it.Rejected))
	for _, x := range it.Rejected {
		line := x.Option
		if x.Why != "" {
			line += ": " + x.Why
		}
		rejected = append(rejected, line)
	}
	return []struct{ name, text string }{
		{"Kind", kindWord(it.Kind)}, {"Text", it.Text}, {"Answer", it.Answer}, {"Why", it.Why}, {"Rejected", lines(rejected)}, {"Look at it again when", it.RevisitWhen},
		{"Takes the place of", it.Supersedes}, {"Done when this check passes", it.DoneWhen}, {"Cited files", lines(it.Cites)}, {"Status", it.Status},
		{"Closed without evidence", it.WithoutEvidence}, {"Source", it.Source},
	}
}

// changes compares two versions of a record, field by field; nil is none.
func changes(old, now *project.Item) []Change {
	var out []Change
	empty := project.Item{}
	if old == nil {
		old = &empty
	}
	was := fields(old)
	for i, f := range fields(now) {
		if f.text == "" && was[i].text == "" || old == &empty && f.name == "Kind" {
			continue
		}
		c := Change{Field: f.name, Same: f.text == was[i].text}
		if old == &empty {
			c.Parts = []Part{{Text: f.text}}
		} else {
			c.Parts = compare(was[i].text, f.text)
		}
		out = append(out, c)
	}
	return out
}
