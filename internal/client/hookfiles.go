package client

import (
	"regexp"
	"slices"
	"strings"
	"sync"
)

// hookEvent is one event of a client, in its own name.
type hookEvent struct {
	name    string
	event   Event
	matcher string
	timeout int // seconds
}

// hookEvents lists what we ask each client for. The matchers and the shapes
// below are those that were run; the timeouts leave room for a slow disk, since
// a hook of ours ends within two seconds by itself.
func hookEvents(client string) []hookEvent {
	switch client {
	case Claude, Codex:
		end := 10
		if client == Codex {
			end = 3 // it cuts more down to that, with an error in the transcript (0.171)
		}
		return []hookEvent{
			{"SessionStart", SessionStart, "startup|resume|clear|compact", 10},
			{"PreCompact", BeforeCompaction, "manual|auto", 10},
			{"Stop", Stop, "", 10},
			{"SessionEnd", SessionEnd, "", end},
		}
	case Gemini:
		return []hookEvent{
			{"SessionStart", SessionStart, "", 10},
			{"PreCompress", BeforeCompaction, "", 10},
			{"AfterAgent", Stop, "", 10},
			{"SessionEnd", SessionEnd, "", 10},
		}
	case Copilot:
		return []hookEvent{
			{"sessionStart", SessionStart, "", 10},
			{"preCompact", BeforeCompaction, "", 10},
			{"agentStop", Stop, "", 10},
			{"sessionEnd", SessionEnd, "", 10},
		}
	case Cursor:
		return []hookEvent{
			{"sessionStart", SessionStart, "", 10},
			{"preCompact", BeforeCompaction, "", 10},
			{"stop", Stop, "", 10},
			{"sessionEnd", SessionEnd, "", 10},
		}
	}
	return nil
}

// hooks are the items of a client's hooks.
func (s Spec) hooks(client string) []Item {
	var out []Item
	for _, ev := range hookEvents(client) {
		it := Item{ID: "hook " + ev.name, Role: Hook, At: []string{"hooks", ev.name}, Want: s.hook(client, ev, s.Command, s.Remind)}
		it.Mark = `(^|[/\\"'\s])` + s.names() + `["']?\s+hook\s+` + client + `\s+` + ev.name + `(\s|$)`
		for _, c := range append([]string{s.Command}, s.Aliases...) {
			for _, remind := range []bool{false, true} {
				if v := s.hook(client, ev, c, remind); canon(v) != canon(it.Want) && !slices.ContainsFunc(it.Also, func(a any) bool { return canon(a) == canon(v) }) {
					it.Also = append(it.Also, v)
				}
			}
		}
		out = append(out, it)
	}
	return out
}

// hook is the value of one hook. A client may reset trust when the command
// changes, so it is short and stable, and behaviour is in the binary.
func (s Spec) hook(client string, ev hookEvent, command string, remind bool) Obj {
	args := " hook " + client + " " + ev.name
	if remind && ev.event == Stop {
		args += " --remind"
	}
	line := shellWord(command, s.Windows) + args
	switch client {
	case Cursor:
		return Obj{{"command", line}, {"timeout", ev.timeout}}
	case Copilot:
		return Obj{{"type", "command"}, {"bash", line}, {"powershell", powershellCall(command) + args}, {"timeoutSec", ev.timeout}}
	case Gemini: // milliseconds
		return Obj{{"hooks", []any{Obj{{"type", "command"}, {"name", serverName}, {"command", line}, {"timeout", ev.timeout * 1000}}}}}
	}
	inner := []any{Obj{{"type", "command"}, {"command", line}, {"timeout", ev.timeout}}}
	if ev.matcher == "" {
		return Obj{{"hooks", inner}}
	}
	return Obj{{"matcher", ev.matcher}, {"hooks", inner}}
}

var plainWord = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9_@%+=:,./-]+$`) })

// shellWord quotes a program for the shell that runs hooks. On Windows that is
// Git Bash or cmd; both read double quotes and keep backslashes in them.
func shellWord(s string, windows bool) string {
	switch {
	case plainWord().MatchString(s):
		return s
	case windows:
		return `"` + s + `"`
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

func powershellCall(s string) string {
	if plainWord().MatchString(s) {
		return s
	}
	return "& '" + strings.ReplaceAll(s, "'", "''") + "'"
}

// version is the frame that Cursor and Copilot demand in a file of hooks.
func version() Item { return Item{ID: "version", Role: Frame, Name: "version", Want: 1} }
