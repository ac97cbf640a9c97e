package secret

import "strings"

// traits counts what a value is made of.
type traits struct {
	lower, upper, digit, special, other int
	pieces                              int // runs of one kind; a capital and the small letters after it are one
	pairs, odd                          int // neighbours that were compared, and those that words seldom have
}

func (t traits) letters() int { return t.lower + t.upper }
func (t traits) alnum() int   { return t.lower + t.upper + t.digit }

func look(s string) traits {
	var t traits
	prev, run := uint8(0), 0
	for i := 0; i < len(s); i++ {
		c := s[i]
		k := class[c] & (cAlnum | cOther)
		switch {
		case k&cLower != 0:
			t.lower++
		case k&cUpper != 0:
			t.upper++
		case k&cDigit != 0:
			t.digit++
		case k&cOther != 0:
			t.other++
		default:
			t.special++
			prev, run = 0, 0
			continue
		}
		if p := byteAt(s, i-1); i > 0 && is(p, cAlnum) {
			t.pair(p, c, byteAt(s, i+1))
		}
		if k == prev || (prev == cUpper && k == cLower && run == 1) {
			run++
		} else {
			t.pieces++
			run = 1
		}
		prev = k
	}
	return t
}

// pair compares a letter or digit with the one before it. Where a capital
// begins a word, nothing can be learnt.
func (t *traits) pair(p, c, next byte) {
	switch {
	case is(p, cDigit) && is(c, cDigit):
	case is(p, cDigit) || is(c, cDigit):
		t.pairs++
		t.odd++
	case is(c, cUpper) && (is(p, cLower) || is(next, cLower)):
	default:
		t.pairs++
		if common[lower(p)-'a']>>(lower(c)-'a')&1 == 0 {
			t.odd++
		}
	}
}

// common has a bit for each pair of letters that makes up at least 0.05 % of
// the pairs in technical English: 279 of 676, which cover 95 % of them.
var common = [26]uint32{0x1bebd6e, 0x1164911, 0x01e5d95, 0x016c93d, 0x1eff97f, 0x01e4931, 0x0166995, 0x01a4111, 0x2aef87f, 0x0000000, 0x0040111, 0x11c4919, 0x014d113, 0x03cfd7d, 0x07efd6f, 0x01ec995, 0x0100000, 0x13efd7d, 0x11efd95, 0x15ed9bd, 0x00eb97f, 0x0000111, 0x0066191, 0x0088110, 0x00cb000, 0x0000010}

// random reports whether a value looks as if drawn by lot: more than four in
// ten of its neighbours are letters that words seldom have side by side, or a
// letter beside a digit. The tests say how often it errs.
func (t traits) random() bool {
	return t.alnum() >= 8 && t.pairs >= 5 && t.odd*10 >= t.pairs*4
}

// mixed reports whether small letters, capitals and digits are all there.
func (t traits) mixed() bool { return t.lower > 0 && t.upper > 0 && t.digit > 0 }

// gibberish reports whether letters alone look drawn by lot.
func gibberish(s string) bool {
	t := look(s)
	return t.letters() == len(s) && len(s) >= 8 && t.odd*10 >= t.pairs*4 || t.lower == len(s) && len(s) > 28
}

// wordLike reports whether a piece of a value without separators is a word, a
// number, or the usual mix of both: sha256, phase2, 512kb, v8a, cl100k.
func wordLike(s string) bool {
	t := look(s)
	switch {
	case t.special+t.other > 0:
		return t.special == 0
	case t.digit == 0:
		return !gibberish(s)
	case t.letters() == 0:
		return true
	case isHex(s) && len(s) >= 8:
		return false
	case len(s) <= 6 || terms[strings.ToLower(s)]:
		return true
	}
	return !t.random() && len(s) <= 40
}

// separators are what splits a value into pieces for wordLike.
const separators = "-_./:,@#+=|~\\ ()[]{}<>;*&?!%$^\"'`"

// structured reports whether every piece of a value is word-like, as in paths,
// identifiers, versions, host names and options.
func structured(v string) bool {
	for v != "" {
		i := strings.IndexAny(v, separators)
		if i < 0 {
			return wordLike(v)
		}
		if i > 0 && !wordLike(v[:i]) {
			return false
		}
		v = v[i+1:]
	}
	return true
}

// reference reports whether a value points at a secret, or is code that gets
// one, instead of being one.
func reference(v string) bool {
	if v == "" {
		return true
	}
	switch v[0] {
	case '$':
		// $NAME, ${NAME}, $(command); but not a crypt hash such as $2b$12$…
		return len(v) > 1 && !is(v[1], cDigit) || strings.Count(v, "$") == 1 && len(v) < 8
	case '<', '{', '[', '@':
		return true
	case '%':
		return len(v) > 2 && v[len(v)-1] == '%' || len(v) < 4
	case '/':
		return structured(v)
	case '~', '.':
		return len(v) > 1 && v[1] == '/' || structured(v)
	case '!', '&', '*':
		return structured(v) // a tag or an anchor in YAML, a pointer
	}
	if i := strings.IndexByte(v, '('); i > 0 && isWord(v[i-1]) && structured(v[:i]) {
		return true // getToken(), os.Getenv("X")
	}
	if i := strings.Index(v, "${"); i >= 0 {
		return structured(v[:i])
	}
	for _, p := range [...]string{"op://", "vault:", "arn:aws", "projects/", "file:", "ssm:", "env:", "enc[", "ref+", "secretsmanager:", "keychain:", "pass:", "https://", "http://"} {
		if hasPrefixFold(v, p) {
			return true // links are judged by the rules for links
		}
	}
	return strings.Contains(v, "{{") || strings.Contains(v, "://") && structured(v)
}

// placeholder reports whether a value stands for a secret that isn't there:
// masks, samples, words such as "changeme", names of variables.
func placeholder(v string) bool {
	if reference(v) || masked(v) {
		return true
	}
	words, mixed := 0, false
	weak, sample := false, strings.HasSuffix(v, "EXAMPLE") || strings.HasSuffix(v, "EXAMPLEKEY")
	for rest := v; rest != ""; {
		i := strings.IndexAny(rest, separators)
		piece := rest
		if i >= 0 {
			piece, rest = rest[:i], rest[i+1:]
		} else {
			rest = ""
		}
		if piece == "" {
			continue
		}
		words++
		w := strings.ToLower(piece)
		sample = sample || sampleWords[w] || numberedSamples[strings.TrimRight(w, "0123456789")]
		weak = weak || secretWords[w]
		mixed = mixed || !plainPiece(piece)
		if len(piece) >= 10 && !strings.Contains(piece, "EXAMPLE") && look(piece).random() {
			return false
		}
	}
	return sample || weak && !mixed || words > 1 && envName(v)
}

// masked reports whether a value was blacked out or cut: x's, stars, dots.
func masked(v string) bool {
	for _, m := range [...]string{"xxxx", "XXXX", "****", "...", "…", "••", "####", "____", "0000000000"} {
		if strings.Contains(v, m) && !look(strings.ReplaceAll(v, m, "")).random() {
			return true
		}
	}
	for i := 1; i < len(v); i++ {
		if v[i] != v[0] {
			return sequence(v)
		}
	}
	return true
}

// sequence reports whether a value counts up, like 12345678 or abcdefgh.
func sequence(v string) bool {
	steps := 0
	for i := 1; i < len(v); i++ {
		if v[i] == v[i-1]+1 || v[i] == v[i-1] || v[i] == '0' && v[i-1] == '9' {
			steps++
		}
	}
	return len(v) > 5 && steps*10 >= (len(v)-1)*8
}

// envName reports whether a value is the name of an environment variable.
func envName(v string) bool {
	if !is(v[0], cUpper) || !strings.Contains(v, "_") {
		return false
	}
	for i := 0; i < len(v); i++ {
		if !is(v[i], cUpper|cDigit) && v[i] != '_' {
			return false
		}
	}
	return structured(v)
}

// sampleWords make a value a sample when they stand in it as a piece.
var sampleWords = set(`your yours change changeme changeit changethis replace replaceme replacewith
	example examples sample dummy fake placeholder redacted removed hidden masked omitted todo tbd fixme
	insert enter put here goes xxx yyy zzz foo bar foobar null none nil undefined unset empty true false
	required optional string str varchar text boolean bool default unknown invalid expired revoked
	notasecret secretkey accesskey yourkey mykey somekey sometoken somepassword somesecret
	deine dein votre tu su vuestra`)

// secretWords make a value a sample when all of its other pieces are words or
// numbers too: my-secret-token, but not my-secret-9f3k2.
var secretWords = set(`my password passwd secret token key apikey mysecret mypassword mytoken supersecret topsecret`)

// numberedSamples stay samples with a number behind them.
var numberedSamples = set(`abc example sample dummy changeme placeholder foo bar foobar xxx your`)

func set(words string) map[string]bool {
	m := map[string]bool{}
	for _, w := range strings.Fields(words) {
		m[w] = true
	}
	return m
}
