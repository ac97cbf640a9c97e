package secret

import (
	"encoding/base64"
	"strings"
)

// headers finds credentials behind a scheme (Bearer, Basic), in cookies, and
// the passwords of commands (-u user:password, IDENTIFIED BY).
func (p *page) headers() {
	cookies := 0 // end of the last line of cookies
	for _, a := range p.anchors {
		use := vocab().uses[a.word]
		i, w := int(a.pos), vocab().words[a.word]
		switch {
		case use&useScheme != 0:
			p.scheme(w, i, i+len(w))
		case use&useCookie != 0 && i >= cookies:
			cookies = p.cookies(i + len(w))
		case use&useCommand != 0:
			p.command(w, i+len(w))
		case use&useUser != 0:
			p.userFlag(w, i, i+len(w))
		}
	}
}

// scheme judges what follows the word bearer or basic.
func (p *page) scheme(w string, i, end int) {
	if i > 0 && is(p.s[i-1], cLetter) {
		return
	}
	at := end
	for at < len(p.s) && at < end+4 && (is(p.s[at], cSpace|cQuote) || p.s[at] == ':' || p.s[at] == '+') {
		at++
	}
	if at == end {
		return
	}
	stop := bodyEnd(p.s, at, "-_.~+/=|:%", maxValue)
	v := p.s[at:stop]
	if w == "basic" {
		if basic(v) {
			p.add("basic-auth", rankShape, at, stop)
		}
		return
	}
	t := look(v)
	if len(v) >= 12 && !placeholder(v) && !notSecret(v) && (t.random() || len(v) >= 16 && isHex(v) || isUUID(v) || len(v) >= 20 && !structured(v)) {
		p.add("bearer-token", rankShape, at, stop)
	}
}

// basic reports whether a value is user:password in base64 (RFC 7617).
func basic(v string) bool {
	if len(v) < 8 {
		return false
	}
	b, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(v, "="))
	if err != nil || !printable(append(b, "        "...)) {
		return false
	}
	user, pass, ok := strings.Cut(string(b), ":")
	return ok && len(user)+len(pass) >= 4 && !placeholder(pass) && structured(user)
}

// cookies finds values in a Cookie or Set-Cookie header that log somebody in,
// and returns where the header ends.
func (p *page) cookies(i int) int {
	end := len(p.s)
	if j := strings.IndexAny(p.s[i:min(len(p.s), i+4096)], "\r\n"); j >= 0 {
		end = i + j
	}
	end = min(end, i+4096)
	for i < end {
		e := i
		for e < end && p.s[e] != ';' {
			e++
		}
		key, val, ok := strings.Cut(p.s[i:e], "=")
		val = strings.TrimRight(val, "'\" ")
		key = strings.ToLower(strings.TrimLeft(key, "'\" "))
		public := strings.HasPrefix(key, "_g") || strings.HasPrefix(key, "_fb") || strings.Contains(key, "consent")
		if ok && !public && len(val) >= 12 && !placeholder(val) && (look(val).random() || isHex(val) && len(val) >= 16) {
			at := i + strings.IndexByte(p.s[i:e], '=') + 1
			p.add("cookie", rankShape, at, at+len(val))
		}
		i = e + 1
	}
	return end
}

// userFlag judges -u user:password and IDENTIFIED BY 'password'.
func (p *page) userFlag(w string, i, end int) {
	if !is(byteAt(p.s, i-1), cSpace) {
		return
	}
	at := end
	for at < len(p.s) && at < end+4 && (is(p.s[at], cSpace|cQuote) || p.s[at] == '=') {
		at++
	}
	if at == end {
		return
	}
	stop := bareEnd(p.s, at)
	v := p.s[at:stop]
	if w != "identified by" {
		user, pass, ok := strings.Cut(v, ":")
		if !ok || user == "" || strings.HasPrefix(pass, "/") || strings.ContainsAny(user, "/\\") {
			return
		}
		at, v = at+len(user)+1, pass
	}
	if len(v) >= minSecret && !placeholder(v) && !notSecret(v) && (chosen(v, look(v)) || look(v).random()) {
		p.add("command-password", rankShape, at, stop)
	}
}
