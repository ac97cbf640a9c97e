package cli

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// story fills a ledger with one of everything.
func story(h *house) {
	if err := os.WriteFile(filepath.Join(h.dir, "lexer.go"), []byte("package lexer\n"), 0o600); err != nil {
		h.t.Fatal(err)
	}
	h.must(human, "record", "goal", "ship-1", "--text", "Ship the first release")
	h.must(agent, "record", "decision", "db", "--text", "Use SQLite", "--why", "one file", "--rejected", "Postgres: needs a server",
		"--revisit-when", "there are two writers", "--source", "design talk", "--cite", "lexer.go")
	h.must(agent, "record", "next", "n-1", "--text", "Write the <parser> & test it", "--source", "plan", "--key", "k1")
	h.must(agent, "record", "question", "q-1", "--text", "Which licence?", "--source", "plan")
	h.must(agent, "record", "answer", "q-1", "--answer", "MIT", "--source", "the owner's mail", "--expect-revision", "4")
	h.must(agent, "record", "next", "n-2", "--text", "Write the lexer", "--source", "plan")
	h.must(agent, "done", "n-2", "--expect-revision", "6")
	h.must(agent, "record", "note", "t-1", "--text", "The lexer test is slow\nand \x1b[31mred", "--source", "a run")
	h.must(agent, "record", "note", "t-2", "--text", "A mistake", "--source", "a run")
	h.must(agent, "retract", "t-2", "--expect-revision", "9")
}

// commands is every command whose answer has a golden file. Those that save run
// on a story of their own, so that none depends on another.
var commands = []struct {
	name string
	by   actor
	args string
}{
	{"status", agent, ""},
	{"resume", agent, "resume"},
	{"resume-budget", agent, "resume --budget 200"},
	{"resume-since", agent, "resume --since 7"},
	{"list", agent, "list"},
	{"list-all", agent, "list --all"},
	{"list-kind", agent, "list decision"},
	{"show", agent, "show db"},
	{"show-history", agent, "show q-1 --history"},
	{"search", agent, "search lexer"},
	{"search-none", agent, "search nothingatall"},
	{"log", agent, "log"},
	{"log-page", agent, "log --limit 2 --cursor 9"},
	{"record", agent, "record note t-3 --text Careful --source s"},
	{"record-replay", agent, "record next n-1 --text 'Write the <parser> & test it' --source plan --key k1"},
	{"record-file", actor{env: agent.env, stdin: `[{"id":"x","kind":"note","text":"X","source":"s"},{"id":"y","kind":"note","text":"Y","source":"s"}]`}, "record --file -"},
	{"done", agent, "done n-1 --expect-revision 3"},
	{"drop", human, "drop ship-1"},
	{"confirm", human, "confirm db"},
	{"confirm-several", human, "confirm db n-1"},
	{"retract", agent, "retract t-1 --expect-revision 8"},
	{"restore", agent, "restore t-2 --expect-revision 10"},
	{"export-file", agent, "export --output out.json"},
	{"setup-check", agent, "setup --check --client codex"},
	{"error-setup-client", agent, "setup --client emacs --yes"},
	{"error-conflict", agent, "record next n-1 --text Other --expect-revision 2"},
	{"error-exists", agent, "record next n-1 --text Other"},
	{"error-field", agent, "record decision d --source s"},
	{"error-limit", actor{env: agent.env, stdin: `[` + strings.TrimSuffix(strings.Repeat(`{"id":"x"},`, 101), ",") + `]`}, "record --file -"},
	{"error-key", agent, "record next n-9 --text Other --source s --key k1"},
	{"error-recovered", agent, "retract t-1 --expect-revision 8 --expect-recovery nosuch"},
	{"error-not-found", agent, "show nosuch"},
	{"error-state", agent, "restore t-1 --expect-revision 8"},
	{"error-person", agent, "confirm db"},
	{"error-usage", agent, "lst"},
	{"error-flag", agent, "record note x --txt y"},
}

// makes are the commands above that make something.
var makes = map[string]bool{
	"record": true, "record-file": true, "done": true, "drop": true, "confirm": true, "confirm-several": true,
	"retract": true, "restore": true, "export-file": true,
}

// split takes a command line apart at spaces, outside single quotes.
func split(line string) []string {
	var out []string
	for i, part := range strings.Split(line, "'") {
		if i%2 == 1 {
			out = append(out, part)
			continue
		}
		out = append(out, strings.Fields(part)...)
	}
	return out
}

// TestGoldens holds what every command prints: for programs (--json), in a
// pipe, and on a terminal.
func TestGoldens(t *testing.T) {
	t.Parallel()
	shared := newHouse(t)
	story(shared)
	told := shared.now
	for _, c := range commands {
		t.Run(c.name, func(t *testing.T) {
			var b strings.Builder
			for _, mode := range []string{"json", "pipe", "terminal"} {
				h := shared
				if h.now = told; makes[c.name] {
					h = newHouse(t)
					story(h)
				}
				by, args := c.by, split(c.args)
				switch mode {
				case "json":
					args = append(args, "--json")
				case "terminal":
					by.tty, by.width = true, 80
				}
				r := h.run(by, args...)
				if mode == "json" {
					oneObject(t, r.out)
				}
				if mode != "terminal" && strings.Contains(r.out+r.err, "\x1b") {
					t.Errorf("%s: an escape sequence", mode)
				}
				text := h.mask(r.out) + "-- standard error --\n" + h.mask(r.err)
				fmt.Fprintf(&b, "== %s: holdfast %s, status %d ==\n%s", mode, c.args, r.status, strings.ReplaceAll(text, "\x1b", "^["))
			}
			golden(t, c.name, b.String())
		})
	}
}

// oneObject checks that an answer is one JSON object on one line.
func oneObject(t *testing.T, out string) {
	t.Helper()
	var v map[string]any
	if err := json.Unmarshal([]byte(out), &v); err != nil {
		t.Errorf("the answer is not one JSON object: %v\n%s", err, out)
	}
	if strings.Count(out, "\n") != 1 || !strings.HasSuffix(out, "\n") {
		t.Errorf("the answer is not one line:\n%s", out)
	}
}
