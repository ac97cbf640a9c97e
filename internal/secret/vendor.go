package secret

import "strings"

// vendorTokens finds tokens by a vendor's prefix, wherever they stand.
func (p *page) vendorTokens() {
	for _, a := range p.anchors {
		if vocab().uses[a.word]&useVendor == 0 {
			continue
		}
		i := int(a.pos)
		if i > 0 && is(p.s[i-1], cAlnum) {
			continue
		}
		for _, v := range vocab().vendors[vocab().words[a.word]] {
			if strings.HasPrefix(p.s[i:], v.prefix) {
				body := i + len(v.prefix)
				if end := bodyEnd(p.s, body, v.body, maxValue); vendorBody(v, p.s[body:end]) {
					p.add(v.rule, rankVendor, i, bodyEnd(p.s, body, v.body, maxBlock))
					break
				}
			}
		}
	}
	p.sandwiched()
}

// bodyEnd finds the end of a token's body, at most limit bytes on. Marks at its
// end belong to the sentence around it.
func bodyEnd(s string, i int, marks string, limit int) int {
	start, stop := i, min(len(s), i+limit)
	for i < stop && (is(s[i], cAlnum) || marks != "" && strings.IndexByte(marks, s[i]) >= 0) {
		i++
	}
	for i > start && (s[i-1] == '.' || s[i-1] == ',' || s[i-1] == '/' || s[i-1] == '%') {
		i--
	}
	return i
}

// vendorBody reports whether the body behind a vendor's prefix is a token's and
// not a word's, as in sk-learn-compatible or npm_config_registry.
func vendorBody(v vendor, body string) bool {
	if len(body) < v.min || masked(body) || strings.HasSuffix(body, "EXAMPLE") {
		return false
	}
	switch v.rule {
	case "jwt":
		return v.prefix != "eyJ" || jwt(body)
	case "aws-access-key", "onepassword-key", "age-identity", "octopus-key", "tencent-key":
		t := look(body)
		if v.rule == "aws-access-key" && (len(body) != 16 || t.lower > 0) {
			return false
		}
		return t.lower == 0 && (t.digit > 0 || gibberish(body)) || v.rule == "tencent-key" && t.random()
	case "twilio-key", "mailgun-key":
		return len(body) == 32 && isHex(strings.ToLower(body)) && look(body).letters() > 0
	case "airtable-token":
		return len(body) > 70 && byteAt(body, 14) == '.' && isHex(body[15:])
	}
	t := look(body)
	if t.digit == 0 && v.min < 24 && !v.split {
		return false
	}
	if v.split && t.digit > 0 && !structured(body) && !wordySlug(body) {
		return true
	}
	return t.random() || longestDrawn(body) >= 16 || t.letters() > 0 && isHex(body) && len(body) >= 24
}

// longestDrawn is the length of the longest piece of a value that looks drawn
// by lot.
func longestDrawn(v string) int {
	n := 0
	for _, piece := range strings.FieldsFunc(v, func(r rune) bool { return strings.ContainsRune(separators, r) }) {
		if len(piece) > n && (look(piece).random() || isHex(piece) && len(piece) >= 16 || gibberish(piece)) {
			n = len(piece)
		}
	}
	return n
}

// jwt reports whether what follows "eyJ" has the second part of a token, or is
// long enough to be one that was cut.
func jwt(body string) bool {
	i := strings.IndexByte(body, '.')
	return i >= 10 && len(body)-i > 10 && look(body[:i]).random() || i < 0 && len(body) >= 100 && look(body).random()
}

// sandwiched finds tokens whose vendor's mark stands in their middle or whose
// form alone tells: Telegram's and Discord's bot tokens, OpenAI's old keys,
// Azure's client secrets, Terraform's.
func (p *page) sandwiched() {
	for _, r := range p.runs {
		s := p.s[r.start:r.end]
		if len(s) < 35 {
			continue
		}
		if i := r.start; byteAt(p.s, i-1) == ':' && s[0] == 'A' { // 123456789:AA…
			d := i - 1
			for d > 0 && is(p.s[d-1], cDigit) {
				d--
			}
			if n := i - 1 - d; n >= 8 && n <= 12 && look(s[:35]).mixed() {
				p.add("telegram-bot-token", rankVendor, d, r.end)
			}
		}
		switch f := strings.Split(s, "."); {
		case len(f) == 3 && len(f[0]) >= 23 && len(f[0]) <= 28 && len(f[1]) == 6 && len(f[2]) >= 27 && look(f[0]+f[2]).random() && look(f[2]).mixed():
			p.add("discord-bot-token", rankVendor, r.start, r.end)
		case strings.Contains(s, "T3BlbkFJ"):
			p.add("openai-key", rankVendor, r.start, r.end)
		case strings.Contains(s, ".atlasv1."):
			p.add("terraform-token", rankVendor, r.start, r.end)
		case len(s) >= 36 && strings.Contains(s, "Q~") && look(s).mixed() && look(s).random():
			p.add("azure-secret", rankVendor, r.start, r.end)
		case len(s) >= 36 && isHex(s[:32]) && look(s[:32]).letters() > 0 && strings.HasPrefix(s[32:], "-us") && is(s[35], cDigit):
			p.add("mailchimp-key", rankVendor, r.start, r.end)
		case strings.HasSuffix(s, "_mmk") && look(s).random():
			p.add("maxmind-key", rankVendor, r.start, r.end)
		}
	}
}
