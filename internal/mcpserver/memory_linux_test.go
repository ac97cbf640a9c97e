package mcpserver

import (
	"strings"
	"testing"
	"time"
)

// mostIdle is the bar for an idle server, in KiB.
const mostIdle = 25_000

// Whatever a server did, it is small again when it has nothing to do: after
// large messages, after a text that needed the detector of secrets, and after
// making its index.
func TestAnIdleServerIsSmall(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.fill(3000)
	b.forget()
	p := b.start()
	p.initialize()
	small := func(after string) {
		t.Helper()
		for highest := 0; ; time.Sleep(50 * time.Millisecond) { // the test's own limit ends it
			kib := p.memory()
			highest = max(highest, kib)
			if kib <= mostIdle {
				t.Logf("after %s: %d KiB, from %d KiB", after, kib, highest)
				return
			}
		}
	}
	p.must("holdfast_resume", nil)
	small("making the index")
	p.must("holdfast_record", note("n-1", "text", "a token of the form ghp_ and forty letters, an AKIA key, a glpat- one, xoxb-"))
	small("a text for the detector")
	p.write(`{"jsonrpc":"2.0","id":"big","method":"ping","params":{"x":"` + strings.Repeat("x", 4<<20-100) + "\"}}\n")
	p.read()
	// The SDK holds on to a message until the next one comes.
	p.write(`{"jsonrpc":"2.0","id":"small","method":"ping"}` + "\n")
	p.read()
	small("4 MiB")
	p.must("holdfast_search", map[string]any{"query": "importer", "limit": 100})
	p.must("holdfast_resume", map[string]any{"all": true})
	small("the largest answers")
	p.closed()
}
