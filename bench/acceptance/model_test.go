package acceptance

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
)

// call is one tool call that the scripted model makes. Its arguments may rest on
// what the earlier calls gave: that text comes as JSON or in another wrapping.
type call struct {
	tool string
	args func(results []string) map[string]any
}

func plain(args map[string]any) func([]string) map[string]any {
	return func([]string) map[string]any { return args }
}

// model is a scripted model. It speaks the four protocols that the clients do,
// makes the calls of its script one after the other, and then says "done".
type model struct {
	*httptest.Server
	mu       sync.Mutex
	script   []call
	requests []request
}

// request is what a client asked the model with the project's tools at hand.
type request struct {
	path    string
	body    string
	results []string // of the tools called so far
}

func newModel(t *testing.T, script ...call) *model {
	m := &model{script: script}
	m.Server = httptest.NewServer(http.HandlerFunc(m.serve))
	t.Cleanup(m.Close)
	return m
}

// asked are the requests so far.
func (m *model) asked() []request {
	m.mu.Lock()
	defer m.mu.Unlock()
	return append([]request(nil), m.requests...)
}

func (m *model) serve(w http.ResponseWriter, r *http.Request) {
	raw, err := io.ReadAll(r.Body)
	var body map[string]any
	if err != nil || json.Unmarshal(raw, &body) != nil {
		fmt.Fprint(w, "{}") // a look at whether somebody is here
		return
	}
	var p protocol
	switch {
	case strings.HasSuffix(r.URL.Path, "/responses"):
		p = responses{}
	case strings.HasSuffix(r.URL.Path, "/chat/completions"):
		p = chat{}
	case strings.HasSuffix(r.URL.Path, "/messages"):
		p = messages{}
	case strings.HasSuffix(r.URL.Path, "enerateContent"):
		p = gemini{}
	default:
		fmt.Fprint(w, "{}")
		return
	}
	name, args := m.next(r.URL.Path, string(raw), body, p)
	if stream, asked := body["stream"].(bool); p != (gemini{}) && asked && !stream {
		http.Error(w, "only streams are scripted", http.StatusNotImplemented)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	for _, e := range p.answer(name, args) {
		fmt.Fprint(w, e)
	}
}

// next is the script's next call, if this request has the tool for it; other
// requests, such as for a title, get words.
func (m *model) next(path, raw string, body map[string]any, p protocol) (name, args string) {
	results := p.results(body)
	m.mu.Lock()
	defer m.mu.Unlock()
	if !strings.Contains(raw, "holdfast_resume") {
		return "", ""
	}
	m.requests = append(m.requests, request{path, raw, results})
	if len(results) >= len(m.script) {
		return "", ""
	}
	c := m.script[len(results)]
	name = findTool(body["tools"], c.tool)
	j, err := json.Marshal(c.args(results))
	if name == "" || err != nil {
		return "", ""
	}
	// Ids are made of the arguments; space makes those of two equal calls differ.
	return name, string(j) + strings.Repeat(" ", len(results))
}

// findTool finds a tool under the name that the client gave it, with the
// client's namespace before a "|" where it has one.
func findTool(v any, tool string) string {
	switch x := v.(type) {
	case []any:
		for _, e := range x {
			if n := findTool(e, tool); n != "" {
				return n
			}
		}
	case map[string]any:
		name, _ := x["name"].(string)
		if x["type"] == "namespace" || x["tools"] != nil {
			if n := findTool(x["tools"], tool); n != "" {
				return name + "|" + n
			}
		}
		if strings.HasSuffix(name, tool) {
			return name
		}
		for _, k := range []string{"function", "functionDeclarations", "function_declarations"} {
			if n := findTool(x[k], tool); n != "" {
				return n
			}
		}
	}
	return ""
}

// protocol is one way in which clients talk to a model.
type protocol interface {
	results(body map[string]any) []string
	answer(tool, args string) []string // events; without a tool, the word "done"
}

func event(name string, v any) string {
	j, err := json.Marshal(v)
	if err != nil {
		panic(err) // made of plain values
	}
	if name == "" {
		return "data: " + string(j) + "\n\n"
	}
	return "event: " + name + "\ndata: " + string(j) + "\n\n"
}

type obj = map[string]any

// walk calls fn for every object in v.
func walk(v any, fn func(obj)) {
	switch x := v.(type) {
	case obj:
		fn(x)
		for _, e := range x {
			walk(e, fn)
		}
	case []any:
		for _, e := range x {
			walk(e, fn)
		}
	}
}

func text(v any) string {
	if s, ok := v.(string); ok {
		return s
	}
	j, _ := json.Marshal(v)
	return string(j)
}

// responses is OpenAI's Responses API, which Codex speaks.
type responses struct{}

func (responses) results(body map[string]any) (out []string) {
	in, _ := body["input"].([]any)
	for _, e := range in {
		if o, _ := e.(obj); o["type"] == "function_call_output" {
			out = append(out, text(o["output"]))
		}
	}
	return out
}

func (responses) answer(tool, args string) []string {
	item := obj{"type": "message", "role": "assistant", "id": "m1", "content": []any{obj{"type": "output_text", "text": "done"}}}
	if tool != "" {
		space, name, found := strings.Cut(tool, "|")
		item = obj{"type": "function_call", "id": "fc" + key(args), "call_id": "c" + key(args), "name": name, "namespace": space, "arguments": args}
		if !found {
			item["name"] = tool
			delete(item, "namespace")
		}
	}
	usage := obj{"input_tokens": 1, "input_tokens_details": obj{"cached_tokens": 0}, "output_tokens": 1, "output_tokens_details": obj{"reasoning_tokens": 0}, "total_tokens": 2}
	return []string{
		event("response.created", obj{"type": "response.created", "response": obj{"id": "r1"}}),
		event("response.output_item.done", obj{"type": "response.output_item.done", "output_index": 0, "item": item}),
		event("response.completed", obj{"type": "response.completed", "response": obj{"id": "r1", "usage": usage}}),
	}
}

// key makes ids of calls differ.
func key(s string) string {
	n := uint32(2166136261)
	for _, c := range []byte(s) {
		n = (n ^ uint32(c)) * 16777619
	}
	return fmt.Sprintf("%08x", n)
}

// messages is Anthropic's Messages API, which Claude Code speaks.
type messages struct{}

func (messages) results(body map[string]any) (out []string) {
	msgs, _ := body["messages"].([]any)
	for _, m := range msgs {
		o, _ := m.(obj)
		parts, _ := o["content"].([]any)
		for _, p := range parts {
			if b, _ := p.(obj); b["type"] == "tool_result" {
				out = append(out, text(b["content"]))
			}
		}
	}
	return out
}

func (messages) answer(tool, args string) []string {
	block, delta, stop := obj{"type": "text", "text": ""}, obj{"type": "text_delta", "text": "done"}, "end_turn"
	if tool != "" {
		block = obj{"type": "tool_use", "id": "toolu_" + key(args), "name": tool, "input": obj{}}
		delta, stop = obj{"type": "input_json_delta", "partial_json": args}, "tool_use"
	}
	return []string{
		event("message_start", obj{"type": "message_start", "message": obj{"id": "msg_1", "type": "message", "role": "assistant", "model": "fake", "content": []any{}, "stop_reason": nil, "usage": obj{"input_tokens": 1, "output_tokens": 1}}}),
		event("content_block_start", obj{"type": "content_block_start", "index": 0, "content_block": block}),
		event("content_block_delta", obj{"type": "content_block_delta", "index": 0, "delta": delta}),
		event("content_block_stop", obj{"type": "content_block_stop", "index": 0}),
		event("message_delta", obj{"type": "message_delta", "delta": obj{"stop_reason": stop}, "usage": obj{"output_tokens": 1}}),
		event("message_stop", obj{"type": "message_stop"}),
	}
}

// chat is OpenAI's Chat Completions API, which Copilot CLI and opencode speak.
type chat struct{}

func (chat) results(body map[string]any) (out []string) {
	msgs, _ := body["messages"].([]any)
	for _, m := range msgs {
		if o, _ := m.(obj); o["role"] == "tool" {
			out = append(out, text(o["content"]))
		}
	}
	return out
}

func (chat) answer(tool, args string) []string {
	delta, finish := obj{"role": "assistant", "content": "done"}, "stop"
	if tool != "" {
		delta = obj{"role": "assistant", "content": nil, "tool_calls": []any{obj{"index": 0, "id": "call_" + key(args), "type": "function", "function": obj{"name": tool, "arguments": args}}}}
		finish = "tool_calls"
	}
	chunk := func(delta obj, finish any) string {
		return event("", obj{"id": "x", "object": "chat.completion.chunk", "created": 1, "model": "fake", "choices": []any{obj{"index": 0, "delta": delta, "finish_reason": finish}}})
	}
	usage := event("", obj{"id": "x", "object": "chat.completion.chunk", "created": 1, "model": "fake", "choices": []any{}, "usage": obj{"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}})
	return []string{chunk(delta, nil), chunk(obj{}, finish), usage, "data: [DONE]\n\n"}
}

// gemini is Google's generateContent, which Gemini CLI speaks.
type gemini struct{}

func (gemini) results(body map[string]any) (out []string) {
	walk(body["contents"], func(o obj) {
		if r, ok := o["functionResponse"].(obj); ok {
			out = append(out, text(r["response"]))
		}
	})
	return out
}

func (gemini) answer(tool, args string) []string {
	part := obj{"text": "done"}
	if tool != "" {
		part = obj{"functionCall": obj{"id": "c" + key(args), "name": tool, "args": json.RawMessage(args)}}
	}
	return []string{event("", obj{"candidates": []any{obj{"index": 0, "finishReason": "STOP", "content": obj{"role": "model", "parts": []any{part}}}},
		"usageMetadata": obj{"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2}})}
}
