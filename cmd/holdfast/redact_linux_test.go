package main

import (
	"encoding/json"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

const leaked = "correct-horse-battery-staple"

// leak saves a text that must go, with mirrors in both state folders.
func (m *machine) leak() {
	m.t.Helper()
	m.agent("record", "note", "plain", "--text", "nothing to hide", "--source", "s")
	if out, status := m.agent("record", "note", "leak", "--text", "the pass phrase is "+leaked, "--source", "s"); status != 0 {
		m.t.Fatalf("status %d: %s", status, out)
	}
	m.agent("record", "note", "plain2", "--text", "nothing here", "--source", "s")
	state, other := filepath.Join(m.root, "state", "holdfast"), filepath.Join(m.home, ".local", "state", "holdfast")
	if err := os.MkdirAll(filepath.Dir(other), 0o700); err != nil {
		m.t.Fatal(err)
	}
	if err := os.CopyFS(other, os.DirFS(state)); err != nil {
		m.t.Fatal(err)
	}
	// CopyFS opens modes up by the umask.
	err := filepath.WalkDir(other, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			err = os.Chmod(path, 0o700)
		} else if err == nil {
			err = os.Chmod(path, 0o600)
		}
		return err
	})
	if err != nil {
		m.t.Fatal(err)
	}
	if got := m.holds(leaked); len(got) < 5 {
		m.t.Fatalf("the text is in %v only", got)
	}
}

func (m *machine) fingerprint(args ...string) string {
	m.t.Helper()
	out, status := m.person("", append(append([]string{"redact"}, args...), "--json")...)
	var d struct {
		Fingerprint string
		Applied     bool
	}
	if err := json.Unmarshal([]byte(out), &d); err != nil || status != 0 || d.Applied || len(d.Fingerprint) != 64 {
		m.t.Fatalf("status %d, %v: %s", status, err, out)
	}
	return d.Fingerprint
}

func TestRedactByFingerprint(t *testing.T) {
	m := newMachine(t)
	m.leak()
	fp := m.fingerprint("leak")
	if out, status := m.agent("redact", "leak", "--apply", "--expect", fp); status != 7 {
		t.Errorf("an agent: status %d: %s", status, out)
	}
	if out, status := m.person("", "redact", "plain", "--apply", "--expect", fp); status != 3 {
		t.Errorf("another record: status %d: %s", status, out)
	}
	if len(m.holds(leaked)) < 5 {
		t.Fatal("something was erased")
	}
	if out, status := m.person("", "redact", "leak", "--why", "it leaked", "--apply", "--expect", fp); status != 0 || !strings.Contains(out, "redacted, as revision 4") {
		t.Errorf("status %d: %s", status, out)
	}
	if left := m.holds(leaked); len(left) > 0 {
		t.Errorf("the text is still in %v", left)
	}
	if out, status := m.agent("list"); status != 0 || strings.Contains(out, "leak") || !strings.Contains(out, "plain2") {
		t.Errorf("status %d: %s", status, out)
	}
}

func TestRedactByTyping(t *testing.T) {
	m := newMachine(t)
	m.leak()
	fp := m.fingerprint("--revision", "2")
	if out, status := m.person("00000000", "redact", "--revision", "2"); status != 2 || len(m.holds(leaked)) < 5 {
		t.Errorf("wrong digits: status %d: %s", status, out)
	}
	if out, status := m.person(fp[:8], "redact", "--revision", "2"); status != 0 || !strings.Contains(out, "encrypted exports") {
		t.Errorf("status %d: %s", status, out)
	}
	if left := m.holds(leaked); len(left) > 0 {
		t.Errorf("the text is still in %v", left)
	}
}

// A redaction that was killed after its entry was saved is finished by whoever
// comes next, reader or writer.
func TestRedactKilled(t *testing.T) {
	for name, next := range map[string][]string{
		"read":  {"resume"},
		"save":  {"record", "note", "more", "--text", "goes on", "--source", "s"},
		"agent": {"search", "nothing"},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMachine(t)
			m.leak()
			fp := m.fingerprint("leak")
			m.killRedaction(fp)
			if len(m.holds(leaked)) == 0 {
				t.Fatal("it was killed too late")
			}
			out, status := m.agent(next...)
			if status != 0 || strings.Contains(out, leaked) {
				t.Errorf("status %d: %s", status, out)
			}
			if left := m.holds(leaked); len(left) > 0 {
				t.Errorf("the text is still in %v", left)
			}
		})
	}
}

// killRedaction starts a redaction, stops it where it erases the second mirror,
// whose lock the test holds, and kills it there.
func (m *machine) killRedaction(fp string) {
	m.t.Helper()
	locks, err := filepath.Glob(filepath.Join(m.home, ".local", "state", "holdfast", "*", "mirror.lock"))
	if err != nil || len(locks) != 1 {
		m.t.Fatalf("locks %v, %v", locks, err)
	}
	lock, err := os.OpenFile(locks[0], os.O_RDWR, 0)
	if err != nil {
		m.t.Fatal(err)
	}
	defer lock.Close()
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		m.t.Fatal(err)
	}
	control, tty := m.terminal()
	go io.Copy(io.Discard, control)
	cmd := m.command(tty, "redact", "leak", "--apply", "--expect", fp)
	if err := cmd.Start(); err != nil {
		m.t.Fatal(err)
	}
	entry := filepath.Join(m.project, ".holdfast", "gen", "0001", "rev", "00000004.json")
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		if _, err := os.Stat(entry); err == nil {
			break
		}
		if time.Now().After(deadline) {
			m.t.Error("no redact entry was saved")
			break
		}
	}
	if err := cmd.Process.Kill(); err != nil {
		m.t.Fatal(err)
	}
	if err := cmd.Wait(); err == nil {
		m.t.Error("it ended by itself")
	}
}
