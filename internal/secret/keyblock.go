package secret

import "strings"

// keyBlocks finds private keys in PEM, OpenPGP, SSH2 and PuTTY form. The word
// "BEGIN PRIVATE KEY" alone is no secret: a body must follow, whether its line
// ends are real, escaped, or lost. A block without an end is found too.
func (p *page) keyBlocks() {
	done := 0
	for _, a := range p.anchors {
		i := int(a.pos)
		if vocab().uses[a.word]&useBegin == 0 || i < done {
			continue
		}
		head := p.s[i:min(len(p.s), i+160)]
		low := strings.ToLower(head)
		var body int
		if strings.HasPrefix(low, "putty") {
			j := strings.Index(strings.ToLower(p.s[i:min(len(p.s), i+4096)]), "private-lines:")
			if j < 0 {
				continue
			}
			body = i + j + len("private-lines:") // a count of lines follows
		} else {
			j := strings.Index(low, "private key")
			if j < 0 || strings.ContainsAny(low[10:j], "\n:") {
				continue
			}
			body = i + j + len("private key")
		}
		if end := blockEnd(p.s, body); end > 0 {
			p.add("private-key", rankVendor, i, end)
			done = end
		}
	}
}

// minKeyBody is how much of a key must stand in one line to be one.
const minKeyBody = 20

// maxBlock is how far the end of a block is looked for. A key of RSA-16384 has
// 13 KB.
const maxBlock = 16 << 10

// blockEnd finds the end of a key whose head line ends at or after i, or 0 if
// no body follows. Head lines such as "DEK-Info: …" may stand before the body.
func blockEnd(s string, i int) int {
	limit := min(len(s), i+maxBlock)
	i = bodyStart(s, i, limit)
	if i == 0 {
		return 0
	}
	end := i
	for i < limit {
		e := keyLine(s, i, limit)
		if e-i < 4 {
			break
		}
		end, i = e, keyGap(s, e, limit)
	}
	if j := strings.Index(s[end:min(limit, end+64)], "--- END"); j >= 0 {
		end += j
	} else if j := strings.Index(s[end:min(limit, end+64)], "---END"); j >= 0 {
		end += j
	} else {
		return end
	}
	if j := strings.Index(s[end+4:min(limit, end+80)], "---"); j >= 0 { // the end line too
		for end += 4 + j; end < limit && s[end] == '-'; end++ {
		}
	}
	return end
}

// bodyStart skips the rest of the head line and head fields, and returns where
// the key's first long line begins, or 0.
func bodyStart(s string, i, limit int) int {
	for n := 0; n < 8; n++ {
		for i < limit && (s[i] == '-' || s[i] == ' ') || hasPrefixFold(s[i:limit], "block") {
			if s[i] == '-' || s[i] == ' ' {
				i++
			} else {
				i += len("block")
			}
		}
		i = keyGap(s, i, limit)
		e := keyLine(s, i, limit)
		if e-i >= minKeyBody {
			return i
		}
		if byteAt(s, e) != ':' && byteAt(s, e) != '-' && !is(byteAt(s, i), cDigit) {
			return 0
		}
		for i = e; i < limit && s[i] != '\n' && s[i] != '\\'; i++ {
		}
	}
	return 0
}

// keyLine finds the end of the base64 that begins at i.
func keyLine(s string, i, limit int) int {
	for i < limit && (is(s[i], cAlnum) || s[i] == '+' || s[i] == '/' || s[i] == '=') {
		i++
	}
	return i
}

// keyGap skips what stands between the lines of a key: white space, escaped
// line ends, quotes and the signs that join string literals.
func keyGap(s string, i, limit int) int {
	for i < limit {
		switch c := s[i]; {
		case c == '\\' && (byteAt(s, i+1) == 'n' || byteAt(s, i+1) == 'r' || byteAt(s, i+1) == 't'):
			i += 2
		case is(c, cSpace|cQuote) || c == '\\' || c == ',' || c == '>' || c == '|' || c == '+' && is(byteAt(s, i+1), cSpace|cQuote):
			i++
		default:
			return i
		}
	}
	return i
}
