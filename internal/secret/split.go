package secret

import "strings"

// splitTokens finds vendors' tokens that were cut: wrapped by a terminal,
// written with spaces, put together from string literals. It takes white
// space, quotes and joining signs away and looks for distinctive prefixes.
func (p *page) splitTokens() {
	if !p.cut() {
		return
	}
	b := newBuilder(p.v)
	for i := 0; i < len(p.s); i++ {
		switch {
		case p.s[i] == '\\' && i+1 < len(p.s) && strings.IndexByte("nrt", p.s[i+1]) >= 0: // an escaped line end
			b.note(formSplit)
			i++
		case glue(p.s, i):
			b.note(formSplit)
		default:
			b.keep(i)
		}
	}
	if len(b.v.edits) == 0 {
		return
	}
	q := &page{sc: p.sc, v: b.done()}
	q.s = q.v.text
	q.anchors = vocab().matcher.find(q.s, nil)
	q.splitVendors()
}

// cut reports whether the text holds a stretch without spaces that looks drawn
// by lot: without one, no token was cut there.
func (p *page) cut() bool {
	start, mask, single := 0, uint8(0), 0
	for i := 0; i <= len(p.s); i++ {
		c := uint8(0)
		if i < len(p.s) {
			c = class[p.s[i]] & cAlnum
		}
		if c != 0 {
			mask |= c
			continue
		}
		if n := i - start; n >= 3 && mask&cDigit != 0 && mask&cLetter != 0 || n >= 4 && mask == cUpper {
			return true
		}
		if i-start == 1 { // s p a c e d
			if single++; single >= minSpaced {
				return true
			}
		} else if i > start {
			single = 0
		}
		start, mask = i+1, 0
	}
	return false
}

// minSpaced is how many single characters in a row make a spaced-out token.
const minSpaced = 12

// glue reports whether the byte at i can stand between the pieces of a token.
func glue(s string, i int) bool {
	c := s[i]
	if is(c, cSpace|cQuote) {
		return true
	}
	switch c {
	case '\\':
		return byteAt(s, i+1) == '\\' || is(byteAt(s, i+1), cSpace|cQuote) || is(byteAt(s, i-1), cSpace|cQuote)
	case '+', '&', ',':
		return is(byteAt(s, i-1), cSpace|cQuote) || is(byteAt(s, i+1), cSpace|cQuote)
	case '.', '>', '|':
		return is(byteAt(s, i-1), cSpace|cQuote) && is(byteAt(s, i+1), cSpace|cQuote)
	}
	return false
}

// splitVendors looks for whole tokens in the glued text.
func (q *page) splitVendors() {
	for _, a := range q.anchors {
		if vocab().uses[a.word]&useVendor == 0 {
			continue
		}
		for _, v := range vocab().vendors[vocab().words[a.word]] {
			i := int(a.pos)
			inside := i > 0 && is(q.s[i-1], cAlnum) && !q.gap(i)
			if v.split && !inside && strings.HasPrefix(q.s[i:], v.prefix) {
				if end := q.splitBody(v, i); end > 0 {
					q.add(v.rule, rankVendor, i, end)
					break
				}
			}
		}
	}
}

// splitBody reads the body of the token at i piece by piece, and returns its
// end, or 0 if the pieces are words or nothing was cut.
func (q *page) splitBody(v vendor, i int) int {
	body := i + len(v.prefix)
	limit := bodyEnd(q.s, body, v.body, maxValue)
	end, words, n, last := body, 0, 0, 0
	for at := body; at < limit; n++ {
		e := at + 1
		for e < limit && !q.gap(e) {
			e++
		}
		piece := q.s[at:e]
		if end-body >= v.min && (n > 200 || plainWord(piece) && (len(piece) > 1 || last > 1)) {
			break
		}
		if len(piece) >= 2 && plainWord(piece) {
			words += len(piece)
		}
		end, at, last = e, e, len(piece)
	}
	if end-body < v.min || !q.gapIn(i, end) || words*10 > (end-body)*4 {
		return 0
	}
	if v.rule == "aws-access-key" {
		end = min(end, body+16)
	}
	if !vendorBody(v, q.s[body:end]) || !drawnBody(q.s[body:end]) {
		return 0
	}
	return end
}

// gap reports whether something was taken away before the byte at i.
func (q *page) gap(i int) bool { return q.v.from[i] != q.v.to[i-1] }

func (q *page) gapIn(i, end int) bool {
	for k := i + 1; k < end; k++ {
		if q.gap(k) {
			return true
		}
	}
	return false
}

// plainWord reports whether a piece is a word: small letters, perhaps after a
// capital, or a number.
func plainWord(s string) bool {
	t := look(s)
	return t.pieces <= 1 && (t.lower > 0 || t.digit > 0) && !gibberish(s)
}

// drawnBody reports whether a body put together from pieces looks drawn by lot.
func drawnBody(s string) bool {
	t := look(s)
	if t.lower == 0 {
		return t.digit > 1 || t.random()
	}
	return t.digit > 0 && t.alnum() < 3*t.pieces
}
