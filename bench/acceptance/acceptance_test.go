package acceptance

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// record is the scripted session of a handoff: look what is here, save one note.
func handoff(id string) []call {
	return []call{
		{"holdfast_resume", plain(obj{})},
		{"holdfast_record", plain(obj{"id": "from-" + id, "kind": "note", "text": "saved by a session of " + id, "source": "the acceptance test"})},
	}
}

// wanted are the clients to run.
func wanted(t *testing.T) []tool {
	t.Helper()
	only := os.Getenv("ACCEPTANCE_ONLY")
	return slices.DeleteFunc(slices.Clone(tools), func(c tool) bool { return only != "" && !slices.Contains(strings.Split(only, ","), c.id) })
}

// session runs a client with a script and gives what it asked the model.
func (h *house) session(c *tool, script ...call) (*model, string) {
	h.t.Helper()
	m := newModel(h.t, script...)
	c.ready(h, m)
	began := time.Now()
	out, err := h.command(c.env(m), c.run...)
	h.t.Logf("%s ran %s", c.id, time.Since(began).Round(100*time.Millisecond))
	if err != nil {
		h.t.Fatalf("%s: %v\n%s", c.id, err, tail(out))
	}
	asked := m.asked()
	if n := len(asked); n == 0 || len(asked[n-1].results) != len(script) {
		h.t.Fatalf("%s: the script did not run to its end: %d requests with the tools\n%s", c.id, n, tail(out))
	}
	return m, out
}

// actorOf is the client that a record says it is by.
func (h *house) actorOf(id string) string {
	h.t.Helper()
	var v struct {
		Actor struct{ Kind, Client, Via string }
	}
	if err := json.Unmarshal([]byte(h.must(nil, "holdfast", "show", id, "--json")), &v); err != nil {
		h.t.Fatal(err)
	}
	if v.Actor.Kind != "agent" || v.Actor.Via != "mcp" {
		h.t.Errorf("%s: by %+v", id, v.Actor)
	}
	return v.Actor.Client
}

// people wrote these before setup came.
func (h *house) peoplesFiles(id string) {
	h.write("AGENTS.md", "# House rules\n\nNever push on Fridays.\n")
	switch id {
	case "codex":
		h.write(".codex/config.toml", "# ours\nmodel_reasoning_effort = \"low\"   # cheap\n")
	case "claude", "copilot":
		h.write(".mcp.json", "{\n   \"mcpServers\": {}\n}")
	case "gemini":
		h.write(".gemini/settings.json", "{\r\n\t// ours\r\n\t\"general\": {\"vimMode\": false}\r\n}\r\n")
	case "opencode":
		// opencode itself adds "$schema" to a file that has none.
		h.write("opencode.json", "{\n    \"$schema\": \"https://opencode.ai/config.json\",\n    \"autoupdate\": false\n}\n")
	}
}

// TestClients connects each client alone, and takes it out again.
func TestClients(t *testing.T) {
	for _, c := range wanted(t) {
		t.Run(c.id, func(t *testing.T) {
			h := newHouse(t)
			h.peoplesFiles(c.id)
			before := h.files()
			h.must(nil, "holdfast", "record", "goal", "g-quokka", "--text", "Bring the quokka home", "--source", "the acceptance test")
			h.must(nil, "holdfast", "setup", "--client", c.id, "--yes")
			written := h.files()
			c.ready(h, newModel(t))
			if out := h.must(c.env(newModel(t)), c.list...); !strings.Contains(out, "holdfast") || !strings.Contains(out, c.shows) {
				t.Errorf("%s doesn't list the server:\n%s", strings.Join(c.list, " "), tail(out))
			}
			if c.id == "codex" {
				h.must(nil, "codex", "app-server", "--strict-config", "--print-startup-config")
			}
			m, out := h.session(&c, handoff(c.id)...)
			first := m.asked()[0].body
			if c.hooks && !strings.Contains(first, "Bring the quokka home") {
				t.Errorf("the session-start text did not reach the model:\n%s", tail(out))
			}
			if !strings.Contains(first, "holdfast:begin") && !strings.Contains(first, "Handoff ledger (Holdfast)") {
				t.Error("the instructions did not reach the model")
			}
			if !strings.Contains(first, "Carries a write that persists") {
				t.Error("the skill did not reach the model")
			}
			if !strings.Contains(m.asked()[1].results[0], "Bring the quokka home") {
				t.Errorf("holdfast_resume gave the model: %s", tail(m.asked()[1].results[0]))
			}
			if actor := h.actorOf("from-" + c.id); !strings.Contains(strings.ToLower(actor), c.actor) {
				t.Errorf("the record is by %q", actor)
			} else {
				t.Logf("the record is by %q", actor)
			}
			if d := cmp.Diff(written, h.files()); d != "" {
				t.Logf("the client changed files:\n%s", d)
			}
			h.must(nil, "holdfast", "setup", "--remove", "--yes")
			if d := cmp.Diff(before, h.files()); d != "" {
				t.Errorf("not as before setup (-was +is):\n%s", d)
			}
		})
	}
}

// heard is the session-start text in a request to the model.
func heard(body string) string {
	i := strings.Index(body, "Holdfast handoff, revision")
	if i < 0 {
		return "(nothing)"
	}
	body = body[i:]
	if j := strings.Index(body, "Guards: "); j > 0 {
		body = body[:j]
	}
	return strings.NewReplacer(`\\n`, "\n", `\n`, "\n").Replace(body)
}

// TestHandoff lets all clients work on one project, one after the other: each
// resumes what those before it saved.
func TestHandoff(t *testing.T) {
	h := newHouse(t)
	clients := wanted(t)
	before := h.files()
	h.must(nil, "holdfast", "setup", "--client", "all", "--yes")
	for i, c := range clients {
		m, _ := h.session(&c, handoff(c.id)...)
		t.Logf("what %s heard at its start:\n%s", c.id, heard(m.asked()[0].body))
		for _, earlier := range clients[:i] {
			if got := m.asked()[1].results[0]; !strings.Contains(got, "saved by a session of "+earlier.id) {
				t.Errorf("%s did not resume what %s saved: %s", c.id, earlier.id, tail(got))
			}
			if c.hooks && strings.Count(m.asked()[0].body, "saved by a session of "+earlier.id) != 1 {
				t.Errorf("%s heard %d times at its start what %s saved", c.id, strings.Count(m.asked()[0].body, "saved by a session of "+earlier.id), earlier.id)
			}
		}
	}
	t.Logf("\n%s", h.must(nil, "holdfast", "list"))
	h.must(nil, "holdfast", "setup", "--remove", "--yes")
	if d := cmp.Diff(before, h.files()); d != "" {
		t.Errorf("not as before setup (-was +is):\n%s", d)
	}
}
