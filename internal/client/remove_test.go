package client

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// TestRemoveLeavesWhatOthersAdded changes a file of ours before the removal.
func TestRemoveLeavesWhatOthersAdded(t *testing.T) {
	for name, c := range map[string]struct {
		client, path string
		before       *string
		old, now     string
		want         string
		wantNoFile   bool
		withoutANote string // what removal by value leaves
	}{
		"a server in our container": {client: Claude, path: sharedMCP, old: "\n    }\n  }\n", now: "\n    },\n    \"b\": {}\n  }\n",
			want: "{\n  \"mcpServers\": {\n    \"b\": {}\n  }\n}\n", withoutANote: "{\n  \"mcpServers\": {\n    \"b\": {}\n  }\n}\n"},
		"a server before ours": {client: Claude, path: sharedMCP, old: "{\n    \"holdfast\"", now: "{\n    \"b\": {}, // mine\n    \"holdfast\"",
			want: "{\n  \"mcpServers\": {\n    \"b\": {} // mine\n  }\n}\n", withoutANote: "{\n  \"mcpServers\": {\n    \"b\": {} // mine\n  }\n}\n"},
		"a setting beside it": {client: Claude, path: sharedMCP, old: "{\n  \"mcp", now: "{\n  \"a\": 1,\n  \"mcp",
			want: "{\n  \"a\": 1\n}\n", withoutANote: "{\n  \"a\": 1,\n  \"mcpServers\": {}\n}\n"},
		"reformatted": {client: Cursor, path: cursorHooks, old: "  ", now: "\t",
			wantNoFile: true, withoutANote: "{\n\t\"version\": 1,\n\t\"hooks\": {\n\t\t\"sessionStart\": [],\n\t\t\"preCompact\": [],\n\t\t\"stop\": [],\n\t\t\"sessionEnd\": []\n\t}\n}\n"},
		"a comment in our file": {client: Cursor, path: cursorHooks, old: "{\n  \"version\"", now: "{\n  // team\n  \"version\"",
			want: "{\n  // team\n  \"version\": 1\n}\n", withoutANote: "{\n  // team\n  \"version\": 1,\n  \"hooks\": {\n    \"sessionStart\": [],\n    \"preCompact\": [],\n    \"stop\": [],\n    \"sessionEnd\": []\n  }\n}\n"},
		"text around the block": {client: Codex, path: agentsMD, before: new(string), old: blockBegin, now: "# Top\n\n" + blockBegin,
			want: "# Top\n\n", withoutANote: "# Top\n"},
		"a table behind ours": {client: Codex, path: codexFile, old: "HOME\"]\n", now: "HOME\"]\n\n[other]\na = 1 # x\n",
			want: "\n[other]\na = 1 # x\n", withoutANote: "\n[other]\na = 1 # x\n"},
	} {
		t.Run(name, func(t *testing.T) {
			target := targetOf(t, c.client, c.path)
			f := File{Exists: c.before != nil}
			res := mustApply(t, target, f, nil)
			text := strings.ReplaceAll(string(res.File.Data), c.old, c.now)
			if text == string(res.File.Data) {
				t.Fatal("the change does not apply")
			}
			f = File{Exists: true, Data: []byte(text)}
			back := mustRemove(t, target, f, res.Undo)
			if back.File.Exists == c.wantNoFile || string(back.File.Data) != c.want {
				t.Errorf("with a note: %v %q", back.File.Exists, back.File.Data)
			}
			if again := mustRemove(t, target, back.File, nil); again.Changed {
				t.Errorf("a second removal: %q", again.File.Data)
			}
			bare := mustRemove(t, target, f, nil)
			if !bare.File.Exists || string(bare.File.Data) != c.withoutANote {
				t.Errorf("without a note: %v %q", bare.File.Exists, bare.File.Data)
			}
		})
	}
}

// TestBrokenChainNeverDeletes: after others changed a file between two of our
// edits, the way back to nothing is closed.
func TestBrokenChainNeverDeletes(t *testing.T) {
	target := claudeTarget(t)
	first := mustApply(t, target, File{}, nil)
	text := strings.Replace(string(first.File.Data), "{\n", "{\n  \"theirs\": true,\n", 1)
	newer := target
	newer.Items = append([]Item{}, target.Items...)
	newer.Items[0].Want = server(Claude, "/opt/holdfast/bin/holdfast")
	second := mustApply(t, newer, File{true, []byte(text)}, first.Undo)
	if !second.Changed || second.Undo.Before != "" || !second.Undo.Created {
		t.Fatalf("%+v", second.Undo)
	}
	back := mustRemove(t, newer, second.File, second.Undo)
	if !back.File.Exists || string(back.File.Data) != "{\n  \"theirs\": true\n}\n" {
		t.Errorf("%v %q", back.File.Exists, back.File.Data)
	}
}

func TestUndoIsSmall(t *testing.T) {
	w := world{}
	for _, p := range Paths() {
		if strings.HasSuffix(p, ".md") && !strings.Contains(p, "SKILL") {
			w.put(p, "# x\n")
		}
		if strings.HasSuffix(p, ".json") {
			w.put(p, "{\n  \"a\": 1 // x\n}\n")
		}
	}
	total := 0
	for _, c := range Plan(w.request(everyone()...)) {
		raw, err := json.Marshal(c.Undo)
		if err != nil {
			t.Fatal(err)
		}
		total += len(raw)
	}
	if total > 16<<10 {
		t.Errorf("all notes together have %d bytes", total)
	}
	t.Logf("all notes together: %d bytes", total)
}

func TestLimits(t *testing.T) {
	var many strings.Builder
	for i := range maxKeys + 1 {
		fmt.Fprintf(&many, "k%d = 1\n", i)
	}
	refused(t, codexTarget(t), []byte(many.String()))
	refused(t, codexTarget(t), []byte("a = "+strings.Repeat("[", maxDepth+1)))
	refused(t, codexTarget(t), []byte(strings.Repeat("a.", maxKey+1)+"b = 1\n"))
	refused(t, agentsTarget(t), []byte(strings.Repeat("x\n", MaxFile)))
	one := `{"command":"holdfast hook cursor stop","timeout":10},`
	data := []byte(`{"hooks":{"stop":[` + strings.Repeat(one, maxCopies+1) + `]}}`)
	if _, err := Remove(targetOf(t, Cursor, cursorHooks), File{true, data}, Options{}); err == nil {
		t.Error("removes any number of copies")
	}
	data = []byte(`{"version":1,"hooks":{"stop":[` + strings.Repeat(one, 3) + `{"command":"x"},]}}`)
	if got := mustRemove(t, targetOf(t, Cursor, cursorHooks), File{true, data}, nil); string(got.File.Data) != `{"version":1,"hooks":{"stop":[{"command":"x"},]}}` {
		t.Errorf("%s", got.File.Data)
	}
	refused(t, targetOf(t, Cursor, cursorHooks), []byte(`{"version": 2}`))
}

func TestTodoNamesAHiddenFile(t *testing.T) {
	w := world{}.put(codexHides, "x")
	if got := w.request(Codex).Todo(Codex); len(got) != 2 || !strings.Contains(got[1], codexHides) {
		t.Error(got)
	}
	if got := w.request(Claude).Todo(Claude); len(got) != 1 {
		t.Error(got)
	}
}
