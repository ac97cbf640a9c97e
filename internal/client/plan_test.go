package client

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/pelletier/go-toml/v2"
	"github.com/tailscale/hujson"
)

var update = flag.Bool("update", false, "write testdata/golden anew")

// world is a project's files, without a disk.
type world map[string]FileFacts

func (w world) request(clients ...string) PlanRequest {
	return PlanRequest{Spec: testSpec, Clients: clients, Files: w}
}

// carry out a plan, as the caller would.
func (w world) write(changes []FileChange) {
	for _, c := range changes {
		f := w[c.Path]
		f.Undo = c.Undo
		if c.Change != Refused {
			f.File = c.New
		}
		w[c.Path] = f
	}
}

func (w world) put(path, text string) world {
	w[path] = FileFacts{File: File{Exists: true, Data: []byte(text)}}
	return w
}

func (w world) text() map[string]string {
	out := map[string]string{}
	for p, f := range w {
		if f.Exists {
			out[p] = string(f.Data)
		}
	}
	return out
}

func everyone() []string {
	var out []string
	for _, c := range Clients() {
		out = append(out, c.ID)
	}
	return out
}

// dump shows files one after the other, for goldens.
func dump(w world, skip ...string) string {
	var b strings.Builder
	var paths []string
	for p, f := range w {
		if f.Exists && !slices.Contains(skip, p) {
			paths = append(paths, p)
		}
	}
	slices.Sort(paths)
	for _, p := range paths {
		fmt.Fprintf(&b, "=== %s\n%s", p, w[p].Data)
	}
	return b.String()
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", "golden", name+".txt")
	if *update {
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), got); d != "" {
		t.Errorf("%s (run with -update if intended):\n%s", file, d)
	}
}

// TestGoldenFiles shows what setup writes into an empty project for each client
// alone, for all of them, with an absolute path on Windows, and with --remind.
func TestGoldenFiles(t *testing.T) {
	skills := []string{agentsSkill, claudeSkill}
	for _, c := range Clients() {
		t.Run(c.ID, func(t *testing.T) {
			w := world{}
			w.write(Plan(w.request(c.ID)))
			golden(t, c.ID, dump(w, append(skills, agentsMD)...))
			valid(t, w)
		})
	}
	t.Run("all", func(t *testing.T) {
		w := world{}
		w.write(Plan(w.request(everyone()...)))
		golden(t, "all", strings.Join(slices.Sorted(func(yield func(string) bool) {
			for p, f := range w {
				if f.Exists && !yield(p) {
					return
				}
			}
		}), "\n")+"\n"+dump(world{agentsMD: w[agentsMD]}))
		valid(t, w)
	})
	t.Run("windows", func(t *testing.T) {
		w := world{}
		req := w.request(Claude, Codex, Copilot)
		req.Spec = Spec{Command: `C:\Program Files\hf\holdfast.exe`, Windows: true, Remind: true}
		w.write(Plan(req))
		req = PlanRequest{Spec: req.Spec, Clients: []string{Copilot}, Files: world{}}
		w.write(slices.DeleteFunc(Plan(req), func(c FileChange) bool { return c.Path != copilotHooks }))
		golden(t, "windows", dump(w, append(skills, agentsMD)...))
		valid(t, w)
	})
	t.Run("existing", func(t *testing.T) {
		w := world{}.put(codexFile, "model = \"x\"\n").put(geminiFile, "{\n\t\"context\": {\"fileName\": [\"NOTES.md\"]}\n}\n").
			put(cursorHooks, "{\"version\": 1, \"hooks\": {\"stop\": [{\"command\": \"beep\"}]}}\n").put(".opencode/opencode.jsonc", "{\n  // mine\n}\n").
			put(claudeMD, "# Claude\n").put(agentsMD, "# Agents\n").put(githubMCP, "{}\n")
		before := w.text()
		w.write(Plan(w.request(Codex, Cursor, Gemini, Copilot, OpenCode)))
		golden(t, "existing", dump(w, append(skills, agentsMD, claudeMD)...))
		valid(t, w)
		w.write(PlanRemove(w.request(everyone()...)))
		if d := cmp.Diff(before, w.text()); d != "" {
			t.Error(d)
		}
	})
}

// valid reads every file with a parser that is not ours.
func valid(t *testing.T, w world) {
	t.Helper()
	for p, f := range w {
		var err error
		switch {
		case strings.HasSuffix(p, ".jsonc"):
			_, err = hujson.Parse(f.Data)
		case strings.HasSuffix(p, ".json") && !json.Valid(f.Data):
			err = fmt.Errorf("not strict JSON")
		case strings.HasSuffix(p, ".toml"):
			var v map[string]any
			err = toml.Unmarshal(f.Data, &v)
		}
		if err != nil {
			t.Errorf("%s: %v", p, err)
		}
		if bytes.HasPrefix(f.Data, []byte(bom)) || f.Exists && !bytes.HasSuffix(f.Data, []byte("\n")) {
			t.Errorf("%s: BOM, or no final line end", p)
		}
	}
}

func TestPlanTwiceChangesNothing(t *testing.T) {
	for _, clients := range append([][]string{everyone()}, []string{Copilot}, []string{Gemini}) {
		w := world{}
		w.write(Plan(w.request(clients...)))
		for _, c := range Plan(w.request(clients...)) {
			if c.Change != Unchanged {
				t.Errorf("%v: %s %s", clients, c.Path, c.Change)
			}
		}
		bare := world{} // a fresh clone: the files without what was noted about them
		for p, f := range w {
			bare[p] = FileFacts{File: f.File}
		}
		for _, c := range Plan(bare.request(clients...)) {
			if c.Change != Unchanged || c.Undo != nil {
				t.Errorf("%v in a clone: %s %s", clients, c.Path, c.Change)
			}
		}
		w.write(PlanRemove(w.request(clients...)))
		if left := w.text(); len(left) > 0 {
			t.Errorf("left after removal: %v", left)
		}
		if again := PlanRemove(w.request(clients...)); len(again) > 0 {
			t.Errorf("a second removal: %v", again)
		}
	}
}

func TestPlanOfACloneIsRemovedByValue(t *testing.T) {
	w := world{}
	w.write(Plan(w.request(everyone()...)))
	bare := world{}
	for p, f := range w {
		bare[p] = FileFacts{File: f.File}
	}
	bare.write(PlanRemove(bare.request(everyone()...)))
	for p, text := range bare.text() {
		if strings.Contains(text, "holdfast") {
			t.Errorf("%s still names us:\n%s", p, text)
		}
	}
	if bare[agentsSkill].Exists || bare[claudeSkill].Exists {
		t.Error("the skill is still there")
	}
	for _, c := range PlanRemove(bare.request(everyone()...)) {
		if c.Change != Unchanged {
			t.Errorf("a second removal: %s %s", c.Path, c.Change)
		}
	}
}

func TestPlanChoosesFiles(t *testing.T) {
	paths := func(w world, clients ...string) string {
		var out []string
		for _, c := range Plan(w.request(clients...)) {
			out = append(out, c.Path)
		}
		slices.Sort(out)
		return strings.Join(slices.DeleteFunc(out, func(p string) bool { return strings.HasSuffix(p, "SKILL.md") }), " ")
	}
	claudeHooked := world{}
	claudeHooked.write(Plan(claudeHooked.request(Claude)))
	for name, c := range map[string]struct {
		w       world
		clients []string
		want    string
	}{
		"claude, no CLAUDE.md":          {world{}, []string{Claude}, ".claude/settings.json .mcp.json AGENTS.md"},
		"claude, CLAUDE.md":             {world{}.put(claudeMD, "x\n"), []string{Claude}, ".claude/settings.json .mcp.json CLAUDE.md"},
		"gemini, GEMINI.md":             {world{}.put(geminiMD, "x\n"), []string{Gemini}, ".gemini/settings.json GEMINI.md"},
		"gemini, other file names":      {world{}.put(geminiMD, "x\n").put(geminiFile, `{"context":{"fileName":["A.md"]}}`), []string{Gemini}, ".gemini/settings.json AGENTS.md"},
		"gemini, one file name":         {world{}.put(geminiMD, "x\n").put(geminiFile, `{"context":{"fileName":"GEMINI.md"}}`), []string{Gemini}, ".gemini/settings.json GEMINI.md"},
		"copilot alone":                 {world{}, []string{Copilot}, ".github/hooks/holdfast.json .mcp.json AGENTS.md"},
		"copilot with its own MCP file": {world{}.put(githubMCP, "{}"), []string{Copilot}, ".github/hooks/holdfast.json .github/mcp.json AGENTS.md"},
		"copilot and claude":            {world{}, []string{Claude, Copilot}, ".claude/settings.json .mcp.json AGENTS.md"},
		"copilot where claude is":       {claudeHooked, []string{Copilot}, ".mcp.json AGENTS.md"},
		"opencode":                      {world{}, []string{OpenCode}, "AGENTS.md opencode.json"},
		"opencode in its folder":        {world{}.put(".opencode/opencode.jsonc", "{}"), []string{OpenCode}, ".opencode/opencode.jsonc AGENTS.md"},
		"CLAUDE.md is a link":           {world{claudeMD: {File: File{true, []byte("x\n")}, Real: agentsMD}}.put(agentsMD, "x\n"), []string{Codex, Claude}, ".claude/settings.json .codex/config.toml .codex/hooks.json .mcp.json AGENTS.md"},
	} {
		if got := paths(c.w, c.clients...); got != c.want {
			t.Errorf("%s:\n got %s\nwant %s", name, got, c.want)
		}
	}
	known := Paths()
	for _, c := range Plan((world{}).request(everyone()...)) {
		if !slices.Contains(known, c.Path) {
			t.Errorf("%s is not among Paths", c.Path)
		}
	}
}

func TestPlanGoesOnAfterARefusal(t *testing.T) {
	w := world{}.put(sharedMCP, "{ broken").put(codexHooks, "[]")
	w[cursorMCP] = FileFacts{Problem: "it is a folder"}
	n := 0
	for _, c := range Plan(w.request(everyone()...)) {
		if c.Change == Refused {
			n++
			if c.Err == nil || c.Err.Snippet == "" || !bytes.Equal(c.New.Data, c.Old.Data) {
				t.Errorf("%+v", c)
			}
		} else if c.Change != Create {
			t.Errorf("%s: %s", c.Path, c.Change)
		}
	}
	if n != 3 {
		t.Errorf("%d files refused", n)
	}
}

func TestRemoveOfOneClientKeepsWhatOthersUse(t *testing.T) {
	w := world{}
	w.write(Plan(w.request(Codex, Claude, Copilot, Cursor)))
	check := func(w world, present, gone []string) {
		t.Helper()
		for _, p := range present {
			if !strings.Contains(string(w[p].Data), "holdfast") {
				t.Errorf("%s lost our entry", p)
			}
		}
		for _, p := range gone {
			if strings.Contains(string(w[p].Data), "holdfast") {
				t.Errorf("%s still has our entry", p)
			}
		}
	}
	w.write(PlanRemove(w.request(Claude)))
	check(w, []string{sharedMCP, agentsMD, agentsSkill, codexFile}, []string{claudeFile, claudeSkill})
	w.write(PlanRemove(w.request(Copilot)))
	check(w, []string{agentsMD, agentsSkill, codexFile}, []string{sharedMCP})
	bare := world{} // the rest in a clone
	for p, f := range w {
		bare[p] = FileFacts{File: f.File}
	}
	bare.write(PlanRemove(bare.request(Codex)))
	check(bare, []string{agentsMD, agentsSkill, cursorMCP}, []string{codexFile, codexHooks})
	bare.write(PlanRemove(bare.request(Cursor)))
	check(bare, nil, []string{agentsMD, agentsSkill, cursorMCP, cursorHooks})
}

func TestUpgradeKeepsTheWayBack(t *testing.T) {
	w := world{}.put(agentsMD, "# Mine").put(geminiFile, "{\"a\": 1}").put(codexFile, "")
	before := w.text()
	w.write(Plan(w.request(Codex, Gemini)))
	req := w.request(Codex, Gemini)
	req.Transactions, req.Remind, req.Command, req.Aliases = true, true, "/opt/holdfast/bin/holdfast", []string{"holdfast"}
	w.write(Plan(req))
	if !strings.Contains(string(w[agentsMD].Data), "holdfast_txn_begin") || !strings.Contains(string(w[geminiFile].Data), "--remind") || !strings.Contains(string(w[codexFile].Data), "/opt/") {
		t.Error("not brought up to date")
	}
	w.write(PlanRemove(req))
	if d := cmp.Diff(before, w.text()); d != "" {
		t.Error(d)
	}
}

func TestHandEditedEntriesAreKept(t *testing.T) {
	w := world{}
	w.write(Plan(w.request(everyone()...)))
	edit := func(path, old, now string) {
		f := w[path]
		f.Data = bytes.Replace(f.Data, []byte(old), []byte(now), 1)
		w[path] = f
	}
	edit(agentsMD, "First, and", "Always first, and")
	edit(sharedMCP, `["mcp"]`, `["mcp", "--quiet"]`)
	edit(claudeFile, `"timeout": 10`, `"timeout": 30`)
	edit(agentsSkill, "# Recovering", "# My recovering")
	edited := []string{agentsMD, sharedMCP, claudeFile, agentsSkill}
	for _, c := range append(Plan(w.request(everyone()...)), PlanRemove(w.request(everyone()...))...) {
		if !slices.Contains(edited, c.Path) {
			continue
		}
		if !slices.ContainsFunc(c.Items, func(s ItemState) bool { return s.State == Changed && s.Action == Keep }) {
			t.Errorf("%s: %s %+v", c.Path, c.Change, c.Items)
		}
	}
}

func TestDetectAndLaunch(t *testing.T) {
	has := func(of ...string) func(string) bool { return func(s string) bool { return slices.Contains(of, s) } }
	if got := Detect(has(".cursor", "opencode.jsonc"), has("claude", "code")); !slices.Equal(got, []string{Cursor, Claude, VSCode, OpenCode}) {
		t.Error(got)
	}
	if got := Detect(has(), has()); len(got) > 0 {
		t.Error(got)
	}
	if l := LaunchOf(Codex, "holdfast", "/p"); !slices.Contains(l.Env, "XDG_STATE_HOME") || slices.Contains(l.Env, "XDG_DATA_HOME") || len(l.Argv) != 2 {
		t.Error(l)
	}
	if l := LaunchOf(Cursor, "holdfast", "/p"); !slices.Equal(l.Argv, []string{"holdfast", "mcp", "--project", "/p"}) {
		t.Error(l)
	}
	for _, c := range Clients() {
		if !Known(c.ID) || c.Todo == "" || strings.Contains(c.Todo, "\n") {
			t.Errorf("%+v", c)
		}
	}
}
