package client

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/pelletier/go-toml/v2"
)

var testSpec = Spec{Command: "holdfast", Aliases: []string{"/opt/holdfast/bin/holdfast"}}

// targetOf is what setup keeps in a client's file.
func targetOf(t *testing.T, client, path string) Target {
	t.Helper()
	p := &planner{req: PlanRequest{Spec: testSpec, Clients: []string{client}}, every: true}
	p.client(client)
	for _, w := range p.wants {
		if w.Path == path {
			return w.Target
		}
	}
	t.Fatalf("%s has no file %s", client, path)
	return Target{}
}

func codexTarget(t *testing.T) Target  { return targetOf(t, Codex, codexFile) }
func claudeTarget(t *testing.T) Target { return targetOf(t, Claude, sharedMCP) }
func agentsTarget(t *testing.T) Target { return targetOf(t, Codex, agentsMD) }
func geminiTarget(t *testing.T) Target { return targetOf(t, Gemini, geminiFile) }

// fixture reads a file of a case, with our name in it.
func fixture(t *testing.T, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", "cases", filepath.FromSlash(name)))
	if err != nil {
		t.Fatal(err)
	}
	return bytes.ReplaceAll(data, []byte("TOOL"), []byte("holdfast"))
}

func mustApply(t *testing.T, target Target, f File, u *Undo) Result {
	t.Helper()
	res, err := Apply(target, f, Options{Undo: u})
	if err != nil {
		t.Fatalf("apply: %v", err)
	}
	return res
}

func mustRemove(t *testing.T, target Target, f File, u *Undo) Result {
	t.Helper()
	res, err := Remove(target, f, Options{Undo: u})
	if err != nil {
		t.Fatalf("remove: %v", err)
	}
	return res
}

// roundTrip edits, edits again and takes back, and checks what every edit has
// to keep.
func roundTrip(t *testing.T, target Target, data []byte) Result {
	t.Helper()
	f := File{Exists: data != nil, Data: data}
	res := mustApply(t, target, f, nil)
	if !res.Changed {
		t.Fatal("nothing was added")
	}
	outside(t, data, res)
	for _, u := range []*Undo{nil, res.Undo} {
		again := mustApply(t, target, res.File, u)
		if again.Changed || !bytes.Equal(again.File.Data, res.File.Data) {
			t.Fatalf("a second run changed something:\n%s", Diff(target.Path, res.File.Data, again.File.Data))
		}
		for _, s := range again.Items {
			if s.State != Present {
				t.Errorf("a second run finds %s %s", s.ID, s.State)
			}
		}
	}
	back := mustRemove(t, target, res.File, res.Undo)
	if back.File.Exists != f.Exists || !bytes.Equal(back.File.Data, f.Data) {
		t.Fatalf("not restored:\n%s", Diff(target.Path, f.Data, back.File.Data))
	}
	if twice := mustRemove(t, target, back.File, nil); twice.Changed {
		t.Fatal("a second removal changed something")
	}
	return res
}

// outside checks that only inserted text differs: the steps taken back by hand
// give the old bytes.
func outside(t *testing.T, before []byte, res Result) {
	t.Helper()
	if res.Undo.Created {
		return
	}
	data := bytes.Clone(res.File.Data)
	for i := len(res.Undo.Steps) - 1; i >= 0; i-- {
		s := res.Undo.Steps[i]
		if !strings.HasPrefix(string(data[s.At:]), s.Text) {
			t.Fatalf("step %d does not stand where it says", i)
		}
		data = []byte(string(data[:s.At]) + s.Was + string(data[s.At+len(s.Text):]))
	}
	if !bytes.Equal(data, before) {
		t.Fatalf("bytes outside the inserted text differ:\n%s", Diff("file", before, data))
	}
}

func refused(t *testing.T, target Target, data []byte) *RefusedError {
	t.Helper()
	_, err := Apply(target, File{Exists: true, Data: data}, Options{})
	var r *RefusedError
	if !errors.As(err, &r) {
		t.Fatalf("not refused: %v", err)
	}
	if r.Path != target.Path || r.Why == "" || r.Snippet == "" {
		t.Errorf("incomplete refusal: %+v", r)
	}
	return r
}

func variants(data []byte) map[string][]byte {
	return map[string][]byte{
		"as it is":         data,
		"CRLF":             bytes.ReplaceAll(data, []byte("\n"), []byte("\r\n")),
		"tabs":             bytes.ReplaceAll(data, []byte("  "), []byte("\t")),
		"no final newline": bytes.TrimRight(data, "\n"),
		"empty":            {},
		"missing":          nil,
		"BOM":              append([]byte(bom), data...),
	}
}

func TestCaseC032_TOMLKeepsEveryByte(t *testing.T) {
	target := codexTarget(t)
	for name, data := range variants(fixture(t, "C032/config.toml")) {
		t.Run(name, func(t *testing.T) {
			res := roundTrip(t, target, data)
			if !bytes.HasPrefix(res.File.Data, data) {
				t.Error("the old text is not the start of the new one")
			}
			if data == nil && (!res.Undo.Created || bytes.HasPrefix(res.File.Data, []byte(bom))) {
				t.Error("a created file must be known as created and have no BOM")
			}
			if bytes.Contains(data, []byte("\r\n")) && bytes.Count(res.File.Data, []byte("\n")) != bytes.Count(res.File.Data, []byte("\r\n")) {
				t.Error("line ends are mixed")
			}
			sameTOMLPlus(t, data, res.File.Data)
		})
	}
}

// sameTOMLPlus checks with the full parser alone that exactly our table came.
func sameTOMLPlus(t *testing.T, before, after []byte) {
	t.Helper()
	var a, b map[string]any
	if err := toml.Unmarshal(bytes.TrimPrefix(before, []byte(bom)), &a); err != nil {
		t.Fatal(err)
	}
	if err := toml.Unmarshal(bytes.TrimPrefix(after, []byte(bom)), &b); err != nil {
		t.Fatalf("the result is not TOML: %v", err)
	}
	if a == nil {
		a = map[string]any{}
	}
	servers, _ := a["mcp_servers"].(map[string]any)
	if servers == nil {
		servers = map[string]any{}
	}
	servers["holdfast"] = map[string]any{"command": "holdfast", "args": []any{"mcp"}, "env_vars": []any{"XDG_STATE_HOME", "XDG_CACHE_HOME"}}
	a["mcp_servers"] = servers
	if canon(a) != canon(b) {
		t.Errorf("the values differ: %s", cmp.Diff(canon(a), canon(b)))
	}
}

func TestCaseC033_EveryTOMLForm(t *testing.T) {
	target := codexTarget(t)
	for _, name := range []string{"dotted-keys", "dotted-and-inline-parent"} {
		t.Run(name, func(t *testing.T) {
			data := fixture(t, "C033/"+name+".toml")
			sameTOMLPlus(t, data, roundTrip(t, target, data).File.Data)
		})
	}
	for name, state := range map[string]State{"inline-headers": Foreign, "subtable-headers": Foreign, "user-owned-same-name": Changed} {
		t.Run(name, func(t *testing.T) {
			f := File{Exists: true, Data: fixture(t, "C033/"+name+".toml")}
			res := mustApply(t, target, f, nil)
			want := []ItemState{{ID: "server", State: state, Action: Keep}}
			if res.Changed || res.Undo != nil || !cmp.Equal(res.Items, want) {
				t.Errorf("a hand-written entry was not kept: %+v", res.Items)
			}
			if gone := mustRemove(t, target, f, nil); gone.Changed {
				t.Error("removal took a hand-written entry")
			}
			forced, err := Apply(target, f, Options{Force: true})
			if err != nil {
				t.Fatal(err)
			}
			if again := mustApply(t, target, forced.File, forced.Undo); again.Changed {
				t.Error("the chosen replacement is not stable")
			}
			if back := mustRemove(t, target, forced.File, forced.Undo); !bytes.Equal(back.File.Data, f.Data) {
				t.Errorf("the replaced entry is not restored:\n%s", Diff("x", f.Data, back.File.Data))
			}
		})
	}
	t.Run("broken-already", func(t *testing.T) {
		r := refused(t, target, fixture(t, "C033/broken-already.toml"))
		if r.Line != 4 || !strings.Contains(r.Why, "second time") || !strings.Contains(r.Snippet, "[mcp_servers.holdfast]") {
			t.Errorf("%+v", r)
		}
	})
}

func TestCaseC033_OurEntryInTheClientsForm(t *testing.T) {
	target := codexTarget(t)
	old := `"/opt/holdfast/bin/holdfast"`
	for name, text := range map[string]string{
		"table":        "[mcp_servers.holdfast]\ncommand = CMD # mine\nargs = [\"mcp\"]\nenv_vars = [\"XDG_STATE_HOME\", \"XDG_CACHE_HOME\"]\n\n[other]\na = 1\n",
		"reordered":    "[mcp_servers.\"holdfast\"]\nenv_vars = [\n  \"XDG_STATE_HOME\", # one\n  \"XDG_CACHE_HOME\",\n]\nargs = ['mcp']\ncommand = CMD\n",
		"dotted":       "mcp_servers.holdfast.command = CMD\nmcp_servers.holdfast.args = [\"mcp\"]\nmcp_servers.holdfast.env_vars = [\"XDG_STATE_HOME\", \"XDG_CACHE_HOME\"]\nz = 1\n",
		"under header": "[mcp_servers]\nholdfast.command = CMD\nholdfast.args = [\"mcp\"]\nholdfast.env_vars = [\"XDG_STATE_HOME\", \"XDG_CACHE_HOME\"]\n[x]\n",
		"inline":       "[mcp_servers]\nholdfast = { args = [\"mcp\"], command = CMD, env_vars = [\"XDG_STATE_HOME\", \"XDG_CACHE_HOME\"] } # note\nother = {command = \"x\"}\n",
		"all inline":   "mcp_servers = { a = { command = \"a\" }, holdfast = { args = [\"mcp\"], command = CMD, env_vars = [\"XDG_STATE_HOME\", \"XDG_CACHE_HOME\"] }, b = {} }\n",
	} {
		t.Run(name, func(t *testing.T) {
			same := File{Exists: true, Data: []byte(strings.ReplaceAll(text, "CMD", `"holdfast"`))}
			res := mustApply(t, target, same, nil)
			if res.Changed || res.Items[0].State != SameValue && res.Items[0].State != Present {
				t.Fatalf("the same value in another form: %+v", res.Items)
			}
			gone := mustRemove(t, target, same, nil)
			if !gone.Changed || strings.Contains(string(gone.File.Data), "XDG_STATE_HOME") {
				t.Fatalf("not removed by value:\n%s", gone.File.Data)
			}
			f := File{Exists: true, Data: []byte(strings.ReplaceAll(text, "CMD", old))}
			res = mustApply(t, target, f, nil)
			if !res.Changed || res.Items[0] != (ItemState{"server", Outdated, Renew}) {
				t.Fatalf("an entry that setup wrote with other options: %+v", res.Items)
			}
			if !bytes.Equal(res.File.Data, same.Data) && name != "inline" && name != "all inline" {
				t.Errorf("more than the command changed:\n%s", Diff("x", same.Data, res.File.Data))
			}
		})
	}
}
