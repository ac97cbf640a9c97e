package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// answering is a person at a terminal who types an answer.
func answering(text string) actor { return actor{person: true, stdin: text} }

func (h *house) file(name string) string {
	data, err := os.ReadFile(filepath.Join(h.dir, filepath.FromSlash(name)))
	if err != nil {
		return ""
	}
	return string(data)
}

func TestSetupAsksAPerson(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	for _, no := range []string{"", "\n", "n\n", "r\n", "what\n"} {
		r := h.run(answering(no), "setup", "--client", "vscode")
		if r.status != 2 || !strings.Contains(r.err, "+++ b/.vscode/mcp.json") || !strings.Contains(r.err, "nothing was changed") || h.file(".vscode/mcp.json") != "" {
			t.Fatalf("%q: status %d\n%s%s", no, r.status, r.out, r.err)
		}
	}
	// The server can't be started in this test: that is told, and the files stand.
	r := h.run(answering("y\n"), "setup", "--client", "vscode")
	if !strings.Contains(h.file(".vscode/mcp.json"), `"holdfast"`) || r.status != 1 || !strings.Contains(r.out, "not verified: holdfast is not on PATH") {
		t.Fatalf("status %d\n%s%s", r.status, r.out, r.err)
	}
}

func TestSetupReplacesOnlyWhatAPersonChose(t *testing.T) {
	t.Parallel()
	const theirs = `{"servers": {"holdfast": {"command": "/opt/other"}}}`
	h := newHouse(t)
	file := filepath.Join(h.dir, ".vscode", "mcp.json")
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(theirs), 0o644); err != nil {
		t.Fatal(err)
	}
	r := h.run(answering("y\n"), "setup", "--client", "vscode")
	if h.file(".vscode/mcp.json") != theirs || !strings.Contains(r.err, `-{"servers": {"holdfast": {"command": "/opt/other"}}}`) {
		t.Fatalf("replaced, or the choice is not shown:\n%s", r.err)
	}
	h.run(answering("r\n"), "setup", "--client", "vscode")
	if text := h.file(".vscode/mcp.json"); strings.Contains(text, "/opt/other") || !strings.Contains(text, "holdfast") {
		t.Fatalf("not replaced: %s", text)
	}
	h.run(answering("y\n"), "setup", "--remove")
	if h.file(".vscode/mcp.json") != theirs {
		t.Errorf("not restored: %s", h.file(".vscode/mcp.json"))
	}
}

func TestDiffIsShownWithoutSecrets(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	token := "ghp_" + "x7Qm2VbT9LzKp4RwY8sD1fGhJ6nCa3EuXo5i"
	if err := os.WriteFile(filepath.Join(h.dir, ".mcp.json"), []byte("{\n  \"mcpServers\": {\n    \"x\": {\"command\": \"x\", \"env\": {\"GITHUB_TOKEN\": \""+token+"\"}}\n  }\n}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"setup", "--client", "claude", "--dry-run"}, {"setup", "--client", "claude", "--dry-run", "--json"}} {
		if r := h.run(agent, args...); strings.Contains(r.out+r.err, token) || !strings.Contains(r.out, "may hold a secret") {
			t.Errorf("%v shows it:\n%s", args, r.out)
		}
	}
	h.run(agent, "setup", "--client", "claude", "--yes")
	if !strings.Contains(h.file(".mcp.json"), token) || !strings.Contains(h.file(".mcp.json"), "holdfast") {
		t.Errorf("the file: %s", h.file(".mcp.json"))
	}
}
