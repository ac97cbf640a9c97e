package secret

import "strings"

// valueAt judges the value at i that belongs to the name.
func (p *page) valueAt(n name, how link, i int) {
	if n.kind == kindWords {
		p.seedPhrase(how, i)
		return
	}
	r, ok := p.read(i, how)
	if !ok {
		return
	}
	if r.quote == 0 {
		r.end = r.start + pairEnd(p.s[r.start:r.end])
		if j := strings.IndexByte(p.s[r.start:r.end], '@'); j > 0 && p.inLink(n.start) {
			r.end = r.start + j // scheme://token:value@host
		}
	}
	v := p.s[r.start:r.end]
	if r.quote != 0 && strings.ContainsAny(v, " \t") {
		if n.kind == kindPassword && passphrase(v) && !strings.Contains(lastOf(p.s[n.start:n.end]), "word") {
			p.add("passphrase", rankName, r.start, r.end)
		}
		return
	}
	if how == byNothing && p.loginBefore(n.start) {
		how = byWords // netrc: login ana password hunter2
	}
	if how == byFarWords && (isHex(v) && (len(v) == 40 || len(v) == 64) || digestBefore(p.s, r.start)) {
		return
	}
	if secretLike(v, n, how, r) {
		end := p.nextPiece(r)
		if end == r.end {
			p.add(ruleFor(n.kind), rankName, r.start, end)
		} else {
			p.addForm(ruleFor(n.kind), rankName, r.start, end, formSplit)
		}
		return
	}
	if how == bySign || how == byFlag || how == byWords {
		p.pieces(n, r)
	}
}

func ruleFor(k kind) string {
	if k == kindPassword || k == kindLogin {
		return "assigned-password"
	}
	return "assigned-token"
}

// pairEnd cuts a value where the next pair begins: a=1&b=2, A=1;B=2.
func pairEnd(v string) int {
	for i := 1; i < len(v); i++ {
		if c := v[i]; c == '&' || c == ';' || c == ',' {
			e := identEnd(v, i+1)
			if c := byteAt(v, e); e > i+1 && (c == '=' || c == ':') && byteAt(v, e+1) != '=' {
				return i
			}
		}
	}
	return len(v)
}

// loginBefore reports whether a user's name was given just before, as in
// netrc and "user ana password hunter2".
func (p *page) loginBefore(i int) bool {
	s := strings.ToLower(p.s[max(0, i-48):i])
	for _, w := range [...]string{"login ", "username ", "user ", "user: ", "login: ", "username: ", "account ", "login=", "user="} {
		if j := strings.LastIndex(s, w); j >= 0 && len(strings.Fields(s[j+len(w):])) <= 2 {
			return true
		}
	}
	return false
}

// secretLike reports whether a value behind a name is the secret itself.
func secretLike(v string, n name, how link, r reading) bool {
	if len(v) < minSecret || placeholder(v) || notSecret(v) {
		return false
	}
	if n.kind != kindPassword && strings.ContainsAny(v, "[](){}<>|") {
		return false // code: a type, an index, an expression
	}
	t := look(v)
	drawn := t.random() || len(v) >= 16 && isHex(v) && t.letters() > 0
	switch {
	case n.trust == trustMedium || how == byFarWords:
		if n.kind == kindPassword && how == byFarWords && chosen(v, t) {
			return true
		}
		return drawn && len(v) >= 12
	case how == byNothing || r.call:
		return drawn && len(v) >= 12 && (!commonID(v) || isHex(v) && len(v) >= 16 && len(v) != 40 && len(v) != 64) || n.kind == kindPassword && strongPassword(v, t)
	case isUUID(v):
		return true
	case n.kind == kindLogin:
		return drawn && len(v) >= 10 || strongPassword(v, t)
	case n.kind == kindToken:
		if n.secret && len(v) >= 8 && chosen(v, t) {
			return true
		}
		restless := t.mixed() && len(v) >= 16 && t.alnum()*10 < t.pieces*26
		return drawn && len(v) >= 10 || restless || len(v) >= 16 && !structured(v) && !wordySlug(v) || strongPassword(v, t)
	}
	return drawn || chosen(v, t) || (how == bySign || how == byFlag) && t.alnum() == t.digit && t.digit >= 6 && t.digit == len(v)
}

// chosen reports whether a value looks like a password that a person chose:
// hunter2, Summer2024!, P@ss-w0rd. Plain words are never taken for one.
func chosen(v string, t traits) bool {
	if strings.IndexByte("?#*", v[0]) >= 0 || t.letters() == 0 {
		return gibberish(v)
	}
	if t.digit == 0 && t.special == 0 {
		return gibberish(v)
	}
	words, marks := 0, 0
	for rest := v; rest != ""; {
		i := strings.IndexAny(rest, separators)
		piece := rest
		if i >= 0 {
			if strings.IndexByte("!@#$%^&*?", rest[i]) >= 0 || t.digit > 0 && (rest[i] == '+' || rest[i] == '~') {
				marks++
			}
			piece, rest = rest[:i], rest[i+1:]
		} else {
			rest = ""
		}
		if piece == "" {
			continue
		}
		if !plainPiece(piece) {
			return true
		}
		words++
	}
	return marks > 0 && (t.digit > 0 || t.upper > 0 && t.lower > 0) && words > 0 && !strings.ContainsAny(v, "/\\<>(){}[]|=")
}

// plainPiece reports whether a piece is a word, a number, a number with a
// unit, or a technical term with digits. A word with digits behind it is a
// password's way, unless the term is known.
func plainPiece(s string) bool {
	t := look(s)
	if t.digit == 0 {
		return !gibberish(s)
	}
	if t.letters() == 0 || terms[strings.ToLower(s)] {
		return true
	}
	digits := strings.IndexFunc(s, func(r rune) bool { return r < '0' || r > '9' })
	if digits > 0 { // 12chars, 256bit, 30d
		return t.pieces == 2 && t.letters() <= 10
	}
	return len(s) <= 3 || t.pieces == 2 && len(s) <= 4 // v12, p99, s3
}

// terms are technical words with digits that people write behind "password is"
// and "token is".
var terms = set(`argon2 argon2id argon2i argon2d sha1 sha2 sha3 sha224 sha256 sha384 sha512 md4 md5 base16 base32 base36
	base58 base62 base64 base64url utf8 utf16 latin1 hs256 hs384 hs512 rs256 rs384 rs512 es256 es384 ps256 eddsa
	ed25519 ed448 x25519 secp256k1 p256 p384 aes128 aes256 a256gcm rsa2048 rsa4096 x509 pbkdf2 pkcs1 pkcs7 pkcs8
	pkcs11 pkcs12 blake2 blake2b blake3 oauth oauth1 oauth2 oidc saml2 fido2 webauthn2 http1 http2 http3 ipv4 ipv6
	base85 ascii85 crc32 fnv1a murmur3 siphash24 chacha20 poly1305 xchacha20 salsa20 hkdf sha256sum uuid4 uuidv4
	uuid7 uuidv7 log4j k8s web3 win32 linux64 amd64 arm64 x86 x64 postgres15 postgres16 mysql8 python3 node18 node20
	node22 phase1 phase2 phase3 step1 step2 step3 level1 level2 stage1 stage2 version1 version2 part1 part2 tier1
	tier2 option1 option2 rfc6238 rfc7519 rfc6749 rfc9562 iso27001 soc2 cl100k o200k gpt4 gpt2 bcrypt10 bcrypt12
	sprint12 utf8mb4 utf8mb3 int32 int64 uint8 uint32 uint64 float32 float64 i32 i64 u32 u64 f64 varchar255`)

// strongPassword reports whether a value can hardly be anything but a
// password, even where only a noun stands near it: letters, digits and a mark
// such as ! inside, changing often.
func strongPassword(v string, t traits) bool {
	if len(v) < 8 || len(v) > 64 || t.letters() == 0 {
		return false
	}
	if t.digit == 0 && (len(v) < 10 || t.upper < 2 || t.lower < 2 || t.alnum() > 3*t.pieces) {
		return false
	}
	if strings.ContainsAny(v, "/\\<>(){}[]|=,;:\"'`") || strings.Count(v, "@") == 1 && strings.Contains(v[strings.IndexByte(v, '@'):], ".") {
		return false
	}
	marks := strings.ContainsAny(v[1:], "!@$^&*?~#%+")
	return marks && (t.upper > 0 && t.lower > 0 || t.random()) && len(v) <= 4*(t.pieces+t.special)
}

// notSecret reports whether a value is something else by its form: a digest
// that says so, a version, a date, an address.
func notSecret(v string) bool {
	for _, p := range [...]string{"sha1-", "sha256-", "sha384-", "sha512-", "sha256:", "sha512:", "sha1:", "md5:", "h1:", "urn:", "uuid:", "refs/", "did:", "age1", "ssh-rsa", "ssh-ed25519", "npub1", "http:", "https:"} {
		if hasPrefixFold(v, p) {
			return true
		}
	}
	if i := strings.IndexByte(v, '@'); i > 0 && strings.Contains(v[i:], ".") && structured(v) {
		return true // an address of mail, or a package's version
	}
	if strings.ContainsAny(v, "/\\") && structured(v) {
		return true
	}
	return publicBlob(v)
}

// wordySlug reports whether most of a value is words: release-2024-q3-a1b2c3d.
func wordySlug(v string) bool {
	words, n := 0, 0
	for _, piece := range strings.FieldsFunc(v, func(r rune) bool { return strings.ContainsRune(separators, r) }) {
		n += len(piece)
		if wordLike(piece) {
			words += len(piece)
		}
	}
	return words*10 >= n*6
}

// seedPhrase finds twelve or more plain words in a row, as wallets write their
// keys (BIP 39).
func (p *page) seedPhrase(how link, i int) {
	if how == byNothing {
		return
	}
	i = skip(p.s, i, cSpace|cQuote, 8)
	start, n := i, 0
	for n < 24 && i < len(p.s) {
		e := i
		for e < len(p.s) && is(p.s[e], cLower) {
			e++
		}
		if e-i < 3 || e-i > 8 || stopWords[p.s[i:e]] {
			break
		}
		n++
		i = skip(p.s, e, cSpace, 4)
		if i == e {
			break
		}
	}
	if n >= 12 {
		p.add("seed-phrase", rankName, start, i)
	}
}

// passphrase reports whether a quoted value is a row of words such as
// "correct horse battery staple".
func passphrase(v string) bool {
	f := strings.Fields(v)
	if len(f) < 4 || len(f) > 12 {
		return false
	}
	for _, w := range f {
		if len(w) < 3 || look(w).lower != len(w) || stopWords[w] {
			return false
		}
	}
	return true
}

var stopWords = set(`the and for with that this from not are was must can has have use your you please enter is it
	when where required should will than then less more between at least characters long without`)

// nextPiece returns the end of what carries an unquoted value on in the next
// line: a line of its own, of the same make. Without one it returns the
// value's own end.
func (p *page) nextPiece(r reading) int {
	if r.quote != 0 || byteAt(p.s, r.end) != '\n' && byteAt(p.s, r.end) != '\r' {
		return r.end
	}
	i := skip(p.s, r.end, cSpace, 40)
	e := i
	for e < len(p.s) && e < i+maxValue && (is(p.s[e], cAlnum) || strings.IndexByte("_-+/=", p.s[e]) >= 0) {
		e++
	}
	v, next := p.s[r.start:r.end], p.s[i:e]
	alone := e == len(p.s) || p.s[e] == '\n' || p.s[e] == '\r' || p.s[i-1] == ' ' && p.s[e] == ' '
	if alone && len(next) >= 8 && isHex(v) == isHex(next) && (isHex(next) || look(next).random()) {
		return e
	}
	return r.end
}

// pieces joins a value that goes on after a gap: groups of digits, a line end,
// "one" + "two".
func (p *page) pieces(n name, first reading) {
	if n.trust != trustFull || first.call {
		return
	}
	var joined strings.Builder
	end, i := first.end, first.start
	for k := 0; k < 12 && i < len(p.s); k++ {
		e := i
		for e < len(p.s) && (is(p.s[e], cAlnum) || p.s[e] == '_' || p.s[e] == '-') {
			e++
		}
		piece := p.s[i:e]
		t := look(piece)
		if len(piece) < 2 || t.digit == 0 && !gibberish(piece) && !(t.upper == len(piece) && k > 0) || t.letters() == 0 && k == 0 && len(piece) < 4 {
			break
		}
		joined.WriteString(piece)
		end = e
		i = e
		for i < len(p.s) && i < e+16 && (is(p.s[i], cSpace|cQuote) || strings.IndexByte("+.&\\,", p.s[i]) >= 0) {
			i++
		}
		if i == e {
			break
		}
	}
	v := joined.String()
	if end > first.end && len(v) >= 16 && !placeholder(v) && (isHex(v) || look(v).random()) && look(v).letters() > 0 {
		p.addForm(ruleFor(n.kind), rankName, first.start, end, formSplit)
	}
}
