package client

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// MaxHookInput is how much of a hook's standard input is read, in bytes.
const MaxHookInput = 5 << 20

// Event is what a hook is about, whatever its client calls it.
type Event string

// The events that setup asks clients for.
const (
	SessionStart     Event = "session-start"
	BeforeCompaction Event = "before-compaction"
	Stop             Event = "stop"
	SessionEnd       Event = "session-end"
)

// EventOf reads an event in any client's spelling; empty when it is none.
func EventOf(name string) Event {
	switch strings.NewReplacer("-", "", "_", "").Replace(strings.ToLower(name)) {
	case "sessionstart":
		return SessionStart
	case "precompact", "precompress", "beforecompaction":
		return BeforeCompaction
	case "stop", "agentstop", "afteragent":
		return Stop
	case "sessionend":
		return SessionEnd
	}
	return ""
}

// HookInput is what a client told one of our hooks. Every field may be empty:
// payloads differ, and a hook must work on with whatever arrived.
type HookInput struct {
	Client  string // the client that runs the hook, by the shape of its payload
	Shape   string // the client whose contract the answer follows
	Event   Event
	Session string
	Turn    string // tells two events of one session apart, as far as the payload does
	Source  string // of a start: startup, resume, clear or compact
	Trigger string // of a compaction: manual or auto
	Reason  string // of an end
	CWD     string
	AtMS    int64 // the client's own time in milliseconds; 0 when it gives none
	Reentry bool  // a stop that follows a stop which a hook held up
}

// Key names the event of a turn. Some clients run two hook files, and then both
// see one key. Events that the payload can't tell apart share one too (a session
// resumed twice), so a caller should let a key count for a minute only.
func (h HookInput) Key() string {
	return digest([]any{h.Client, h.Session, string(h.Event), h.Turn})
}

// ParseHookInput reads standard input of `holdfast hook CLIENT EVENT`. Unknown
// fields are fine. On input that is broken, cut or not an object it returns an
// error together with what could be read, which is always usable.
func ParseHookInput(client, event string, stdin []byte) (HookInput, error) {
	fields, err := topFields(stdin)
	h := HookInput{Event: EventOf(event)}
	h.Client, h.Shape = whoCalls(client, fields)
	str := func(names ...string) string {
		for _, n := range names {
			var s string
			if json.Unmarshal(fields[n], &s) == nil && s != "" {
				return clip(s, 4096)
			}
		}
		return ""
	}
	if h.Event == "" {
		h.Event = EventOf(str("hook_event_name", "hookEventName"))
	}
	h.Session = clip(str("session_id", "sessionId", "conversation_id"), 200)
	h.Source, h.Trigger, h.Reason = clip(str("source"), 40), clip(str("trigger"), 40), clip(str("reason"), 200)
	if h.Source == "new" { // Copilot's word
		h.Source = "startup"
	}
	if h.CWD = str("cwd"); h.CWD == "" {
		var roots []string
		if json.Unmarshal(fields["workspace_roots"], &roots) == nil && len(roots) > 0 {
			h.CWD = clip(roots[0], 4096)
		}
	}
	h.AtMS = when(fields["timestamp"])
	h.Reentry = isTrue(fields["stop_hook_active"]) || atLeastOne(fields["loop_count"])
	h.Turn = turn(h, fields)
	return h, err
}

// topFields reads the members of the outermost object, as far as they are whole.
func topFields(stdin []byte) (map[string]json.RawMessage, error) {
	fields := map[string]json.RawMessage{}
	cut := len(stdin) > MaxHookInput
	if cut {
		stdin = stdin[:MaxHookInput]
	}
	dec := json.NewDecoder(bytes.NewReader(stdin[bomLen(stdin):]))
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return fields, fmt.Errorf("read hook input: not a JSON object")
	}
	for dec.More() {
		key, err := dec.Token()
		name, ok := key.(string)
		var v json.RawMessage
		if err == nil && ok {
			err = dec.Decode(&v)
		}
		switch {
		case cut && (err != nil || !ok):
			return fields, fmt.Errorf("read hook input: more than %d bytes", MaxHookInput)
		case err != nil || !ok:
			return fields, fmt.Errorf("read hook input: broken JSON")
		}
		if _, twice := fields[name]; !twice {
			fields[name] = v
		}
	}
	if _, err := dec.Token(); err != nil {
		return fields, fmt.Errorf("read hook input: broken JSON")
	}
	return fields, nil
}

// whoCalls tells the client from the payload: Copilot runs Claude's hook files
// as well (run with 1.0.102), and so do Cursor and VS Code by their documents.
// Copilot answers to its own flat keys even then: Claude's nested ones were
// ignored. Cursor translates Claude's.
func whoCalls(declared string, f map[string]json.RawMessage) (client, shape string) {
	has := func(names ...string) bool {
		for _, n := range names {
			if _, ok := f[n]; ok {
				return true
			}
		}
		return false
	}
	switch {
	case has("conversation_id", "cursor_version"):
		return Cursor, declared
	case has("hookEventName"):
		return VSCode, Claude
	case has("sessionId"), declared == Claude && has("timestamp"):
		return Copilot, Copilot
	}
	return declared, declared
}

// turn joins all that tells one event from another and is the same for two
// hook files that see one event.
func turn(h HookInput, f map[string]json.RawMessage) string {
	parts := []any{h.Source, h.Trigger, strconv.FormatInt(h.AtMS, 10), h.Reentry}
	for _, n := range []string{"turn_id", "generation_id", "prompt_id", "loop_count", "seconds_since_last_response", "last_assistant_message"} {
		parts = append(parts, string(f[n]))
	}
	return digest(parts)
}

// when reads a time in milliseconds or in RFC 3339.
func when(raw json.RawMessage) int64 {
	var n float64
	if json.Unmarshal(raw, &n) == nil && n > 0 && n < exact {
		return int64(n)
	}
	var s string
	if json.Unmarshal(raw, &s) != nil {
		return 0
	}
	t, err := time.Parse(time.RFC3339, s)
	if err != nil || t.UnixMilli() < 0 {
		return 0
	}
	return t.UnixMilli()
}

func isTrue(raw json.RawMessage) bool {
	var b bool
	return json.Unmarshal(raw, &b) == nil && b
}

func atLeastOne(raw json.RawMessage) bool {
	var n float64
	return json.Unmarshal(raw, &n) == nil && n >= 1
}

// clip keeps at most n bytes, whole code points.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "")
}
