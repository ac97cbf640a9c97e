package index

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// The full-text index takes texts apart by itself; what stands here does so
// much in the same way (letters, digits and private use; without case and
// diacritics), and only decides how matches are ranked and what is marked in
// them, never what is found.

// span is a part of a text, in bytes.
type span struct{ from, to int }

// spans appends where the words of text stand.
func spans(out []span, text string) []span {
	start := -1
	for i := 0; i < len(text); {
		r, size := rune(text[i]), 1
		part := false
		if r < utf8.RuneSelf {
			part = 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9'
		} else {
			r, size = utf8.DecodeRuneInString(text[i:])
			part = unicode.In(r, unicode.L, unicode.N, unicode.Co) || start >= 0 && unicode.Is(unicode.Mn, r) // an accent of its own
		}
		switch {
		case part && start < 0:
			start = i
		case !part && start >= 0:
			out = append(out, span{start, i})
			start = -1
		}
		i += size
	}
	if start >= 0 {
		out = append(out, span{start, len(text)})
	}
	return out
}

// folded is a word as it is compared.
func folded(s string) string {
	if ascii(s) {
		return strings.ToLower(s)
	}
	return strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Mn, r) {
			return -1
		}
		return unicode.ToLower(r)
	}, norm.NFD.String(s))
}

func ascii(s string) bool {
	for i := 0; i < len(s); i++ {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// is reports whether the word s, folded, is want, or begins with it.
func is(s, want string, prefix bool) bool {
	if s[0] >= utf8.RuneSelf || want[0] >= utf8.RuneSelf || s[0]|0x20 == want[0]|0x20 { // nearly all differ here
		if ascii(s) {
			return (len(s) == len(want) || prefix && len(s) > len(want)) && strings.EqualFold(s[:len(want)], want)
		}
		f := folded(s)
		return f == want || prefix && strings.HasPrefix(f, want)
	}
	return false
}

// at reports where p ends in text if it begins with the first of ws, else 0.
func (p *phrase) at(text string, ws []span) int {
	if len(ws) < len(p.words) {
		return 0
	}
	for i, w := range p.words {
		if !is(text[ws[i].from:ws[i].to], w, p.prefix && i == len(p.words)-1) {
			return 0
		}
	}
	return ws[len(p.words)-1].to
}

// Ranking: bm25 (https://sqlite.org/fts5.html#the_bm25_function) without its
// weight for rare words, since a match has all of the words. So a rank hangs on
// the text alone, and never changes.
const (
	rankK      = 1.2
	rankB      = 0.75
	rankLength = 40 // words of an average text
	rankUnit   = 1 << 20
)

// Weights of the parts of a text.
const (
	weightID   = 4
	weightText = 2
	weightMore = 1
)

// ranker ranks texts for one search.
type ranker struct {
	ps     []phrase
	counts []float64
	words  []span
}

// rank gives a text's rank; the lower, the better.
func (r *ranker) rank(d *doc) int64 {
	if len(r.ps) == 0 {
		return 0
	}
	r.counts = append(r.counts[:0], make([]float64, len(r.ps))...)
	length := r.count(d.id, weightID) + r.count(d.text, weightText) + r.count(d.more, weightMore)
	sum := 0.0
	for _, n := range r.counts {
		sum += n / (n + rankK*(1-rankB+rankB*float64(length)/rankLength))
	}
	return rankUnit - int64(rankUnit*sum/float64(len(r.ps)))
}

func (r *ranker) count(text string, weight float64) int {
	r.words = spans(r.words[:0], text)
	for at := range r.words {
		for i := range r.ps {
			if r.ps[i].at(text, r.words[at:]) > 0 {
				r.counts[i] += weight
			}
		}
	}
	return len(r.words)
}
