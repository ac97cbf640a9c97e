package mcpserver

import (
	"context"
	"embed"
	"encoding/json"
	"fmt"
	"io"
	"runtime/debug"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"holdfast/internal/project"
)

//go:embed schemas/*.json
var schemas embed.FS

//go:embed instructions.md
var instructions string

// tool is one tool: its words for the model, and what it does.
type tool struct {
	name, schema, title, description string
	readOnly, idempotent             bool
	output                           map[string]string // property → JSON type
	call                             func(*handlers, context.Context, *project.Project, json.RawMessage) (answer, error)
}

// All tools carry all four annotations: a client that never asks its user
// refuses a tool without them (Codex 0.171, observed).
var tools = []tool{
	{
		name: "holdfast_resume", schema: "resume", title: "Resume the project's handoff", readOnly: true, idempotent: true,
		description: "What this session needs to know: goals, open next actions, open questions, answers and decisions in force with their reasons, notes, checks, and the revision to act on. Call it first.",
		output: map[string]string{"ledger": "string", "path": "string", "revision": "integer", "recovery": "string", "branch": "string", "commit": "string",
			"budget": "object", "records": "array", "checks": "array", "transactions": "array", "omitted": "object", "notices": "array", "last_save": "object"},
		call: (*handlers).resume,
	},
	{
		name: "holdfast_record", schema: "record", title: "Save to the handoff",
		description: "Saves a goal, question, answer, decision, next action or note for the sessions that follow, durably. With an existing id it corrects that record: give only what changes, and its current revision as expected_revision. Several at once: records.",
		output:      savedOutput, call: (*handlers).record,
	},
	{
		name: "holdfast_retract", schema: "retract", title: "Hide or restore a record", idempotent: true,
		description: "Hides a record that was wrong, or brings it back with restore. Nothing is deleted. Needs the record's current revision.",
		output:      savedOutput, call: (*handlers).retract,
	},
	{
		name: "holdfast_search", schema: "search", title: "Search the handoff", readOnly: true, idempotent: true,
		description: "Full-text search over records and checks, ranked, with the matching passage; with id: that record's whole history. Pages with cursor.",
		output:      map[string]string{"matches": "array", "total": "integer", "cursor": "string", "history": "array", "id": "string", "revision": "integer"},
		call:        (*handlers).search,
	},
	{
		name: "holdfast_checks", schema: "checks", title: "Receipts of checks", readOnly: true, idempotent: true,
		description: "The checks that were really run, with outcome, time and whether the result still holds. It executes nothing: run a check with holdfast check in your terminal.",
		output:      map[string]string{"checks": "array"}, call: (*handlers).checks,
	},
}

var savedOutput = map[string]string{"id": "string", "revision": "integer", "hash": "string", "durable": "boolean", "protected": "boolean",
	"unconfirmed": "boolean", "replayed": "boolean", "recovery": "string", "records": "array", "warnings": "array"}

// handlers serve the tools of one server.
type handlers struct {
	p     *project.Project
	noWay error // why there is no project; p is nil then
	errs  io.Writer
	idle  *idler
}

func (h *handlers) register(s *mcp.Server) error {
	for _, t := range tools {
		in, err := schemas.ReadFile("schemas/" + t.schema + ".json")
		if err != nil {
			return fmt.Errorf("read schema: %w", err)
		}
		no := false
		s.AddTool(&mcp.Tool{
			Name: t.name, Title: t.title, Description: t.description, InputSchema: json.RawMessage(in), OutputSchema: outputSchema(t.output),
			Annotations: &mcp.ToolAnnotations{Title: t.title, ReadOnlyHint: t.readOnly, IdempotentHint: t.idempotent, DestructiveHint: &no, OpenWorldHint: &no},
		}, h.handle(t))
	}
	return nil
}

// outputSchema is shallow: every property optional, and those of a refusal among
// them, since clients validate errors too and hide what doesn't fit.
func outputSchema(props map[string]string) any {
	all := map[string]any{}
	for name, typ := range props {
		all[name] = map[string]string{"type": typ}
	}
	for _, name := range []string{"code", "message", "next"} {
		all[name] = map[string]string{"type": "string"}
	}
	all["current"] = map[string]string{"type": "object"}
	return map[string]any{"type": "object", "properties": all}
}

// handle wraps a tool's call: who calls, no project, and a panic that costs this
// call and not the server.
func (h *handlers) handle(t tool) mcp.ToolHandler {
	return func(ctx context.Context, req *mcp.CallToolRequest) (res *mcp.CallToolResult, _ error) {
		defer func() {
			if r := recover(); r != nil {
				fmt.Fprintf(h.errs, "holdfast: panic in %s: %v\n%s", t.name, r, debug.Stack())
				res = failure(fmt.Errorf("call %s: it failed inside", t.name))
			}
		}()
		defer h.idle.busy()()
		if h.p == nil {
			return failure(h.noWay), nil
		}
		args := req.Params.Arguments
		if len(args) == 0 || string(args) == "null" {
			args = json.RawMessage("{}")
		}
		a, err := t.call(h, ctx, h.p.As(caller(req)), args)
		if err != nil {
			return failure(err), nil
		}
		return a.result(), nil
	}
}

func caller(req *mcp.CallToolRequest) project.Caller {
	info := req.ClientInfo()
	if info == nil {
		return project.MCPCaller("", "")
	}
	return project.MCPCaller(info.Name, info.Version)
}
