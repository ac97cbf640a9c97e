package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

func (m *machine) ok(out string, status int) string {
	m.t.Helper()
	if status != 0 {
		m.t.Fatalf("status %d: %s", status, out)
	}
	return out
}

func (m *machine) ledgerID() string {
	m.t.Helper()
	out := m.ok(m.agent("resume", "--json"))
	id := regexp.MustCompile(`"ledger":"([0-9a-f]{32})"`).FindStringSubmatch(out)
	if id == nil {
		m.t.Fatalf("no id in %s", out)
	}
	return id[1]
}

// copyProject copies the project beside itself and moves there.
func (m *machine) copyProject(to string) {
	m.t.Helper()
	if out, err := exec.Command("cp", "-a", m.project, filepath.Join(m.root, "work", to)).CombinedOutput(); err != nil {
		m.t.Fatalf("%v: %s", err, out)
	}
}

// Of two live copies of one ledger the newer is refused until a person makes it
// a ledger of its own; then each goes its way.
func TestAdoptThisCopy(t *testing.T) {
	for _, behind := range []bool{false, true} {
		m := newMachine(t)
		m.ok(m.agent("record", "note", "a", "--text", "before", "--source", "s"))
		original, id := m.project, m.ledgerID()
		m.copyProject("copy")
		if behind {
			m.ok(m.agent("record", "note", "a2", "--text", "meanwhile", "--source", "s"))
		}
		m.project = filepath.Join(m.root, "work", "copy")
		out, status := m.agent("record", "note", "b", "--text", "in the copy", "--source", "s", "--json")
		if status != 5 || !strings.Contains(out, `"code":"copy"`) || !strings.Contains(out, "adopt --this-copy") {
			t.Errorf("status %d: %s", status, out)
		}
		if out, status := m.agent("adopt", "--this-copy"); status != 0 || !strings.Contains(out, "is a copy of the one at "+filepath.Join(original, ".holdfast")) {
			t.Errorf("status %d: %s", status, out)
		}
		if out, status := m.person("00000000", "adopt", "--this-copy"); status != 2 {
			t.Errorf("status %d: %s", status, out)
		}
		m.ok(m.person(id[:8], "adopt", "--this-copy"))
		m.ok(m.agent("record", "note", "b", "--text", "in the copy", "--source", "s"))
		if out := m.ok(m.agent("list")); !strings.Contains(out, "before") || !strings.Contains(out, "in the copy") || strings.Contains(out, "meanwhile") {
			t.Errorf("the copy has %s", out)
		}
		if m.ledgerID() == id {
			t.Error("the copy kept the id")
		}
		if out, status := m.person("", "adopt", "--this-copy"); status != 2 {
			t.Errorf("no copy any more: status %d: %s", status, out)
		}
		m.project = original
		m.ok(m.agent("record", "note", "c", "--text", "in the original", "--source", "s"))
		if out := m.ok(m.agent("list")); strings.Contains(out, "in the copy") || !strings.Contains(out, "in the original") {
			t.Errorf("the original has %s", out)
		}
	}
}

func TestAdoptForeign(t *testing.T) {
	m := newMachine(t)
	m.ok(m.agent("record", "note", "a", "--text", "a stranger's", "--source", "s"))
	id := m.ledgerID()
	m.home = filepath.Join(m.root, "home2")
	m.env = append(m.env, "HOME="+m.home, "XDG_STATE_HOME="+filepath.Join(m.root, "state2"))
	if err := os.Mkdir(m.home, 0o700); err != nil {
		t.Fatal(err)
	}
	if out, status := m.agent("list"); status != 5 || strings.Contains(out, "stranger") {
		t.Errorf("status %d: %s", status, out)
	}
	if out, status := m.person("ffffffff", "adopt"); status != 2 || strings.Contains(out, "stranger") {
		t.Errorf("status %d: %s", status, out)
	}
	m.ok(m.person(id[:8], "adopt"))
	if out := m.ok(m.agent("list")); !strings.Contains(out, "stranger") {
		t.Errorf("adopted: %s", out)
	}
	m.ok(m.agent("record", "note", "b", "--text", "ours", "--source", "s"))
}

// Starting over needs a person, and a ledger that is really gone.
func TestSetupNewLedger(t *testing.T) {
	m := newMachine(t)
	m.ok(m.agent("record", "note", "a", "--text", "old", "--source", "s"))
	id := m.ledgerID()
	setup := []string{"setup", "--client", "codex", "--yes", "--new-ledger", "--json"}
	if out, status := m.person("", setup...); status != 3 || !strings.Contains(out, `"code":"present"`) {
		t.Errorf("a ledger is there: status %d: %s", status, out)
	}
	if err := os.RemoveAll(filepath.Join(m.project, ".holdfast")); err != nil {
		t.Fatal(err)
	}
	if out, status := m.agent("setup", "--client", "codex", "--yes"); status != 5 {
		t.Errorf("without the flag: status %d: %s", status, out)
	}
	if out, status := m.agent(setup...); status != 7 {
		t.Errorf("an agent: status %d: %s", status, out)
	}
	m.ok(m.person("", setup...))
	if out := m.ok(m.agent("list")); strings.Contains(out, "old") {
		t.Errorf("started over: %s", out)
	}
	if m.ledgerID() == id {
		t.Error("the new ledger has the old id")
	}
	m.ok(m.agent("record", "note", "b", "--text", "new", "--source", "s"))
	mirrors, err := filepath.Glob(filepath.Join(m.root, "state", "holdfast", id, "mirror.jsonl"))
	if err != nil || len(mirrors) != 1 {
		t.Errorf("the old mirror: %v, %v", mirrors, err)
	}
}
