// Package secret finds secrets in text before it is stored.
//
// It owns the rules: gitleaks' own (compiled one by one, only for texts that
// can match them) and ours, which know names such as reset_token, passwords in
// prose, links that are secrets, and values that were split, encoded or
// sprinkled with invisible characters.
//
// It must never store, log or print what it found: a Finding says which rule,
// which field and where, never the value. It reads no files and no
// environment, and it knows nothing of ledgers.
package secret

import (
	"fmt"
	"runtime/debug"
	"sort"
	"sync"
	"unicode/utf8"
)

// Field is one text that is about to be stored, with the name that messages
// use for it, for example "records[0].text". Words that belong together, such
// as the arguments of one command, should come as one field joined by spaces:
// a rule can't see that "--password" and the value behind it are neighbours
// when they stand in two fields.
type Field struct{ Name, Text string }

// Finding is one secret: what kind, in which field, and where.
type Finding struct {
	Rule  string // stable name of the rule, such as "github-pat" or "assigned-password"
	Field string // the Name of the field; "name of field 3" when the name itself holds the secret

	Start, End         int // byte offsets of the value in the field's text, half open
	CharStart, CharEnd int // the same place for people: first and last character, counted from 1

	// Form says how the value was disguised: "" when it stands there as it is,
	// else "zero-width", "fullwidth", "homoglyph", "typographic", "percent",
	// "escape", "entity", "terminal", "split", "base64" or "hex".
	Form string
}

// Screen finds secrets. It is safe for concurrent use. Its detector is loaded
// when a text needs it and dropped by Idle.
type Screen struct {
	allowed func(value string) bool

	mu  sync.Mutex
	det *detector // nil until a text needs it, and again after Idle
}

// New makes a Screen. The function allowed is asked with the exact value of
// each finding, and a finding whose value it accepts is dropped; it may be nil.
// It must be safe for concurrent use.
func New(allowed func(value string) bool) *Screen {
	if allowed == nil {
		allowed = func(string) bool { return false }
	}
	return &Screen{allowed: allowed}
}

// Check returns what it finds in the fields and in their names, in the order
// of the fields and of the places in them.
func (s *Screen) Check(fields []Field) []Finding {
	var out []Finding
	for i, f := range fields {
		name := f.Name
		if len(s.find(f.Name)) > 0 {
			name = fmt.Sprintf("name of field %d", i+1)
			out = append(out, s.findings(Field{Name: name, Text: f.Name})...)
		}
		out = append(out, s.findings(Field{Name: name, Text: f.Text})...)
	}
	return out
}

// Mask returns the text of one field with each finding of that field replaced
// by "[secret: rule]". It is for captured output that is kept in a screened
// form; findings of other fields are ignored.
func Mask(f Field, findings []Finding) string {
	var out []byte
	at := 0
	for _, x := range findings {
		if x.Field != f.Name || x.Start < at || x.End > len(f.Text) {
			continue
		}
		out = append(out, f.Text[at:x.Start]...)
		out = append(out, "[secret: "+x.Rule+"]"...)
		at = x.End
	}
	return string(append(out, f.Text[at:]...))
}

// Idle drops the loaded detector and returns its memory to the system. The
// next text that needs it loads it again.
func (s *Screen) Idle() {
	s.mu.Lock()
	had := s.det != nil
	s.det = nil
	s.mu.Unlock()
	if had {
		debug.FreeOSMemory()
	}
}

// detector returns the loaded detector, loading it if need be.
func (s *Screen) detector() (*detector, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.det == nil {
		d, err := loadDetector()
		if err != nil {
			return nil, err
		}
		s.det = d
	}
	return s.det, nil
}

func (s *Screen) findings(f Field) []Finding {
	hits := s.find(f.Text)
	if len(hits) == 0 {
		return nil
	}
	out := make([]Finding, 0, len(hits))
	chars, at := 0, 0
	for _, h := range hits {
		chars += utf8.RuneCountInString(f.Text[at:h.start])
		at = h.start
		n := utf8.RuneCountInString(f.Text[h.start:h.end])
		out = append(out, Finding{
			Rule: h.rule, Field: f.Name, Start: h.start, End: h.end,
			CharStart: chars + 1, CharEnd: chars + n, Form: h.form,
		})
	}
	return out
}

// hit is a finding on its way: a place in the text that was given, and the
// plain value that stands there once every disguise is off.
type hit struct {
	rule       string
	start, end int
	form       string
	value      string
	rank       int // when two overlap, the higher rank names the place
}

// Ranks: a vendor's own form says more than a name in front of a value, and
// that more than a mere look.
const (
	rankLook = iota
	rankName
	rankShape
	rankVendor
)

// find returns the hits of one text, disjoint and in order.
func (s *Screen) find(text string) []hit {
	if len(text) < minSecret {
		return nil
	}
	sc := &scan{screen: s}
	sc.view(&view{text: text}, 0)
	return s.settle(text, sc.hits)
}

// settle drops what a person allowed and merges what overlaps.
func (s *Screen) settle(text string, hits []hit) []hit {
	if len(hits) == 0 {
		return nil
	}
	var kept, free []hit
	for _, h := range hits {
		if s.allowed(h.value) || s.allowed(text[h.start:h.end]) {
			free = append(free, h)
		} else {
			kept = append(kept, h)
		}
	}
	sort.SliceStable(kept, func(i, j int) bool { return kept[i].start < kept[j].start })
	var out []hit
	for _, h := range kept {
		if coveredBy(h, free) {
			continue
		}
		if n := len(out); n > 0 && h.start < out[n-1].end {
			out[n-1] = merge(out[n-1], h)
			continue
		}
		out = append(out, h)
	}
	return out
}

// coveredBy reports whether an allowed value is all there is to a hit, but for
// a few characters around it ("user:" in front of an allowed password).
func coveredBy(h hit, free []hit) bool {
	for _, f := range free {
		if f.start < h.end && h.start < f.end {
			left, right := max(0, f.start-h.start), max(0, h.end-f.end)
			if left+right < minSecret {
				return true
			}
		}
	}
	return false
}

func merge(a, b hit) hit {
	m := a
	if b.rank > a.rank {
		m = b
	}
	m.start, m.end = min(a.start, b.start), max(a.end, b.end)
	if m.form == "" && a.form != b.form {
		m.form = "" // one rule saw it without a disguise
	}
	return m
}
