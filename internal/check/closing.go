package check

import (
	"bytes"
	"strconv"
	"strings"

	"holdfast/internal/ledger"
)

// Flags of a receipt: what a reader should know besides the status.
const (
	FlagCached      = "cached"         // results came from a cache
	FlagErrors      = "errors_in_tail" // the output tells of errors outside of the tests
	FlagIgnored     = "errors_ignored" // make went on after a failed command
	FlagNothingRan  = "nothing_ran"
	FlagNoTestFiles = "some_without_tests"
)

// longest line that is looked at; closing lines are short.
const longestLine = 2 << 10

// Closing reads a command's output line by line and keeps what test runners
// say at their end. Forms that it doesn't know leave no trace. The zero value
// is ready. One belongs to one stream.
type Closing struct {
	line []byte
	skip bool // the rest of an overlong line

	counts  *ledger.Counts // of the last closing line
	nothing string         // a runner's word that it ran nothing; "" after one that did
	ran     bool           // some runner ran something
	flags   map[string]bool

	gotest  goTest
	tap     ledger.Counts // of a closing block that is being read
	tapSeen bool
}

// Write takes a piece of the output.
func (c *Closing) Write(b []byte) (int, error) {
	n := len(b)
	for len(b) > 0 {
		i := bytes.IndexByte(b, '\n')
		part := b
		if i >= 0 {
			part = b[:i]
		}
		if !c.skip {
			if len(c.line)+len(part) > longestLine {
				c.skip, c.line = true, c.line[:0]
			} else if i >= 0 && len(c.line) == 0 {
				c.see(part)
			} else {
				c.line = append(c.line, part...)
			}
		}
		if i < 0 {
			break
		}
		if len(c.line) > 0 {
			c.see(c.line)
		}
		c.line, c.skip, b = c.line[:0], false, b[i+1:]
	}
	return n, nil
}

// close sees a last line that has no end.
func (c *Closing) close() {
	if len(c.line) > 0 && !c.skip {
		c.see(c.line)
		c.line = c.line[:0]
	}
}

var escapes = lazily("\x1b\\[[0-9;?]*[A-Za-z]|\x1b\\][^\x07]*\x07")

func (c *Closing) see(b []byte) {
	b = bytes.TrimRight(b, " \t\r")
	if bytes.IndexByte(b, 0x1b) >= 0 {
		b = escapes().ReplaceAll(b, nil)
	}
	lead := bytes.TrimLeft(b, " \t")
	if len(lead) == 0 {
		return
	}
	indented := len(lead) < len(b)
	if !indented && c.goLine(b) || !bytes.ContainsAny(lead, "0123456789") && !wordy(lead) {
		return
	}
	s := string(lead)
	for _, form := range []func(*Closing, string) bool{(*Closing).pytest, (*Closing).jsRunners, (*Closing).node, (*Closing).cargo, (*Closing).jvm, (*Closing).others} {
		if form(c, s) {
			return
		}
	}
}

// wordy lines without a number may still say that nothing ran.
func wordy(b []byte) bool {
	return bytes.HasPrefix(b, []byte("No ")) || bytes.HasPrefix(b, []byte("no ")) || bytes.HasSuffix(b, []byte(" no tests")) || bytes.HasPrefix(b, []byte("[INFO] ")) || bytes.Contains(b, []byte("(ignored)")) || bytes.HasPrefix(b, []byte("> Task"))
}

func (c *Closing) flag(name string) {
	if c.flags == nil {
		c.flags = map[string]bool{}
	}
	c.flags[name] = true
}

// total notes a closing line with its totals. Several (a workspace, several
// packages) add up where add is set.
func (c *Closing) total(runner string, passed, failed, skipped int, add bool) bool {
	if add && c.counts != nil && c.counts.Runner == runner {
		passed, failed, skipped = passed+c.counts.Passed, failed+c.counts.Failed, skipped+c.counts.Skipped
	}
	c.counts = &ledger.Counts{Runner: runner, Passed: passed, Failed: failed, Skipped: skipped, Total: passed + failed + skipped}
	if passed+failed > 0 {
		c.ran = true
	} else {
		c.nothing = runner
	}
	return true
}

func (c *Closing) none(runner string) bool {
	c.nothing = runner
	return true
}

var (
	countOf    = lazily(`(\d+) (passed|failed|skipped|deselected|xfailed|xpassed|errors?|warnings?|todo|rerun|pending|passing|failing|total|subtests passed)\b`)
	pytestLine = lazily(`^(?:=+ )?((?:\d+ (?:passed|failed|skipped|deselected|xfailed|xpassed|errors?|warnings?|rerun|subtests passed)(?:, )?)+) in [\d.:]+ ?s(?: \([\d:, a-z]+\))?(?: =+)?$`)
	pytestNone = lazily(`^(?:=+ )?no tests (?:ran|collected)(?: \(.*\))? in [\d.]+s(?: =+)?$`)
)

func (c *Closing) pytest(s string) bool {
	if pytestNone().MatchString(s) {
		c.counts = &ledger.Counts{Runner: "pytest"}
		return c.none("pytest")
	}
	m := pytestLine().FindStringSubmatch(s)
	if m == nil {
		return false
	}
	n := amounts(m[1])
	if n["error"] > 0 {
		c.flag(FlagErrors)
	}
	// An expected failure is a pass of its kind; an error counts as a failure.
	return c.total("pytest", n["passed"]+n["xfailed"]+n["xpassed"], n["failed"]+n["error"], n["skipped"], false)
}

// amounts reads "5 failed, 2 passed".
func amounts(s string) map[string]int {
	out := map[string]int{}
	for _, m := range countOf().FindAllStringSubmatch(s, -1) {
		n, err := strconv.Atoi(m[1])
		if err == nil {
			out[strings.TrimSuffix(m[2], "s")] += n
		}
	}
	return out
}

var (
	jestLine   = lazily(`^Tests:\s+((?:\d+ (?:passed|failed|skipped|todo|total)(?:, )?)+)$`)
	vitestLine = lazily(`^Tests  +((?:\d+ (?:passed|failed|skipped|todo|expected fail)(?: \| )?)+) \(\d+\)$`)
	vitestErrs = lazily(`^Errors  +(\d+) errors?$`)
	vitestNone = lazily(`^No test files found\b|^Tests  +no tests$|^No test suite found\b`)
	jestNone   = lazily(`^No tests found\b`)
	mochaLine  = lazily(`^(\d+) (passing|failing|pending)(?: \(.*\))?$`)
)

func (c *Closing) jsRunners(s string) bool {
	if m := jestLine().FindStringSubmatch(s); m != nil {
		n := amounts(m[1])
		return c.total("jest", n["passed"], n["failed"], n["skipped"]+n["todo"], true)
	}
	if m := vitestLine().FindStringSubmatch(s); m != nil {
		n := amounts(m[1])
		return c.total("vitest", n["passed"], n["failed"], n["skipped"]+n["todo"], true)
	}
	if m := vitestErrs().FindStringSubmatch(s); m != nil {
		c.flag(FlagErrors)
		return true
	}
	if vitestNone().MatchString(s) {
		return c.none("vitest")
	}
	if jestNone().MatchString(s) {
		return c.none("jest")
	}
	m := mochaLine().FindStringSubmatch(s)
	if m == nil {
		return false
	}
	n, _ := strconv.Atoi(m[1])
	if m[2] == "passing" {
		return c.total("mocha", n, 0, 0, false)
	}
	if c.counts == nil || c.counts.Runner != "mocha" {
		return false
	}
	if m[2] == "failing" {
		return c.total("mocha", c.counts.Passed, n, c.counts.Skipped, false)
	}
	return c.total("mocha", c.counts.Passed, c.counts.Failed, n, false)
}

var nodeLine = lazily(`^(?:#|ℹ) (tests|suites|pass|fail|cancelled|skipped|todo|duration_ms) ([\d.]+)$`)

// node reads the closing block of node --test, whose lines start with # (TAP)
// or ℹ (spec).
func (c *Closing) node(s string) bool {
	m := nodeLine().FindStringSubmatch(s)
	if m == nil {
		return false
	}
	n, _ := strconv.Atoi(m[2])
	switch m[1] {
	case "tests":
		c.tap, c.tapSeen = ledger.Counts{}, true
	case "pass":
		c.tap.Passed = n
	case "fail", "cancelled":
		c.tap.Failed += n
	case "skipped", "todo":
		c.tap.Skipped += n
	case "duration_ms":
		if c.tapSeen {
			c.tapSeen = false
			return c.total("node --test", c.tap.Passed, c.tap.Failed, c.tap.Skipped, true)
		}
	}
	return true
}

var (
	cargoLine   = lazily(`^test result: (?:ok|FAILED)\. (\d+) passed; (\d+) failed; (\d+) ignored; \d+ measured; (\d+) filtered out`)
	nextestLine = lazily(`^Summary \[ *[\d.]+s\] +(\d+)(?:/\d+)? tests? run: (\d+) passed(?: \([^)]*\))?((?:, \d+ [a-z ]+)*)`)
	ignoredMake = lazily(`^(?:\S+: )?(?:\[[^\]]+\]|\*\*\* \[[^\]]+\]) Error \d+ \(ignored\)$`)
)

func (c *Closing) cargo(s string) bool {
	if m := cargoLine().FindStringSubmatch(s); m != nil {
		return c.total("cargo test", num(m[1]), num(m[2]), num(m[3]), true)
	}
	if m := nextestLine().FindStringSubmatch(s); m != nil {
		n := amounts(m[3])
		return c.total("cargo nextest", num(m[2]), n["failed"], n["skipped"], false)
	}
	if ignoredMake().MatchString(s) {
		c.flag(FlagIgnored)
		return true
	}
	return false
}

func num(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil {
		return 0
	}
	return n
}

var (
	mavenLine  = lazily(`^(?:\[(?:INFO|ERROR|WARNING)\] +)?Tests run: (\d+), Failures: (\d+), Errors: (\d+)(?:, Skipped: (\d+))?(,? *Time elapsed: .*)?$`)
	mavenNone  = lazily(`^\[INFO\] (?:No tests to run\.|Tests are skipped\.)`)
	junitOK    = lazily(`^OK \((\d+) tests?\)$`)
	junit5     = lazily(`^\[ *(\d+) tests (found|skipped|started|aborted|successful|failed) *\]$`)
	gradleLine = lazily(`^(\d+) tests? completed(?:, (\d+) failed)?(?:, (\d+) skipped)?$`)
	gradleNone = lazily(`^> Task :(?:\S+:)?test (NO-SOURCE|UP-TO-DATE|FROM-CACHE|SKIPPED)$`)
)

func (c *Closing) jvm(s string) bool {
	if m := mavenLine().FindStringSubmatch(s); m != nil {
		// A line with a time is one class; the closing line of a module has none.
		if m[5] != "" {
			return true
		}
		run, bad, skipped := num(m[1]), num(m[2])+num(m[3]), num(m[4])
		return c.total("junit", max(0, run-bad-skipped), bad, skipped, strings.HasPrefix(s, "["))
	}
	if mavenNone().MatchString(s) {
		return c.none("maven")
	}
	if m := junitOK().FindStringSubmatch(s); m != nil {
		return c.total("junit", num(m[1]), 0, 0, false)
	}
	if m := junit5().FindStringSubmatch(s); m != nil {
		return c.junit5(m[2], num(m[1]))
	}
	if m := gradleLine().FindStringSubmatch(s); m != nil {
		return c.total("gradle", max(0, num(m[1])-num(m[2])-num(m[3])), num(m[2]), num(m[3]), true)
	}
	if m := gradleNone().FindStringSubmatch(s); m != nil {
		if m[1] == "NO-SOURCE" || m[1] == "SKIPPED" {
			return c.none("gradle")
		}
		c.flag(FlagCached)
		return true
	}
	return false
}

func (c *Closing) junit5(what string, n int) bool {
	switch what {
	case "found":
		c.tap = ledger.Counts{}
	case "skipped", "aborted":
		c.tap.Skipped += n
	case "successful":
		c.tap.Passed = n
	case "failed":
		return c.total("junit", c.tap.Passed, n, c.tap.Skipped, false)
	}
	return true
}

var (
	rspecLine    = lazily(`^(\d+) examples?, (\d+) failures?(?:, (\d+) pending)?(?:, (\d+) errors? occurred outside of examples)?$`)
	phpunitOK    = lazily(`^OK \((\d+) tests?, \d+ assertions?\)$`)
	phpunitBad   = lazily(`^Tests: (\d+), Assertions: \d+((?:, [A-Za-z ]+: \d+)*)\.$`)
	phpunitNone  = lazily(`^No tests executed!$`)
	dotnetLine   = lazily(`^(?:Passed|Failed|Skipped)!\s+- Failed:\s+(\d+), Passed:\s+(\d+), Skipped:\s+(\d+), Total:\s+(\d+)`)
	dotnetNone   = lazily(`^No test is available in |^No test matches the given testcase filter`)
	unittestLine = lazily(`^Ran (\d+) tests? in [\d.]+s$`)
	unittestBad  = lazily(`^(?:OK|FAILED) \(((?:(?:failures|errors|skipped|expected failures|unexpected successes)=\d+(?:, )?)+)\)$`)
	ctestLine    = lazily(`^\d+% tests passed, (\d+) tests failed out of (\d+)$`)
	pair         = lazily(`([A-Za-z ]+)[:=] ?(\d+)`)
)

func (c *Closing) others(s string) bool {
	if m := rspecLine().FindStringSubmatch(s); m != nil {
		if num(m[4]) > 0 {
			c.flag(FlagErrors)
		}
		return c.total("rspec", max(0, num(m[1])-num(m[2])-num(m[3])), num(m[2]), num(m[3]), false)
	}
	if m := phpunitOK().FindStringSubmatch(s); m != nil {
		return c.total("phpunit", num(m[1]), 0, 0, false)
	}
	if m := phpunitBad().FindStringSubmatch(s); m != nil {
		n := pairs(m[2])
		bad, skipped := n["Failures"]+n["Errors"], n["Skipped"]+n["Incomplete"]
		return c.total("phpunit", max(0, num(m[1])-bad-skipped), bad, skipped, false)
	}
	if phpunitNone().MatchString(s) {
		return c.none("phpunit")
	}
	if m := dotnetLine().FindStringSubmatch(s); m != nil {
		return c.total("dotnet test", num(m[2]), num(m[1]), num(m[3]), true)
	}
	if dotnetNone().MatchString(s) {
		return c.none("dotnet test")
	}
	if m := ctestLine().FindStringSubmatch(s); m != nil {
		return c.total("ctest", max(0, num(m[2])-num(m[1])), num(m[1]), 0, false)
	}
	if s == "No tests were found!!!" {
		return c.none("ctest")
	}
	return c.unittest(s)
}

func (c *Closing) unittest(s string) bool {
	if m := unittestLine().FindStringSubmatch(s); m != nil {
		return c.total("unittest", num(m[1]), 0, 0, true)
	}
	m := unittestBad().FindStringSubmatch(s)
	if m == nil || c.counts == nil || c.counts.Runner != "unittest" {
		return false
	}
	n := pairs(m[1])
	bad, skipped := n["failures"]+n["errors"]+n["unexpected successes"], n["skipped"]
	return c.total("unittest", max(0, c.counts.Passed-bad-skipped), c.counts.Failed+bad, c.counts.Skipped+skipped, false)
}

func pairs(s string) map[string]int {
	out := map[string]int{}
	for _, m := range pair().FindAllStringSubmatch(s, -1) {
		out[strings.TrimSpace(m[1])] = num(m[2])
	}
	return out
}
