package client

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// seed adds the fixtures of all cases.
func seed(f *testing.F, ext string) {
	files, err := filepath.Glob(filepath.Join("testdata", "cases", "*", "*"))
	if err != nil || len(files) == 0 {
		f.Fatal("no fixtures", err)
	}
	for _, p := range files {
		data, err := os.ReadFile(p)
		if err != nil {
			f.Fatal(err)
		}
		if strings.Contains(filepath.Ext(p), ext) {
			f.Add([]byte(strings.ReplaceAll(string(data), "TOOL", "holdfast")))
		}
	}
}

func fuzzTarget(f *testing.F, client, path string) Target {
	p := &planner{req: PlanRequest{Spec: testSpec, Clients: []string{client}}, every: true}
	p.client(client)
	for _, w := range p.wants {
		if w.Path == path {
			return w.Target
		}
	}
	f.Fatal(path)
	return Target{}
}

func FuzzJSON(f *testing.F) {
	seed(f, "json")
	f.Add([]byte(`{"context":{"fileName":["A",]},"hooks":{"Stop":[{"command":"holdfast hook gemini AfterAgent"}]} /**/ , // x` + "\n}"))
	f.Add([]byte(`{"mcpServers":{"holdfast":{"command":"holdfast","args":["mcp"]}},"version":1}`))
	targets := []Target{fuzzTarget(f, Gemini, geminiFile), fuzzTarget(f, Claude, sharedMCP), fuzzTarget(f, Cursor, cursorHooks)}
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, target := range targets {
			laws(t, target, data)
		}
	})
}

func FuzzTOML(f *testing.F) {
	seed(f, "toml")
	f.Add([]byte("mcp_servers = { holdfast.command = 'x', a = 1 } # c\n[[a]]\n[a.b]\n"))
	target := fuzzTarget(f, Codex, codexFile)
	f.Fuzz(func(t *testing.T, data []byte) { laws(t, target, data) })
}

func FuzzMarkdown(f *testing.F) {
	seed(f, "md")
	target := fuzzTarget(f, Codex, agentsMD)
	f.Fuzz(func(t *testing.T, data []byte) { laws(t, target, data) })
}

func FuzzHookInput(f *testing.F) {
	f.Add("claude", "Stop", []byte(`{"session_id":"s","stop_hook_active":true}`), "text")
	f.Add("codex", "x", []byte(`{"timestamp":1e400,"workspace_roots":[1]}`), "\xff")
	f.Fuzz(func(t *testing.T, client, event string, stdin []byte, text string) {
		h, _ := ParseHookInput(client, event, stdin)
		if h.Key() == "" {
			t.Fatal("no key")
		}
		for _, ev := range []Event{h.Event, SessionStart, Stop} {
			out := RenderHookOutput(h.Shape, ev, text, &Ask{Reason: text})
			if len(out) > 0 && (!json.Valid(out) || out[0] != '{') {
				t.Fatalf("not one object: %q", out)
			}
		}
	})
}
