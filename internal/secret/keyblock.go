package secret

import "strings"

// keyBlocks finds private keys in PEM, OpenPGP, SSH2 and PuTTY form. The word
// "BEGIN PRIVATE KEY" alone is no secret: a body must follow, whether its line
// ends are real, escaped, or lost. A block without an end is found too.
func (p *page) keyBlocks() {
	done := 0
	for _, a := range p.anchors {
		i := int(a.pos)
		if anchorUses[a.word]&useBegin == 0 || i < done {
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
			body = i + j + len("private-lines:")
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

// minKeyBody is how much of a key must stand there to be one.
const minKeyBody = 20

// maxBlock is how far the end of a block is looked for. A key of RSA-16384 has
// 13 KB.
const maxBlock = 16 << 10

// blockEnd finds the end of a key whose body begins at or after i, or 0 if no
// body follows.
func blockEnd(s string, i int) int {
	rest := s[i:min(len(s), i+maxBlock)]
	stop := len(rest)
	if j := strings.Index(rest, "---END"); j >= 0 {
		stop = j
	} else if j := strings.Index(rest, "--- END"); j >= 0 {
		stop = j
	}
	longest, n := 0, 0
	for k := 0; k < stop; k++ {
		c := rest[k]
		switch {
		case is(c, cAlnum) || c == '+' || c == '/' || c == '=':
			n++
		case c == '\\' && (byteAt(rest, k+1) == 'n' || byteAt(rest, k+1) == 'r'):
			longest, n = max(longest, n), 0
			k++
		default:
			longest, n = max(longest, n), 0
		}
	}
	if longest = max(longest, n); longest < minKeyBody {
		return 0
	}
	if stop < len(rest) { // take the end line with it
		if j := strings.Index(rest[stop+4:], "---"); j >= 0 && j < 80 {
			stop += 4 + j
			for stop < len(rest) && rest[stop] == '-' {
				stop++
			}
		}
		return i + stop
	}
	return i + lastKeyByte(rest[:stop])
}

// lastKeyByte cuts a block without an end after its last long line.
func lastKeyByte(s string) int {
	end, start := 0, -1
	for i := 0; i <= len(s); i++ {
		if i < len(s) && (is(s[i], cAlnum) || s[i] == '+' || s[i] == '/' || s[i] == '=') {
			if start < 0 {
				start = i
			}
			continue
		}
		if start >= 0 && i-start >= minKeyBody {
			end = i
		}
		start = -1
	}
	return end
}
