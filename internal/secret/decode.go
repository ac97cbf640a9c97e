package secret

import (
	"encoding/base64"
	"encoding/hex"
	"strings"
)

// minEncoded is the length below which an encoded run isn't decoded: what it
// held would be too short for the rules that look at it.
const minEncoded = 20

// decodeRun decodes a run of base64 or hexadecimal digits to printable ASCII.
// The run may go on over line ends; they are dropped.
func decodeRun(run string) (text, form string) {
	run = strings.Join(strings.Fields(run), "")
	if len(run)%2 == 0 && isHex(run) {
		if b, err := hex.DecodeString(run); err == nil && printable(b) {
			return string(b), formHex
		}
	}
	enc := base64.RawStdEncoding
	if strings.ContainsAny(run, "-_") {
		enc = base64.RawURLEncoding
	}
	run = strings.TrimRight(run, "=")
	if len(run)%4 == 1 {
		run = run[:len(run)-1]
	}
	b, err := enc.DecodeString(run)
	if err != nil || !printable(b) {
		return "", ""
	}
	return string(b), formBase64
}

// printable reports whether bytes are visible ASCII text, line ends included.
func printable(b []byte) bool {
	for _, c := range b {
		if (c < ' ' || c > '~') && !is(c, cSpace) {
			return false
		}
	}
	return len(b) >= 8
}

// minLine is the length from which a run goes on in the next line, as base64
// does when a tool wraps it.
const minLine = 40

// decoded returns a view for each stretch of base64 or hexadecimal that holds
// text. All bytes of such a view stand for the whole stretch.
func (p *page) decoded() []*view {
	var out []*view
	done := 0
	for _, r := range p.runs {
		for start := max(r.start, done); start < r.end; {
			end := start
			for end < r.end && !cutsEncoded(p.s, end, r.end) {
				end++
			}
			next := end + 1
			if end == r.end {
				end = p.nextLines(start, end)
				done, next = end, end
			}
			if end-start >= minEncoded {
				if text, form := decodeRun(p.s[start:end]); text != "" {
					out = append(out, stretch(p.v, text, start, end, form))
				}
			}
			start = next
		}
	}
	return out
}

// cutsEncoded reports whether the byte at i can't stand inside one encoded
// value: it separates a name or another value from it.
func cutsEncoded(s string, i, end int) bool {
	switch s[i] {
	case '.', '~', '\\':
		return true
	case '=':
		return i+1 < end && s[i+1] != '='
	}
	return class[s[i]]&cOther != 0
}

// nextLines widens a stretch that ends with its line over the lines that carry
// it on.
func (p *page) nextLines(start, end int) int {
	for end-start >= minLine && byteAt(p.s, end) == '\n' {
		from := skip(p.s, end, cSpace, 40)
		to := from
		for to < len(p.s) && (is(p.s[to], cAlnum) || strings.IndexByte("+/=", p.s[to]) >= 0) {
			to++
		}
		if to-from < 4 {
			break
		}
		end = to
	}
	return end
}

// stretch is the view of a text that stood encoded between start and end.
func stretch(v *view, text string, start, end int, form string) *view {
	c := &view{text: text, parent: v, edits: []edit{{0, form}}}
	c.from, c.to = make([]int32, len(text)), make([]int32, len(text))
	for i := range c.from {
		c.from[i], c.to[i] = int32(start), int32(end)
	}
	return c
}
