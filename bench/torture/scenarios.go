package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

func scenarios() []*scenario {
	return []*scenario{
		{name: "first", before: func(*place) ([]step, error) { return saves("f", 3), nil }},
		{name: "save", before: func(p *place) ([]step, error) { return saves("s", 6), p.save("before") }},
		packing(), redacting(), settingUp(), backingUp(),
	}
}

func saves(prefix string, n int) []step {
	var out []step
	for i := range n {
		id := fmt.Sprintf("%s-%d", prefix, i)
		out = append(out, step{args: note(id), saves: []string{id}})
	}
	return out
}

// packing: the save that makes the oldest loose revisions a pack.
func packing() *scenario {
	return &scenario{name: "pack", before: func(p *place) ([]step, error) {
		if err := p.save("before"); err != nil {
			return nil, err
		}
		if err := p.grow(1999); err != nil {
			return nil, err
		}
		st := saves("p", 3)
		st[0].saves = append(st[0].saves, "before", "grown-2", "grown-1000", "grown-1001", "grown-1999")
		return st, nil
	}}
}

const leaked = "the token that leaked: quite-a-secret-thing"

// redacting: after the answer no byte of the text is left.
func redacting() *scenario {
	return &scenario{name: "redact", before: func(p *place) ([]step, error) {
		if err := p.save("before"); err != nil {
			return nil, err
		}
		if _, err := p.holdfast("record", "note", "leak", "--text", leaked, "--source", "torture"); err != nil {
			return nil, err
		}
		if err := p.save("between"); err != nil {
			return nil, err
		}
		cmd := p.command(p.bin, "redact", "leak", "--why", "it leaked", "--json")
		done, err := asPerson(cmd)
		if err != nil {
			return nil, err
		}
		defer done()
		out, err := cmd.Output()
		var preview struct{ Fingerprint string }
		if json.Unmarshal(out, &preview) != nil || preview.Fingerprint == "" {
			return nil, fmt.Errorf("preview: %s: %w", out, err)
		}
		return append([]step{{[]string{"redact", "leak", "--why", "it leaked", "--apply", "--expect", preview.Fingerprint, "--json"}, []string{"before", "between"}, true}},
			saves("r", 1)...), nil
	}, also: func(p *place, answered int) string {
		if answered == 0 {
			return ""
		}
		return p.without(leaked)
	}}
}

// without looks for a text in every file below the tree.
func (p *place) without(text string) string {
	found := ""
	err := filepath.WalkDir(p.tree, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		if bytes.Contains(b, []byte(text)) {
			found = "an erased text is back in " + path
		}
		return err
	})
	if err != nil {
		return err.Error()
	}
	return found
}

const (
	ownAgents = "# Ours\n\nRun the tests.\n"
	ownMCP    = "{\n  \"mcpServers\": {\n    \"other\": {\"command\": \"other\"}\n  }\n}\n"
)

// settingUp: every file of the project is as it was or whole with our part,
// and setup can be run again.
func settingUp() *scenario {
	s := &scenario{name: "setup", before: func(p *place) ([]step, error) {
		if err := p.save("before"); err != nil {
			return nil, err
		}
		for name, text := range map[string]string{"AGENTS.md": ownAgents, ".mcp.json": ownMCP} {
			if err := os.WriteFile(filepath.Join(p.project, name), []byte(text), 0o644); err != nil {
				return nil, err
			}
		}
		return []step{{[]string{"setup", "--client", "codex,claude,cursor", "--yes", "--json"}, []string{"before"}, false}}, nil
	}}
	s.also = func(p *place, answered int) string {
		agents, err := os.ReadFile(filepath.Join(p.project, "AGENTS.md"))
		if err != nil || !bytes.HasPrefix(agents, []byte(ownAgents)) {
			return fmt.Sprintf("AGENTS.md: %v: %.80q", err, agents)
		}
		mcp, err := os.ReadFile(filepath.Join(p.project, ".mcp.json"))
		if err != nil || !json.Valid(mcp) || !bytes.Contains(mcp, []byte(`"other"`)) {
			return fmt.Sprintf(".mcp.json: %v: %.80q", err, mcp)
		}
		if answered > 0 {
			if out, err := p.holdfast("setup", "--check", "--client", "codex,claude,cursor"); err != nil {
				return fmt.Sprintf("setup was answered, and its check says: %v %s", err, out)
			}
		}
		if out, err := p.holdfast("setup", "--client", "codex,claude,cursor", "--yes"); err != nil {
			return fmt.Sprintf("setup again: %v %s", err, out)
		}
		return ""
	}
	return s
}

// backingUp: an export has its name only when it is whole.
func backingUp() *scenario {
	var whole []byte
	export := func(p *place) string { return filepath.Join(p.home, "export.age") }
	return &scenario{name: "backup", before: func(p *place) ([]step, error) {
		for i := range 4 {
			if err := p.save(fmt.Sprintf("before-%d", i)); err != nil {
				return nil, err
			}
		}
		// The mirror is to be completed, too.
		mirrors, err := filepath.Glob(filepath.Join(p.home, ".local", "state", "holdfast", "*", "mirror.jsonl"))
		if err != nil || len(mirrors) != 1 {
			return nil, fmt.Errorf("find mirror: %v, %w", mirrors, err)
		}
		if err := os.Truncate(mirrors[0], 1000); err != nil {
			return nil, err
		}
		return []step{{[]string{"backup", "--output", export(p), "--recipient", recipient, "--json"}, []string{"before-0", "before-3"}, false}}, nil
	}, after: func(p *place) (err error) {
		whole, err = os.ReadFile(export(p))
		return err
	}, also: func(p *place, answered int) string {
		b, err := os.ReadFile(export(p))
		switch {
		case os.IsNotExist(err) && answered == 0:
			return ""
		case err != nil:
			return err.Error()
		case !bytes.Equal(b, whole):
			return "an export that is not whole has its name"
		}
		return ""
	}}
}
