package client

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/tailscale/hujson"
)

func TestCaseC035_JSONCIsEditedInPlace(t *testing.T) {
	data := fixture(t, "C035/mcp.jsonc")
	res := roundTrip(t, claudeTarget(t), data)
	want := strings.Replace(string(data), "\t\t},\n\t},\n", "\t\t},\n\t\t\"holdfast\": {\n\t\t\t\"type\": \"stdio\",\n\t\t\t\"command\": \"holdfast\",\n\t\t\t\"args\": [\"mcp\"]\n\t\t},\n\t},\n", 1)
	if string(res.File.Data) != want {
		t.Errorf("unexpected text:\n%s", Diff("mcp.jsonc", []byte(want), res.File.Data))
	}
}

func TestCaseC035_UnexpectedShapesAreRefused(t *testing.T) {
	target := claudeTarget(t)
	for name, at := range map[string][2]int{"settings.broken.json": {4, 5}, "top-level-array.json": {1, 1}, "mcpServers-null.json": {1, 17}} {
		t.Run(name, func(t *testing.T) {
			r := refused(t, target, fixture(t, "C035/"+name))
			if r.Line != at[0] || r.Col != at[1] {
				t.Errorf("%v: want line %d, column %d", r, at[0], at[1])
			}
			if !json.Valid([]byte(r.Snippet)) || !strings.Contains(r.Snippet, `"mcpServers"`) {
				t.Errorf("snippet: %s", r.Snippet)
			}
		})
	}
	for name, data := range map[string]string{
		"0 bytes":         "",
		"only a comment":  "// nothing\n",
		"20 MB":           "{" + strings.Repeat(" ", 20<<20) + "}",
		"section twice":   `{"mcpServers": {}, "mcpServers": {}}`,
		"escaped twice":   `{"mcpServers": {}, "mcp\u0053ervers": {}}`,
		"our entry twice": `{"mcpServers": {"holdfast": {}, "holdfast": {}}}`,
		"section string":  `{"mcpServers": "x"}`,
		"section list":    `{"mcpServers": []}`,
		"two documents":   "{}\n{}\n",
		"cut":             `{"mcpServers": {"a": `,
		"open comment":    `{} /* `,
		"nested oddly":    strings.Repeat(`{"a":`, 5000) + "1" + strings.Repeat("}", 5000),
		"single quotes":   `{'mcpServers': {}}`,
		"bare NUL":        "{}\x00",
	} {
		t.Run(name, func(t *testing.T) { refused(t, target, []byte(data)) })
	}
}

func TestCaseC036_ByteOrderMarks(t *testing.T) {
	res := roundTrip(t, claudeTarget(t), fixture(t, "C036/mcp.bom.json"))
	if !bytes.HasPrefix(res.File.Data, []byte(bom)) || bytes.Count(res.File.Data, []byte("\n")) != bytes.Count(res.File.Data, []byte("\r\n")) {
		t.Errorf("BOM or CRLF lost: %q", res.File.Data)
	}
	res = roundTrip(t, codexTarget(t), fixture(t, "C036/config.bom.toml"))
	if !bytes.HasPrefix(res.File.Data, []byte(bom)) || bytes.Count(res.File.Data, []byte("\n")) != bytes.Count(res.File.Data, []byte("\r\n")) {
		t.Errorf("BOM or CRLF lost: %q", res.File.Data)
	}
	if r := refused(t, claudeTarget(t), fixture(t, "C036/mcp.utf16le.json")); !strings.Contains(r.Why, "FF FE") {
		t.Errorf("the bytes are not named: %v", r)
	}
	for _, target := range []Target{claudeTarget(t), codexTarget(t), agentsTarget(t)} {
		if r := refused(t, target, []byte("{\n\"a\": \"\xc3\x28\"}")); !strings.Contains(r.Why, "C3") || r.Line != 2 || r.Col != 7 {
			t.Errorf("%v", r)
		}
	}
	for _, target := range []Target{claudeTarget(t), codexTarget(t), agentsTarget(t), geminiTarget(t)} {
		if res := roundTrip(t, target, nil); bytes.HasPrefix(res.File.Data, []byte(bom)) || !bytes.HasSuffix(res.File.Data, []byte("\n")) {
			t.Errorf("%s: a new file has a BOM or no final line end", target.Path)
		}
	}
}

func TestCaseC038_NothingIsReencoded(t *testing.T) {
	data := fixture(t, "C038/settings.json")
	for _, target := range []Target{claudeTarget(t), geminiTarget(t), targetOf(t, Claude, claudeFile)} {
		res := roundTrip(t, target, data)
		for _, kept := range []string{`"big": 9007199254740993,`, `123456789012345678901234567890`, `1E2`, `-0,`, `"\u00e9\/ok"`, "a\u2028b", `"\ud83d"`, "\"dup\": 1,\n   \"dup\": 2", "lint && test < in.txt > out.txt"} {
			if !bytes.Contains(res.File.Data, []byte(kept)) {
				t.Errorf("%s: lost %s", target.Path, kept)
			}
		}
		if bytes.HasSuffix(res.File.Data, []byte("\n")) {
			t.Error("a final line end came")
		}
	}
	res := mustApply(t, claudeTarget(t), File{Exists: true, Data: data}, nil)
	want := strings.Replace(string(data), `"mcpServers": {}`, "\"mcpServers\": {\n      \"holdfast\": {\n         \"type\": \"stdio\",\n         \"command\": \"holdfast\",\n         \"args\": [\"mcp\"]\n      }\n   }", 1)
	if string(res.File.Data) != want {
		t.Errorf("not the file's indentation:\n%s", Diff("x", []byte(want), res.File.Data))
	}
}

func TestCaseC038_HooksBesideOthers(t *testing.T) {
	data := fixture(t, "C038/settings.json")
	target := targetOf(t, Claude, claudeFile)
	res := mustApply(t, target, File{Exists: true, Data: data}, nil)
	line := `   "hooks": { "Stop": [ { "hooks": [ { "type": "command", "command": "lint && test < in.txt > out.txt" } ] }, { "hooks": [{ "type": "command", "command": "holdfast hook claude Stop", "timeout": 10 }] } ], "SessionStart": [{ "matcher"`
	if !strings.Contains(string(res.File.Data), line) {
		t.Errorf("hooks on one line do not stay on one line:\n%s", res.File.Data)
	}
	v, err := hujson.Standardize(bytes.Clone(res.File.Data))
	if err != nil || !json.Valid(v) {
		t.Errorf("not JSON any more: %v", err)
	}
}

func TestCaseC039_VariablesStayVariables(t *testing.T) {
	t.Setenv("DOCS_API_KEY", "synthetic")
	data := fixture(t, "C039/settings.json")
	res := roundTrip(t, geminiTarget(t), data)
	for _, kept := range []string{"$DOCS_API_KEY", "${DOCS_TOKEN:-none}", `// "code": {`} {
		if !bytes.Contains(res.File.Data, []byte(kept)) {
			t.Errorf("lost %s", kept)
		}
	}
	if bytes.Contains(res.File.Data, []byte("synthetic")) {
		t.Error("a variable was expanded")
	}
}

const kept = "Keep this paragraph."

func TestCaseC042_OnlyTwoStatesAreWritten(t *testing.T) {
	target := agentsTarget(t)
	for _, name := range []string{"duplicate", "in-code-fence", "mixed-versions", "nested", "orphan-begin", "orphan-end", "reversed"} {
		t.Run(name, func(t *testing.T) {
			data := fixture(t, "C042/"+name+".md")
			r := refused(t, target, data)
			if r.Line == 0 || !strings.Contains(r.Snippet, blockBegin) {
				t.Errorf("%+v", r)
			}
			if _, err := Remove(target, File{Exists: true, Data: data}, Options{}); err == nil {
				t.Error("removal did not refuse")
			}
		})
	}
	for _, name := range []string{"none", "no-final-newline", "valid", "crlf", "older-version"} {
		t.Run(name, func(t *testing.T) {
			data := fixture(t, "C042/"+name+".md")
			res := roundTrip(t, target, data)
			text := string(res.File.Data)
			if strings.Count(text, "holdfast:begin") != 1 || strings.Contains(text, "old generated") {
				t.Errorf("not replaced in place:\n%s", text)
			}
			if name == "crlf" && strings.Count(text, "\n") != strings.Count(text, "\r\n") {
				t.Error("CRLF lost")
			}
			if name == "valid" && !strings.HasSuffix(text, "\n\nMy own footer.\n") {
				t.Error("the text after the block moved")
			}
			if name == "no-final-newline" && !strings.HasPrefix(text, "# House rules\n\nNever push on Fridays.\n\n<!-- ") {
				t.Errorf("glued: %q", text)
			}
		})
	}
}

func TestCaseC042_OddPlacesForMarkers(t *testing.T) {
	target := agentsTarget(t)
	for name, text := range map[string]string{
		"in prose":          "We use `<!-- holdfast:begin v1 -->` here.\n",
		"indented":          "- a\n\n      <!-- holdfast:begin v1 -->\n      x\n      <!-- holdfast:end -->\n",
		"quoted":            "> <!-- holdfast:begin v1 -->\n> <!-- holdfast:end -->\n",
		"newer":             "<!-- holdfast:begin v7 -->\nx\n<!-- holdfast:end -->\n",
		"no version":        "<!-- holdfast:begin -->\nx\n<!-- holdfast:end -->\n",
		"capitals":          "<!-- Holdfast:Begin v1 -->\nx\n<!-- holdfast:end -->\n",
		"in a comment":      "<!--\n<!-- holdfast:begin v1 -->\nx\n",
		"tilde fence":       "~~~md\n<!-- holdfast:begin v1 -->\nx\n<!-- holdfast:end -->\n~~~\n",
		"longer fence":      "````\n```\n<!-- holdfast:begin v1 -->\n<!-- holdfast:end -->\n````\n",
		"fence never ends":  "# A\n\n```sh\nmake\n",
		"comment stays":     "# A\n\n<!-- draft\nx\n",
		"pair and a fenced": "<!-- holdfast:begin v1 -->\nx\n<!-- holdfast:end -->\n```\n<!-- holdfast:begin v1 -->\n```\n",
	} {
		t.Run(name, func(t *testing.T) { refused(t, target, []byte(text)) })
	}
	for name, text := range map[string]string{
		"closed fence":    "```\nx\n```\n\n" + kept + "\n",
		"fence with info": "```go\nx\n```\n",
		"inline code":     "Use ```x``` here.\n",
		"closed comment":  "<!-- note -->\n<!--\nlong\n-->\n",
		"ends blank":      "# A\n\n",
		"only spaces":     " \n",
	} {
		t.Run(name, func(t *testing.T) { roundTrip(t, target, []byte(text)) })
	}
}

func TestCaseC044_ComparedByValue(t *testing.T) {
	target := codexTarget(t)
	// The fixtures' entry is the command alone; what setup writes has more.
	full := func(data []byte) []byte {
		eol := "\n"
		if bytes.Contains(data, []byte("\r\n")) {
			eol = "\r\n"
		}
		return bytes.Replace(data, []byte(`command = "holdfast"`+eol), []byte(`command = "holdfast"`+eol+`args = ["mcp"]`+eol+`env_vars = ["XDG_STATE_HOME", "XDG_CACHE_HOME"]`+eol), 1)
	}
	wrote := mustApply(t, target, File{Exists: true, Data: []byte("model = \"a\"\n")}, nil)
	for _, name := range []string{"config.lf", "config.crlf"} {
		f := File{Exists: true, Data: full(fixture(t, "C044/"+name+".toml"))}
		for _, u := range []*Undo{nil, wrote.Undo} {
			res := mustApply(t, target, f, u)
			if res.Changed || res.Items[0].Action != None {
				t.Errorf("%s: %+v", name, res.Items)
			}
			gone := mustRemove(t, target, f, u)
			if want := "model = \"a\"\n# BEGIN holdfast\n# END holdfast\n"; strings.ReplaceAll(string(gone.File.Data), "\r", "") != want {
				t.Errorf("%s: removed to %q", name, gone.File.Data)
			}
		}
	}
	// A key that the client or a person added: ours, changed, kept.
	f := File{Exists: true, Data: full(fixture(t, "C044/config.markers-stripped.toml"))}
	res := mustApply(t, target, f, wrote.Undo)
	if res.Changed || res.Items[0] != (ItemState{"server", Changed, Keep}) {
		t.Errorf("an entry with a key more: %+v", res.Items)
	}
	// Without our entry: offered again, and known as removed.
	res = mustApply(t, target, File{Exists: true, Data: []byte("model = \"b\"\n")}, wrote.Undo)
	if res.Items[0] != (ItemState{"server", Removed, Add}) {
		t.Errorf("a removed entry: %+v", res.Items)
	}
	if back := mustRemove(t, target, res.File, res.Undo); string(back.File.Data) != "model = \"b\"\n" {
		t.Errorf("%q", back.File.Data)
	}
	// Numbers in another form are the same value.
	if canon(map[string]any{"t": int64(10)}) != canon(map[string]any{"t": 10.0}) {
		t.Error("10 and 10.0 differ")
	}
}

func TestCaseC080_DiffMarksEveryDifference(t *testing.T) {
	d := Diff("a.json", fixture(t, "C080/before.json"), fixture(t, "C080/after.json"))
	for _, part := range []string{"-{", "+{", "9007199254740993", "9007199254740992", "a float64 holds both", "a<b & c \""} {
		if !strings.Contains(d, part) {
			t.Errorf("no %q in:\n%s", part, d)
		}
	}
	long := strings.Repeat("x", 2<<20)
	for name, c := range map[string]struct{ a, b, want string }{
		"trailing space": {"a\n", "a \n", "white space at the end: 1 spaces, was none"},
		"line end":       {"a\nb\n", "a\r\nb\n", "line end: CRLF, was LF"},
		"unicode form":   {"caf\u00e9\n", "cafe\u0301\n", "composed and decomposed"},
		"time zone":      {"2026-01-01T00:00:00Z\n", "2026-01-01T01:00:00+01:00\n", "+01:00"},
		"last newline":   {"a\n", "a", "No newline at end of file"},
		"control":        {"a\n", "a\x1b[31m\n", "‹U+001B›[31m"},
		"direction":      {"ab\n", "a\u202eb\n", "‹U+202E›"},
		"no-break space": {"a b\n", "a\u00a0b\n", "‹U+00A0›"},
		"bad byte":       {"a\n", "a\xff\n", "‹FF›"},
		"look-alike":     {"\x01\n", "‹U+0001›\n", "look alike"},
		"inner space":    {"a  b\n", "a b\n", "only white space"},
		"2 MB line":      {long + "a" + long + "\n", long + "b" + long + "\n", "differences lie from byte 2097153 on"},
		"BOM":            {"{}\n", bom + "{}\n", "‹U+FEFF›"},
	} {
		t.Run(name, func(t *testing.T) {
			d := Diff("f", []byte(c.a), []byte(c.b))
			if !strings.Contains(d, c.want) {
				t.Errorf("no %q in:\n%.2000s", c.want, d)
			}
			if len(d) > 4000 {
				t.Errorf("%d bytes of diff", len(d))
			}
			if Diff("f", []byte(c.a), []byte(c.a)) != "" {
				t.Error("equal bytes differ")
			}
		})
	}
	if d := Diff("f", nil, []byte{}); !strings.Contains(d, "/dev/null") {
		t.Errorf("creation of an empty file: %q", d)
	}
	if d := Diff("f", []byte("a\n"), nil); !strings.Contains(d, "+++ /dev/null") || !strings.Contains(d, "-a") {
		t.Errorf("deletion: %q", d)
	}
}
