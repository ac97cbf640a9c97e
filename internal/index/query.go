package index

import (
	"strings"
	"unicode"

	"holdfast/internal/ledger"
)

// maxPhrases bounds a search; longer ones find nothing that anyone meant.
const maxPhrases = 32

// phrase is one thing that must stand in a text: a word, or words in a row.
type phrase struct {
	text   string // as it was typed
	prefix bool   // its last word may go on
	words  []string
}

// parseQuery takes a search apart: words, "quoted phrases" and prefix*, all of
// which must be found. Anything else is a separator, as in the texts, so a word
// such as foo-bar is a phrase of two. There is no query that is wrong, but a
// *ledger.LimitError for one that is too long.
func parseQuery(s string) ([]phrase, error) {
	s = strings.ToValidUTF8(strings.ReplaceAll(s, "\x00", " "), " ")
	var out []phrase
	add := func(text string, prefix bool) {
		p := phrase{text: text, prefix: prefix}
		for _, w := range spans(nil, text) {
			if f := folded(text[w.from:w.to]); f != "" {
				p.words = append(p.words, f)
			}
		}
		if len(p.words) > 0 {
			out = append(out, p)
		}
	}
	for s != "" {
		if s[0] == '"' {
			text, rest, closed := strings.Cut(s[1:], `"`)
			if closed {
				s = rest
				tail := strings.TrimLeft(s, "*")
				add(text, len(tail) < len(s))
				s = tail
				continue
			}
			s = s[1:] // a lone quote
			continue
		}
		end := strings.IndexFunc(s, func(r rune) bool { return r == '"' || unicode.IsSpace(r) })
		if end < 0 {
			end = len(s)
		}
		word := strings.TrimRight(s[:end], "*")
		add(word, len(word) < end)
		s = strings.TrimLeftFunc(s[end:], unicode.IsSpace)
	}
	n := 0
	for i := range out {
		n += len(out[i].words)
	}
	if n > maxPhrases {
		return nil, &ledger.LimitError{What: "a search", Limit: maxPhrases, Got: n, Unit: "words"}
	}
	return out, nil
}

// match writes phrases as SQLite's full-text index reads them: everything in
// quotes, see https://sqlite.org/fts5.html#full_text_query_syntax.
func match(ps []phrase) string {
	var b strings.Builder
	for i := range ps {
		if i > 0 {
			b.WriteString(" AND ")
		}
		b.WriteByte('"')
		b.WriteString(strings.ReplaceAll(ps[i].text, `"`, `""`))
		b.WriteByte('"')
		if ps[i].prefix {
			b.WriteByte('*')
		}
	}
	return b.String()
}
