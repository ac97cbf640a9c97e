package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// machine is a home with a project, and the shipped binary to use there.
type machine struct {
	t                        *testing.T
	root, bin, home, project string
	env                      []string
}

func newMachine(t *testing.T) *machine {
	t.Helper()
	m := &machine{t: t, root: t.TempDir()}
	m.bin, m.home, m.project = filepath.Join(m.root, "bin", "holdfast"), filepath.Join(m.root, "home"), filepath.Join(m.root, "work", "project")
	for _, d := range []string{filepath.Dir(m.bin), m.home, m.project} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(self, m.bin); err != nil { // by this name the tests are the program
		t.Fatal(err)
	}
	m.env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + m.home, "TERM=dumb", "XDG_STATE_HOME=" + filepath.Join(m.root, "state")}
	return m
}

// agent runs a command as an agent does, and gives standard output and status.
func (m *machine) agent(args ...string) (string, int) {
	m.t.Helper()
	return m.run(nil, args...)
}

func (m *machine) run(tty *os.File, args ...string) (string, int) {
	m.t.Helper()
	var out bytes.Buffer
	cmd := m.command(tty, args...)
	cmd.Stdout = &out
	err := cmd.Run()
	if cmd.ProcessState == nil {
		m.t.Fatal(err)
	}
	return out.String(), cmd.ProcessState.ExitCode()
}

func (m *machine) command(tty *os.File, args ...string) *exec.Cmd {
	cmd := exec.Command(m.bin, args...)
	cmd.Dir, cmd.Env = m.project, m.env
	if tty != nil {
		cmd.Stdin, cmd.Stderr = tty, tty
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	}
	return cmd
}

// terminal is one at which a person sits; what is written there is dropped.
func (m *machine) terminal() (control, tty *os.File) {
	m.t.Helper()
	if agentAbove() {
		m.t.Skip("a coding agent is above these tests: nobody here counts as a person")
	}
	control, tty, err := openPTY()
	if err != nil {
		m.t.Fatal(err)
	}
	m.t.Cleanup(func() { tty.Close(); control.Close() })
	return control, tty
}

// person runs a command at a terminal, with what is typed there.
func (m *machine) person(typed string, args ...string) (string, int) {
	m.t.Helper()
	control, tty := m.terminal()
	go io.Copy(io.Discard, control) // so that nothing waits for the terminal
	if typed != "" {
		if _, err := io.WriteString(control, typed+"\n"); err != nil {
			m.t.Fatal(err)
		}
	}
	return m.run(tty, args...)
}

// holds lists the files of the machine that have the text.
func (m *machine) holds(text string) (out []string) {
	m.t.Helper()
	err := filepath.WalkDir(m.root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		if data, err := os.ReadFile(path); err == nil && bytes.Contains(data, []byte(text)) {
			out = append(out, strings.TrimPrefix(path, m.root))
		}
		return nil
	})
	if err != nil {
		m.t.Fatal(err)
	}
	return out
}

// sh runs a script in the project, with the machine's environment.
func (m *machine) sh(script string) string {
	m.t.Helper()
	cmd := exec.Command("sh", "-euc", script)
	cmd.Dir, cmd.Env = m.project, m.gitEnv()
	out, err := cmd.CombinedOutput()
	if err != nil {
		m.t.Fatalf("%s: %v\n%s", script, err, out)
	}
	return strings.TrimSpace(string(out))
}

func (m *machine) gitEnv() []string {
	return append(m.env[:len(m.env):len(m.env)], "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null", "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.test",
		"GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.test", "HOLDFAST="+m.bin)
}

// three saves three notes, and gives the files of the ledger.
func (m *machine) three() {
	m.t.Helper()
	for _, id := range []string{"a", "b", "c"} {
		if out, status := m.agent("record", "note", id, "--text", "text of "+id, "--source", "s"); status != 0 {
			m.t.Fatalf("status %d: %s", status, out)
		}
	}
}

// code is the code of an error answer, empty for an answer that is none.
func code(t *testing.T, out string) string {
	t.Helper()
	var e struct {
		Error struct{ Code, Message, Next string }
	}
	if err := json.Unmarshal([]byte(out), &e); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return e.Error.Code
}

// mcp plays a server's input to its end, and gives the result of each call by id.
func (m *machine) mcp(client string, calls ...string) map[string]string {
	m.t.Helper()
	in := `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"` + client + `","version":"1"}}}` + "\n" +
		`{"jsonrpc":"2.0","method":"notifications/initialized"}` + "\n"
	for i, c := range calls {
		in += fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":%s}`+"\n", i+1, c)
	}
	cmd := m.command(nil, "mcp")
	cmd.Stdin = strings.NewReader(in)
	out, err := cmd.Output()
	if err != nil {
		m.t.Fatalf("mcp: %v", err)
	}
	answers := map[string]string{}
	for line := range strings.Lines(string(out)) {
		var a struct {
			ID     json.Number
			Result json.RawMessage
		}
		if err := json.Unmarshal([]byte(line), &a); err != nil {
			m.t.Fatalf("mcp: %v: %s", err, line)
		}
		answers[a.ID.String()] = string(a.Result)
	}
	return answers
}
