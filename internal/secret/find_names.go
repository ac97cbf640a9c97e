package secret

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// name is a name of a secret in the text: "DB_PASSWORD", "api key", "пароль".
type name struct {
	start, end int
	kind       kind
	trust      trust
	secret     bool // "secret": chosen by people as often as drawn by lot
}

// maxName is the length beyond which an identifier isn't read further.
const maxName = 80

// findNames finds the names of secrets, in order of position.
func (p *page) findNames() {
	done := 0
	for _, a := range p.anchors {
		use := vocab().uses[a.word]
		if use&useNoun == 0 || int(a.pos) < done {
			continue
		}
		n := name{start: int(a.pos), end: int(a.pos) + len(vocab().words[a.word])}
		if use&useShort != 0 && !shortNoun(p.s, n) {
			continue
		}
		if use&useIdeograph == 0 {
			n.start, n.end = identStart(p.s, n.start), identEnd(p.s, n.end)
		}
		done = n.end
		if n.end-n.start >= 16 && look(p.s[n.start:n.end]).random() {
			continue // letters that happen to stand in a value
		}
		words := subwords(lastOf(p.s[n.start:n.end]))
		if use&useIdeograph != 0 {
			n.kind, n.trust = kindPassword, trustFull
		} else if n.kind, n.trust = classify(words); len(words) == 1 {
			p.joinLeft(&n, words[0])
		}
		n.secret = hasSuffixFold(strings.TrimRight(p.s[n.start:n.end], "0123456789"), "secret")
		if p.aboutNext(n.end) {
			n.trust = trustNone
		}
		if n.kind != kindNone {
			p.names = append(p.names, n)
		}
	}
}

// shortNoun reports whether a short noun is a word of a name, as in GITHUB_PAT,
// or stands alone in capitals: PAT.
func shortNoun(s string, n name) bool {
	before, after := byteAt(s, n.start-1), byteAt(s, n.end)
	if is(after, cLetter|cOther) || is(before, cLetter|cOther) {
		return false
	}
	return before == '_' || before == '-' || look(s[n.start:n.end]).upper == n.end-n.start
}

// joinLeft takes the word before into the name, as in "api key", "client
// secret" and "token count" with a space.
func (p *page) joinLeft(n *name, word string) {
	i := n.start
	if byteAt(p.s, i-1) != ' ' || word == "auth" {
		return
	}
	start := identStart(p.s, i-1)
	if start == i-1 || i-1-start > 24 {
		return
	}
	if k, t := classify(append(subwords(p.s[start:i-1]), word)); k != kindNone && n.kind == kindNone {
		n.kind, n.trust, n.start = k, t, start
	}
}

// aboutNext reports whether the next word turns the name at its left into
// something about a secret: "password hash", "token endpoint".
func (p *page) aboutNext(end int) bool {
	if byteAt(p.s, end) != ' ' {
		return false
	}
	e := identEnd(p.s, end+1)
	if e == end+1 || e-end > 16 {
		return false
	}
	w := strings.ToLower(p.s[end+1 : e])
	return meta[w] && !fillers[w] && !verbs[w] && !linking[w]
}

var linking = set(`in by at out per on list set use used created updated changed`)

// lastOf cuts an identifier down to what follows its last dot: in
// config.db.password the password counts.
func lastOf(ident string) string {
	ident = strings.TrimRight(ident, ".")
	return ident[strings.LastIndexByte(ident, '.')+1:]
}

// identStart walks left to where the identifier that ends at i begins.
func identStart(s string, i int) int {
	for limit := max(0, i-maxName); i > limit; {
		if c := s[i-1]; is(c, cAlnum) || c == '_' || c == '-' || c == '.' {
			i--
			continue
		} else if c < 0x80 {
			break
		}
		r, n := utf8.DecodeLastRuneInString(s[:i])
		if !letter(r) {
			break
		}
		i -= n
	}
	for i < len(s) && (s[i] == '.' || s[i] == '-') {
		i++
	}
	return i
}

// identEnd walks right to where the identifier around i ends.
func identEnd(s string, i int) int {
	for limit := min(len(s), i+maxName); i < limit; {
		if c := s[i]; is(c, cAlnum) || c == '_' || c == '-' || c == '.' {
			if c == '-' && byteAt(s, i+1) == '>' {
				break
			}
			i++
			continue
		} else if c < 0x80 {
			break
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		if !letter(r) {
			break
		}
		i += n
	}
	for i > 0 && (s[i-1] == '.' || s[i-1] == '-') {
		i--
	}
	return i
}

// letter reports whether a character can stand in a name. Ideographs are
// written without spaces, so they end one.
func letter(r rune) bool { return r < 0x2e80 && r != utf8.RuneError && unicode.IsLetter(r) }
