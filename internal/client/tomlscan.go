package client

import (
	"bytes"
	"strconv"
	"strings"
)

// Limits of a TOML document. The full parser looks every key up among its
// neighbours one by one, so many keys take long: 10,000 about 0.2 s.
const (
	maxKey  = 50    // parts of a dotted key
	maxKeys = 10000 // in a document
)

// tstmt is one statement of a TOML document: a header or a key with a value.
type tstmt struct {
	kind       byte     // '[' a table, 'A' an element of an array of tables, '=' a key
	path       []string // from the root; below an array of tables it starts with "[]"
	start, end int      // whole lines, with the last line end
	parts      int      // of the key as it stands there
	val        *jnode   // of a key
}

// tscan reads TOML 1.0 and 1.1 for positions only. What it accepts is checked
// by a full parser before it is used.
type tscan struct {
	d     []byte
	i     int
	last  int
	depth int
	keys  int
	table []string
	array map[string]bool // the arrays of tables
	out   []tstmt
}

func scanTOML(data []byte) ([]tstmt, error) {
	s := &tscan{d: data, i: bomLen(data), array: map[string]bool{}}
	for {
		s.blank()
		if s.i >= len(s.d) {
			return s.out, nil
		}
		if err := s.statement(); err != nil {
			return nil, err
		}
	}
}

// blank skips white space, line ends and comments.
func (s *tscan) blank() {
	for s.i < len(s.d) {
		switch s.d[s.i] {
		case ' ', '\t', '\r', '\n':
			s.i++
		case '#':
			s.toLineEnd()
			s.last = s.i
		default:
			return
		}
	}
}

func (s *tscan) toLineEnd() {
	for s.i < len(s.d) && s.d[s.i] != '\n' && s.d[s.i] != '\r' {
		s.i++
	}
}

func (s *tscan) space() {
	for s.i < len(s.d) && (s.d[s.i] == ' ' || s.d[s.i] == '\t') {
		s.i++
	}
}

func (s *tscan) at(text string) bool { return bytes.HasPrefix(s.d[s.i:], []byte(text)) }

func (s *tscan) expect(text string) error {
	if !s.at(text) {
		return flawAt(s.i, "expected %q", text)
	}
	s.i += len(text)
	return nil
}

func (s *tscan) statement() (err error) {
	st := tstmt{kind: '=', start: lineStart(s.d, s.i)}
	var key []string
	switch {
	case s.at("[["):
		st.kind = 'A'
		key, err = s.header("[[", "]]")
		s.array[strings.Join(key, "\n")] = true
		s.table = append([]string{"[]"}, key...)
		st.path = s.table
	case s.at("["):
		st.kind = '['
		key, err = s.header("[", "]")
		s.table = s.below(key)
		st.path = s.table
	default:
		if key, err = s.key(); err != nil {
			return err
		}
		if err = s.expect("="); err != nil {
			return err
		}
		s.space()
		st.parts = len(key)
		st.path = append(append([]string{}, s.table...), key...)
		st.val, err = s.value()
	}
	if err != nil {
		return err
	}
	s.space()
	if s.at("#") {
		s.toLineEnd()
	}
	if s.i < len(s.d) && !s.at("\n") && !s.at("\r\n") {
		return flawAt(s.i, "expected the end of the line")
	}
	st.end = lineEnd(s.d, s.i)
	s.i = st.end
	s.out = append(s.out, st)
	return nil
}

// below marks a table that lies within an array of tables: its path names an
// element and no table of ours.
func (s *tscan) below(key []string) []string {
	for i := range key {
		if s.array[strings.Join(key[:i+1], "\n")] {
			return append([]string{"[]"}, key...)
		}
	}
	return key
}

func hasPrefix(path, prefix []string) bool {
	if len(path) < len(prefix) {
		return false
	}
	for i := range prefix {
		if path[i] != prefix[i] {
			return false
		}
	}
	return true
}

func (s *tscan) header(open, shut string) ([]string, error) {
	s.i += len(open)
	s.space()
	key, err := s.key()
	if err != nil {
		return nil, err
	}
	return key, s.expect(shut)
}

// key reads a dotted key and the white space behind it.
func (s *tscan) key() (parts []string, err error) {
	if s.keys++; s.keys > maxKeys {
		return nil, flawAt(s.i, "the file has more than %d keys and tables", maxKeys)
	}
	for {
		var part string
		start := s.i
		switch {
		case s.at(`"`), s.at("'"):
			if err := s.line(s.d[s.i]); err != nil {
				return nil, err
			}
			if part, err = unquoteTOML(string(s.d[start:s.i])); err != nil {
				return nil, flawAt(start, "the key can't be read")
			}
		default:
			for s.i < len(s.d) && isBare(s.d[s.i]) {
				s.i++
			}
			if part = string(s.d[start:s.i]); part == "" {
				return nil, flawAt(start, "expected a key")
			}
		}
		if parts = append(parts, part); len(parts) > maxKey {
			return nil, flawAt(start, "a key has more than %d parts", maxKey)
		}
		s.last = s.i
		s.space()
		if !s.at(".") {
			return parts, nil
		}
		s.i++
		s.space()
	}
}

func isBare(c byte) bool {
	return c == '_' || c == '-' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

// line reads a string on one line.
func (s *tscan) line(quote byte) error {
	open := s.i
	for s.i++; s.i < len(s.d) && s.d[s.i] != '\n'; s.i++ {
		switch {
		case s.d[s.i] == quote:
			s.i++
			return nil
		case s.d[s.i] == '\\' && quote == '"':
			s.i++
		}
	}
	return flawAt(open, "a string is never closed")
}

// lines reads a string in triple quotes; up to two quotes may stand before the
// closing ones.
func (s *tscan) lines(quote string) error {
	open := s.i
	for s.i += 3; s.i < len(s.d); s.i++ {
		switch {
		case s.d[s.i] == '\\' && quote == `"`:
			s.i++
		case s.at(strings.Repeat(quote, 3)):
			s.i += 3
			for n := 0; n < 2 && s.at(quote); n++ {
				s.i++
			}
			return nil
		}
	}
	return flawAt(open, "a string is never closed")
}

func (s *tscan) value() (n *jnode, err error) {
	n = &jnode{start: s.i, kind: 's'}
	switch {
	case s.at(`"""`), s.at("'''"):
		err = s.lines(string(s.d[s.i]))
	case s.at(`"`), s.at("'"):
		err = s.line(s.d[s.i])
	case s.at("["), s.at("{"):
		n.kind = s.d[s.i]
		err = s.container(n)
	default:
		for s.i < len(s.d) && !strings.ContainsRune(",]}#\r\n", rune(s.d[s.i])) {
			s.i++
		}
		for s.i > n.start && (s.d[s.i-1] == ' ' || s.d[s.i-1] == '\t') {
			s.i--
		}
		if s.i == n.start {
			err = flawAt(s.i, "expected a value")
		}
	}
	n.end, s.last = s.i, s.i
	return n, err
}

func (s *tscan) container(n *jnode) error {
	if s.depth++; s.depth > maxDepth {
		return flawAt(s.i, "nested deeper than %d levels", maxDepth)
	}
	shut := byte(']')
	if n.kind == '{' {
		shut = '}'
	}
	s.i++
	s.last = s.i
	for {
		s.blank()
		if s.i < len(s.d) && s.d[s.i] == shut {
			n.tail = s.last
			s.i++
			s.depth--
			return nil
		}
		if k := len(n.kids); k > 0 && n.kids[k-1].comma < 0 || s.i >= len(s.d) {
			return flawAt(s.i, "expected a comma or %q", shut)
		}
		kid, err := s.kid(n.kind)
		if err != nil {
			return err
		}
		n.kids = append(n.kids, kid)
	}
}

func (s *tscan) kid(kind byte) (kid jkid, err error) {
	kid = jkid{before: s.last, start: s.i, comma: -1}
	if kind == '{' {
		if kid.path, err = s.key(); err != nil {
			return kid, err
		}
		kid.keyEnd = s.last
		if err := s.expect("="); err != nil {
			return kid, err
		}
		s.blank()
	}
	if kid.val, err = s.value(); err != nil {
		return kid, err
	}
	s.blank()
	if s.at(",") {
		kid.comma = s.i
		s.i++
		s.last = s.i
	}
	return kid, nil
}

// unquoteTOML reads a quoted key. Go knows the same escapes but \e.
func unquoteTOML(s string) (string, error) {
	if strings.HasPrefix(s, "'") {
		return strings.Trim(s, "'"), nil
	}
	return strconv.Unquote(strings.ReplaceAll(s, `\e`, `\x1b`))
}
