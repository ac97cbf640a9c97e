package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// sessionsFile is where the sessions of the box's ledger are noted.
func (b *box) sessionsFile() string {
	b.t.Helper()
	dirs, err := filepath.Glob(filepath.Join(b.home, ".local", "state", "holdfast", "????????????????????????????????"))
	if err != nil || len(dirs) != 1 {
		b.t.Fatalf("the ledger's state folder: %v, %v", dirs, err)
	}
	return filepath.Join(dirs[0], "sessions.jsonl")
}

func (b *box) breakSessions() {
	if err := os.Mkdir(b.sessionsFile(), 0o755); err != nil {
		b.t.Fatal(err)
	}
}

func (b *box) sessions() []map[string]any {
	b.t.Helper()
	data, err := os.ReadFile(b.sessionsFile())
	if err != nil {
		b.t.Fatal(err)
	}
	var out []map[string]any
	for l := range strings.Lines(string(data)) {
		var v map[string]any
		if err := json.Unmarshal([]byte(l), &v); err != nil {
			b.t.Fatalf("%v: %s", err, l)
		}
		out = append(out, v)
	}
	return out
}

const stopInput = `{"session_id":"S","cwd":"DIR","hook_event_name":"Stop","turn_id":"%d","stop_hook_active":%v}`

func TestCaseC065_HookCountsTheSavesOfASession(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	b.must(0, "record", "goal", "ship-1", "--text", "Ship", "--source", "s")
	c := starts["claude"]
	b.hook(c.stdin, "claude", "SessionStart")
	b.hook(strings.Replace(c.stdin, `"SessionStart"`, `"SessionEnd"`, 1), "claude", "SessionEnd")
	if text := b.hook(strings.Replace(c.stdin, `"S"`, `"T"`, 1), "claude", "SessionStart").out; !strings.Contains(text, "the last session here, of claude, ended just now; 0 records saved by it") {
		t.Errorf("that nothing was saved is not told: %s", text)
	}
	b.env = append(b.env, "CLAUDECODE=1")
	b.must(0, "record", "note", "n-1", "--text", "one", "--source", "s")
	b.hook(strings.NewReplacer(`"S"`, `"T"`, `"SessionStart"`, `"SessionEnd"`).Replace(c.stdin), "claude", "SessionEnd")
	if text := b.hook(strings.Replace(c.stdin, `"S"`, `"U"`, 1), "claude", "SessionStart").out; !strings.Contains(text, "ended just now; 1 record saved by it") {
		t.Errorf("the save is not counted: %s", text)
	}
	for i, want := range []string{"session-start", "session-end", "session-start", "session-end", "session-start"} {
		if l := b.sessions()[i]; l["event"] != want || l["client"] != "claude" {
			t.Errorf("line %d: %v", i, l)
		}
	}
	if log := b.must(0, "log", "--json").out; strings.Contains(log, "session") {
		t.Error("sessions are in the ledger")
	}
}

func TestHookRemindsOnce(t *testing.T) {
	t.Parallel()
	repo := func(t *testing.T) *box {
		b := newBox(t)
		b.git("init", "-q", "-b", "main")
		b.write("a.txt", []byte("a\n"))
		b.git("add", "a.txt")
		b.git("commit", "-qm", "first")
		b.must(0, "record", "goal", "ship-1", "--text", "Ship", "--source", "s")
		b.hook(starts["claude"].stdin, "claude", "SessionStart")
		return b
	}
	stop := func(b *box, turn int, again bool) string {
		return b.hook(fmt.Sprintf(stopInput, turn, again), "claude", "Stop", "--remind").out
	}
	t.Run("work without a save", func(t *testing.T) {
		b := repo(t)
		if out := stop(b, 1, false); out != "" {
			t.Errorf("asked though nothing changed: %s", out)
		}
		b.write("a.txt", []byte("b\n"))
		if out := b.hook(fmt.Sprintf(stopInput, 2, false), "claude", "Stop").out; out != "" {
			t.Errorf("asked without --remind: %s", out)
		}
		if out := stop(b, 3, true); out != "" {
			t.Errorf("asked in a stop that a hook held up: %s", out)
		}
		v := nothingOrObject(t, stop(b, 4, false))
		if v["decision"] != "block" || !strings.Contains(fmt.Sprint(v["reason"]), "holdfast_record") || len(v) != 2 {
			t.Errorf("not asked: %v", v)
		}
		for turn := range 3 {
			if out := stop(b, 5+turn, turn%2 == 0); out != "" {
				t.Errorf("asked twice: %s", out)
			}
		}
	})
	t.Run("a commit", func(t *testing.T) {
		b := repo(t)
		b.git("commit", "-qm", "second", "--allow-empty")
		if v := nothingOrObject(t, stop(b, 1, false)); v["decision"] != "block" {
			t.Errorf("not asked: %v", v)
		}
	})
	t.Run("saved", func(t *testing.T) {
		b := repo(t)
		b.write("a.txt", []byte("b\n"))
		b.must(0, "record", "note", "n-1", "--text", "one", "--source", "s")
		if out := stop(b, 1, false); out != "" {
			t.Errorf("asked though something was saved: %s", out)
		}
	})
	t.Run("an unknown start", func(t *testing.T) {
		b := repo(t)
		b.write("a.txt", []byte("b\n"))
		if out := b.hook(strings.Replace(fmt.Sprintf(stopInput, 1, false), `"S"`, `"other"`, 1), "claude", "Stop", "--remind").out; out != "" {
			t.Errorf("asked: %s", out)
		}
	})
	t.Run("nothing can be noted", func(t *testing.T) {
		b := repo(t)
		b.write("a.txt", []byte("b\n"))
		if err := os.Remove(b.sessionsFile()); err != nil {
			t.Fatal(err)
		}
		b.breakSessions()
		if out := stop(b, 1, false); out != "" {
			t.Errorf("asked: %s", out)
		}
	})
	t.Run("every client's words", func(t *testing.T) {
		for name, c := range map[string]struct{ event, key string }{"codex": {"Stop", "decision"}, "gemini": {"AfterAgent", "decision"}, "copilot": {"agentStop", "decision"}, "cursor": {"stop", "followup_message"}} {
			b := repo(t)
			b.hook(starts[name].stdin, name, starts[name].event)
			b.write("a.txt", []byte("b\n"))
			in := map[string]string{"copilot": `{"sessionId":"S","timestamp":1796000000001,"cwd":"DIR","stopReason":"end"}`,
				"cursor": `{"conversation_id":"S","generation_id":"h","workspace_roots":["DIR"],"status":"completed","loop_count":0}`}[name]
			if in == "" {
				in = fmt.Sprintf(stopInput, 1, false)
			}
			if v := nothingOrObject(t, b.hook(in, name, c.event, "--remind").out); v[c.key] == nil {
				t.Errorf("%s: %v", name, v)
			}
		}
	})
}

func TestSessionsStayFew(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	b.must(0, "record", "goal", "ship-1", "--text", "Ship", "--source", "s")
	b.hook(starts["claude"].stdin, "claude", "SessionStart")
	file := b.sessionsFile()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 1200 {
		data = fmt.Appendf(data, `{"at":"2026-11-30T20:00:00Z","event":"stop","client":"claude","session":"S","key":"k%d","worktree":"main"}`+"\n", i)
	}
	if err := os.WriteFile(file, append(data, "torn line"...), 0o600); err != nil {
		t.Fatal(err)
	}
	for turn := range 3 {
		b.hook(fmt.Sprintf(stopInput, turn, false), "claude", "Stop")
	}
	lines := b.sessions()
	if n := len(lines); n > 1000 || n < 500 || lines[0]["event"] != "session-start" || lines[n-1]["saves"] == nil {
		t.Errorf("%d lines, first %v, last %v", len(lines), lines[0], lines[len(lines)-1])
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
}
