package secret

import (
	"strings"
	"unicode/utf8"
)

// Forms of disguise, as a Finding names them.
const (
	formZeroWidth = "zero-width"
	formFullwidth = "fullwidth"
	formHomoglyph = "homoglyph"
	formPercent   = "percent"
	formEscape    = "escape"
	formEntity    = "entity"
	formTerminal  = "terminal"

	// Quotation marks and spaces of typographers, taken for " ' and a space.
	formTypographic = "typographic"

	formSplit  = "split"
	formBase64 = "base64"
	formHex    = "hex"
)

// plainView returns the view with invisible and full-width characters, percent
// codes, \u and \x escapes, character references and terminal sequences taken
// off, or nil if there are none.
func plainView(v *view) *view {
	s := v.text
	if !disguised(s) {
		return nil
	}
	b := newBuilder(v)
	for i := 0; i < len(s); {
		c, n, form := plainAt(s, i)
		switch {
		case form == "":
			for j := i; j < i+n; j++ {
				b.keep(j)
			}
		case c == 0:
			b.note(form)
		default:
			b.put(c, i, i+n, form)
		}
		i += n
	}
	if len(b.v.edits) == 0 {
		return nil
	}
	return b.done()
}

// disguised is a quick look for what plainView could take off.
func disguised(s string) bool {
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c >= 0x80, c == 0x1b, c < ' ' && !is(c, cSpace):
			return true
		case c == '%' || c == '\\' || c == '&':
			if _, _, form := plainAt(s, i); form != "" {
				return true
			}
		}
	}
	return false
}

// plainAt reads one character: what it stands for (0: nothing), how long it
// is, and its form ("" for a character that stands for itself).
func plainAt(s string, i int) (c byte, n int, form string) {
	switch b := s[i]; {
	case b == 0x1b:
		return 0, terminalLen(s[i:]), formTerminal
	case b < ' ' && !is(b, cSpace):
		return 0, 1, formZeroWidth
	case b == '%':
		if c, ok := hexByte(s, i+1, 2); ok {
			return c, 3, formPercent
		}
	case b == '\\':
		if c, n := escapeAt(s[i:]); n > 0 {
			return c, n, formEscape
		}
	case b == '&':
		if c, n := entityAt(s[i:]); n > 0 {
			return c, n, formEntity
		}
	case b >= 0x80:
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case invisible(r):
			return 0, n, formZeroWidth
		case r >= 0xff01 && r <= 0xff5e:
			return byte(r - 0xff01 + '!'), n, formFullwidth
		case r == 0xa0 || r >= 0x2000 && r <= 0x200a || r == 0x202f || r == 0x205f || r == 0x3000:
			return ' ', n, formTypographic
		case r >= 0x2018 && r <= 0x201b:
			return '\'', n, formTypographic
		case r >= 0x201c && r <= 0x201f || r == 0xab || r == 0xbb || r >= 0x300c && r <= 0x300f:
			return '"', n, formTypographic
		}
		if c := latin(r); c != 0 && (isWord(byteAt(s, i-1)) && byteAt(s, i-1) < 0x80 || isWord(byteAt(s, i+n)) && byteAt(s, i+n) < 0x80) {
			return c, n, formHomoglyph
		}
		return 0, n, ""
	}
	return 0, 1, ""
}

// invisible reports whether a character takes no room on a screen, or steers
// others, so that it can hide inside a value.
func invisible(r rune) bool {
	switch {
	case r == 0xad || r == 0x34f || r == 0x61c || r == 0x3164 || r == 0xfeff || r == 0xffa0:
		return true
	case r >= 0x115f && r <= 0x1160, r >= 0x17b4 && r <= 0x17b5, r >= 0x180b && r <= 0x180f:
		return true
	case r >= 0x200b && r <= 0x200f, r >= 0x202a && r <= 0x202e, r >= 0x2060 && r <= 0x206f:
		return true
	case r >= 0x80 && r < 0xa0, r >= 0xfe00 && r <= 0xfe0f, r >= 0xfff9 && r <= 0xfffb, r >= 0xe0000 && r <= 0xe0fff:
		return true
	}
	return false
}

// latin returns the Latin letter that a Cyrillic or Greek one looks like, or 0.
// Only beside ASCII letters does one stand for the other.
func latin(r rune) byte {
	const from, to = "асеорхуіјѕһАВЕКМНОРСТХІЈЅοαντΑΒΕΖΗΙΚΜΝΟΡΤΥΧ", "aceopxyijshABEKMHOPCTXIJSoavtABEZHIKMNOPTYX"
	if r < 0x370 || r > 0x4ff {
		return 0
	}
	n := 0
	for _, f := range from {
		if f == r {
			return to[n]
		}
		n++
	}
	return 0
}

// terminalLen is the length of a terminal sequence (ECMA-48 CSI), or 1.
func terminalLen(s string) int {
	if byteAt(s, 1) != '[' {
		return 1
	}
	for i := 2; i < min(len(s), 24); i++ {
		if s[i] >= 0x40 && s[i] <= 0x7e {
			return i + 1
		}
	}
	return 2
}

// hexByte reads n hexadecimal digits that stand for a visible ASCII character.
func hexByte(s string, i, n int) (byte, bool) {
	v := 0
	for j := i; j < i+n; j++ {
		c := lower(byteAt(s, j))
		switch {
		case is(c, cDigit):
			v = v*16 + int(c-'0')
		case c >= 'a' && c <= 'f':
			v = v*16 + int(c-'a') + 10
		default:
			return 0, false
		}
	}
	return byte(v), v > ' ' && v < 0x7f
}

// escapeAt reads \uXXXX or \xXX for a visible ASCII character. In text that
// was quoted twice, two backslashes stand before it.
func escapeAt(s string) (byte, int) {
	i, n := 1, 0
	if byteAt(s, 1) == '\\' {
		i = 2
	}
	switch byteAt(s, i) {
	case 'u':
		n = 4
	case 'x':
		n = 2
	default:
		return 0, 0
	}
	if c, ok := hexByte(s, i+1, n); ok {
		return c, i + 1 + n
	}
	return 0, 0
}

// entityAt reads a numeric character reference for a visible ASCII character.
func entityAt(s string) (byte, int) {
	if byteAt(s, 1) != '#' {
		return 0, 0
	}
	base, i, v := 10, 2, 0
	if lower(byteAt(s, 2)) == 'x' {
		base, i = 16, 3
	}
	first := i
	for ; i < first+7 && i < len(s); i++ {
		d := strings.IndexByte("0123456789abcdef", lower(s[i]))
		if d < 0 || d >= base {
			break
		}
		v = v*base + d
	}
	if i == first || v <= ' ' || v >= 0x7f || byteAt(s, i) != ';' {
		return 0, 0
	}
	return byte(v), i + 1
}
