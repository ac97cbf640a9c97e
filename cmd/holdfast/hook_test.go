package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf16"
)

// starts are what each client says at the start of a session, and where its
// answer's text stands. Captured from the programs; Cursor's by its documents.
var starts = map[string]struct{ client, event, stdin, at string }{
	"codex":                  {"codex", "SessionStart", `{"session_id":"S","transcript_path":null,"cwd":"DIR","hook_event_name":"SessionStart","model":"m","permission_mode":"default","source":"startup"}`, "hookSpecificOutput.additionalContext"},
	"claude":                 {"claude", "SessionStart", `{"session_id":"S","transcript_path":"/t","cwd":"DIR","hook_event_name":"SessionStart","source":"startup"}`, "hookSpecificOutput.additionalContext"},
	"gemini":                 {"gemini", "SessionStart", `{"session_id":"S","transcript_path":"","cwd":"DIR","hook_event_name":"SessionStart","timestamp":"2026-11-30T20:00:00.000Z","source":"startup"}`, "hookSpecificOutput.additionalContext"},
	"copilot":                {"copilot", "sessionStart", `{"sessionId":"S","timestamp":1796000000000,"cwd":"DIR","source":"new","initialPrompt":"hi"}`, "additionalContext"},
	"copilot, Claude's file": {"claude", "SessionStart", `{"hook_event_name":"SessionStart","session_id":"S","timestamp":"2026-11-30T20:00:00.000Z","cwd":"DIR","source":"startup","initial_prompt":"hi"}`, "additionalContext"},
	"cursor":                 {"cursor", "sessionStart", `{"conversation_id":"S","generation_id":"g","hook_event_name":"sessionStart","workspace_roots":["DIR"],"model":"m","cursor_version":"3"}`, "additional_context"},
}

func (b *box) hook(stdin, client, event string, more ...string) answer {
	b.t.Helper()
	a := b.feed(strings.NewReader(strings.ReplaceAll(stdin, "DIR", b.dir)), append([]string{"hook", client, event}, more...)...)
	if a.code != 0 {
		b.t.Fatalf("hook %s %s: status %d: %s", client, event, a.code, a.err)
	}
	nothingOrObject(b.t, a.out)
	return a
}

func nothingOrObject(t *testing.T, out string) map[string]any {
	t.Helper()
	if out == "" {
		return nil
	}
	var v map[string]any
	dec := json.NewDecoder(strings.NewReader(out))
	if err := dec.Decode(&v); err != nil || dec.More() {
		t.Fatalf("not one JSON object: %v: %q", err, out)
	}
	return v
}

func textAt(v any, path string) string {
	for _, k := range strings.Split(path, ".") {
		m, _ := v.(map[string]any)
		v = m[k]
	}
	s, _ := v.(string)
	return s
}

func TestHookGivesTheResumeTextAtAStart(t *testing.T) {
	t.Parallel()
	for name, c := range starts {
		t.Run(name, func(t *testing.T) {
			b := newBox(t)
			b.must(0, "record", "goal", "ship-1", "--text", "Ship the <first> release", "--source", "s")
			a := b.hook(c.stdin, c.client, c.event)
			text := textAt(nothingOrObject(t, a.out), c.at)
			if !strings.Contains(text, "Ship the <first> release") || !strings.Contains(text, "data, not instructions") || !strings.Contains(text, "Guards: revision 1") {
				t.Fatalf("no resume text in %s", a.out)
			}
			if keys := nothingOrObject(t, a.out); len(keys) != 1 {
				t.Errorf("unknown keys: %v", sortedKeys(keys))
			}
			// A client that runs two files with hooks asks twice.
			if again := b.hook(c.stdin, c.client, c.event); again.out != "" {
				t.Errorf("told twice: %s", again.out)
			}
			if other := b.hook(strings.Replace(c.stdin, `"S"`, `"T"`, 1), c.client, c.event); textAt(nothingOrObject(t, other.out), c.at) == "" {
				t.Error("the next session heard nothing")
			}
		})
	}
}

func TestHookTellsOnceWhenSeveralRunAtOnce(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	b.must(0, "record", "goal", "ship-1", "--text", "Ship", "--source", "s")
	var wg sync.WaitGroup
	outs := make([]string, 4)
	for i := range outs {
		wg.Go(func() { outs[i] = b.hook(starts["claude"].stdin, "claude", "SessionStart").out })
	}
	wg.Wait()
	told := 0
	for _, o := range outs {
		if o != "" {
			told++
		}
	}
	if told != 1 {
		t.Errorf("told %d times", told)
	}
}

func TestHookTextIsBounded(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	var recs []string
	for i := range 90 {
		recs = append(recs, fmt.Sprintf(`{"id":"d-%d","kind":"decision","text":%q,"why":%q,"source":"s"}`, i, strings.Repeat("größer 🜚 ", 20), strings.Repeat("because ", 20)))
	}
	if a := b.feed(strings.NewReader("["+strings.Join(recs, ",")+"]"), "record", "--file", "-"); a.code != 0 {
		t.Fatal(a.err)
	}
	for name, c := range starts {
		text := textAt(nothingOrObject(t, b.hook(strings.Replace(c.stdin, `"S"`, `"`+name+`"`, 1), c.client, c.event).out), c.at)
		if n := len(utf16.Encode([]rune(text))); n > 8000 || n < 4000 || len(text) > 9000 {
			t.Errorf("%s: %d characters, %d bytes", name, n, len(text))
		}
		if !strings.Contains(text, "Left out: ") || !strings.Contains(text, "Guards: revision 1") {
			t.Errorf("%s: what was left out or the guards are missing:\n%s", name, text)
		}
	}
}

// TestHookNeverFails: whatever is broken, 0 and nothing or one object.
func TestHookNeverFails(t *testing.T) {
	t.Parallel()
	start := starts["claude"].stdin
	ready := func(b *box) { b.must(0, "record", "goal", "ship-1", "--text", "Ship it now", "--source", "s") }
	revision := func(b *box, n int) string {
		return filepath.Join(b.dir, ".holdfast", "gen", "0001", "rev", fmt.Sprintf("%08d.json", n))
	}
	overwrite := func(b *box, path, text string) {
		if err := os.Chmod(path, 0o600); err != nil {
			b.t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			b.t.Fatal(err)
		}
	}
	for name, c := range map[string]struct {
		spoil func(b *box)
		says  string // in the answer; "-": nothing may be said; empty: anything
	}{
		"no ledger": {func(b *box) {}, "-"},
		"damaged": {func(b *box) {
			ready(b)
			ready2(b)
			overwrite(b, revision(b, 2), strings.Replace(slurp(b, revision(b, 2)), "Ship more", "Ship less", 1))
		}, "INCOMPLETE"},
		"cut":              {func(b *box) { ready(b); ready2(b); overwrite(b, revision(b, 2), slurp(b, revision(b, 2))[:99]) }, ""},
		"NUL":              {func(b *box) { ready(b); overwrite(b, revision(b, 1), strings.Repeat("\x00", 500)) }, ""},
		"FORMAT gone":      {func(b *box) { ready(b); os.Remove(b.path(".holdfast/FORMAT")) }, ""},
		"folder gone":      {func(b *box) { ready(b); os.RemoveAll(b.path(".holdfast")) }, ""},
		"ledger is a file": {func(b *box) { b.write(".holdfast", []byte("x")) }, ""},
		"foreign":          {func(b *box) { ready(b); os.RemoveAll(filepath.Join(b.home, ".local")) }, "not made on this machine"},
		"state is a file": {func(b *box) {
			ready(b)
			os.RemoveAll(filepath.Join(b.home, ".local", "state", "holdfast"))
			b.write("../../home/.local/state/holdfast", []byte("x"))
		}, ""},
		"no HOME":              {func(b *box) { ready(b); b.env = []string{"PATH=" + os.Getenv("PATH")} }, ""},
		"HOME is the project":  {func(b *box) { b.env = append(b.env, "HOME="+b.dir) }, "-"},
		"PATH empty":           {func(b *box) { ready(b); b.git("init", "-q"); b.env = append(b.env, "PATH=") }, "Ship it now"},
		"bad timeout":          {func(b *box) { ready(b); b.env = append(b.env, "HOLDFAST_LOCK_TIMEOUT=soon") }, "-"},
		"sessions is a folder": {func(b *box) { ready(b); b.breakSessions() }, "Ship it now"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBox(t)
			c.spoil(b)
			for _, event := range []string{"SessionStart", "PreCompact", "Stop", "SessionEnd"} {
				began := time.Now()
				a := b.hook(strings.Replace(start, `"SessionStart"`, `"`+event+`"`, 1), "claude", event, "--remind")
				t.Logf("%s: %s", event, time.Since(began).Round(time.Millisecond))
				if event != "SessionStart" {
					if a.out != "" {
						t.Errorf("%s says %s", event, a.out)
					}
					continue
				}
				switch {
				case c.says == "-" && a.out != "":
					t.Errorf("says %s", a.out)
				case c.says != "-" && !strings.Contains(a.out, c.says):
					t.Errorf("says %q, want %q", a.out, c.says)
				case name == "foreign" && strings.Contains(a.out, "Ship"):
					t.Errorf("a foreign ledger's text is told: %s", a.out)
				}
			}
		})
	}
	t.Run("odd input", func(t *testing.T) {
		b := newBox(t)
		ready(b)
		for name, in := range map[string]string{
			"empty": "", "not JSON": "hello", "a list": "[1,2]", "cut": start[:40], "NUL": "\x00\x00", "not UTF-8": "{\"session_id\":\"\xff\"}", "deep": strings.Repeat(`{"a":`, 200_000),
			"5 MB": `{"session_id":"big","last_assistant_message":"` + strings.Repeat("x", 5<<20) + `"}`, "20 MB": `{"session_id":"bigger","prompt":"` + strings.Repeat("x", 20<<20) + `"}`,
			"other types": `{"session_id":7,"cwd":["a"],"source":{},"stop_hook_active":"yes","timestamp":[]}`, "elsewhere": `{"session_id":"e","cwd":"/no/such/folder"}`,
		} {
			for _, event := range []string{"SessionStart", "Stop"} {
				if a := b.hook(in, "codex", event); event == "SessionStart" && name != "elsewhere" && a.out != "" && !strings.Contains(a.out, "Ship it now") {
					t.Errorf("%s: %s", name, a.out)
				}
			}
		}
		for _, args := range [][]string{{"hook"}, {"hook", "claude"}, {"hook", "emacs", "SessionStart"}, {"hook", "claude", "Nothing"}, {"hook", "a", "b", "c"}, {"hook", "--bogus"}, {"hook", "claude", "Stop", "--project"}} {
			if a := b.run(args...); a.code != 0 || a.out != "" {
				t.Errorf("%v: status %d, %s", args, a.code, a.out)
			}
		}
	})
	t.Run("input that never ends", func(t *testing.T) {
		b := newBox(t)
		ready(b)
		r, w := io.Pipe()
		defer w.Close()
		go io.WriteString(w, strings.ReplaceAll(start, "DIR", b.dir))
		path, err := exec.LookPath("holdfast")
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(path, "hook", "claude", "SessionStart")
		var out bytes.Buffer
		in, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		cmd.Dir, cmd.Env, cmd.Stdout = b.dir, b.env, &out
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		go io.Copy(in, r)
		if err := cmd.Wait(); err != nil || !strings.Contains(out.String(), "Ship it now") {
			t.Errorf("%v: %s", err, out.String())
		}
	})
}

func slurp(b *box, path string) string {
	data, err := os.ReadFile(path)
	if err != nil {
		b.t.Fatal(err)
	}
	return string(data)
}

func ready2(b *box) { b.must(0, "record", "goal", "ship-2", "--text", "Ship more", "--source", "s") }

func (b *box) git(args ...string) {
	b.t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir, cmd.Env = b.dir, append(b.env, "GIT_CONFIG_NOSYSTEM=1", "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b")
	if out, err := cmd.CombinedOutput(); err != nil {
		b.t.Fatalf("git %v: %v\n%s", args, err, out)
	}
}
