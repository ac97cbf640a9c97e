package secret

import "strings"

// links looks at every address in the text for a password, a token in the
// query, and for links that are secrets themselves.
func (p *page) links() {
	const nested = 4 // links in a link's query, at most
	end, n := 0, 0
	for _, a := range p.anchors {
		if vocab().uses[a.word]&useLink == 0 {
			continue
		}
		if n++; int(a.pos) >= end {
			n = 0
		} else if n > nested {
			continue
		}
		u := parseLink(p.s, int(a.pos))
		end = max(end, u.end)
		if p.userinfo(u) {
			continue
		}
		p.query(u)
		p.oneTime(u)
	}
	p.loginAt()
}

// address is a link in the text, by offsets.
type address struct {
	start, host, path, query, fragment, end int
}

// parseLink reads the address around the "://" at i.
func parseLink(s string, i int) address {
	var u address
	for u.start = i; u.start > 0 && (is(s[u.start-1], cAlnum) || strings.IndexByte("+.-", s[u.start-1]) >= 0); u.start-- {
	}
	u.host = i + 3
	u.end = u.host
	for limit := min(len(s), u.host+2048); u.end < limit; u.end++ {
		c := s[u.end]
		if is(c, cSpace|cQuote) || strings.IndexByte("<>|", c) >= 0 && !(c == '<' && u.end == u.host) || c == '\\' {
			break
		}
	}
	for u.end > u.host && strings.IndexByte(".,;:)]}>", s[u.end-1]) >= 0 {
		u.end--
	}
	u.path, u.query, u.fragment = u.end, u.end, u.end
	for k := u.host; k < u.end; k++ {
		switch s[k] {
		case '/':
			u.path = min(u.path, k)
		case '?':
			u.path, u.query = min(u.path, k), min(u.query, k)
		case '#':
			u.path, u.query, u.fragment = min(u.path, k), min(u.query, k), min(u.fragment, k)
		}
	}
	u.query = min(u.query, u.fragment)
	return u
}

// userinfo finds scheme://user:password@host and scheme://token@host.
func (p *page) userinfo(u address) bool {
	auth := p.s[u.host:u.path]
	at := strings.LastIndexByte(auth, '@')
	if at < 0 && u.path < u.end { // a password with a slash in it
		if rest := p.s[u.host:u.end]; strings.IndexByte(auth, ':') >= 0 {
			if at = strings.LastIndexByte(rest, '@'); at > 0 && look(rest[strings.IndexByte(auth, ':')+1:at]).random() {
				auth = rest
			} else {
				at = -1
			}
		}
	}
	if at < 0 {
		return false
	}
	user, pass, found := strings.Cut(auth[:at], ":")
	if !found {
		if len(user) >= 16 && (look(user).random() || isHex(user)) && !publicKeyHost(auth[at+1:]) {
			p.add("link-token", rankShape, u.host, u.host+at)
			return true
		}
		return false
	}
	if !linkPassword(user, pass) {
		return false
	}
	p.add("link-password", rankShape, u.host+len(user)+1, u.host+at)
	return true
}

// publicKeyHost reports whether the part before the @ is a public key by
// design, as in Sentry's addresses.
func publicKeyHost(host string) bool { return strings.Contains(host, "sentry") }

// linkPassword reports whether the password of a link is a real one: not a
// sample, and not one of the words that every local database has.
func linkPassword(user, pass string) bool {
	if len(pass) < 3 || placeholder(pass) || strings.EqualFold(user, pass) || commonPasswords[strings.ToLower(pass)] {
		return false
	}
	t := look(pass)
	if t.digit+t.special+t.other == 0 {
		return len(pass) >= 6
	}
	return true
}

var commonPasswords = set(`pass password passwd pwd secret user username root admin postgres mysql guest test tester testing
	example default token oauth2 bearer git local localhost dev devel developer mongo redis rabbitmq rabbit minio
	minioadmin changeme db database app application x-oauth-basic letmein hostname host port p@ssword`)

// query finds tokens in a link's query and fragment that the rules for names
// don't know, such as the signatures that make a link work.
func (p *page) query(u address) {
	for _, part := range [...][2]int{{u.query, u.fragment}, {u.fragment, u.end}} {
		for i := part[0] + 1; i < part[1]; {
			e := i
			for e < part[1] && p.s[e] != '&' && p.s[e] != ';' {
				e++
			}
			key, val, ok := strings.Cut(p.s[i:e], "=")
			if ok && linkKeys[strings.ToLower(key)] && !placeholder(val) && len(val) >= 12 &&
				(look(val).random() || isHex(val) && len(val) >= 16) {
				p.add("link-token", rankShape, i+len(key)+1, e)
			}
			i = e + 1
		}
	}
}

var linkKeys = set(`sig signature x-amz-signature x-goog-signature x-amz-security-token x-ms-signature code access_token
	id_token refresh_token token key apikey api_key auth password secret ticket session sessionid sid otp jwt invite magic confirmation_token reset_password_token oauth_token policy-signature __token__ hmac st`)

// oneTime finds links whose path or fragment is a secret: one-time secrets,
// password resets, webhooks.
func (p *page) oneTime(u address) {
	host := strings.ToLower(p.s[u.host:u.path])
	strong := secretHost(host)
	segs := strings.FieldsFunc(p.s[u.path:u.query], func(r rune) bool { return r == '/' })
	if u.fragment < u.end {
		segs = append(segs, strings.FieldsFunc(p.s[u.fragment+1:u.end], func(r rune) bool { return r == '/' || r == '#' })...)
	}
	fragment := u.fragment < u.end && !strings.ContainsAny(p.s[u.fragment:u.end], "=")
	said := strong
	for i, seg := range segs {
		t := look(seg)
		drawn := len(seg) >= 16 && (t.random() || t.letters() > 0 && (isHex(seg) || t.digit > 0 && !structured(seg) && !wordySlug(seg))) ||
			isUUID(seg) && strong
		last := i == len(segs)-1
		if drawn && !placeholder(seg) && (said || fragment && last && strong) {
			p.add(oneTimeRule(host), rankShape, u.start, u.end)
			return
		}
		if drawn && fragment && last && longestDrawn(seg) >= 18 && t.mixed() {
			p.add("one-time-link", rankShape, u.start, u.end)
			return
		}
		said = said || saysSecret(seg)
	}
}

func oneTimeRule(host string) string {
	if strings.Contains(host, "hook") || strings.Contains(host, "discord") || strings.Contains(host, "telegram") {
		return "webhook-link"
	}
	return "one-time-link"
}

// secretHost reports whether a host hands out links that are secrets.
func secretHost(host string) bool {
	for _, h := range [...]string{"onetimesecret", "privnote", "pwpush", "yopass", "1ty.me", "send.bitwarden", "send.vis.ee", "ots.", "hooks.slack.com",
		"hooks.zapier.com", "webhook.office.com", "api.telegram.org", "share.1password", "password.link", "scrt.link", "cryptgeon", "burnernote", "secret.", "secrets."} {
		if strings.Contains(host, h) {
			return true
		}
	}
	return false
}

// saysSecret reports whether a segment of a path says that the next one gives
// access.
func saysSecret(seg string) bool {
	for _, w := range subwords(seg) {
		if secretSegments[w] {
			return true
		}
	}
	return false
}

var secretSegments = set(`secret secrets secretmessage ots otp onetime reset recover recovery magic magiclink invite
	invitation verify verification confirm confirmation activate activation token tokens login signin signup passwordless
	webhook webhooks hook hooks incomingwebhook webhookb2 unlock burn pwpush privnote send password passwords credential
	credentials autologin sso unsubscribe apikey share shared bot`)

// oracleBefore reports whether Oracle's way to write a login is to be expected.
func oracleBefore(s string, i int) bool {
	before := strings.ToLower(s[max(0, i-60):i])
	return strings.Contains(before, "oracle") || strings.Contains(before, "sqlplus")
}

// loginAt finds user:password@host without a scheme, as drivers write it.
func (p *page) loginAt() {
	for i := 0; i < len(p.s); i++ {
		j := strings.IndexByte(p.s[i:], '@')
		if j < 0 {
			return
		}
		i += j
		start := i
		for limit := max(0, i-100); start > limit && !is(p.s[start-1], cSpace|cQuote) && strings.IndexByte("<>|=,/", p.s[start-1]) < 0; start-- {
		}
		user, pass, ok := strings.Cut(p.s[start:i], ":")
		if byteAt(p.s, start-1) == '/' && oracleBefore(p.s, start) { // user/password@host
			user, pass, ok = "-", p.s[start:i], true
			start -= len("-:")
		}
		if !ok || user == "" || !isWord(byteAt(p.s, i+1)) || strings.ContainsAny(user, "()[]{}") {
			continue
		}
		if t := look(pass); len(pass) >= 8 && !placeholder(pass) && (t.random() || strongPassword(pass, t)) && !commonID(pass) {
			p.add("link-password", rankShape, start+len(user)+1, i)
		}
	}
}
