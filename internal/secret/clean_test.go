package secret

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func cleanLines(t testing.TB) []string {
	t.Helper()
	b, err := os.ReadFile(filepath.FromSlash("testdata/clean.txt"))
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, l := range strings.Split(string(b), "\n") {
		if l != "" && !strings.HasPrefix(l, "# ") {
			out = append(out, l)
		}
	}
	if len(out) < 150 {
		t.Fatalf("the corpus has %d lines, want at least 150", len(out))
	}
	return out
}

// TestCleanTextsPass screens each line of the corpus alone, all of them in one
// text, and in paragraphs of six, where names and values of different lines
// come near each other.
func TestCleanTextsPass(t *testing.T) {
	s := New(nil)
	lines := cleanLines(t)
	for _, l := range lines {
		for _, f := range check(t, s, l) {
			t.Errorf("%v: %q in %q", f, l[f.Start:f.End], l)
		}
	}
	for i := 0; i+6 <= len(lines); i++ {
		for _, sep := range []string{"\n", " "} {
			text := strings.Join(lines[i:i+6], sep)
			for _, f := range check(t, s, text) {
				t.Errorf("lines %d-%d joined by %q: %v: %q", i, i+6, sep, f, text[f.Start:f.End])
			}
		}
	}
}
