package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// there and back: setup, setup again, and out again, for one client with one
// file in place. The second run writes no byte; removing gives everything back.
func thereAndBack(t *testing.T, client, file string, data []byte) (b *box, edited []byte) {
	t.Helper()
	b = newBox(t)
	if data != nil {
		b.write(file, data)
	}
	before := b.snapshot(false)
	first := b.must(0, "setup", "--client", client, "--yes", "--json")
	if s := first.setup(t); !s.Applied || s.Clients[0].State != "connected" || s.Clients[0].Verified == nil || !s.Clients[0].Verified.OK {
		t.Fatalf("not connected and verified: %s", first.out)
	}
	edited = b.read(file)
	after, log := b.snapshot(true), b.must(0, "log", "--json").out
	b.must(0, "setup", "--client", client, "--yes")
	b.same("a second run", after, b.snapshot(true))
	if again := b.must(0, "log", "--json").out; again != log {
		t.Error("a second run saved something")
	}
	b.must(0, "setup", "--check", "--client", client)
	b.must(0, "setup", "--remove", "--client", client, "--yes")
	b.same("remove", before, b.snapshot(false))
	last := b.snapshot(true)
	b.must(0, "setup", "--remove", "--client", client, "--yes")
	b.same("a second remove", last, b.snapshot(true))
	return b, edited
}

func TestCaseC032_SetupKeepsATOMLFile(t *testing.T) {
	t.Parallel()
	data := newBox(t).fixture("C032/config.toml")
	for name, data := range map[string][]byte{
		"as it is": data, "CRLF": bytes.ReplaceAll(data, []byte("\n"), []byte("\r\n")), "tabs": bytes.ReplaceAll(data, []byte("  "), []byte("\t")),
		"no final newline": bytes.TrimRight(data, "\n"), "empty": {}, "missing": nil,
	} {
		t.Run(name, func(t *testing.T) {
			if _, edited := thereAndBack(t, "codex", ".codex/config.toml", data); !bytes.HasPrefix(edited, data) {
				t.Error("more than an addition")
			}
		})
	}
}

func TestCaseC033_SetupKnowsEveryForm(t *testing.T) {
	t.Parallel()
	const file = ".codex/config.toml"
	for _, name := range []string{"dotted-keys", "dotted-and-inline-parent"} {
		t.Run(name, func(t *testing.T) { thereAndBack(t, "codex", file, newBox(t).fixture("C033/"+name+".toml")) })
	}
	for _, name := range []string{"inline-headers", "subtable-headers", "user-owned-same-name", "broken-already"} {
		t.Run(name, func(t *testing.T) {
			b := newBox(t)
			data := b.fixture("C033/" + name + ".toml")
			b.write(file, data)
			for range 2 {
				a := b.must(1, "setup", "--client", "codex,claude", "--yes", "--json")
				s := a.setup(t)
				if s.Clients[0].State != "partly" || s.Clients[1].State != "connected" {
					t.Errorf("states: %s", a.out)
				}
				if why, snippet, line := s.whyOf(file); name == "broken-already" && (line != 4 || why == "" || !strings.Contains(snippet, "[mcp_servers.holdfast]")) {
					t.Errorf("line %d: %s\n%s", line, why, snippet)
				}
			}
			b.run("setup", "--remove", "--yes")
			if !bytes.Equal(b.read(file), data) {
				t.Error("a file that is somebody else's was changed")
			}
		})
	}
}

func TestCaseC035_SetupLeavesWhatItCannotRead(t *testing.T) {
	t.Parallel()
	t.Run("comments", func(t *testing.T) {
		thereAndBack(t, "claude", ".mcp.json", newBox(t).fixture("C035/mcp.jsonc"))
	})
	for name, put := range map[string]func(b *box, file string){
		"broken":    func(b *box, file string) { b.write(file, b.fixture("C035/settings.broken.json")) },
		"array":     func(b *box, file string) { b.write(file, b.fixture("C035/top-level-array.json")) },
		"null":      func(b *box, file string) { b.write(file, b.fixture("C035/mcpServers-null.json")) },
		"empty":     func(b *box, file string) { b.write(file, nil) },
		"20 MB":     func(b *box, file string) { b.write(file, []byte("{"+strings.Repeat(" ", 20<<20)+"}")) },
		"not UTF-8": func(b *box, file string) { b.write(file, []byte("{\"a\": \"\xc3\x28\"}")) },
		"deep": func(b *box, file string) {
			b.write(file, []byte(strings.Repeat(`{"a":`, 5000)+"1"+strings.Repeat("}", 5000)))
		},
		"twice":      func(b *box, file string) { b.write(file, []byte(`{"mcpServers": {}, "mcpServers": {}}`)) },
		"ours twice": func(b *box, file string) { b.write(file, []byte(`{"mcpServers": {"holdfast": {}, "holdfast": {}}}`)) },
		"a folder":   func(b *box, file string) { b.mkdir(file) },
		"unreadable": func(b *box, file string) { b.write(file, []byte("{}")); b.chmod(file, 0) },
		"not ours": func(b *box, file string) {
			b.write(file, []byte(`{"mcpServers": {"holdfast": {"command": "/opt/other"}}}`))
		},
		"not writable": func(b *box, file string) { b.write(file, []byte("{}\n")); b.chmod(file, 0o444) },
		"dangling":     func(b *box, file string) { b.link("nowhere", file) },
		"circle":       func(b *box, file string) { b.link(filepath.Base(file), file) },
	} {
		t.Run(name, func(t *testing.T) {
			b := newBox(t)
			const file = ".mcp.json"
			put(b, file)
			before := b.snapshot(true)[file]
			a := b.must(1, "setup", "--client", "claude,cursor,codex", "--yes", "--json")
			s := a.setup(t)
			states := map[string]string{}
			for _, c := range s.Clients {
				states[c.Client] = c.State
			}
			if d := cmp.Diff(map[string]string{"claude": "partly", "cursor": "connected", "codex": "connected"}, states); d != "" {
				t.Errorf("states: %s", d)
			}
			why, snippet, _ := s.whyOf(file)
			if name != "not ours" && (why == "" || !strings.Contains(snippet, `"mcpServers"`)) {
				t.Errorf("no reason or no snippet: %q %q", why, snippet)
			}
			text := b.must(1, "setup", "--check", "--client", "claude").out
			if !strings.Contains(text, ".mcp.json") {
				t.Errorf("not named:\n%s", text)
			}
			b.run("setup", "--remove", "--yes")
			if b.snapshot(true)[file] != before {
				t.Error("it was touched")
			}
			b.chmodIf(file, 0o644)
		})
	}
}

func (b *box) mkdir(name string) {
	b.t.Helper()
	if err := os.MkdirAll(b.path(name), 0o755); err != nil {
		b.t.Fatal(err)
	}
}

func (b *box) chmod(name string, mode os.FileMode) {
	b.t.Helper()
	if err := os.Chmod(b.path(name), mode); err != nil {
		b.t.Fatal(err)
	}
}

func (b *box) chmodIf(name string, mode os.FileMode) { _ = os.Chmod(b.path(name), mode) }

func (b *box) link(to, name string) {
	b.t.Helper()
	if err := os.MkdirAll(filepath.Dir(b.path(name)), 0o755); err != nil {
		b.t.Fatal(err)
	}
	if err := os.Symlink(to, b.path(name)); err != nil {
		b.t.Skip("no symbolic links here: ", err)
	}
}

func TestCaseC036_SetupReadsPastAByteOrderMark(t *testing.T) {
	t.Parallel()
	for file, client := range map[string]string{"config.bom.toml": "codex", "mcp.bom.json": "claude"} {
		target := map[string]string{"codex": ".codex/config.toml", "claude": ".mcp.json"}[client]
		_, edited := thereAndBack(t, client, target, newBox(t).fixture("C036/"+file))
		if !bytes.HasPrefix(edited, []byte("\xef\xbb\xbf")) || bytes.Count(edited, []byte("\n")) != bytes.Count(edited, []byte("\r\n")) {
			t.Errorf("%s: mark or line ends lost", file)
		}
	}
	b := newBox(t)
	b.write(".mcp.json", b.fixture("C036/mcp.utf16le.json"))
	before := b.snapshot(true)[".mcp.json"]
	s := b.must(1, "setup", "--client", "claude", "--yes", "--json").setup(t)
	if why, _, _ := s.whyOf(".mcp.json"); !strings.Contains(why, "FF FE") {
		t.Errorf("the bytes are not named: %s", why)
	}
	if b.snapshot(true)[".mcp.json"] != before {
		t.Error("it was touched")
	}
	for path, text := range b.snapshot(false) {
		if path != ".mcp.json" && strings.Contains(text, "\xef\xbb\xbf") {
			t.Errorf("%s: a new file has a byte order mark", path)
		}
	}
}

func TestCaseC038_SetupReencodesNothing(t *testing.T) {
	t.Parallel()
	for client, file := range map[string]string{"claude": ".claude/settings.json", "gemini": ".gemini/settings.json"} {
		thereAndBack(t, client, file, newBox(t).fixture("C038/settings.json"))
	}
}

func TestCaseC039_SetupExpandsNothing(t *testing.T) {
	t.Parallel()
	const value = "synthetic-9f3c1b"
	b := newBox(t)
	b.env = append(b.env, "DOCS_API_KEY="+value, "DOCS_TOKEN="+value)
	data := b.fixture("C039/settings.json")
	b.write(".gemini/settings.json", data)
	for _, args := range [][]string{{"setup", "--client", "all", "--yes"}, {"setup", "--client", "all", "--yes", "--absolute"}, {"setup", "--check"}, {"resume"}} {
		if a := b.run(args...); a.code != 0 || strings.Contains(a.out+a.err, value) {
			t.Errorf("%v: status %d, or the value is shown", args, a.code)
		}
		b.absent(value)
	}
	b.must(0, "setup", "--remove", "--yes")
	b.absent(value)
	if !bytes.Equal(b.read(".gemini/settings.json"), data) {
		t.Error("not restored")
	}
}

func TestCaseC042_SetupWritesOnlyTwoStates(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"none", "no-final-newline"} {
		t.Run(name, func(t *testing.T) { thereAndBack(t, "opencode", "AGENTS.md", newBox(t).fixture("C042/"+name+".md")) })
	}
	for _, name := range []string{"valid", "older-version", "crlf"} {
		t.Run(name, func(t *testing.T) {
			b := newBox(t)
			b.write("AGENTS.md", b.fixture("C042/"+name+".md"))
			b.must(0, "setup", "--client", "opencode", "--yes")
			once := b.snapshot(true)
			b.must(0, "setup", "--client", "opencode", "--yes")
			b.same("a second run", once, b.snapshot(true))
			if text := string(b.read("AGENTS.md")); strings.Count(text, "holdfast:begin") != 1 || strings.Contains(text, "old generated") {
				t.Errorf("not replaced in place:\n%s", text)
			}
			b.must(0, "setup", "--remove", "--yes")
			if !bytes.Equal(b.read("AGENTS.md"), b.fixture("C042/"+name+".md")) {
				t.Errorf("not as it was:\n%s", b.read("AGENTS.md"))
			}
		})
	}
	for _, name := range []string{"duplicate", "in-code-fence", "mixed-versions", "nested", "orphan-begin", "orphan-end", "reversed"} {
		t.Run(name, func(t *testing.T) {
			b := newBox(t)
			data := b.fixture("C042/" + name + ".md")
			b.write("AGENTS.md", data)
			for range 2 {
				s := b.must(1, "setup", "--client", "opencode", "--yes", "--json").setup(t)
				if why, _, line := s.whyOf("AGENTS.md"); why == "" || line == 0 {
					t.Error("no reason, or no place")
				}
			}
			b.run("setup", "--remove", "--yes")
			if !bytes.Equal(b.read("AGENTS.md"), data) {
				t.Error("it was touched")
			}
		})
	}
}

func TestCaseC044_SetupComparesValues(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"config.lf.toml", "config.crlf.toml", "config.markers-stripped.toml"} {
		t.Run(name, func(t *testing.T) {
			b := newBox(t)
			b.must(0, "setup", "--client", "codex", "--yes")
			// The fixture is what a client made of its file, with our entry's value in it.
			ours := string(b.read(".codex/config.toml"))
			text := string(b.fixture("C044/" + name))
			if !strings.Contains(text, "env_vars") {
				i := strings.Index(text, "[mcp_servers.holdfast]")
				text = text[:i] + strings.ReplaceAll(ours, "\n", map[bool]string{true: "\r\n", false: "\n"}[strings.Contains(text, "\r\n")])
			}
			b.write(".codex/config.toml", []byte(text))
			b.must(0, "setup", "--check", "--client", "codex")
			b.must(0, "setup", "--client", "codex", "--yes")
			if string(b.read(".codex/config.toml")) != text {
				t.Error("the same value in another form was rewritten")
			}
			b.must(0, "setup", "--remove", "--yes")
			if left := string(b.read(".codex/config.toml")); strings.Contains(left, "mcp_servers.holdfast") || len(left) == 0 {
				t.Errorf("left:\n%s", left)
			}
		})
	}
	t.Run("removed by somebody", func(t *testing.T) {
		b := newBox(t)
		b.must(0, "setup", "--client", "codex", "--yes")
		b.write(".codex/config.toml", []byte("model = \"m\"\n"))
		a := b.must(1, "setup", "--check", "--client", "codex")
		if !strings.Contains(a.out, "somebody took it out") || string(b.read(".codex/config.toml")) != "model = \"m\"\n" {
			t.Errorf("not told, or put back by itself:\n%s", a.out)
		}
		b.must(0, "setup", "--remove", "--yes")
		if string(b.read(".codex/config.toml")) != "model = \"m\"\n" {
			t.Error("remove touched what others wrote")
		}
	})
	t.Run("edited by hand", func(t *testing.T) {
		b := newBox(t)
		b.must(0, "setup", "--client", "codex", "--yes")
		text := strings.Replace(string(b.read(".codex/config.toml")), `["mcp"]`, `["mcp", "--project", "/x"]`, 1)
		b.write(".codex/config.toml", []byte(text))
		if a := b.must(1, "setup", "--client", "codex", "--yes"); !strings.Contains(a.out, "edited by hand: kept") {
			t.Errorf("not told:\n%s", a.out)
		}
		if string(b.read(".codex/config.toml")) != text {
			t.Error("it was changed")
		}
	})
}
