package check

import (
	"bytes"
	"embed"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"holdfast/internal/ledger"
)

//go:embed testdata/C062
var outputsC062 embed.FS

// told reads a text in pieces of n bytes.
func told(text string, n int) Told {
	var c Closing
	for b := range slices.Chunk([]byte(text), n) {
		_, _ = c.Write(b)
	}
	return Read(&c, &Closing{})
}

func counted(c *ledger.Counts) string {
	if c == nil {
		return ""
	}
	return fmt.Sprintf("%s%s %d/%d/%d of %d", c.Runner, c.Unit, c.Passed, c.Failed, c.Skipped, c.Total)
}

func TestCaseC062_ClosingLines(t *testing.T) {
	for file, want := range map[string]struct {
		counts  string
		outcome string // at status 0
		flags   []string
	}{
		"pytest.out":         {"pytest 2991/5/0 of 2996", ledger.NotAttributable, nil},
		"vitest.out":         {"vitest 587/0/0 of 587", ledger.NotAttributable, []string{FlagErrors}},
		"gotest-nothing.out": {"go testpackages 0/0/0 of 0", ledger.NothingRan, []string{FlagNothingRan, FlagNoTestFiles}},
		"cached.out":         {"go testpackages 1/0/0 of 1", ledger.Passed, []string{FlagCached}},
	} {
		b, err := outputsC062.ReadFile("testdata/C062/" + file)
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range []int{1, 7, 4096} {
			got := told(string(b), n)
			if counted(got.Counts) != want.counts || !slices.Equal(got.Flags, want.flags) {
				t.Errorf("%s: %s %v, want %s %v", file, counted(got.Counts), got.Flags, want.counts, want.flags)
			}
			if o := Outcome(&Run{}, true, true, got); o != want.outcome {
				t.Errorf("%s: %s, want %s", file, o, want.outcome)
			}
		}
	}
}

// The forms are those that the runners document; none of these runners is
// needed here.
func TestDocumentedClosingLines(t *testing.T) {
	for _, c := range []struct {
		text, counts string
		nothing      bool
	}{
		{"5 passed in 0.01s\n", "pytest 5/0/0 of 5", false}, {"= 1 failed, 2 passed, 1 warning in 83.00s (0:01:23) =", "pytest 2/1/0 of 3", false},
		{"=== no tests ran in 0.01s ===", "pytest 0/0/0 of 0", true}, {"=== 1 error in 0.12s ===", "pytest 0/1/0 of 1", false}, {"3 deselected in 0.02s", "pytest 0/0/0 of 0", true},
		{"Tests:       1 failed, 1 skipped, 2 passed, 4 total\n", "jest 2/1/1 of 4", false}, {"No tests found, exiting with code 1\n", "", true},
		{" Tests  1 failed | 2 passed | 1 skipped (4)\n", "vitest 2/1/1 of 4", false}, {"\x1b[2m Tests \x1b[22m \x1b[32m3 passed\x1b[39m (3)\n", "vitest 3/0/0 of 3", false},
		{"No test files found, exiting with code 1\n", "", true}, {"      Tests  no tests\n", "", true},
		{"  3 passing (12ms)\n  1 pending\n  2 failing\n", "mocha 3/2/1 of 6", false}, {"  0 passing (1ms)\n", "mocha 0/0/0 of 0", true},
		{"test result: ok. 3 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.00s\ntest result: ok. 0 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out\n", "cargo test 3/0/1 of 4", false},
		{"test result: ok. 0 passed; 0 failed; 0 ignored; 0 measured; 4 filtered out; finished in 0.00s\n", "cargo test 0/0/0 of 0", true},
		{"[INFO] Tests run: 2, Failures: 0, Errors: 0, Skipped: 0, Time elapsed: 0.05 s - in A\n[ERROR] Tests run: 4, Failures: 1, Errors: 1, Skipped: 1\n", "junit 1/2/1 of 4", false},
		{"[INFO] No tests to run.\n", "", true}, {"OK (3 tests)\n", "junit 3/0/0 of 3", false},
		{"[         4 tests found           ]\n[         1 tests skipped         ]\n[         2 tests successful      ]\n[         1 tests failed          ]\n", "junit 2/1/1 of 4", false},
		{"5 tests completed, 1 failed, 1 skipped\n", "gradle 3/1/1 of 5", false}, {"> Task :app:test NO-SOURCE\n", "", true},
		{"3 examples, 1 failure, 1 pending\n", "rspec 1/1/1 of 3", false}, {"0 examples, 0 failures\n", "rspec 0/0/0 of 0", true},
		{"OK (3 tests, 5 assertions)\n", "phpunit 3/0/0 of 3", false}, {"Tests: 5, Assertions: 5, Failures: 1, Skipped: 1.\n", "phpunit 3/1/1 of 5", false}, {"No tests executed!\n", "", true},
		{"Passed!  - Failed:     0, Passed:     3, Skipped:     1, Total:     4, Duration: 5 ms - x.dll (net8.0)\n", "dotnet test 3/0/1 of 4", false},
		{"No test is available in /x.dll. Make sure that\n", "", true},
		{"Ran 3 tests in 0.001s\n\nFAILED (failures=1)\nRan 2 tests in 0.1s\n\nFAILED (errors=1)\n", "unittest 3/2/0 of 5", false},
		{"all 612 tests passed\nTests pass\n", "", false}, {"", "", false},
	} {
		for _, n := range []int{1, 5, 4096} {
			if got := told(c.text, n); counted(got.Counts) != c.counts || got.Nothing != c.nothing {
				t.Errorf("%q: %q nothing %v, want %q %v", c.text, counted(got.Counts), got.Nothing, c.counts, c.nothing)
			}
		}
	}
}

func TestRealGoTest(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod": "module example.test/m\n\ngo 1.21\n", "a/a_test.go": "package a\nimport \"testing\"\nfunc TestA(t *testing.T) {}\nfunc TestB(t *testing.T) { t.Run(\"sub\", func(t *testing.T) {}) }\nfunc TestC(t *testing.T) { t.Skip() }\n",
		"bad/b_test.go": "package bad\nimport \"testing\"\nfunc TestBad(t *testing.T) { t.Fatal(1) }\n", "none/n.go": "package none\n",
	} {
		p := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		args            []string
		counts, outcome string
		flag            string
	}{
		{[]string{"./a"}, "go testpackages 1/0/0 of 1", ledger.Passed, ""},
		{[]string{"./a"}, "go testpackages 1/0/0 of 1", ledger.Passed, FlagCached},
		{[]string{"-v", "-count=1", "./a"}, "go test 2/0/1 of 3", ledger.Passed, ""},
		{[]string{"-json", "-count=1", "./a"}, "go test 2/0/1 of 3", ledger.Passed, ""},
		{[]string{"./..."}, "go testpackages 1/1/0 of 2", ledger.Failed, FlagNoTestFiles},
		{[]string{"-json", "./..."}, "go test 2/1/1 of 4", ledger.Failed, ""},
		{[]string{"./none"}, "go testpackages 0/0/0 of 0", ledger.NothingRan, FlagNoTestFiles},
		{[]string{"-run", "XXX_none", "./a"}, "go testpackages 0/0/0 of 0", ledger.NothingRan, FlagNothingRan},
		{[]string{"-v", "-run", "XXX_none", "./a"}, "go testpackages 0/0/0 of 0", ledger.NothingRan, FlagNothingRan},
		{[]string{"-json", "-run", "XXX_none", "./a"}, "go testpackages 0/0/0 of 0", ledger.NothingRan, FlagNothingRan},
	} {
		real(t, dir, append([]string{"go", "test", "-vet=off"}, c.args...), c.counts, c.outcome, c.flag)
	}
}

func TestRealNodeTest(t *testing.T) {
	if _, err := exec.LookPath("node"); err != nil {
		t.Skip("no node here")
	}
	dir := t.TempDir()
	text := "const {test}=require('node:test');test('a',()=>{});test('b',{skip:true},()=>{});test('c',async t=>{await t.test('d',()=>{})});\n"
	for name, text := range map[string]string{"ok.js": text, "bad.js": text + "test('e',()=>{throw new Error('x')});\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, reporter := range []string{"tap", "spec"} {
		opt := "--test-reporter=" + reporter
		real(t, dir, []string{"node", "--test", opt, "ok.js"}, "node --test 3/0/1 of 4", ledger.Passed, "")
		real(t, dir, []string{"node", "--test", opt, "bad.js"}, "node --test 3/1/1 of 5", ledger.Failed, "")
		real(t, dir, []string{"node", opt, "ok.js"}, "node --test 3/0/1 of 4", ledger.Passed, "")
	}
}

func real(t *testing.T, dir string, argv []string, counts, outcome, flag string) {
	t.Helper()
	var out, errs bytes.Buffer
	r, err := Do(t.Context(), Command{Argv: argv, Dir: dir, Env: append(os.Environ(), "GOFLAGS=", "GOWORK=off"), Out: &out, Err: &errs, Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	if got := counted(r.Told.Counts); got != counts || Outcome(r, true, true, r.Told) != outcome || flag != "" && !slices.Contains(r.Told.Flags, flag) {
		t.Errorf("%v: %s %s %v, want %s %s %s\n%s%s", argv, got, Outcome(r, true, true, r.Told), r.Told.Flags, counts, outcome, flag, &out, &errs)
	}
}

func FuzzClosing(f *testing.F) {
	for _, s := range []string{"ok  \tx\t(cached)\n", "5 passed in 0.1s", "# tests 1\n# duration_ms 2\n", "Tests:  1 passed, 1 total", "OK (failures=1)", "\x1b]0;x\x07", "{\"Action\":\"pass\",\"Package\":\"p\"}"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		whole, pieces := told(s, len(s)+1), told(s, 3)
		if counted(whole.Counts) != counted(pieces.Counts) || whole.Nothing != pieces.Nothing || !slices.Equal(whole.Flags, pieces.Flags) {
			t.Errorf("%q: %+v in pieces %+v", s, whole, pieces)
		}
		if c := whole.Counts; c != nil && (c.Passed < 0 || c.Failed < 0 || c.Skipped < 0) {
			t.Errorf("%q: %+v", s, c)
		}
	})
}
