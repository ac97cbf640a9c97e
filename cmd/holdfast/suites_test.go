package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"holdfast/internal/ledger"
)

// TestRealSuites runs small suites with the real runners of several ecosystems: the
// counts are theirs, and a suite with a failure does not pass. A runner that isn't
// installed is skipped, and with HOLDFAST_NEED_SUITES a failure.
func TestRealSuites(t *testing.T) {
	t.Parallel()
	for name, s := range map[string]struct {
		tool  string
		files map[string]string // with one test that fails while the file "broken" is there
		argv  []string
		good  ledger.Counts
		bad   ledger.Counts
	}{
		"go test": {
			tool: "go", argv: []string{"go", "test", "-v", "./..."},
			files: map[string]string{"go.mod": "module suite\n\ngo 1.22\n", "a_test.go": `package suite

import (
	"os"
	"testing"
)

func TestOne(t *testing.T) {}
func TestTwo(t *testing.T) { t.Skip("not here") }
func TestThree(t *testing.T) {
	if _, err := os.Stat("broken"); err == nil {
		t.Fatal("broken")
	}
}
`},
			good: ledger.Counts{Passed: 2, Skipped: 1, Total: 3}, bad: ledger.Counts{Passed: 1, Failed: 1, Skipped: 1, Total: 3},
		},
		"node --test": {
			tool: "node", argv: []string{"node", "--test"},
			files: map[string]string{"a.test.js": `const test = require("node:test"), assert = require("node:assert"), fs = require("node:fs");
test("one", () => {});
test("two", { skip: true }, () => {});
test("three", () => assert.ok(!fs.existsSync("broken")));
`},
			good: ledger.Counts{Passed: 2, Skipped: 1, Total: 3}, bad: ledger.Counts{Passed: 1, Failed: 1, Skipped: 1, Total: 3},
		},
		"pytest": {
			tool: "pytest", argv: []string{"pytest"},
			files: map[string]string{"test_a.py": `import os, pytest
def test_one(): pass
@pytest.mark.skip
def test_two(): pass
def test_three(): assert not os.path.exists("broken")
`},
			good: ledger.Counts{Passed: 2, Skipped: 1, Total: 3}, bad: ledger.Counts{Passed: 1, Failed: 1, Skipped: 1, Total: 3},
		},
		"unittest": {
			tool: "python3", argv: []string{"python3", "-m", "unittest"},
			files: map[string]string{"test_a.py": `import os, unittest
class A(unittest.TestCase):
    def test_one(self): pass
    @unittest.skip("not here")
    def test_two(self): pass
    def test_three(self): self.assertFalse(os.path.exists("broken"))
`},
			good: ledger.Counts{Passed: 2, Skipped: 1, Total: 3}, bad: ledger.Counts{Passed: 1, Failed: 1, Skipped: 1, Total: 3},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, err := exec.LookPath(s.tool); err != nil {
				if os.Getenv("HOLDFAST_NEED_SUITES") != "" {
					t.Fatal(err)
				}
				t.Skip(err)
			}
			b := newBox(t)
			for _, v := range []string{"GOCACHE", "GOMODCACHE", "GOFLAGS"} { // go's own home is not the box's
				if out, err := exec.Command("go", "env", v).Output(); err == nil {
					b.env = append(b.env, v+"="+string(out[:max(len(out)-1, 0)]))
				}
			}
			for file, text := range s.files {
				b.write(file, []byte(text))
			}
			b.git("init", "-q")
			run := func(status int, outcome string, want ledger.Counts) {
				t.Helper()
				a := b.run(append([]string{"check", "unit", "--"}, s.argv...)...)
				if status == 0 != (a.code == 0) {
					t.Errorf("status %d\n%s%s", a.code, a.out, a.err)
				}
				var list struct {
					Checks []struct {
						Outcome string
						Counts  *ledger.Counts
					}
				}
				if err := json.Unmarshal([]byte(b.must(0, "checks", "--json").out), &list); err != nil || len(list.Checks) != 1 {
					t.Fatal(err, len(list.Checks))
				}
				c := list.Checks[0]
				if c.Outcome != outcome || c.Counts == nil {
					t.Fatalf("%+v\n%s%s", c, a.out, a.err)
				}
				if got := *c.Counts; got.Passed != want.Passed || got.Failed != want.Failed || got.Skipped != want.Skipped || got.Total != want.Total {
					t.Errorf("counts %+v, want %+v\n%s%s", got, want, a.out, a.err)
				}
			}
			run(0, ledger.Passed, s.good)
			b.write("broken", nil)
			run(1, ledger.Failed, s.bad)
			if err := os.Remove(filepath.Join(b.dir, "broken")); err != nil {
				t.Fatal(err)
			}
			run(0, ledger.Passed, s.good)
		})
	}
}
