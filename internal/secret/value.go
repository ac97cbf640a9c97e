package secret

import "strings"

// traits counts what a value is made of.
type traits struct {
	lower, upper, digit, special, other int
	pieces                              int // runs of one kind; a capital and the small letters after it are one
	longest                             int // the longest such run
	consonants                          int // the longest run of consonants
	vowels                              int
}

func (t traits) letters() int { return t.lower + t.upper }
func (t traits) alnum() int   { return t.lower + t.upper + t.digit }

func look(s string) traits {
	var t traits
	prev, run, cons := uint8(0), 0, 0
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
			prev, run, cons = 0, 0, 0
			continue
		}
		if k&cLetter != 0 && strings.IndexByte("aeiouy", lower(c)) < 0 {
			cons++
			t.consonants = max(t.consonants, cons)
		} else {
			cons = 0
			if k&cLetter != 0 {
				t.vowels++
			}
		}
		if k == prev || (prev == cUpper && k == cLower && run == 1) {
			run++
		} else {
			t.pieces++
			run = 1
		}
		t.longest = max(t.longest, run)
		prev = k
	}
	return t
}

// random reports whether a value looks as if drawn by lot: its letters and
// digits change kind about every second character. Words, identifiers, dates
// and versions change much less often.
func (t traits) random() bool {
	n := t.alnum()
	if n < 8 || t.pieces < 4 {
		return false
	}
	if t.digit == 0 {
		return n >= 12 && t.upper > 1 && t.lower > 1 && float64(n) < 2.2*float64(t.pieces) ||
			n >= 16 && (t.consonants >= 6 || t.vowels*7 < n)
	}
	return float64(n) < 3*float64(t.pieces) && t.letters() > 0
}

// mixed reports whether small letters, capitals and digits are all there.
func (t traits) mixed() bool { return t.lower > 0 && t.upper > 0 && t.digit > 0 }

// gibberish reports whether letters alone look drawn by lot.
func gibberish(s string) bool {
	t := look(s)
	if t.letters() != len(s) {
		return false
	}
	if t.lower > 0 && t.upper > 1 && len(s) >= 8 && len(s)*10 < 22*t.pieces {
		return true
	}
	return len(s) >= 12 && (t.consonants >= 6 || t.vowels*6 < len(s)) || len(s) > 28 && t.pieces < 3
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
	case len(s) <= 6:
		return true
	}
	return t.pieces <= 2 && len(s) <= 24 || len(s) >= 4*t.pieces && len(s) <= 40 && t.consonants < 6
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
	case '!':
		return structured(v) // a YAML tag
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
	words, sample := 0, strings.HasSuffix(v, "EXAMPLE") || strings.HasSuffix(v, "EXAMPLEKEY")
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
		sample = sample || sampleWords[strings.ToLower(piece)]
		if len(piece) >= 10 && !strings.Contains(piece, "EXAMPLE") && look(piece).random() {
			return false
		}
	}
	return sample || words > 1 && envName(v)
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
var sampleWords = set(`your yours my change changeme changeit changethis replace replaceme replacewith
	example examples sample dummy fake placeholder redacted removed hidden masked omitted todo tbd fixme
	insert enter put here goes xxx yyy zzz foo bar foobar null none nil undefined unset empty true false
	password passwd secret token apikey mysecret mypassword mytoken supersecret topsecret
	required optional string str varchar text boolean bool default unknown invalid expired revoked
	notasecret secretkey accesskey yourkey mykey somekey sometoken somepassword somesecret
	deine dein votre tu su vuestra`)

func set(words string) map[string]bool {
	m := map[string]bool{}
	for _, w := range strings.Fields(words) {
		m[w] = true
	}
	return m
}
