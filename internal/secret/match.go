package secret

// minSecret is the length below which no text or value is a secret. It only
// saves work: shorter passwords exist, but can't be told from words.
const minSecret = 5

// anchor is a word that was found in a text, by its number and its place.
type anchor struct {
	word int32
	pos  int32
}

// matcher finds a fixed set of lower-case ASCII words in text, whatever the
// case of the text's ASCII letters. It looks two bytes ahead in a table and
// compares only there; for a few hundred short words in prose that is as fast
// as an Aho-Corasick automaton and takes kilobytes instead of megabytes.
type matcher struct {
	words []string
	class [256]uint8 // 0: in no word
	n     int        // number of classes
	heads []int16    // n*n, first word for a pair of classes, -1 none
	next  []int16    // by word: the next word with the same pair
}

func newMatcher(words []string) *matcher {
	m := &matcher{words: words, n: 1}
	for _, w := range words {
		for _, c := range []byte(w[:2]) {
			if m.class[c] == 0 {
				m.class[c] = uint8(m.n)
				if c >= 'a' && c <= 'z' {
					m.class[c-'a'+'A'] = uint8(m.n)
				}
				m.n++
			}
		}
	}
	m.heads = make([]int16, m.n*m.n)
	for i := range m.heads {
		m.heads[i] = -1
	}
	m.next = make([]int16, len(words))
	for i, w := range words {
		h := m.pair(w[0], w[1])
		m.next[i] = m.heads[h]
		m.heads[h] = int16(i)
	}
	return m
}

func (m *matcher) pair(a, b byte) int {
	return int(m.class[a])*m.n + int(m.class[b])
}

// find appends every occurrence of every word, in order of position.
func (m *matcher) find(text string, out []anchor) []anchor {
	if len(text) < 2 {
		return out
	}
	prev := int(m.class[text[0]])
	for i := 1; i < len(text); i++ {
		cur := int(m.class[text[i]])
		w := m.heads[prev*m.n+cur]
		prev = cur
		for ; w >= 0; w = m.next[w] {
			if hasPrefixFold(text[i-1:], m.words[w]) {
				out = append(out, anchor{int32(w), int32(i - 1)})
			}
		}
	}
	return out
}

// hasPrefixFold reports whether s begins with the lower-case ASCII word w,
// whatever the case of the ASCII letters in s.
func hasPrefixFold(s, w string) bool {
	if len(s) < len(w) {
		return false
	}
	for i := 0; i < len(w); i++ {
		if lower(s[i]) != w[i] {
			return false
		}
	}
	return true
}

// hasSuffixFold is hasPrefixFold for the end of s.
func hasSuffixFold(s, w string) bool {
	return len(s) >= len(w) && hasPrefixFold(s[len(s)-len(w):], w)
}

func lower(c byte) byte {
	if c >= 'A' && c <= 'Z' {
		return c + 'a' - 'A'
	}
	return c
}
