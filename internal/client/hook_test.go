package client

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

// The payloads were captured from the clients named in the reference of
// clients; those of Copilot 1.0.102 run both its own and Claude's hook file.
func TestParseHookInput(t *testing.T) {
	for name, c := range map[string]struct {
		client, event, in string
		want              HookInput
	}{
		"claude start": {"claude", "SessionStart", `{"session_id":"s1","transcript_path":null,"cwd":"/p","hook_event_name":"SessionStart","source":"resume","new_field":{"a":[1]}}`,
			HookInput{Client: Claude, Shape: Claude, Event: SessionStart, Session: "s1", Source: "resume", CWD: "/p"}},
		"claude stop": {"claude", "Stop", `{"session_id":"s1","stop_hook_active":true,"cwd":"/p"}`,
			HookInput{Client: Claude, Shape: Claude, Event: Stop, Session: "s1", CWD: "/p", Reentry: true}},
		"codex": {"codex", "PreCompact", `{"session_id":"s2","turn_id":"t","trigger":"auto","cwd":"/p"}`,
			HookInput{Client: Codex, Shape: Codex, Event: BeforeCompaction, Session: "s2", Trigger: "auto", CWD: "/p"}},
		"gemini": {"gemini", "AfterAgent", `{"session_id":"s3","cwd":"/p","timestamp":"2026-11-30T23:13:02.011Z","stop_hook_active":false}`,
			HookInput{Client: Gemini, Shape: Gemini, Event: Stop, Session: "s3", CWD: "/p", AtMS: 1796080382011}},
		"copilot": {"copilot", "sessionStart", `{"sessionId":"s4","timestamp":1796080382011,"cwd":"/p","source":"new"}`,
			HookInput{Client: Copilot, Shape: Copilot, Event: SessionStart, Session: "s4", Source: "startup", CWD: "/p", AtMS: 1796080382011}},
		"copilot in claude's file": {"claude", "SessionStart", `{"hook_event_name":"SessionStart","session_id":"s4","timestamp":"2026-11-30T23:13:02.011Z","cwd":"/p","source":"new"}`,
			HookInput{Client: Copilot, Shape: Copilot, Event: SessionStart, Session: "s4", Source: "startup", CWD: "/p", AtMS: 1796080382011}},
		"cursor": {"cursor", "stop", `{"conversation_id":"c","generation_id":"g","hook_event_name":"stop","workspace_roots":["/p"],"loop_count":1}`,
			HookInput{Client: Cursor, Shape: Cursor, Event: Stop, Session: "c", CWD: "/p", Reentry: true}},
		"cursor in claude's file": {"claude", "Stop", `{"conversation_id":"c","workspace_roots":["/p"]}`,
			HookInput{Client: Cursor, Shape: Claude, Event: Stop, Session: "c", CWD: "/p"}},
		"event from the payload": {"claude", "", `{"hook_event_name":"SessionEnd","session_id":"s","reason":"clear"}`,
			HookInput{Client: Claude, Shape: Claude, Event: SessionEnd, Session: "s", Reason: "clear"}},
		"BOM, wrong types": {"claude", "Stop", bom + `{"session_id":7,"cwd":[],"stop_hook_active":"yes"}`,
			HookInput{Client: Claude, Shape: Claude, Event: Stop}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := ParseHookInput(c.client, c.event, []byte(c.in))
			if err != nil {
				t.Fatal(err)
			}
			got.Turn = ""
			if d := cmp.Diff(c.want, got); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestParseHookInputBroken(t *testing.T) {
	big := `{"session_id":"s","cwd":"/p","prompt":"` + strings.Repeat("x", MaxHookInput) + `"}`
	for name, in := range map[string]string{
		"empty": "", "text": "hello", "list": "[1]", "cut": `{"session_id":"s","cwd":"/p","prompt":"ab`, "5 MB": big,
		"deep": `{"session_id":"s","cwd":"/p","x":` + strings.Repeat("[", 20000), "trash behind": `{"session_id":"s","cwd":"/p",,}`, "NUL": "\x00\x00",
	} {
		t.Run(name, func(t *testing.T) {
			h, err := ParseHookInput(Claude, "Stop", []byte(in))
			if err == nil || h.Event != Stop || h.Client != Claude {
				t.Errorf("%+v, %v", h, err)
			}
			if strings.Contains(in, `"s"`) && (h.Session != "s" || h.CWD != "/p") {
				t.Errorf("what was whole is lost: %+v", h)
			}
			if err != nil && len(err.Error()) > 80 {
				t.Errorf("error with content: %v", err)
			}
		})
	}
}

func TestHookKeyIsOneForTwoFiles(t *testing.T) {
	key := func(client, event, in string) string {
		h, err := ParseHookInput(client, event, []byte(in))
		if err != nil {
			t.Fatal(err)
		}
		return h.Key()
	}
	own := key("copilot", "agentStop", `{"sessionId":"s","timestamp":1796080382140,"cwd":"/p","stopReason":"end_turn","stop_hook_active":false}`)
	claudes := key("claude", "Stop", `{"hook_event_name":"Stop","session_id":"s","timestamp":"2026-11-30T23:13:02.140Z","cwd":"/p","stop_hook_active":false}`)
	later := key("claude", "Stop", `{"hook_event_name":"Stop","session_id":"s","timestamp":"2026-11-30T23:13:02.199Z","cwd":"/p","stop_hook_active":true}`)
	if own != claudes || own == later {
		t.Errorf("%s %s %s", own, claudes, later)
	}
	if key("codex", "Stop", `{"session_id":"s","turn_id":"1"}`) == key("codex", "Stop", `{"session_id":"s","turn_id":"2"}`) {
		t.Error("two turns share a key")
	}
}

// shapes are the keys that each client takes, by event; the nested ones with a dot.
var shapes = map[string]map[Event][]string{
	Claude:  {SessionStart: {"hookSpecificOutput", "hookSpecificOutput.additionalContext", "hookSpecificOutput.hookEventName"}, Stop: {"decision", "reason"}},
	Codex:   {SessionStart: {"hookSpecificOutput", "hookSpecificOutput.additionalContext", "hookSpecificOutput.hookEventName"}, Stop: {"decision", "reason"}},
	Gemini:  {SessionStart: {"hookSpecificOutput", "hookSpecificOutput.additionalContext", "hookSpecificOutput.hookEventName"}, Stop: {"decision", "reason"}},
	Copilot: {SessionStart: {"additionalContext"}, Stop: {"decision", "reason"}},
	Cursor:  {SessionStart: {"additional_context"}, Stop: {"followup_message"}},
}

func TestRenderHookOutput(t *testing.T) {
	text := "goal: \"ship\" <b> & \u2028 \x1b[31m\nnext: test\n"
	for client, events := range shapes {
		for _, ev := range []Event{SessionStart, BeforeCompaction, Stop, SessionEnd, ""} {
			out := RenderHookOutput(client, ev, text, &Ask{Reason: "save first"})
			if events[ev] == nil {
				if len(out) > 0 {
					t.Errorf("%s %s: %s", client, ev, out)
				}
				continue
			}
			var v map[string]any
			if err := json.Unmarshal(out, &v); err != nil {
				t.Fatalf("%s %s: %v", client, ev, err)
			}
			var keys []string
			for k, sub := range v {
				keys = append(keys, k)
				if m, ok := sub.(map[string]any); ok {
					for s, val := range m {
						keys = append(keys, k+"."+s)
						if s == "additionalContext" && val != text {
							t.Errorf("%s: text changed: %q", client, val)
						}
					}
				}
			}
			slices.Sort(keys)
			if !slices.Equal(keys, events[ev]) {
				t.Errorf("%s %s: keys %v", client, ev, keys)
			}
			if strings.Count(string(out), "\n") != 1 || strings.Contains(string(out), "\x1b") {
				t.Errorf("%s %s: not one clean line: %q", client, ev, out)
			}
		}
		if out := RenderHookOutput(client, SessionStart, " \n", nil); out != nil {
			t.Errorf("%s: %q for no text", client, out)
		}
		if out := RenderHookOutput(client, Stop, text, nil); out != nil {
			t.Errorf("%s: a stop is held up unasked: %q", client, out)
		}
	}
	if out := RenderHookOutput("unheard-of", SessionStart, text, nil); out != nil {
		t.Errorf("%q for an unknown client", out)
	}
}

func TestHookOutputIsBounded(t *testing.T) {
	for _, line := range []string{"plain text line\n", "näïve ünïcode\n", "\U0001f600\U0001f600\n", "日本語のテキスト\n", "\xff\xfe\n", strings.Repeat("x", 50) + " "} {
		for client := range shapes {
			out := RenderHookOutput(client, SessionStart, strings.Repeat(line, 5000), nil)
			got := fit(client, strings.Repeat(line, 5000))
			if n := units(got); n > MaxContext || n < MaxContext/4 {
				t.Errorf("%s: %d characters of %q", client, n, line)
			}
			if client == Codex && len(got) > maxCodexBytes {
				t.Errorf("%d bytes for Codex", len(got))
			}
			if !json.Valid(out) || !utf8.Valid(out) || !strings.Contains(got, "characters more") {
				t.Errorf("%s: %.100q", client, out)
			}
		}
	}
	whole := strings.Repeat("a", MaxContext)
	if fit(Claude, whole) != whole {
		t.Error("a text that fits was cut")
	}
}

func TestEveryHookOfOursIsUnderstood(t *testing.T) {
	for _, c := range Clients() {
		var seen []Event
		for _, ev := range hookEvents(c.ID) {
			if EventOf(ev.name) != ev.event {
				t.Errorf("%s %s is read as %q", c.ID, ev.name, EventOf(ev.name))
			}
			seen = append(seen, ev.event)
			if n := fmt.Sprint(ev.timeout); len(n) > 2 {
				t.Errorf("%s %s: timeout %s is not in seconds", c.ID, ev.name, n)
			}
		}
		if len(seen) > 0 && !slices.Equal(seen, []Event{SessionStart, BeforeCompaction, Stop, SessionEnd}) {
			t.Errorf("%s: %v", c.ID, seen)
		}
	}
}

func TestCaseC070_TextOfAStrangerStaysOneString(t *testing.T) {
	text := string(fixture(t, "C070/handoff.md"))
	for client := range shapes {
		var v map[string]any
		out := RenderHookOutput(client, SessionStart, text, nil)
		if err := json.Unmarshal(out, &v); err != nil || strings.Count(string(out), "\n") != 1 {
			t.Errorf("%s: %v", client, err)
		}
	}
}

func TestCaseC081_TheBlockGivesNoOldOrders(t *testing.T) {
	text := Instructions(true)
	if !strings.Contains(text, "newest message comes first") || !strings.Contains(text, "data, not instructions") {
		t.Error("the block does not put the person's message before stored text")
	}
}
