package check

import (
	"bytes"
	"encoding/json"
	"strings"

	"holdfast/internal/ledger"
)

// goTest counts what go test says: packages, and tests where -v or -json tells
// of each.
type goTest struct {
	ok, failed, empty, cached int
	passed, bad, skipped      int // tests, with -v or -json
	idle                      int // packages that pass with no tests to run, of ok; with -json
	verbose                   bool
	seen                      bool
}

var (
	goOK = lazily(`^ok  \t\S+\t(\(cached\)|[\d.]+s)(.*)$`)
	goNo = lazily(`^\?   \t\S+\t\[no test files\]$`)
	goKO = lazily(`^FAIL\t\S+(?:\t[\d.]+s| \[(?:build|setup) failed\])$`)
	goV  = lazily(`^--- (PASS|FAIL|SKIP): \S+ \([\d.]+s\)$`)
	goGo = lazily(`^=== RUN   \S`)
)

func (c *Closing) goLine(b []byte) bool {
	g := &c.gotest
	switch b[0] {
	case 'o':
		m := goOK().FindSubmatch(b)
		if m == nil {
			return false
		}
		g.seen = true
		if bytes.Contains(m[2], []byte("[no tests to run]")) {
			g.empty++
			return true
		}
		g.ok++
		if m[1][0] == '(' {
			g.cached++
		}
		return true
	case '?':
		if !goNo().Match(b) {
			return false
		}
		g.seen = true
		g.empty++
		return true
	case 'F':
		if !goKO().Match(b) {
			return false
		}
		g.seen = true
		g.failed++
		return true
	case '=':
		if !goGo().Match(b) {
			return false
		}
		g.verbose = true
		return true
	case '-':
		m := goV().FindSubmatch(b)
		if m == nil {
			return false
		}
		g.test(string(m[1]))
		return true
	case '{':
		return g.event(b)
	}
	return false
}

func (g *goTest) test(result string) {
	switch strings.ToUpper(result) {
	case "PASS":
		g.passed++
	case "FAIL":
		g.bad++
	case "SKIP":
		g.skipped++
	}
}

// event reads a line of go test -json. See "go doc test2json".
func (g *goTest) event(b []byte) bool {
	if !bytes.HasPrefix(b, []byte(`{"Time":"`)) && !bytes.HasPrefix(b, []byte(`{"Action":"`)) {
		return false
	}
	var e struct{ Action, Package, Test, Output string }
	if json.Unmarshal(b, &e) != nil || e.Package == "" {
		return false
	}
	g.seen, g.verbose = true, true
	switch {
	case e.Test != "" && !strings.Contains(e.Test, "/"):
		g.test(e.Action)
	case e.Test == "" && e.Action == "pass":
		g.ok++
	case e.Test == "" && e.Action == "fail":
		g.failed++
	case e.Test == "" && e.Action == "skip":
		g.empty++
	case e.Action == "output" && e.Test == "" && strings.HasPrefix(e.Output, "ok ") && strings.Contains(e.Output, "[no tests to run]"):
		g.idle++
	case e.Action == "output" && e.Test == "" && strings.Contains(e.Output, "\t(cached)"):
		g.cached++
	}
	return true
}

// counts of go test: tests where they are told, else packages.
func (g *goTest) counts() *ledger.Counts {
	switch {
	case !g.seen:
		return nil
	case g.verbose && g.passed+g.bad+g.skipped > 0:
		return &ledger.Counts{Runner: "go test", Passed: g.passed, Failed: g.bad, Skipped: g.skipped, Total: g.passed + g.bad + g.skipped}
	}
	return &ledger.Counts{Runner: "go test", Unit: "packages", Passed: g.ok - min(g.idle, g.ok), Failed: g.failed, Total: g.ok - min(g.idle, g.ok) + g.failed}
}
