package mcpserver

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"
)

// tortured is how many saves each process makes: a few, or as many as
// HOLDFAST_TORTURE says.
func tortured(t *testing.T) int {
	v := os.Getenv("HOLDFAST_TORTURE")
	if v == "" {
		return 5
	}
	n, err := strconv.Atoi(v)
	if err != nil || n < 1 {
		t.Fatalf("HOLDFAST_TORTURE is %q, not a count", v)
	}
	return n
}

// Eight times a command line saves again and again, while four MCP sessions
// save too: none is lost, none refused, and the chain holds.
func TestTortureCommandLinesAndSessionsSaveTogether(t *testing.T) {
	t.Parallel()
	const lines, sessions = 8, 4
	n := tortured(t)
	b := newBed(t)
	begin := time.Now()
	var wg sync.WaitGroup
	var mu sync.Mutex
	var failed []string
	fail := func(format string, args ...any) {
		mu.Lock()
		defer mu.Unlock()
		failed = append(failed, fmt.Sprintf(format, args...))
	}
	for l := range lines {
		wg.Go(func() {
			for i := range n {
				id := fmt.Sprintf("c-%d-%d", l, i)
				if out, err := b.command("record", "note", id, "--text", "text of "+id, "--source", "a test").CombinedOutput(); err != nil {
					fail("%s: %v: %s", id, err, out)
				}
			}
		})
	}
	for s := range sessions {
		p := b.start()
		p.initialize()
		wg.Go(func() {
			for i := range n {
				// What ask finds wrong it says by t.Fatal, which only the test's own
				// goroutine may call: here the answers are read by hand.
				id := fmt.Sprintf("m-%d-%d", s, i)
				if _, err := p.in.Write([]byte(call(i, "holdfast_record", note(id)))); err != nil {
					fail("%s: %v", id, err)
					return
				}
				m, err := p.next()
				if err != nil || m.Error != nil {
					fail("%s: %v %s", id, err, m.raw)
					return
				}
				if r := m.tool(t); r.IsError {
					fail("%s: %s", id, r.text())
				}
			}
		})
	}
	wg.Wait()
	for _, f := range failed {
		t.Error(f)
	}
	p := b.start()
	p.initialize()
	total := n * (lines + sessions)
	if rev := p.must("holdfast_resume", nil).field("revision"); rev != float64(total) {
		t.Errorf("revision %v after %d saves", rev, total)
	}
	for l := range lines {
		for i := range n {
			p.must("holdfast_search", map[string]any{"id": fmt.Sprintf("c-%d-%d", l, i), "limit": 1})
		}
	}
	for s := range sessions {
		for i := range n {
			p.must("holdfast_search", map[string]any{"id": fmt.Sprintf("m-%d-%d", s, i), "limit": 1})
		}
	}
	p.closed()
	b.verified(t, total)
	t.Logf("%d saves in %v", total, time.Since(begin).Round(time.Millisecond))
}

// verified folds the whole ledger anew: without an index, so that every entry
// is read and its place in the chain checked.
func (b *bed) verified(t *testing.T, revision int) {
	t.Helper()
	b.forget()
	p := b.start()
	p.initialize()
	r := p.must("holdfast_resume", nil)
	if r.field("revision") != float64(revision) || r.field("incomplete") != nil {
		t.Errorf("folded anew: revision %v of %d, incomplete %v", r.field("revision"), revision, r.field("incomplete"))
	}
	p.closed()
}

// forget deletes every index.
func (b *bed) forget() {
	b.t.Helper()
	if err := os.RemoveAll(filepath.Join(b.home, ".cache")); err != nil {
		b.t.Fatal(err)
	}
}
