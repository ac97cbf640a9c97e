package acceptance

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"
)

var (
	txnID     = regexp.MustCompile(`\bt-[0-9a-f]{12}\b`)
	attemptID = regexp.MustCompile(`\ba-[0-9a-f]{12}\b`)
)

// lastID is the id that was named last in the results so far.
func lastID(results []string, id *regexp.Regexp) string {
	found := id.FindAllString(strings.Join(results, "\n"), -1)
	if len(found) == 0 {
		return "none"
	}
	return found[len(found)-1]
}

func granted(result string) bool {
	return strings.Contains(strings.ReplaceAll(strings.ReplaceAll(result, `\`, ""), " ", ""), `"granted":true`)
}

// begin asks for a file with a text.
func begin(file, text string, settle int) call {
	sum := sha256.Sum256([]byte(text))
	return call{"holdfast_txn_begin", plain(obj{"intent": "put the quokka's " + file + " in place", "operations": []any{obj{
		"label": "write " + file, "kind": "write", "destination": "file:" + file, "settle_ms": settle,
		"postconditions": []any{obj{"surface": "file:" + file, "expect": obj{"sha256": hex.EncodeToString(sum[:])}}},
	}}})}
}

func observe() call {
	return call{"holdfast_txn_observe", func(r []string) map[string]any { return obj{"transaction": lastID(r, txnID)} }}
}

func attempt() call {
	return call{"holdfast_txn_attempt", func(r []string) map[string]any { return obj{"transaction": lastID(r, txnID), "operation": 0} }}
}

// report makes the change if it was granted, and says what the agent saw.
func report(outcome string, change func()) call {
	return call{"holdfast_txn_report", func(r []string) map[string]any {
		if granted(r[len(r)-1]) {
			change()
		}
		return obj{"transaction": lastID(r, txnID), "attempt": lastID(r, attemptID), "outcome": outcome}
	}}
}

func eachOf(t *testing.T, run func(t *testing.T, c *tool)) {
	for _, c := range wanted(t) {
		if c.id == "codex" || c.id == "claude" {
			t.Run(c.id, func(t *testing.T) { run(t, &c) })
		}
	}
}

// TestTimeoutIsObserved: a change times out and arrives late. The session
// observes, the transaction is complete, and the change is not made again.
func TestTimeoutIsObserved(t *testing.T) {
	eachOf(t, func(t *testing.T, c *tool) {
		h := newHouse(t)
		h.must(nil, "holdfast", "setup", "--client", c.id, "--yes")
		made := 0
		change := func() { made++ }
		late := observe()
		args := late.args
		late.args = func(r []string) map[string]any {
			h.write("map.txt", "the way home\n") // what was sent arrives
			time.Sleep(400 * time.Millisecond)
			return args(r)
		}
		again := attempt()
		check := call{"holdfast_txn_observe", func(r []string) map[string]any {
			if granted(r[len(r)-1]) {
				change()
			}
			return obj{"transaction": lastID(r, txnID)}
		}}
		m, _ := h.session(c, begin("map.txt", "the way home\n", 300), attempt(), report("timed_out", change), late, again, check)
		results := m.asked()[len(m.asked())-1].results
		for i, want := range []string{"open", "granted", "pending", "complete", "already_satisfied", "complete"} {
			if !strings.Contains(results[i], want) {
				t.Errorf("answer %d has no %q: %s", i, want, tail(results[i]))
			}
		}
		if made != 1 {
			t.Errorf("the change was made %d times", made)
		}
		var shown struct {
			State    string
			Attempts []any
		}
		id := lastID(results, txnID)
		if err := json.Unmarshal([]byte(h.must(nil, "holdfast", "txn", "show", id, "--json")), &shown); err != nil {
			t.Fatal(err)
		}
		if shown.State != "complete" || len(shown.Attempts) != 1 {
			t.Errorf("%+v", shown)
		}
	})
}

// TestBlockIsTheNextSessionsFirstWord: a change and its one recovery do nothing.
// The next session hears of it before anything else, and can't start over.
func TestBlockIsTheNextSessionsFirstWord(t *testing.T) {
	eachOf(t, func(t *testing.T, c *tool) {
		h := newHouse(t)
		h.must(nil, "holdfast", "record", "goal", "g-quokka", "--text", "Bring the quokka home", "--source", "the acceptance test")
		h.must(nil, "holdfast", "setup", "--client", c.id, "--yes")
		made := 0
		nothing := func() { made++ }
		m, _ := h.session(c, begin("map.txt", "the way home\n", 0), attempt(), report("failed", nothing), attempt(), report("succeeded", nothing), attempt())
		results := m.asked()[len(m.asked())-1].results
		id := lastID(results, txnID)
		if made != 2 || granted(results[5]) || !strings.Contains(results[4], "blocked") {
			t.Fatalf("%d changes; %s", made, tail(fmt.Sprint(results[4:])))
		}
		next, _ := h.session(c, call{"holdfast_resume", plain(obj{})}, begin("./map.txt", "the way home\n", 0))
		first := next.asked()[0].body
		said := heard(first)
		t.Logf("what the next session heard:\n%s", said)
		at, goal := strings.Index(said, id), strings.Index(said, "Bring the quokka home")
		if at < 0 || goal < at || !strings.Contains(said, "BLOCKED / NOT COMPLETE") {
			t.Error("the next session's first words don't name the block")
		}
		answers := next.asked()[len(next.asked())-1].results
		if !strings.Contains(answers[0], id) || !strings.Contains(answers[1], "overlaps_blocked") {
			t.Errorf("resume: %s\nbegin: %s", tail(answers[0]), tail(answers[1]))
		}
	})
}
