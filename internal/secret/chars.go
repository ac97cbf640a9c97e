package secret

import "strings"

// Classes of bytes. A byte of a multi-byte character counts as cOther.
const (
	cLower = 1 << iota
	cUpper
	cDigit
	cTok   // can stand in a token: letters, digits and _ - + / = . ~ \
	cSpace // space, tab, line ends
	cOther // 0x80 and above
	cQuote // " ' `

	cLetter = cLower | cUpper
	cAlnum  = cLower | cUpper | cDigit
)

// class says what a byte is. The bytes of U+017F and U+212A count as token
// bytes too, because case folding in RE2 takes them for s and k.
var class = func() (t [256]uint8) {
	for c := range t {
		switch {
		case c >= 'a' && c <= 'z':
			t[c] = cLower | cTok
		case c >= 'A' && c <= 'Z':
			t[c] = cUpper | cTok
		case c >= '0' && c <= '9':
			t[c] = cDigit | cTok
		case strings.IndexByte("_-+/=.~\\", byte(c)) >= 0:
			t[c] = cTok
		case c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\v' || c == '\f':
			t[c] = cSpace
		case c == '"' || c == '\'' || c == '`':
			t[c] = cQuote
		case c >= 0x80:
			t[c] = cOther
			if strings.IndexByte("\xc5\xbf\xe2\x84\xaa", byte(c)) >= 0 {
				t[c] |= cTok
			}
		}
	}
	return t
}()

func is(c byte, mask uint8) bool { return class[c]&mask != 0 }

// byteAt returns the byte at i, or 0 outside the text.
func byteAt(s string, i int) byte {
	if i < 0 || i >= len(s) {
		return 0
	}
	return s[i]
}

// isWord reports whether c can stand in a word: a letter, a digit, an
// underscore, or part of a character beyond ASCII.
func isWord(c byte) bool { return is(c, cAlnum|cOther) || c == '_' }

// skip returns the first position at or after i whose byte is not in mask, at
// most limit bytes on.
func skip(s string, i int, mask uint8, limit int) int {
	for end := min(len(s), i+limit); i < end && is(s[i], mask); i++ {
	}
	return i
}

// isHex reports whether s is made of hexadecimal digits only, in one case.
func isHex(s string) bool {
	var up, low bool
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c >= '0' && c <= '9':
		case c >= 'a' && c <= 'f':
			low = true
		case c >= 'A' && c <= 'F':
			up = true
		default:
			return false
		}
	}
	return s != "" && !(up && low)
}

// isUUID reports whether s has the form 8-4-4-4-12 of RFC 9562.
func isUUID(s string) bool {
	if len(s) != 36 {
		return false
	}
	for i := 0; i < len(s); i++ {
		dash := i == 8 || i == 13 || i == 18 || i == 23
		if dash != (s[i] == '-') || !dash && !isHex(s[i:i+1]) {
			return false
		}
	}
	return true
}
