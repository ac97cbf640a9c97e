package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestFindings takes every row of the ledger's table of findings through the
// binary: what reading shows, whether saving goes on, and that nothing in the
// ledger's folder is changed by looking at it.
func TestFindings(t *testing.T) {
	const (
		mirror = "$XDG_STATE_HOME/holdfast/*/mirror.jsonl"
		rev    = ".holdfast/gen/0001/rev/"
		nul    = "head -c 500 /dev/zero > "
	)
	for name, c := range map[string]struct {
		script string
		code   string // of a save; empty: it goes on
		shows  string // what list shows, of a b c; empty: nothing
	}{
		"the mirror has a torn last line":      {"printf '{\"head\":' | tee -a " + mirror, "", "abc"},
		"the mirror lacks the newest":          {"sed -i '$d' " + mirror, "", "abc"},
		"the mirror is gone":                   {"rm " + mirror, "", "abc"},
		"the index is garbage":                 {"echo garbage | tee $HOME/.cache/holdfast/*/index.db", "", "abc"},
		"the index is gone":                    {"rm -r $HOME/.cache", "", "abc"},
		"the index is cut":                     {"truncate -s 5000 $HOME/.cache/holdfast/*/index.db", "", "abc"},
		"the index is a link":                  {"rm $HOME/.cache/holdfast/*/index.db; ln -s /etc/passwd $(echo $HOME/.cache/holdfast/*)/index.db", "", "abc"},
		"the index saw a later head":           {"rm -f " + rev + "00000003.json " + mirror, "damaged", "ab"},
		"C001: a torn revision in the middle":  {"chmod 600 " + rev + "00000002.json; truncate -s 200 " + rev + "00000002.json; rm -r $HOME/.cache", "damaged", "abc"},
		"C001: a torn newest revision":         {"chmod 600 " + rev + "00000003.json; truncate -s 200 " + rev + "00000003.json", "damaged", "abc"},
		"C002: two entries in one file":        {"chmod 600 " + rev + "00000003.json; cat " + rev + "00000002.json >> " + rev + "00000003.json", "damaged", "abc"},
		"C002: no newline at the end":          {"chmod 600 " + rev + "00000003.json; truncate -s -1 " + rev + "00000003.json", "damaged", "abc"},
		"C004: a newest revision of NUL":       {"chmod 600 " + rev + "00000003.json; " + nul + rev + "00000003.json", "damaged", "abc"},
		"C004: every revision NUL":             {"for f in " + rev + "*; do chmod 600 $f; " + nul + "$f; done", "damaged", "abc"},
		"C004: FORMAT NUL":                     {"chmod 600 .holdfast/FORMAT; " + nul + ".holdfast/FORMAT", "damaged", "abc"},
		"C004: FORMAT empty":                   {"chmod 600 .holdfast/FORMAT; : > .holdfast/FORMAT", "damaged", "abc"},
		"C004: everything and the mirror NUL":  {"for f in .holdfast/FORMAT " + rev + "*; do chmod 600 $f; " + nul + "$f; done; head -c 500 /dev/zero | tee " + mirror + " >/dev/null", "damaged", ""},
		"C018: a zeroed page":                  {"chmod 600 " + rev + "00000003.json; " + "printf '\\0\\0\\0\\0\\0\\0\\0\\0' | dd of=" + rev + "00000003.json bs=1 seek=100 conv=notrunc 2>/dev/null", "damaged", "abc"},
		"the newest revision is gone":          {"rm -f " + rev + "00000003.json", "damaged", "abc"},
		"the first revision is gone":           {"rm -f " + rev + "00000000.json", "damaged", "abc"},
		"a revision in the middle is gone":     {"rm -f " + rev + "00000002.json", "damaged", "abc"},
		"FORMAT is gone":                       {"rm -f .holdfast/FORMAT", "damaged", "abc"},
		"the generations are gone":             {"rm -rf .holdfast/gen", "lost", "abc"},
		"the revisions are gone":               {"rm -f " + rev + "*", "lost", "abc"},
		"C030: the folder is gone":             {"rm -rf .holdfast", "lost", "abc"},
		"C030: the folder and the mirror":      {"rm -rf .holdfast " + mirror, "lost", ""},
		"an old copy came back":                {"cp -a .holdfast old; $HOLDFAST record note d --text d --source s; rm -rf .holdfast; mv old .holdfast", "damaged", "abc"},
		"C021: a conflict copy of a revision":  {"cp " + rev + "00000002.json '" + rev + "00000002 (Ana'\"'\"'s conflicted copy 2026-11-30).json'", "damaged", "abc"},
		"C021: one that another program names": {"cp " + rev + "00000002.json " + rev + "00000002.sync-conflict-20261130-200000-ABCDEFG.json", "damaged", "abc"},
		"C021: a second one in iCloud's way":   {"cp " + rev + "00000003.json '" + rev + "00000003 2.json'", "damaged", "abc"},
		"C021: one of the next revision":       {"cp " + rev + "00000003.json '" + rev + "00000004-DESKTOP-1.json'", "damaged", "abc"},
		"C021: a copy of a generation":         {"cp -a .holdfast/gen/0001 '.holdfast/gen/0001 (1)'", "damaged", "abc"},
		"a link in place of the folder":        {"mv .holdfast hf; ln -s hf .holdfast", "unsafe", ""},
		"C020: a revision by another hardlink": {"ln " + rev + "00000003.json x", "unsafe", ""},
		"a FIFO in place of a revision":        {"rm -f " + rev + "00000003.json; mkfifo " + rev + "00000003.json", "unsafe", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newMachine(t)
			m.env = append(m.env, "HOLDFAST_LOCK_TIMEOUT=300ms")
			m.three()
			m.sh(c.script)
			before := m.snapshot()
			out, status := m.agent("list", "--json")
			for _, id := range []string{"a", "b", "c"} {
				if got, want := strings.Contains(out, "text of "+id), strings.Contains(c.shows, id); got != want {
					t.Errorf("list shows %s: %v, status %d: %s", id, got, status, out)
				}
			}
			if c.code != "" && status != 5 && status != 6 {
				t.Errorf("list: status %d: %s", status, out)
			}
			out, status = m.agent("record", "note", "new", "--text", "more", "--source", "s", "--json")
			if c.code == "" {
				if status != 0 || !strings.Contains(out, `"protected":true`) {
					t.Errorf("save: status %d: %s", status, out)
				}
				return
			}
			if got := code(t, out); got != c.code || status != 5 {
				t.Errorf("save: status %d, code %q, want %q: %s", status, got, c.code, out)
			}
			answers := m.mcp("codex", `{"name":"holdfast_record","arguments":{"kind":"note","id":"new","text":"more","source":"s"}}`)
			if !strings.Contains(answers["1"], `"isError":true`) || !strings.Contains(answers["1"], `"code":"`+c.code+`"`) {
				t.Errorf("mcp: %s", answers["1"])
			}
			if after := m.snapshot(); after != before {
				t.Errorf("the ledger was changed:\nwas %s\nis  %s", before, after)
			}
		})
	}
}

// snapshot names every file of the ledger but its lock, with size and mode.
func (m *machine) snapshot() string {
	m.t.Helper()
	if _, err := os.Lstat(filepath.Join(m.project, ".holdfast")); err != nil {
		return "none"
	}
	return m.sh(`find .holdfast/ ! -name lock ! -name tmp ! -name 0001 -printf '%p %y %m %s %T@\n' | sort; find .holdfast/ -type f ! -name lock -exec cat {} + | sha256sum`)
}
