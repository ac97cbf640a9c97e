package secret

import "strings"

// How far a value may stand from a name to belong to it without a link.
const (
	nearLeft  = 60 // the name stands before the value
	nearRight = 40 // the name stands behind it: "use … as the password"
)

// neighbours finds values that hang on a name only by standing near it: "the
// link with the password: …", "log in with … (admin password)". A value must
// look much more like a secret here than behind a sign.
func (p *page) neighbours() {
	if len(p.names) == 0 {
		return
	}
	k := 0 // first name that may be near
	for i := 0; i < len(p.s); {
		if is(p.s[i], cSpace|cQuote) {
			i++
			continue
		}
		end, mask, letters := i, uint8(0), 0
		for end < len(p.s) && !is(p.s[end], cSpace|cQuote) {
			c := class[p.s[end]]
			mask |= c
			if c&cLetter != 0 {
				letters++
			}
			end++
		}
		for k < len(p.names) && p.names[k].end < i-nearLeft {
			k++
		}
		if k == len(p.names) {
			return
		}
		plain := mask&cDigit == 0 && (mask&cUpper == 0 || letters == end-i) // no password, no token
		if end-i >= 8 && !plain && p.names[k].start < end+nearRight {
			p.neighbour(i, end, k)
		}
		i = end
	}
}

// neighbour judges the word from i to end by the names around it.
func (p *page) neighbour(i, end, k int) {
	for i < end && strings.IndexByte("([{<*_:=", p.s[i]) >= 0 {
		i++
	}
	end = i + len(strings.TrimRight(p.s[i:end], ".,;:?)]}>*_"))
	if j := strings.IndexByte(p.s[i:end], '/'); j > 0 && strings.Count(p.s[i:end], "/") == 1 && p.names[k].kind == kindLogin {
		i += j + 1 // user/password
	}
	v := p.s[i:end]
	if len(v) < 8 || len(v) > 200 {
		return
	}
	t := look(v)
	password, token := strongPassword(v, t), len(v) >= 16 && t.mixed() && t.random() && !wordySlug(v) && !strings.ContainsAny(v, "()[]{}<>|;,$:#\\")
	login := len(v) >= 10 && t.mixed() && t.random()
	if !password && !token && !login || strings.Contains(v, "://") || placeholder(v) || commonID(v) || digestBefore(p.s, i) {
		return
	}
	for ; k < len(p.names) && p.names[k].start < end+nearRight; k++ {
		n := p.names[k]
		if n.trust == trustNone || n.start < end && n.end > i {
			continue
		}
		gap := p.s[min(n.end, end):max(n.start, i)]
		if strings.ContainsAny(gap, "\n") || strings.Contains(gap, ". ") {
			continue
		}
		if token || password && n.kind != kindToken || login && n.kind == kindLogin {
			p.add("near-"+strings.TrimPrefix(ruleFor(n.kind), "assigned-"), rankLook, i, end)
			return
		}
	}
}

// minBare is the length from which a value is taken for a token by its look
// alone. UUIDs, ULIDs, KSUIDs and the ids of most APIs are shorter.
const minBare = 30

// bareTokens finds tokens that stand alone, with a prefix that nobody knows
// yet or with none.
func (p *page) bareTokens() {
	for _, r := range p.runs {
		if r.end-r.start < minBare || r.end-r.start > 400 {
			continue
		}
		for i := r.start; i < r.end; {
			e := i
			for e < r.end && (is(p.s[e], cAlnum) || p.s[e] == '-' || p.s[e] == '_') {
				e++
			}
			if e-i >= minBare && p.bare(i, e) {
				p.add("bare-token", rankLook, i, e)
			}
			i = e + 1
		}
		if s := p.s[r.start:r.end]; len(s) == 40 && strings.ContainsAny(s, "/+") && p.bareAWS(r) {
			p.add("bare-token", rankLook, r.start, r.end)
		}
	}
}

// bare reports whether the token bytes from i to e look drawn by lot and
// nothing around them says that they are public.
func (p *page) bare(i, e int) bool {
	v := p.s[i:e]
	t := look(v)
	if !t.mixed() || t.digit < 3 || !t.random() || longestDrawn(v) < 16 || hexNumber(v) || publicBlob(v) || wordySlug(v) || masked(v) {
		return false
	}
	if j := strings.IndexAny(v, "-_"); j > 0 && j < 12 && publicBlob(v[j+1:]) {
		return false
	}
	if byteAt(p.s, i-1) == '.' && is(byteAt(p.s, i-2), cLetter) && is(v[0], cLetter) {
		return false // a member in code
	}
	return !digestBefore(p.s, i) && !p.inLink(i) && !p.inBlob(i, e)
}

// hexNumber reports whether a value is a number in hexadecimal, as 0xC0FFEE.
func hexNumber(v string) bool { return hasPrefixFold(v, "0x") && isHex(v[2:]) }

// bareAWS reports whether a run of 40 has the form of an AWS secret key: base64
// with all kinds of characters, and no words between its slashes.
func (p *page) bareAWS(r run) bool {
	s := p.s[r.start:r.end]
	t := look(s)
	return t.mixed() && t.random() && strings.Count(s, "/") <= 4 && !strings.ContainsAny(s, ".~\\-_") &&
		!wordySlug(s) && !publicBlob(s) && !digestBefore(p.s, r.start) && !p.inLink(r.start)
}

// armoured reports whether the line that ends, or begins, with the text's line
// end is base64 too.
func armoured(s string) bool {
	if s[0] == '\n' {
		s = s[1:]
	} else if s[len(s)-1] == '\n' {
		s = s[max(0, len(s)-21) : len(s)-1]
	} else {
		return false
	}
	for i := 0; i < min(20, len(s)); i++ {
		if !is(s[i], cAlnum) && s[i] != '+' && s[i] != '/' && s[i] != '=' {
			return false
		}
	}
	return true
}

// inLink reports whether position i lies in the path of a link, where ids are
// common and rules of their own apply.
func (p *page) inLink(i int) bool {
	start := i
	for limit := max(0, i-300); start > limit && !is(p.s[start-1], cSpace|cQuote); start-- {
	}
	return strings.Contains(p.s[start:i], "://") || strings.Contains(p.s[start:i], "www.")
}

// inBlob reports whether the bytes are part of a longer stretch of base64, as
// in certificates and images, or follow a mark of one.
func (p *page) inBlob(i, e int) bool {
	start, end := i, e
	for start > 0 && start > i-200 && (is(p.s[start-1], cAlnum) || strings.IndexByte("+/=-", p.s[start-1]) >= 0) {
		start--
	}
	for end < len(p.s) && end < e+200 && (is(p.s[end], cAlnum) || p.s[end] == '+' || p.s[end] == '/' || p.s[end] == '=') {
		end++
	}
	blob := p.s[start:end]
	if publicBlob(blob) || notSecret(blob) || digestBefore(p.s, start) {
		return true
	}
	if e-i == 43 && byteAt(p.s, e) == '=' || start >= 20 && armoured(p.s[:start]) || end+20 < len(p.s) && e-i >= 48 && armoured(p.s[end:min(len(p.s), end+24)]) {
		return true // a digest of 32 bytes; a line among lines of base64
	}
	return (start != i || end != e) && strings.ContainsAny(blob, "+/") && len(blob) >= 60
}
