package client

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"
)

// MaxContext is the longest text that is given to a client at session start, in
// UTF-16 code units, since clients count as JavaScript does. Claude Code keeps
// 10,000 and replaces more by a preview.
const MaxContext = 8000

// maxCodexBytes keeps a text whole in Codex, which takes about 2,500 tokens of
// four bytes and cuts out the middle of a longer one.
const maxCodexBytes = 9000

// Ask holds a stop up once, with words for the agent.
type Ask struct{ Reason string }

// RenderHookOutput is what a hook prints: nothing, or one JSON object with only
// the keys that this client knows for this event (Codex fails a hook for an
// unknown one). text is for session start, ask for a stop; both are ignored
// elsewhere. The caller sees to it that a stop is never held up twice.
func RenderHookOutput(shape string, event Event, text string, ask *Ask) []byte {
	switch {
	case event == SessionStart && strings.TrimSpace(text) != "":
		return encode(startOutput(shape, fit(shape, text)))
	case event == Stop && ask != nil && strings.TrimSpace(ask.Reason) != "":
		return encode(stopOutput(shape, fit(shape, ask.Reason)))
	}
	return nil
}

func startOutput(shape, text string) any {
	switch shape {
	case Cursor: // by its documents
		return map[string]any{"additional_context": text}
	case Copilot: // run with 1.0.102
		return map[string]any{"additionalContext": text}
	case Claude, Codex, Gemini: // run
		return map[string]any{"hookSpecificOutput": map[string]any{"hookEventName": "SessionStart", "additionalContext": text}}
	}
	return nil
}

func stopOutput(shape, reason string) any {
	switch shape {
	case Cursor: // by its documents
		return map[string]any{"followup_message": reason}
	case Gemini: // AfterAgent
		return map[string]any{"decision": "deny", "reason": reason}
	case Claude, Codex, Copilot: // run
		return map[string]any{"decision": "block", "reason": reason}
	}
	return nil
}

// encode writes one object on one line; nil is nothing.
func encode(v any) []byte {
	if v == nil {
		return nil
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil
	}
	return b.Bytes()
}

// fit cuts a text at the end of a line and says so. The most vital stands
// first, so the end is what can go.
func fit(shape, text string) string {
	text = strings.ToValidUTF8(text, string(utf8.RuneError))
	limit := len(text)
	if shape == Codex {
		limit = maxCodexBytes
	}
	if len(text) <= limit && units(text) <= MaxContext {
		return text
	}
	const room = 80 // for the closing line
	end, n := 0, 0
	for i, r := range text {
		n += utf16Len(r)
		if size := i + utf8.RuneLen(r); n > MaxContext-room || size > limit-room && shape == Codex {
			break
		}
		end = i + utf8.RuneLen(r)
	}
	kept := text[:end]
	if i := strings.LastIndexByte(kept, '\n'); i > end/2 {
		kept = kept[:i]
	}
	return fmt.Sprintf("%s\n[%d characters more: holdfast resume --all]", kept, utf8.RuneCountInString(text[len(kept):]))
}

func utf16Len(r rune) int {
	if r > 0xffff {
		return 2
	}
	return 1
}

func units(s string) (n int) {
	for _, r := range s {
		n += utf16Len(r)
	}
	return n
}
