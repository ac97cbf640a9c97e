package client

import (
	"fmt"
	"strings"

	"pgregory.net/rapid"
)

// jsonGen writes random documents of JSON with comments, in odd styles.
type jsonGen struct {
	t       *rapid.T
	unit    string
	eol     string
	strict  bool
	compact bool
}

func (g jsonGen) one(label string, of ...string) string {
	return rapid.SampledFrom(of).Draw(g.t, label)
}

// gap is white space between tokens, with a comment now and then.
func (g jsonGen) gap() string {
	if g.strict || rapid.IntRange(0, 9).Draw(g.t, "gap") > 0 {
		return g.one("space", "", "", "", " ", "  ", "\t")
	}
	return g.one("comment", "/* a, } ] \" */", " // b { [ , "+g.eol, "/**/", "//"+g.eol, " /* c"+g.eol+" */ ", g.eol, g.eol+g.eol)
}

func (g jsonGen) scalar() string {
	return g.one("scalar", `"x"`, `""`, `"a\u00e9\/\\"`, "\"a\u2028b\"", `"\ud83d"`, `"// no comment"`, `"{[,:"`, "\"\U0001f600e\u0301\"",
		"1", "-0", "1E2", "0.10", "123456789012345678901234567890", "true", "false", "null")
}

func (g jsonGen) key() string {
	return g.one("key", `"a"`, `"b"`, `"b"`, `""`, `"mcp"`, `"theme"`, `"k\"ey"`, `"holdfast2"`, `"\u0061"`)
}

func (g jsonGen) value(depth int, indent string) string {
	switch n := rapid.IntRange(0, 5).Draw(g.t, "shape"); {
	case depth <= 0 || n < 3:
		return g.scalar()
	case n == 3:
		return g.list(depth, indent, func() string { return g.value(depth-1, indent+g.unit) })
	}
	return g.object(depth, indent, nil)
}

func (g jsonGen) list(_ int, indent string, elem func() string) string {
	var parts []string
	for range rapid.IntRange(0, 3).Draw(g.t, "elements") {
		parts = append(parts, elem())
	}
	return g.wrap("[", "]", parts, indent)
}

// object has random members and the given ones, at random places.
func (g jsonGen) object(depth int, indent string, must map[string]string) string {
	var parts []string
	for range rapid.IntRange(0, 4).Draw(g.t, "members") {
		parts = append(parts, g.key()+g.gap()+":"+g.gap()+g.value(depth-1, indent+g.unit))
	}
	for _, k := range sortedKeys(must) {
		i := rapid.IntRange(0, len(parts)).Draw(g.t, "at")
		m := `"` + k + `"` + g.gap() + ":" + g.gap() + must[k]
		parts = append(parts[:i], append([]string{m}, parts[i:]...)...)
	}
	return g.wrap("{", "}", parts, indent)
}

func (g jsonGen) wrap(open, shut string, parts []string, indent string) string {
	line := g.one("layout", "", " ", g.eol+indent+g.unit, g.eol+indent+g.unit, g.eol+indent+g.unit)
	if g.compact {
		line = ""
	}
	last := g.one("close", "", " ", g.eol+indent)
	var b strings.Builder
	b.WriteString(open)
	for i, p := range parts {
		b.WriteString(line + g.gap() + p + g.gap())
		if i < len(parts)-1 || !g.strict && rapid.IntRange(0, 3).Draw(g.t, "trailing") == 0 {
			b.WriteString("," + g.gap())
		}
	}
	b.WriteString(last + shut)
	return b.String()
}

// genJSON writes a document that may hold sections that setup adds to.
func genJSON(t *rapid.T, sections ...string) []byte {
	g := jsonGen{
		t: t, unit: rapid.SampledFrom([]string{"  ", "   ", "    ", "\t", " "}).Draw(t, "unit"),
		eol:    rapid.SampledFrom([]string{"\n", "\n", "\r\n"}).Draw(t, "eol"),
		strict: rapid.Bool().Draw(t, "strict"), compact: rapid.IntRange(0, 4).Draw(t, "compact") == 0,
	}
	must := map[string]string{}
	for _, s := range sections {
		switch rapid.IntRange(0, 2).Draw(t, s) {
		case 0:
			must[s] = g.object(2, g.unit, nil)
		case 1:
			if s == "hooks" {
				must[s] = g.object(1, g.unit, map[string]string{"Stop": g.list(2, g.unit, func() string { return g.object(1, g.unit, nil) })})
			}
		}
	}
	doc := g.object(3, "", must)
	doc = g.one("head", "", "", bom, bom+g.eol) + g.gap() + doc + g.gap() + g.one("end", "", g.eol, g.eol+g.eol)
	if !g.strict && strings.HasSuffix(doc, "//") {
		doc += g.eol
	}
	return []byte(doc)
}

func sortedKeys(m map[string]string) []string {
	var out []string
	for _, k := range []string{"mcpServers", "servers", "hooks", "context", "mcp"} {
		if _, ok := m[k]; ok {
			out = append(out, k)
		}
	}
	return out
}

// genTOML writes a random TOML document out of statements that fit together.
func genTOML(t *rapid.T) []byte {
	eol := rapid.SampledFrom([]string{"\n", "\n", "\r\n"}).Draw(t, "eol")
	one := func(label string, of ...string) string { return rapid.SampledFrom(of).Draw(t, label) }
	value := func() string {
		return one("value", `"x"`, `'C:\x'`, `""`, "1", "9_007_199_254_740_993", "0xdead_beef", "1.0", "nan", "-inf", "true",
			"2026-03-01T08:30:00Z", "2026-03-01 08:30:00", "08:30:00", "[]", "[1, 2,]", `["a", # c ]`+eol+`  "b"`+eol+"]", "{}", `{ a = 1, "b c" = [ {x = 2} ] }`,
			`"""`+eol+"a # no comment"+eol+`[no.header]"""`, "'''it's'''", `"a\"b\\"`, `"""a "" b"""""`, `"#"`)
	}
	note := func() string { return one("note", "", "", "", " # note", "\t#") }
	var b strings.Builder
	b.WriteString(one("head", "", "", bom))
	n := 0
	keys := func(prefix string) {
		for range rapid.IntRange(0, 3).Draw(t, "keys") {
			n++
			key := one("key", "k%d", `"k %d"`, "'k.%d'", "k%d.sub", "k-%d . x . y", "_k%d")
			fmt.Fprintf(&b, "%s%s%s=%s%s%s%s", one("indent", "", "  ", "\t"), prefix, fmt.Sprintf(key, n), one("space", "", " ", "  "), value(), note(), eol)
		}
	}
	blank := func() { b.WriteString(one("blank", "", eol, "# text [x] = 1"+eol, "  "+eol)) }
	keys("")
	form := one("servers", "none", "dotted", "inline", "header", "tables", "empty inline", "quoted")
	switch form {
	case "dotted":
		keys("mcp_servers.maps.")
	case "inline":
		b.WriteString("mcp_servers = { maps = { command = \"x\" }, b.c = 1 }" + note() + eol)
	case "empty inline":
		b.WriteString("mcp_servers = {}" + note() + eol)
	}
	blank()
	for i := range rapid.IntRange(0, 3).Draw(t, "tables") {
		fmt.Fprintf(&b, one("table", "[t%d]", "[ t%d . \"x y\" ]", "  [t%d.sub]", "[[a%d]]")+note()+eol, i)
		keys("")
		blank()
	}
	switch form {
	case "header":
		b.WriteString("[mcp_servers]" + eol + "maps.command = 'x'" + eol + "inline = { command = \"y\" }" + note() + eol)
	case "tables":
		b.WriteString("[mcp_servers.maps]" + eol)
		keys("")
		b.WriteString("[mcp_servers.maps.env]" + eol + "A = \"b\"" + eol)
	case "quoted":
		b.WriteString("[\"mcp_servers\".'maps']" + eol)
		keys("")
	}
	blank()
	out := b.String()
	if rapid.Bool().Draw(t, "no final newline") {
		out = strings.TrimRight(out, "\r\n")
	}
	return []byte(out)
}

// genMarkdown writes a random Markdown file in which setup may add a block.
func genMarkdown(t *rapid.T) []byte {
	eol := rapid.SampledFrom([]string{"\n", "\n", "\r\n"}).Draw(t, "eol")
	one := func(label string, of ...string) string { return rapid.SampledFrom(of).Draw(t, label) }
	var b strings.Builder
	b.WriteString(one("head", "", "", bom))
	for range rapid.IntRange(0, 6).Draw(t, "parts") {
		b.WriteString(one("part", "# A", "text", "", "", "  ", "- item", "> quote", "    code", "```"+eol+"x"+eol+"```", "~~~~ md"+eol+"```"+eol+"~~~~",
			"<!-- note -->", "<!--"+eol+"```"+eol+"-->", "e\u0301 \u2028 x", "Use ```x``` here", "trailing  ", "holdfast:begin in words") + eol)
	}
	if rapid.IntRange(0, 2).Draw(t, "old block") == 0 {
		b.WriteString(blockBegin + eol + "old generated text" + eol + one("end", blockEnd, "<!-- holdfast:end v1 -->") + eol)
		b.WriteString(one("footer", "", eol+"footer"+eol, eol))
	}
	out := b.String()
	if rapid.Bool().Draw(t, "no final newline") {
		out = strings.TrimRight(out, "\r\n")
	}
	return []byte(out)
}
