package client

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
)

// style is how a JSON document is written, so that new text looks like it.
type style struct {
	unit  string // one level of indentation
	colon string // between key and value
	sep   string // between members on one line
	pad   string // inside braces on one line
	eol   string
}

// styleOf reads the habits of a document from its first members.
func styleOf(d []byte, root *jnode) style {
	st := style{unit: "  ", colon: ": ", sep: ", "}
	var unit, colon, pad bool
	var walk func(n *jnode)
	walk = func(n *jnode) {
		for i, k := range n.kids {
			if unit && colon && pad {
				return
			}
			if in, ok := broken(d, k); ok && !unit {
				if base := lineIndent(d, n.start); len(in) > len(base) && strings.HasPrefix(in, base) {
					st.unit, unit = in[len(base):], true
				}
			}
			if n.kind == '{' && !colon {
				if c := d[k.keyEnd:k.val.start]; len(bytes.Trim(c, " ")) == 1 {
					st.colon, colon = string(c), true
				}
			}
			if n.kind == '{' && i == 0 && !pad {
				if _, ok := broken(d, k); !ok {
					pad = true
					if d[n.start+1] == ' ' {
						st.pad = " "
					}
				}
			}
			walk(k.val)
		}
	}
	walk(root)
	if !strings.HasSuffix(st.colon, " ") {
		st.sep = ","
	}
	return st
}

// broken reports whether a child starts a line of its own, and its indentation.
func broken(d []byte, k jkid) (indent string, ok bool) {
	gap := d[k.before:k.start]
	i := bytes.LastIndexByte(gap, '\n')
	if i < 0 {
		return "", false
	}
	return string(gap[i+1:]), true
}

// spread reports whether a node's children stand on lines of their own. An
// empty one follows the node that holds it; an empty document is spread.
func spread(d []byte, chain []*jnode) bool {
	n := chain[len(chain)-1]
	for _, k := range n.kids {
		if _, ok := broken(d, k); ok {
			return true
		}
	}
	if len(n.kids) > 0 {
		return false
	}
	if bytes.IndexByte(d[n.start:n.end], '\n') >= 0 || len(chain) == 1 {
		return true
	}
	return spread(d, chain[:len(chain)-1])
}

// render writes a value. indent is that of the line on which it starts.
func (st style) render(v any, indent string, multi bool) string {
	switch v := v.(type) {
	case Obj:
		parts := make([]string, len(v))
		for i, f := range v {
			parts[i] = quoteJSON(f.Key) + st.colon + st.render(f.Val, indent+st.unit, multi)
		}
		return st.wrap("{", "}", parts, indent, multi)
	case []any:
		scalar := true
		parts := make([]string, len(v))
		for i, e := range v {
			if _, ok := e.(Obj); ok {
				scalar = false
			}
			parts[i] = st.render(e, indent+st.unit, multi)
		}
		if scalar || !multi {
			return "[" + strings.Join(parts, st.sep) + "]"
		}
		return st.wrap("[", "]", parts, indent, multi)
	case string:
		return quoteJSON(v)
	case bool:
		return strconv.FormatBool(v)
	case int:
		return strconv.Itoa(v)
	}
	panic(fmt.Sprintf("client: a value of type %T in the table of clients", v))
}

func (st style) wrap(open, shut string, parts []string, indent string, multi bool) string {
	if len(parts) == 0 {
		return open + shut
	}
	if !multi {
		return open + st.pad + strings.Join(parts, st.sep) + st.pad + shut
	}
	line := st.eol + indent + st.unit
	return open + line + strings.Join(parts, ","+line) + st.eol + indent + shut
}

// quoteJSON escapes what JSON demands and nothing else: "&&" stays as it is.
func quoteJSON(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r < 0x20 || r == 0x7f:
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}
