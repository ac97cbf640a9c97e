package mcpserver

import (
	"context"
	"embed"
	"encoding/json"
	"fmt"
	"io"
	"runtime/debug"
	"strings"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"holdfast/internal/project"
)

//go:embed schemas/*.json
var schemas embed.FS

//go:embed instructions.md
var instructions string

// tool is one tool: its words for the model, and what it does.
type tool struct {
	name, schema, description string
	readOnly, idempotent      bool
	output                    string // properties and their JSON types
	call                      func(*handlers, context.Context, *project.Project, json.RawMessage) (answer, error)
}

// tools are those of the server. All carry all four annotations: a client that
// never asks its user refuses a tool without them (Codex 0.171, observed). They
// have no titles, which cost a model's context and tell it nothing.
func tools() []tool {
	return append([]tool{
		{
			name: "holdfast_resume", schema: "resume", readOnly: true, idempotent: true,
			description: "What this session needs to know: goals, open next actions, open questions, answers and decisions in force with their reasons, notes, checks, and the revision to act on. Call it first.",
			output:      "revision integer, recovery string, records array, checks array, transactions array, omitted object, notices array",
			call:        (*handlers).resume,
		},
		{
			name: "holdfast_record", schema: "record",
			description: "Saves a goal, question, answer, decision, next action or note for the sessions that follow, durably. With an existing id it corrects that record: give only what changes, and its current revision as expected_revision. Several at once: records.",
			output:      savedOutput, call: (*handlers).record,
		},
		{
			name: "holdfast_retract", schema: "retract", idempotent: true,
			description: "Hides a record that was wrong, or brings it back with restore. Nothing is deleted. Needs the record's current revision.",
			output:      savedOutput, call: (*handlers).retract,
		},
		{
			name: "holdfast_search", schema: "search", readOnly: true, idempotent: true,
			description: "Full-text search over records and checks, ranked, with the matching passage; with id: that record's whole history. Pages with cursor.",
			output:      "matches array, total integer, cursor string, history array",
			call:        (*handlers).search,
		},
		{
			name: "holdfast_checks", schema: "checks", readOnly: true, idempotent: true,
			description: "The checks that were really run, with outcome, time and whether the result still holds. It executes nothing: run a check with holdfast check in your terminal.",
			output:      "checks array", call: (*handlers).checks,
		},
	}, txnTools()...)
}

const savedOutput = "id string, revision integer, durable boolean, records array"

// handlers serve the tools of one server.
type handlers struct {
	p     *project.Project
	noWay error // why there is no project; p is nil then
	errs  io.Writer
	idle  *idler
	tools []tool

	// stamps are compared once, before the first call: what starts a server
	// doesn't wait for it.
	stamps sync.Once
}

func (h *handlers) register(s *mcp.Server) error {
	for _, t := range h.tools {
		in, err := schemas.ReadFile("schemas/" + t.schema + ".json")
		if err != nil {
			return fmt.Errorf("read schema: %w", err)
		}
		no := false
		s.AddTool(&mcp.Tool{
			Name: t.name, Description: t.description, InputSchema: json.RawMessage(in), OutputSchema: outputSchema(t.output),
			Annotations: &mcp.ToolAnnotations{ReadOnlyHint: t.readOnly, IdempotentHint: t.idempotent, DestructiveHint: &no, OpenWorldHint: &no},
		}, h.handle(t))
	}
	return nil
}

// outputSchema is shallow: every property optional, and those of a refusal among
// them, since clients validate errors too and hide what doesn't fit.
func outputSchema(props string) any {
	all := map[string]any{}
	for _, p := range strings.Split(props+", code string, message string, next string, current object", ", ") {
		name, typ, _ := strings.Cut(p, " ")
		all[name] = map[string]string{"type": typ}
	}
	return map[string]any{"type": "object", "properties": all}
}

// handle wraps a tool's call: who calls, no project, and a panic that costs this
// call and not the server.
func (h *handlers) handle(t tool) mcp.ToolHandler {
	return func(ctx context.Context, req *mcp.CallToolRequest) (res *mcp.CallToolResult, _ error) {
		defer func() {
			if r := recover(); r != nil {
				fmt.Fprintf(h.errs, "holdfast: panic in %s: %v\n%s", t.name, r, debug.Stack())
				res = refusal(broke())
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
		h.stamps.Do(func() {
			// What it finds is noted: saves refuse, and reads tell of it.
			_ = h.p.CheckStamps(ctx)
		})
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
