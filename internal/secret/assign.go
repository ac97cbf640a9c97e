package secret

import (
	"strings"
	"unicode/utf8"
)

// link says how a value hangs on its name.
type link uint8

const (
	byNothing  link = iota // the next word: "password hunter2"
	bySign                 // : = := => -> |
	byFlag                 // --name value
	byWords                // "is", "was set to", also in other languages
	byFarWords             // the same after a phrase: "for the staging db is"
	byQuote                // the next word, in quotes: PASSWORD 'hunter2'
)

// maxValue is the length beyond which a value isn't read further.
const maxValue = 512

// assignments finds values behind names: NAME=value, "name": "value",
// --name value, Name: value, <name>value</name>, "the name is value".
func (p *page) assignments() {
	for _, n := range p.names {
		if n.trust == trustNone {
			continue
		}
		how, at := p.linkAfter(n)
		if how == byNothing && at == n.end || how == byFarWords && n.trust != trustFull {
			continue
		}
		if (how == byWords || how == byFarWords) && verbNoun(p.s[n.start:n.end]) {
			how = byNothing
		}
		p.valueAt(n, how, at)
	}
}

// verbNoun reports whether a name alone is more often a verb.
func verbNoun(name string) bool {
	return strings.EqualFold(name, "pass") || strings.EqualFold(name, "clave")
}

// linkAfter finds how the name goes on, and where its value would begin.
func (p *page) linkAfter(n name) (link, int) {
	s := p.s
	i, quoted := n.end, false
	for k := 0; k < 6 && i < len(s); k++ {
		c := s[i]
		switch {
		case is(c, cQuote):
			quoted = true
		case c == '*' || c == ')' || c == ']' || c == '}' || c == '\\' && is(byteAt(s, i+1), cQuote):
		case c == '[': // tokens[0] = …
			if e := strings.IndexByte(s[i:min(len(s), i+24)], ']'); e > 0 {
				i += e
			}
		default:
			k = 6
			continue
		}
		i++
	}
	j := skip(s, i, cSpace, 12)
	if how, at := p.signAt(n, i, j, quoted); at > 0 {
		return how, at
	}
	if j == i {
		return byNothing, n.end
	}
	if q := byteAt(s, j); q == '\'' || q == '"' {
		return byQuote, j
	}
	if e := identEnd(s, j); byteAt(s, e) == ' ' && madeOf[strings.ToLower(s[j:e])] { // private key hex 0x…
		return byWords, e
	}
	if at, far := wordsLink(s, j); at > 0 {
		if far {
			return byFarWords, at
		}
		return byWords, at
	}
	if byteAt(s, j) == '(' {
		j++
	}
	return byNothing, j
}

// signAt reads a separator at j, the first byte after the name (which ends at
// i, with its quotes) and white space.
func (p *page) signAt(n name, i, j int, quoted bool) (link, int) {
	s := p.s
	flag := n.start >= 1 && s[n.start-1] == '-'
	switch c := byteAt(s, j); {
	case c == ':' && byteAt(s, j+1) == ':':
	case c == ':' || c == '=' || c == '-' && byteAt(s, j+1) == '>':
		for j < len(s) && strings.IndexByte(":=>~-", s[j]) >= 0 && !(s[j] == '-' && byteAt(s, j+1) == '-') {
			j++
		}
		if k := typeAfter(s, j); k > 0 {
			j = k
		}
		return bySign, j
	case c == '|' && byteAt(s, j+1) != '|':
		return bySign, j + 1
	case c == ',' && quoted:
		if k := skipWordValue(s, j+1); k > j+1 || is(byteAt(s, skip(s, j+1, cSpace, 4)), cQuote) {
			return bySign, k
		}
	case c == '>' && byteAt(s, n.start-1) == '<':
		return bySign, j + 1
	case strings.HasPrefix(s[j:], "→") || strings.HasPrefix(s[j:], "是") || strings.HasPrefix(s[j:], "は") || strings.HasPrefix(s[j:], "为") || strings.HasPrefix(s[j:], "為"):
		return byWords, j + 3
	case (flag || envLine(s, n)) && j > i && j < len(s) && s[j] != '\n':
		return byFlag, j
	case j > i || quoted:
		if k := skipWordValue(s, j); k > j {
			return bySign, k
		}
		if k := typeAfter(s, j); k > 0 && j > i {
			return bySign, k
		}
	}
	return byNothing, 0
}

// envLine reports whether a name stands behind a word that takes a name and a
// value: ENV in a Dockerfile, setx, setenv.
func envLine(s string, n name) bool {
	before := strings.TrimRight(s[max(0, n.start-8):n.start], " ")
	for _, w := range [...]string{"env", "setx", "setenv", "set -gx", "config set"} {
		if hasSuffixFold(before, w) && !is(byteAt(before, len(before)-len(w)-1), cLetter) {
			return len(before) < n.start-max(0, n.start-8)
		}
	}
	return false
}

// typeAfter reads the name of a type and the = behind it, as in
// "token: str = …" and "password string = …", and returns what follows, or 0.
func typeAfter(s string, i int) int {
	i = skip(s, i, cSpace, 4)
	e := i
	for e < len(s) && e < i+24 && (is(s[e], cAlnum) || strings.IndexByte("&*[]<>_.?", s[e]) >= 0) {
		e++
	}
	if w := strings.Trim(strings.ToLower(s[i:e]), "&*?[]"); !typeNames[w] {
		return 0
	}
	e = skip(s, e, cSpace, 4)
	if byteAt(s, e) != '=' {
		return 0
	}
	return e + 1
}

var typeNames = set(`str string char text secretstr secretstring any bytes byte optional<string> option<string> std.string optional.str`)

// skipWordValue reads "value" and its separator, as in
// <add key="ApiKey" value="…"/> and {"name":"DB_PASSWORD","value":"…"}, and
// returns where the value begins; else i.
func skipWordValue(s string, i int) int {
	j := skip(s, i, cSpace|cQuote, 12)
	for _, w := range [...]string{"value", "default", "content"} {
		if hasPrefixFold(s[j:], w) {
			k := skip(s, j+len(w), cSpace|cQuote, 4)
			if c := byteAt(s, k); c == ':' || c == '=' {
				return k + 1
			}
		}
	}
	return i
}

// wordsLink reads "is", "was changed to" and the like, perhaps after a phrase
// ("for the staging db"), and returns where the value begins, or 0.
func wordsLink(s string, i int) (at int, far bool) {
	const phrase = 7
	for n := 0; n < phrase && i < len(s) && s[i] != '\n'; n++ {
		e := i
		for e < len(s) && !is(s[e], cSpace) && s[e] != ':' && s[e] != '=' {
			e++
		}
		w := strings.ToLower(strings.Trim(s[i:e], `"'*,()`+"`"))
		switch {
		case verbs[w]:
			return fillersAfter(s, e), n > 3
		case (w == "to" || w == "as") && unwordly(s, skip(s, e, cSpace, 4)):
			return e, n > 3
		case strings.ContainsAny(s[i:e], "(){}[]<>;=/\\'\""):
			return 0, false
		case e < len(s) && (s[e] == ':' && e > i && byteAt(s, e+1) != '/' || s[e] == '=' && e == i): // not m=64MiB
			return e + 1, true
		}
		if e-i > 20 || strings.IndexByte(s[i:e], '*') >= 0 || strings.IndexByte(".;!?", s[max(i, e-1)]) >= 0 && w != "" && e < len(s) {
			return 0, false
		}
		for i = e; i < len(s) && s[i] == ' '; i++ {
		}
	}
	return 0, false
}

// unwordly reports whether the word at i is more than letters.
func unwordly(s string, i int) bool {
	e := bareEnd(s, i)
	v := s[i:e]
	return v != "" && (!structured(v) || chosen(v, look(v)))
}

// fillersAfter skips words between a verb and the value, and signs.
func fillersAfter(s string, i int) int {
	for n := 0; n < 4; n++ {
		i = skip(s, i, cSpace, 4)
		for i < len(s) && (s[i] == ':' || s[i] == '=') {
			i++
		}
		e := i
		for e < len(s) && !is(s[e], cSpace) && s[e] != ':' && s[e] != '=' {
			e++
		}
		if !fillers[strings.ToLower(s[i:e])] {
			break
		}
		i = e
	}
	return i
}

// madeOf are words between a name and its value that say how it is written.
var madeOf = set(`hex base64 b64 value string raw`)

var verbs = set(`is was are be becomes became remains equals reads are: is: lautet ist war wurde es era est était
	è é era foi jest är er это был равен sera será fue vale`)

var fillers = set(`now currently still just set changed reset rotated updated to as simply literally temporarily
	always actually hardcoded hard-coded likely probably the string value following called jetzt auf
	maintenant ahora this`)

// reading is a value as it stands in the text.
type reading struct {
	start, end int
	quote      byte // the quotation mark it stood in, or 0
	call       bool // it is an argument of a call around it
}

// read reads the value at i.
func (p *page) read(i int, how link) (reading, bool) {
	s := p.s
	limit := 4
	if how == bySign {
		limit = 48 // YAML goes on in the next line
	}
	i = skip(s, i, cSpace, limit)
	for k := 0; k < 4 && how == bySign && opener(s, i); k++ {
		i = skip(s, i+1, cSpace, 48)
	}
	var r reading
	for k := 0; k < 3 && i < len(s); k++ { // r"…", ["…", \"…
		switch c := s[i]; {
		case c == '[' || c == '\\' && is(byteAt(s, i+1), cQuote), c == '@' && is(byteAt(s, i+1), cQuote):
			i++
		case is(c, cLetter) && is(byteAt(s, i+1), cQuote) && strings.IndexByte("bBrRfFuUL", c) >= 0:
			i++
		}
	}
	if i < len(s) && is(s[i], cQuote) {
		r.quote = s[i]
		i++
	}
	i = skipScheme(s, i)
	r.start = i
	if r.quote != 0 {
		r.end = quotedEnd(s, i, r.quote)
		return r, r.end > i
	}
	if e := identEnd(s, i); byteAt(s, e) == '(' && is(byteAt(s, e+1), cQuote) && e-i < 32 {
		return reading{start: e + 2, end: quotedEnd(s, e+2, s[e+1]), quote: s[e+1], call: true}, true
	}
	r.end = bareEnd(s, i)
	return r, r.end > i
}

// opener reports whether the byte at i only leads to a value: emphasis in
// Markdown, and the signs of YAML's block scalars and lists.
func opener(s string, i int) bool {
	c := byteAt(s, i)
	return c == '*' || (c == '|' || c == '>' || c == '-') && (is(byteAt(s, i+1), cSpace) || byteAt(s, i+1) == '-')
}

// skipScheme skips the scheme in front of a credential in a header.
func skipScheme(s string, i int) int {
	for _, w := range [...]string{"bearer ", "basic ", "token ", "apikey ", "negotiate "} {
		if hasPrefixFold(s[i:], w) {
			return skip(s, i+len(w), cSpace, 4)
		}
	}
	return i
}

// quotedEnd finds the closing quotation mark, or the end of the line.
func quotedEnd(s string, i int, quote byte) int {
	for end := min(len(s), i+maxValue); i < end; i++ {
		if s[i] == quote || s[i] == '\n' || s[i] == '\\' && byteAt(s, i+1) == quote {
			break
		}
	}
	return i
}

// bareEnd finds the end of a value without quotation marks.
func bareEnd(s string, i int) int {
	start := i
	end := min(len(s), i+maxValue)
	for i < end {
		c := s[i]
		if is(c, cSpace|cQuote) || c == '<' || c == '>' && i > start || c == '|' && is(byteAt(s, i+1), cSpace) {
			break
		}
		if (c == ',' || c == ';') && (i+1 >= len(s) || is(s[i+1], cSpace|cQuote)) {
			break
		}
		if c == '\\' && strings.IndexByte("nrt\"'\\", byteAt(s, i+1)) >= 0 {
			break
		}
		if c < 0x80 {
			i++
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		if !letter(r) {
			break
		}
		i += n
	}
	for i > start && strings.IndexByte(".,;:?)]}", s[i-1]) >= 0 && !(s[i-1] == ')' && strings.IndexByte(s[start:i], '(') >= 0) {
		i--
	}
	return i
}
