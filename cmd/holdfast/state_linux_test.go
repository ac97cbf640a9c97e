package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

func (m *machine) mirrorLines(state string) string {
	m.t.Helper()
	return m.sh(`cat ` + state + `/holdfast/*/mirror.jsonl 2>/dev/null | wc -l`)
}

// setEnv gives a variable another value; an empty one unsets it.
func (m *machine) setEnv(name, value string) {
	out := m.env[:0:0]
	for _, e := range m.env {
		if !strings.HasPrefix(e, name+"=") {
			out = append(out, e)
		}
	}
	if value != "" {
		out = append(out, name+"="+value)
	}
	m.env = out
}

// Keys and mirrors of both state folders count, and the mirror with the further
// head is the one that goes on: a server whose environment was stripped works on.
func TestBothStateFoldersCount(t *testing.T) {
	m := newMachine(t)
	state, byDefault := filepath.Join(m.root, "state"), filepath.Join(m.home, ".local", "state")
	m.setEnv("XDG_STATE_HOME", "")
	m.three()
	m.setEnv("XDG_STATE_HOME", state)
	m.ok(m.agent("record", "note", "d", "--text", "text of d", "--source", "s"))
	if got := m.mirrorLines(byDefault); got != "5" {
		t.Errorf("the default's mirror has %s lines", got)
	}
	// A further head in the other folder: that one goes on.
	m.sh("mkdir -p " + state + " && cp -a " + byDefault + "/holdfast " + state + "/ && sed -i '$d' " + byDefault + "/holdfast/*/mirror.jsonl")
	m.ok(m.agent("record", "note", "e", "--text", "text of e", "--source", "s"))
	m.setEnv("XDG_STATE_HOME", "")
	m.ok(m.agent("record", "note", "f", "--text", "text of f", "--source", "s"))
	if out := m.ok(m.agent("list")); strings.Count(out, "text of") != 6 {
		t.Errorf("list: %s", out)
	}
	// What the further mirror saw and the ledger has not is damage, whichever
	// folder it is in.
	m.setEnv("XDG_STATE_HOME", state)
	m.sh("rm -f .holdfast/gen/0001/rev/00000006.json .holdfast/gen/0001/rev/00000005.json; rm -r $HOME/.cache")
	m.setEnv("HOLDFAST_LOCK_TIMEOUT", "300ms")
	if out, status := m.agent("record", "note", "g", "--text", "text of g", "--source", "s"); status != 5 {
		t.Errorf("status %d: %s", status, out)
	}
}

// A home folder that can't be written: the save stands, unprotected, and a later
// save protects it.
func TestHomeNotWritable(t *testing.T) {
	m := newMachine(t)
	m.setEnv("XDG_STATE_HOME", "")
	m.three()
	if os.Geteuid() == 0 {
		if ok, err := condition("namespaces"); err != nil || !ok {
			t.Skip("root writes anywhere, and there are no namespaces for a read-only mount")
		}
		out := m.sh(`unshare -rm sh -euc 'mount --bind "$HOME" "$HOME"; mount -o remount,ro,bind "$HOME"; $HOLDFAST record note d --text "text of d" --source s --json; $HOLDFAST list'`)
		if !strings.Contains(out, `"durable":true,"protected":false`) || !strings.Contains(out, "text of a") {
			t.Errorf("%s", out)
		}
	} else {
		m.sh("chmod -R a-w $HOME/.local")
		if out, status := m.agent("record", "note", "d", "--text", "text of d", "--source", "s", "--json"); status != 0 || !strings.Contains(out, `"protected":false`) {
			t.Errorf("status %d: %s", status, out)
		}
		m.sh("chmod -R u+w $HOME/.local")
	}
	if out := m.ok(m.agent("record", "note", "e", "--text", "text of e", "--source", "s", "--json")); !strings.Contains(out, `"protected":true`) {
		t.Errorf("%s", out)
	}
	if got := m.mirrorLines("$HOME/.local/state"); got != "6" {
		t.Errorf("the mirror has %s lines", got)
	}
}

// Without a home folder a ledger can be used by its id.
func TestNoHomeWithTheLedgersID(t *testing.T) {
	m := newMachine(t)
	m.setEnv("XDG_STATE_HOME", "")
	m.setEnv("HOME", "")
	out := m.ok(m.agent("record", "note", "a", "--text", "text of a", "--source", "s", "--json"))
	id := regexp.MustCompile(`HOLDFAST_ADOPT=([0-9a-f]{32})`).FindStringSubmatch(out)
	if id == nil {
		t.Fatal(out)
	}
	m.setEnv("HOLDFAST_ADOPT", id[1])
	answers := m.mcp("codex", `{"name":"holdfast_record","arguments":{"kind":"note","id":"b","text":"text of b","source":"s"}}`, `{"name":"holdfast_resume","arguments":{}}`)
	if !strings.Contains(answers["1"], `"durable":true`) || !strings.Contains(answers["2"], "text of a") {
		t.Errorf("%v", answers)
	}
}
