package main

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// killRounds is how often a test that kills plays; ROUNDS overrides it.
func killRounds(t *testing.T, n int) int {
	if s := os.Getenv("ROUNDS"); s != "" {
		var err error
		if n, err = strconv.Atoi(s); err != nil {
			t.Fatal(err)
		}
	}
	return n
}

type asked struct {
	Granted                                 bool
	Attempt, Role, Code, State, Transaction string
}

// try is a call whose server may be killed under it; ok: it was answered.
func (s *server) try(tool, args string) (a asked, ok bool) {
	s.t.Helper()
	s.id++
	line := fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q,"arguments":%s}}`+"\n", s.id, tool, args)
	if _, err := s.in.Write([]byte(line)); err != nil {
		return a, false
	}
	for {
		line, err := s.out.ReadBytes('\n')
		if err != nil {
			return a, false
		}
		var m message
		if err := json.Unmarshal(line, &m); err != nil {
			s.t.Fatalf("no message: %q", line)
		}
		if n, is := m.ID.(float64); is && int(n) == s.id {
			if err := json.Unmarshal(m.Result.StructuredContent, &a); err != nil {
				s.t.Fatalf("%s: %v", line, err)
			}
			return a, true
		}
	}
}

func (s *server) kill() {
	s.cmd.Process.Kill()
	s.cmd.Wait()
}

// TestKilledAnywhereGrantsNoSecondRecovery: a server is killed at any moment of a
// transaction's life, and an agent goes on as if nothing had happened. Every
// grant that was handed out stands in the ledger; no more than one initial and
// one recovery do.
func TestKilledAnywhereGrantsNoSecondRecovery(t *testing.T) {
	t.Parallel()
	n := killRounds(t, 12)
	for start := 0; start < n; start += 50 {
		b := newBox(t)
		s := b.serve()
		for i := start; i < min(n, start+50); i++ {
			s = killRound(t, b, s, i)
		}
		s.end()
	}
}

func killRound(t *testing.T, b *box, s *server, i int) *server {
	rnd := rand.New(rand.NewPCG(uint64(i), 7))
	op := fmt.Sprintf(`{"kind":"write","destination":"file:f-%d","postconditions":[{"surface":"file:f-%d","expect":{"sha256":%q}}]}`, i, i, sum("new"))
	begun, ok := s.try("holdfast_txn_begin", `{"intent":"a test","operations":[`+op+`]}`)
	if !ok || begun.Transaction == "" {
		t.Fatalf("round %d: begin: %+v", i, begun)
	}
	id := begun.Transaction
	handed := map[string]string{}
	deadly, open := rnd.IntN(5), ""
	for step := range 7 {
		if step == deadly {
			victim := s.cmd.Process
			time.AfterFunc(time.Duration(rnd.IntN(25000))*time.Microsecond, func() { victim.Kill() })
		}
		var a asked
		switch {
		case open != "":
			a, ok = s.try("holdfast_txn_report", fmt.Sprintf(`{"transaction":%q,"attempt":%q,"outcome":"failed"}`, id, open))
			open = ""
		default:
			if a, ok = s.try("holdfast_txn_attempt", fmt.Sprintf(`{"transaction":%q,"operation":0}`, id)); ok && a.Granted {
				handed[a.Attempt], open = a.Role, a.Attempt
			} else if ok && a.Code == "attempt_in_flight" {
				_, ok = s.try("holdfast_txn_observe", fmt.Sprintf(`{"transaction":%q}`, id))
			}
		}
		if !ok {
			s.kill()
			s, open = b.serve(), ""
		}
	}
	time.Sleep(25 * time.Millisecond) // the blow may still be about to fall
	var shown struct {
		State    string
		Attempts []struct{ ID, Role string }
	}
	if err := json.Unmarshal([]byte(b.must(0, "txn", "show", id, "--json").out), &shown); err != nil {
		t.Fatal(err)
	}
	roles := map[string]int{}
	for _, a := range shown.Attempts {
		roles[a.Role]++
		delete(handed, a.ID)
	}
	if roles["initial"] > 1 || roles["recovery"] > 1 || len(handed) > 0 {
		t.Errorf("round %d: grants %v, not in the ledger %v", i, roles, handed)
	}
	if roles["initial"] == 0 {
		t.Errorf("round %d: nothing was ever granted", i)
	}
	if _, ok := s.try("holdfast_txn_observe", fmt.Sprintf(`{"transaction":%q}`, id)); !ok {
		s.kill()
		s = b.serve()
	}
	return s
}

// TestTwoClientsNeverHoldTwoGrants: real processes race for one grant.
func TestTwoClientsNeverHoldTwoGrants(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	one, two := b.serve(), b.serve()
	for i := range killRounds(t, 10) {
		op := fmt.Sprintf(`{"kind":"write","destination":"file:f-%d","postconditions":[{"surface":"file:f-%d","expect":{"sha256":%q}}]}`, i, i, sum("new"))
		begun, _ := one.try("holdfast_txn_begin", `{"intent":"a test","operations":[`+op+`]}`)
		args := fmt.Sprintf(`{"transaction":%q,"operation":0}`, begun.Transaction)
		answers := make([]asked, 3)
		var wg sync.WaitGroup
		wg.Go(func() { answers[0], _ = one.try("holdfast_txn_attempt", args) })
		wg.Go(func() { answers[1], _ = two.try("holdfast_txn_attempt", args) })
		wg.Go(func() {
			out := b.run("txn", "attempt", begun.Transaction, "0", "--json").out
			if err := json.NewDecoder(strings.NewReader(out)).Decode(&answers[2]); err != nil {
				t.Errorf("%v: %s", err, out)
			}
		})
		wg.Wait()
		granted := 0
		for _, a := range answers {
			if a.Granted {
				granted++
			} else if a.Code != "attempt_in_flight" {
				t.Errorf("round %d: refused with %q", i, a.Code)
			}
		}
		if granted != 1 {
			t.Errorf("round %d: %d grants", i, granted)
		}
	}
	one.end()
	two.end()
}
