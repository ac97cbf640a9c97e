package mcpserver

import (
	"encoding/json"
	"strings"
	"testing"
)

// A client pays for the list of tools in every session. Nine tools have 2,500
// tokens; four of them come later and take most of what is left.
const (
	mostTokens  = 2500
	tokensSoFar = 1500
)

type listedTool struct {
	Name, Description         string
	InputSchema, OutputSchema map[string]any
	Annotations               map[string]any
}

func listed(t *testing.T) (tools []listedTool, size int) {
	t.Helper()
	p := newBed(t).startTest(asServer + "=plain")
	p.initialize()
	p.write(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}` + "\n")
	m := p.read()
	var r struct{ Tools []listedTool }
	if err := json.Unmarshal(m.Result, &r); err != nil {
		t.Fatal(err)
	}
	return append(tools, r.Tools...), len(m.raw)
}

func TestToolsListIsSmall(t *testing.T) {
	tools, size := listed(t)
	t.Logf("%d tools, %d bytes, %d tokens", len(tools), size, size/4)
	limit := mostTokens
	if len(tools) == 5 {
		limit = tokensSoFar
	}
	if size/4 > limit {
		t.Errorf("%d tokens for %d tools, at most %d", size/4, len(tools), limit)
	}
	if n := len(strings.Fields(instructions)); n >= 300 {
		t.Errorf("the instructions have %d words", n)
	}
}

func TestEveryToolIsAnnotatedAndPlain(t *testing.T) {
	tools, _ := listed(t)
	if len(tools) < 5 {
		t.Fatalf("%d tools", len(tools))
	}
	reads := map[string]bool{"holdfast_resume": true, "holdfast_search": true, "holdfast_checks": true}
	for _, l := range tools {
		for _, a := range []string{"readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"} {
			if _, ok := l.Annotations[a].(bool); !ok {
				t.Errorf("%s: no %s", l.Name, a)
			}
		}
		if l.Annotations["openWorldHint"] != false || l.Annotations["destructiveHint"] != false || l.Annotations["readOnlyHint"] != reads[l.Name] {
			t.Errorf("%s: annotations %v", l.Name, l.Annotations)
		}
		if n := len(l.Description); n == 0 || n > 2048 {
			t.Errorf("%s: the description has %d bytes", l.Name, n)
		}
		if l.InputSchema["additionalProperties"] != false {
			t.Errorf("%s: unknown input is let through", l.Name)
		}
		plainSchema(t, l.Name+" input", l.InputSchema)
		plainSchema(t, l.Name+" output", l.OutputSchema)
		if l.OutputSchema["required"] != nil {
			t.Errorf("%s: the output schema requires something", l.Name)
		}
		props, _ := l.OutputSchema["properties"].(map[string]any)
		for _, name := range []string{"code", "message", "next", "current"} {
			if props[name] == nil {
				t.Errorf("%s: the output schema lacks %s", l.Name, name)
			}
		}
	}
}

// plainSchema: each node has one type, and nothing that only some dialects of
// JSON Schema know.
func plainSchema(t *testing.T, path string, node map[string]any) {
	t.Helper()
	if _, ok := node["type"].(string); !ok {
		t.Errorf("%s: type %v", path, node["type"])
	}
	for k, v := range node {
		switch k {
		case "type", "description", "enum", "required", "minimum", "maximum", "additionalProperties":
		case "items":
			plainSchema(t, path+".items", v.(map[string]any))
		case "properties":
			for name, sub := range v.(map[string]any) {
				plainSchema(t, path+"."+name, sub.(map[string]any))
			}
		default:
			t.Errorf("%s: keyword %s", path, k)
		}
	}
}

// The schemas promise that no unknown field is accepted; the decoder keeps it.
func TestSchemasNameTheFieldsThatAreDecoded(t *testing.T) {
	p := newBed(t).startTest()
	p.initialize()
	tools, _ := listed(t)
	for _, l := range tools {
		for name := range l.InputSchema["properties"].(map[string]any) {
			r := p.ask(l.Name, map[string]any{name: map[string]any{"no": "such"}})
			if !r.IsError || strings.Contains(r.text(), "not a field that is known here") && !strings.Contains(r.text(), "no:") && !strings.Contains(r.text(), ".no") {
				t.Errorf("%s.%s: %s", l.Name, name, r.text())
			}
		}
	}
}
