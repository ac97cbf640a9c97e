package secret

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// row is a line of a fixture. The value stands in the file in two halves, so
// that scanners of the repository don't report it.
type row struct{ kind, expect, value, context string }

// text is the value in its context.
func (r row) text() string { return strings.ReplaceAll(r.context, "{}", r.value) }

// readRows reads a fixture with columns [kind] expect prefix rest context, and
// gives it in all ways in which "\n" can be read there.
func readRows(t testing.TB, path string, read func(string) string) []row {
	t.Helper()
	b, err := os.ReadFile(filepath.FromSlash("testdata/" + path))
	if err != nil {
		t.Fatal(err)
	}
	var rows []row
	for i, line := range strings.Split(strings.TrimRight(string(b), "\n"), "\n") {
		if i == 0 || strings.HasPrefix(line, "#") || line == "" {
			continue
		}
		f := strings.Split(line, "\t")
		if len(f) == 4 {
			f = append([]string{f[3]}, f...)
		}
		if len(f) != 5 {
			t.Fatalf("%s: line %d has %d columns", path, i+1, len(f))
		}
		rows = append(rows, row{f[0], f[1], read(f[2] + f[3]), f[4]})
	}
	if len(rows) == 0 {
		t.Fatalf("%s holds no rows", path)
	}
	return rows
}

// The notation of the fixtures: \n stands for a newline, and \\n is read
// either as an escaped n (as JSON has it) or as a backslash and a newline.
var (
	unescape = strings.NewReplacer(`\\n`, `\n`, `\n`, "\n").Replace
	naive    = strings.NewReplacer(`\n`, "\n").Replace
	literal  = func(s string) string { return s }
)

// check screens one text and returns its findings.
func check(t testing.TB, s *Screen, text string) []Finding {
	t.Helper()
	found := s.Check([]Field{{"text", text}})
	for _, f := range found {
		if f.Start < 0 || f.Start >= f.End || f.End > len(text) {
			t.Errorf("finding %+v is out of the text's %d bytes", f, len(text))
		}
	}
	if len(found) > 0 {
		if msg := (&FoundError{found}).Error(); leaks(msg, text, found) {
			t.Errorf("the message holds the value: %s", msg)
		}
	}
	return found
}

// leaks reports whether a message holds six characters in a row of a value.
func leaks(msg, text string, found []Finding) bool {
	for _, f := range found {
		v := text[f.Start:f.End]
		for i := 0; i+6 <= len(v); i++ {
			if look(v[i:i+6]).digit > 0 && strings.Contains(msg, v[i:i+6]) {
				return true
			}
		}
	}
	return false
}

// covers reports whether the findings lie over nearly all of the value; of an
// address with a password only the password counts.
func covers(text, value string, found []Finding) bool {
	if _, rest, ok := strings.Cut(value, "://"); ok {
		if login, _, ok := strings.Cut(rest, "@"); ok {
			_, value, _ = strings.Cut(login, ":")
		}
	}
	at := strings.Index(text, value)
	n := 0
	for _, f := range found {
		n += max(0, min(f.End, at+len(value))-max(f.Start, at))
	}
	return at >= 0 && n*4 >= len(value)*3
}

func TestCaseC066_SecretsInProse(t *testing.T) {
	for name, read := range map[string]func(string) string{"unescaped": unescape, "naive": naive, "literal": literal} {
		t.Run(name, func(t *testing.T) {
			s := New(nil)
			for _, r := range readRows(t, "C066/secrets.tsv", read) {
				testRow(t, s, r.kind, r, r.text())
				for _, around := range []string{"{}", "see {}.", "({})", "\"{}\"", "`{}`", "note: {}, and more", "vorher {} nachher", "it was\n{}\nin the log", "- {}\n- next"} {
					testRow(t, s, r.kind+" in "+around, r, strings.ReplaceAll(around, "{}", r.text()))
				}
			}
		})
	}
}

func testRow(t *testing.T, s *Screen, what string, r row, text string) {
	t.Helper()
	found := check(t, s, text)
	if want := r.expect == "secret"; (len(found) > 0) != want {
		t.Errorf("%s: found %v, want secret = %v", what, found, want)
	} else if partly := r.kind == "link" || r.kind == "header" || r.kind == "line"; want && !partly && !covers(text, r.value, found) {
		t.Errorf("%s: the findings %v don't cover the value", what, found)
	}
}

// shapes are the six ways in which a name and its value are written.
var shapes = map[string]func(name, value string) string{
	"plain":  func(n, v string) string { return n + ": " + v },
	"json":   func(n, v string) string { return `{"` + n + `":"` + v + `"}` },
	"yaml":   func(n, v string) string { return "config:\n  " + n + ": " + v + "\n  other: 1\n" },
	"export": func(n, v string) string { return "export " + n + "=" + v },
	"flag":   func(n, v string) string { return "tool --" + n + " " + v + " --verbose" },
	"header": func(n, v string) string {
		return "GET / HTTP/1.1\r\nHost: example.test\r\n" + n + ": " + v + "\r\n\r\n"
	},
}

// moreShapes are further ones.
var moreShapes = map[string]func(name, value string) string{
	"json spaced":  func(n, v string) string { return `{"a": 1, "` + n + `": "` + v + `", "b": 2}` },
	"json escaped": func(n, v string) string { return `{\"` + n + `\":\"` + v + `\"}` },
	"flag =":       func(n, v string) string { return "tool --" + n + "=" + v },
	"flag quoted":  func(n, v string) string { return "tool --" + n + " '" + v + "'" },
	"yaml quoted":  func(n, v string) string { return n + ": '" + v + "'" },
	"yaml block":   func(n, v string) string { return n + ": |\n  " + v + "\n" },
	"toml":         func(n, v string) string { return n + " = \"" + v + "\"" },
	"python":       func(n, v string) string { return n + ": str = '" + v + "'" },
	"go":           func(n, v string) string { return n + " := \"" + v + "\"" },
	"php":          func(n, v string) string { return "'" + n + "' => '" + v + "'," },
	"query":        func(n, v string) string { return "https://api.example.test/v1?a=1&" + n + "=" + v + "&z=2" },
	"xml":          func(n, v string) string { return "<" + n + ">" + v + "</" + n + ">" },
	"table":        func(n, v string) string { return "| " + n + " | " + v + " |" },
	"markdown":     func(n, v string) string { return "**" + n + "**: `" + v + "`" },
	"prose":        func(n, v string) string { return "the " + n + " is " + v + " for now" },
	"k8s":          func(n, v string) string { return "- name: " + n + "\n  value: \"" + v + "\"\n" },
	"setenv":       func(n, v string) string { return `os.Setenv("` + n + `", "` + v + `")` },
	"powershell":   func(n, v string) string { return "$env:" + n + " = \"" + v + "\"" },
	"curl":         func(n, v string) string { return "curl -H '" + n + ": " + v + "' https://example.test" },
}

func TestCaseC067_CompoundNames(t *testing.T) {
	s := New(nil)
	for _, r := range readRows(t, "C067/assignments.tsv", unescape) {
		name, _, ok := strings.Cut(r.context, ":")
		if !ok {
			t.Fatalf("no name in %q", r.context)
		}
		for shape, write := range shapes {
			testRow(t, s, shape+" "+name, r, write(name, r.value))
		}
		for shape, write := range moreShapes {
			testRow(t, s, shape+" "+name, r, write(name, r.value))
		}
	}
}

// TestCaseC069_EveryField puts one secret into each place that the case names
// and wants the finding to name that place. That the store passes every field
// through here is its own test.
func TestCaseC069_EveryField(t *testing.T) {
	b, err := os.ReadFile(filepath.FromSlash("testdata/C069/fields.txt"))
	if err != nil {
		t.Fatal(err)
	}
	_, list, _ := strings.Cut(string(b), "\n")
	var token row
	for _, r := range readRows(t, "C066/secrets.tsv", unescape) {
		if r.kind == "github-classic" {
			token = r
		}
	}
	places := strings.FieldsFunc(strings.TrimRight(strings.TrimSpace(list), "."), func(r rune) bool { return r == ';' || r == '\n' })
	if len(places) < 20 || token.value == "" {
		t.Fatalf("the fixture gives %d places", len(places))
	}
	s := New(nil)
	for i := range places {
		var fields []Field
		for j, p := range places {
			f := Field{strings.TrimSpace(p), "nothing to see in " + p}
			if i == j {
				f.Text = "before " + token.value + " after"
			}
			fields = append(fields, f)
		}
		found := s.Check(fields)
		if len(found) != 1 || found[0].Field != fields[i].Name || found[0].Start != 7 || found[0].End != 7+len(token.value) {
			t.Errorf("secret in %q: found %v", fields[i].Name, found)
		}
	}
}

// TestMoreSecrets holds rows of our own, of the kinds that the cases name:
// other vendors, other names, other languages, other disguises.
func TestMoreSecrets(t *testing.T) {
	s := New(nil)
	for _, r := range readRows(t, "more-secrets.tsv", unescape) {
		testRow(t, s, r.kind+" "+r.context, r, r.text())
		if r.kind == "line" {
			continue
		}
		for _, around := range []string{"see {} for now", "- {}\n- next", "first line\n{}"} {
			testRow(t, s, r.kind+" in "+around, r, strings.ReplaceAll(around, "{}", r.text()))
		}
	}
}
