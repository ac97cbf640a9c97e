package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// TestSetupOfEveryClient connects all of them beside files that people wrote.
func TestSetupOfEveryClient(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	b.write("AGENTS.md", []byte("# House rules\n"))
	b.write(".mcp.json", b.fixture("C035/mcp.jsonc"))
	b.write(".gemini/settings.json", b.fixture("C039/settings.json"))
	b.write(".codex/config.toml", b.fixture("C032/config.toml"))
	before := b.snapshot(false)
	s := b.must(0, "setup", "--client", "all", "--yes", "--json").setup(t)
	if len(s.Clients) != 7 {
		t.Fatalf("%d clients", len(s.Clients))
	}
	for _, c := range s.Clients {
		if c.State != "connected" || c.Verified == nil || !c.Verified.OK || c.Verified.Tools == 0 || len(c.Todo) == 0 {
			t.Errorf("%s: %s, verified %+v, todo %v", c.Client, c.State, c.Verified, c.Todo)
		}
	}
	if skills := b.read(".agents/skills/recovering-persistent-work/SKILL.md"); !bytes.Equal(skills, b.read(".claude/skills/recovering-persistent-work/SKILL.md")) {
		t.Error("two skills")
	}
	// One leaves, the others stay connected.
	b.must(0, "setup", "--remove", "--client", "codex", "--yes")
	if !bytes.Equal(b.read(".codex/config.toml"), b.fixture("C032/config.toml")) || !bytes.Contains(b.read("AGENTS.md"), []byte("holdfast:begin")) {
		t.Error("Codex is not out, or the others' instructions are gone")
	}
	b.must(0, "setup", "--check", "--client", "cursor,claude,gemini,copilot,vscode,opencode")
	b.must(0, "setup", "--remove", "--yes")
	b.same("remove", before, b.snapshot(false))
}

func TestSetupAsksFirst(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	before := b.snapshot(true)
	if a := b.must(2, "setup"); !strings.Contains(a.err, "no coding tool was found") {
		t.Error(a.err)
	}
	a := b.must(0, "setup", "--client", "claude", "--dry-run")
	if !strings.Contains(a.out, "+++ b/.mcp.json") || !strings.Contains(a.out, `+      "command": "holdfast",`) {
		t.Errorf("no diff:\n%s", a.out)
	}
	if s := b.must(0, "setup", "--client", "claude", "--dry-run", "--json").setup(t); s.Applied || s.Clients[0].State != "planned" || s.changes()[".mcp.json"] != "create" || s.Diff == "" {
		t.Errorf("%+v", s)
	}
	a = b.must(2, "setup", "--client", "claude")
	if !strings.Contains(a.err, "nothing was changed") || !strings.Contains(a.err, "--yes") || !strings.Contains(a.out, "+++ b/.mcp.json") {
		t.Errorf("%s%s", a.out, a.err)
	}
	b.same("without a yes", before, b.snapshot(true))
	if _, err := os.Stat(b.path(".holdfast")); err == nil {
		t.Error("a ledger was made for a look")
	}
	b.must(2, "setup", "--client", "emacs", "--yes")
	b.must(2, "setup", "--check", "--yes")
	b.must(1, "setup", "--check", "--client", "claude")
}

func TestSetupAbsolute(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	b.must(0, "setup", "--client", "claude", "--yes", "--absolute")
	if text := string(b.read(".mcp.json")); strings.Contains(text, `"command": "holdfast"`) || !strings.Contains(text, `"command": "`) {
		t.Errorf("not absolute:\n%s", text)
	}
	b.must(0, "setup", "--client", "claude", "--yes") // as the last run said
	b.must(0, "setup", "--check", "--client", "claude")
	b.must(0, "setup", "--client", "claude", "--yes", "--absolute=false", "--remind")
	if text := string(b.read(".mcp.json")); !strings.Contains(text, `"command": "holdfast"`) || !bytes.Contains(b.read(".claude/settings.json"), []byte("holdfast hook claude Stop --remind")) {
		t.Errorf("not renewed:\n%s", text)
	}
	b.must(0, "setup", "--remove", "--yes")
	if left := b.snapshot(false); len(left) != 1 {
		t.Errorf("left: %v", sortedKeys(left))
	}
}

func TestSetupKeepsOriginals(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	data := []byte(`{"mcpServers": {"x": {"command": "x", "env": {"K": "keep me private"}}}}`)
	b.write(".mcp.json", data)
	b.must(0, "setup", "--client", "claude", "--yes")
	old := filepath.Join(b.dir, ".holdfast", "quarantine")
	names, err := filepath.Glob(filepath.Join(old, "setup-*mcp.json"))
	if err != nil || len(names) != 1 {
		t.Fatalf("originals: %v, %v", names, err)
	}
	info, err := os.Stat(names[0])
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	if got, err := os.ReadFile(names[0]); err != nil || !bytes.Equal(got, data) {
		t.Errorf("%v: %s", err, got)
	}
	// 31 days old: gone with the next save.
	parts := strings.SplitN(filepath.Base(names[0]), "-", 3)
	aged := filepath.Join(old, parts[0]+"-"+itoa(time.Now().Add(-31*24*time.Hour).Unix())+"-"+parts[2])
	if err := os.Rename(names[0], aged); err != nil {
		t.Fatal(err)
	}
	b.must(0, "record", "note", "n", "--text", "a note", "--source", "a test")
	if _, err := os.Stat(aged); err == nil {
		t.Error("an original outlived its 30 days")
	}
}

// TestSetupShapes holds the files of the two clients that can't be run here to
// the shapes of their documents.
func TestSetupShapes(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	b.must(0, "setup", "--client", "cursor,vscode", "--yes")
	for name, want := range map[string]string{
		".cursor/mcp.json": `{"mcpServers":{"holdfast":{"args":["mcp","--project","${workspaceFolder}"],"command":"holdfast"}}}`,
		".vscode/mcp.json": `{"servers":{"holdfast":{"args":["mcp"],"command":"holdfast","type":"stdio"}}}`,
		".cursor/hooks.json": `{"hooks":{"preCompact":[{"command":"holdfast hook cursor preCompact","timeout":10}],"sessionEnd":[{"command":"holdfast hook cursor sessionEnd","timeout":10}],` +
			`"sessionStart":[{"command":"holdfast hook cursor sessionStart","timeout":10}],"stop":[{"command":"holdfast hook cursor stop","timeout":10}]},"version":1}`,
	} {
		var v any
		if err := json.Unmarshal(b.read(name), &v); err != nil {
			t.Fatal(err)
		}
		got, err := json.Marshal(v)
		if err != nil || string(got) != want {
			t.Errorf("%s: %s", name, got)
		}
	}
}

// TestInstructionsNameTheToolsThatAreThere: the block speaks of transactions
// exactly when the server has the tools for them (hasTransactions in the hub).
func TestInstructionsNameTheToolsThatAreThere(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	b.must(0, "setup", "--client", "codex", "--yes")
	s := b.serve()
	s.send(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
	line, err := s.out.ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	if there, named := strings.Contains(line, `"holdfast_txn_begin"`), bytes.Contains(b.read("AGENTS.md"), []byte("holdfast_txn_begin")); there != named {
		t.Errorf("the tools are there: %v; the instructions name them: %v", there, named)
	}
	s.end()
}

// TestSetupsAtOnce: several runs at once leave every file whole, and one more
// run and a removal put everything right.
func TestSetupsAtOnce(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	b.write("AGENTS.md", []byte("# House rules\n"))
	b.write(".mcp.json", b.fixture("C035/mcp.jsonc"))
	before := b.snapshot(false)
	b.must(0, "record", "note", "n", "--text", "t", "--source", "s")
	var wg sync.WaitGroup
	for range 5 {
		wg.Go(func() {
			if a := b.run("setup", "--client", "all", "--yes"); a.code > 1 {
				t.Errorf("status %d: %s", a.code, a.err)
			}
		})
	}
	wg.Wait()
	b.must(0, "setup", "--client", "all", "--yes")
	b.must(0, "setup", "--check")
	b.must(0, "setup", "--remove", "--yes")
	b.same("remove", before, b.snapshot(false))
}
