package client

import (
	"encoding/json"
	"fmt"
)

// maxDepth is the deepest nesting of objects and lists that is read.
const maxDepth = 200

// jnode is a value of a document and where it stands. TOML values use it too.
type jnode struct {
	kind       byte // '{', '[', '"', '0', 't', 'f' or 'n'; in TOML '{', '[' or 's'
	start, end int
	kids       []jkid
	tail       int // end of the last token or comment before the closing bracket
}

// jkid is a member of an object or an element of a list.
type jkid struct {
	before int // end of the last token or comment before it
	start  int // of the key of a member, of the value of an element
	keyEnd int
	key    string
	path   []string // the dotted key of a member of a TOML inline table
	val    *jnode
	comma  int // offset of the comma behind it, -1 for none
}

func (n *jnode) name() string {
	switch n.kind {
	case '{':
		return "an object"
	case '[':
		return "a list"
	case '"':
		return "a string"
	case '0':
		return "a number"
	case 'n':
		return "null"
	}
	return "true or false"
}

// jscan reads JSON with comments and trailing commas, as RFC 8259 and the
// JSONC of VS Code have it, and keeps every position.
type jscan struct {
	d        []byte
	i        int
	last     int  // end of the last token or comment
	comments bool // there is one at least
	depth    int
}

// scanJSON reads a whole document. Its errors are *flaw.
func scanJSON(data []byte) (root *jnode, comments bool, err error) {
	s := &jscan{d: data, i: bomLen(data)}
	s.last = s.i
	if err := s.blank(); err != nil {
		return nil, false, err
	}
	if s.i == len(s.d) {
		return nil, false, flawAt(s.i, "the file is empty, which is not JSON")
	}
	if root, err = s.value(); err != nil {
		return nil, false, err
	}
	if err := s.blank(); err != nil {
		return nil, false, err
	}
	if s.i < len(s.d) {
		return nil, false, flawAt(s.i, "text follows after the end of the document")
	}
	return root, s.comments, nil
}

// blank skips white space and comments.
func (s *jscan) blank() error {
	for s.i < len(s.d) {
		switch s.d[s.i] {
		case ' ', '\t', '\n', '\r':
			s.i++
			continue
		case '/':
		default:
			return nil
		}
		end, ok := comment(s.d, s.i)
		if !ok {
			return flawAt(s.i, "expected a comment here, or one that is never closed")
		}
		s.i, s.last, s.comments = end, end, true
	}
	return nil
}

// comment finds the end of the comment at i; a line comment ends before its
// line end.
func comment(d []byte, i int) (end int, ok bool) {
	if i+1 >= len(d) || d[i] != '/' {
		return i, false
	}
	switch d[i+1] {
	case '/':
		for i < len(d) && d[i] != '\n' && d[i] != '\r' {
			i++
		}
		return i, true
	case '*':
		for i += 2; i+1 < len(d); i++ {
			if d[i] == '*' && d[i+1] == '/' {
				return i + 2, true
			}
		}
	}
	return i, false
}

func (s *jscan) value() (*jnode, error) {
	if s.i >= len(s.d) {
		return nil, flawAt(s.i, "the file ends where a value is expected")
	}
	n := &jnode{start: s.i}
	switch c := s.d[s.i]; {
	case c == '{' || c == '[':
		n.kind = c
		return n, s.container(n)
	case c == '"':
		n.kind = '"'
		if err := s.str(); err != nil {
			return nil, err
		}
	case c == '-' || c >= '0' && c <= '9':
		n.kind = '0'
		if err := s.number(); err != nil {
			return nil, err
		}
	default:
		if err := s.word(n); err != nil {
			return nil, err
		}
	}
	n.end, s.last = s.i, s.i
	return n, nil
}

func (s *jscan) container(n *jnode) error {
	if s.depth++; s.depth > maxDepth {
		return flawAt(s.i, "nested deeper than %d levels", maxDepth)
	}
	closing := byte('}')
	if n.kind == '[' {
		closing = ']'
	}
	s.i++
	s.last = s.i
	for {
		if err := s.blank(); err != nil {
			return err
		}
		if s.i < len(s.d) && s.d[s.i] == closing {
			n.tail = s.last
			s.i++
			n.end, s.last = s.i, s.i
			s.depth--
			return nil
		}
		if k := len(n.kids); k > 0 && n.kids[k-1].comma < 0 {
			return flawAt(s.i, "expected a comma or %q", closing)
		}
		kid, err := s.kid(n.kind)
		if err != nil {
			return err
		}
		n.kids = append(n.kids, kid)
	}
}

func (s *jscan) kid(kind byte) (kid jkid, err error) {
	kid = jkid{before: s.last, start: s.i, comma: -1}
	if kind == '{' {
		if s.i >= len(s.d) || s.d[s.i] != '"' {
			return kid, flawAt(s.i, "expected a key in double quotes, or %q", '}')
		}
		if err := s.str(); err != nil {
			return kid, err
		}
		kid.keyEnd, s.last = s.i, s.i
		if err := json.Unmarshal(s.d[kid.start:kid.keyEnd], &kid.key); err != nil {
			return kid, flawAt(kid.start, "the key can't be read")
		}
		if err := s.blank(); err != nil {
			return kid, err
		}
		if s.i >= len(s.d) || s.d[s.i] != ':' {
			return kid, flawAt(s.i, "expected a colon after the key")
		}
		s.i++
		s.last = s.i
		if err := s.blank(); err != nil {
			return kid, err
		}
	}
	if kid.val, err = s.value(); err != nil {
		return kid, err
	}
	if err := s.blank(); err != nil {
		return kid, err
	}
	if s.i < len(s.d) && s.d[s.i] == ',' {
		kid.comma = s.i
		s.i++
		s.last = s.i
	}
	return kid, nil
}

func (s *jscan) str() error {
	open := s.i
	for s.i++; s.i < len(s.d); s.i++ {
		switch c := s.d[s.i]; {
		case c == '"':
			s.i++
			return nil
		case c < 0x20:
			return flawAt(s.i, "a string holds a line end or another control character")
		case c == '\\':
			s.i++
			if s.i >= len(s.d) {
				return flawAt(open, "a string is never closed")
			}
			if n := escapeLen(s.d[s.i:]); n > 0 {
				s.i += n - 1
				continue
			}
			return flawAt(s.i-1, "a string holds an escape that JSON does not know")
		}
	}
	return flawAt(open, "a string is never closed")
}

// escapeLen is the length of an escape after its backslash, 0 for a wrong one.
// A lone surrogate is allowed: it is kept as it stands.
func escapeLen(d []byte) int {
	switch d[0] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return 1
	case 'u':
		for i := 1; i <= 4; i++ {
			if i >= len(d) || !isHex(d[i]) {
				return 0
			}
		}
		return 5
	}
	return 0
}

func isHex(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F'
}

func (s *jscan) digits() bool {
	from := s.i
	for s.i < len(s.d) && s.d[s.i] >= '0' && s.d[s.i] <= '9' {
		s.i++
	}
	return s.i > from
}

func (s *jscan) number() error {
	start := s.i
	if s.d[s.i] == '-' {
		s.i++
	}
	zero := s.i < len(s.d) && s.d[s.i] == '0'
	from := s.i
	ok := s.digits() && !(zero && s.i > from+1)
	if ok && s.i < len(s.d) && s.d[s.i] == '.' {
		s.i++
		ok = s.digits()
	}
	if ok && s.i < len(s.d) && (s.d[s.i] == 'e' || s.d[s.i] == 'E') {
		s.i++
		if s.i < len(s.d) && (s.d[s.i] == '+' || s.d[s.i] == '-') {
			s.i++
		}
		ok = s.digits()
	}
	if !ok {
		return flawAt(start, "a number that JSON does not know")
	}
	return nil
}

func (s *jscan) word(n *jnode) error {
	for _, w := range []string{"true", "false", "null"} {
		if end := s.i + len(w); end <= len(s.d) && string(s.d[s.i:end]) == w {
			n.kind = w[0]
			s.i = end
			return nil
		}
	}
	return flawAt(s.i, "expected a value")
}

// toAny reads a node into plain values, with numbers as they are written.
func toAny(d []byte, n *jnode) any {
	switch n.kind {
	case '{':
		out := make(map[string]any, len(n.kids))
		var all []any
		for _, k := range n.kids {
			v := toAny(d, k.val)
			all = append(all, k.key, v)
			out[k.key] = v
		}
		if len(out) != len(n.kids) {
			return twice{all}
		}
		return out
	case '[':
		out := make([]any, 0, len(n.kids))
		for _, k := range n.kids {
			out = append(out, toAny(d, k.val))
		}
		return out
	case '"':
		var s string
		if err := json.Unmarshal(d[n.start:n.end], &s); err != nil {
			return twice{[]any{fmt.Sprint(n.start)}}
		}
		return s
	case '0':
		return json.Number(d[n.start:n.end])
	case 't':
		return true
	case 'f':
		return false
	}
	return nil
}
