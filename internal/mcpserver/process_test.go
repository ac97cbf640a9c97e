package mcpserver

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// rounds of the tests that repeat what may go wrong by chance.
const rounds = 50

// The SDK by itself drops calls in flight when the input ends.
func TestEveryCallReadIsAnsweredAtTheEndOfInput(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	for i := range rounds {
		p := b.start()
		p.initialize()
		p.write(call(i, "holdfast_record", note(fmt.Sprintf("n-%d", i))))
		ms := p.closed()
		if len(ms) != 1 || string(ms[0].ID) != fmt.Sprint(i) || ms[0].tool(t).IsError {
			t.Fatalf("round %d: %v", i, ms)
		}
	}
	b.saved(t, rounds)
}

// saved checks that n-0 … n-(n-1) are there, each once.
func (b *bed) saved(t *testing.T, n int) {
	t.Helper()
	p := b.start()
	p.initialize()
	for i := range n {
		r := p.must("holdfast_search", map[string]any{"id": fmt.Sprintf("n-%d", i)})
		if got := r.field("total"); got != float64(1) {
			t.Fatalf("n-%d has %v versions", i, got)
		}
	}
	if got := p.must("holdfast_resume", nil).field("revision"); got != float64(n) {
		t.Fatalf("revision %v after %d saves", got, n)
	}
	p.closed()
}

func TestManyCallsInOneGulpAreAllAnswered(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	p := b.start()
	p.initialize()
	var all strings.Builder
	for i := range rounds {
		all.WriteString(call(i, "holdfast_record", note(fmt.Sprintf("n-%d", i))))
	}
	p.write(all.String())
	ms := p.closed()
	seen := map[string]bool{}
	for _, m := range ms {
		if r := m.tool(t); r.IsError {
			t.Errorf("%s: %s", m.ID, r.text())
		}
		seen[string(m.ID)] = true
	}
	if len(seen) != rounds {
		t.Errorf("%d of %d calls were answered", len(seen), rounds)
	}
	b.saved(t, rounds)
}

// Cancelled or not: a save that is answered is there, one that isn't may be.
func TestCancelledCalls(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	p := b.start()
	p.initialize()
	for i := range rounds {
		p.write(call(i, "holdfast_record", note(fmt.Sprintf("n-%d", i))) +
			fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%d}}`+"\n", i))
	}
	saved := map[string]bool{}
	for _, m := range p.closed() {
		if m.Error == nil && !m.tool(t).IsError {
			saved[string(m.ID)] = true
		}
	}
	p = b.start()
	p.initialize()
	for i := range rounds {
		r := p.ask("holdfast_search", map[string]any{"id": fmt.Sprintf("n-%d", i)})
		if saved[fmt.Sprint(i)] && r.IsError {
			t.Errorf("n-%d was acknowledged and is not there", i)
		}
	}
	p.closed()
}

func TestCaseC052_ARepeatedKeyGivesTheFirstAnswer(t *testing.T) {
	b := newBed(t)
	p := b.start()
	p.initialize()
	first := p.must("holdfast_record", note("n-0", "key", "k-0"))
	p.closed() // the answer was lost on the way; another session repeats it
	p = b.start()
	p.initialize()
	again := p.must("holdfast_record", note("n-0", "key", "k-0"))
	if again.field("replayed") != true || again.field("revision") != first.field("revision") || again.field("hash") != first.field("hash") {
		t.Errorf("the repeat gave %s, the first save %s", again.Data, first.Data)
	}
	if !strings.Contains(again.text(), "nothing was saved twice") {
		t.Errorf("the text doesn't say so: %s", again.text())
	}
	other := p.ask("holdfast_record", note("n-0", "key", "k-other"))
	if !other.IsError || other.field("code") != "conflict" {
		t.Errorf("with a new key: %s", other.text())
	}
	used := p.ask("holdfast_record", note("n-1", "key", "k-0"))
	if !used.IsError || used.field("code") != "key" {
		t.Errorf("the key for another save: %s", used.text())
	}
	p.closed()
	b.saved(t, 1)
}

// Every line on standard output is a message, whatever happens.
func TestCaseC045_OnlyMessagesOnStandardOutput(t *testing.T) {
	t.Parallel()
	noisy := []string{"TERM=xterm-256color", "NO_COLOR=1", "DEBUG=*", "GODEBUG=http2debug=2", "HOLDFAST_DEBUG=1", "GIT_TRACE=1", "MCPGODEBUG="}
	calls := func(p *proc) {
		p.initialize()
		for _, tool := range []string{"holdfast_resume", "holdfast_record", "holdfast_retract", "holdfast_search", "holdfast_checks", "panics", "holdfast_none"} {
			for i, args := range []any{nil, map[string]any{}, note("n-1"), map[string]any{"id": "n-1"}, []any{}, "text"} {
				p.write(call(fmt.Sprintf("%s-%d", tool, i), tool, args))
				p.read() // parses it
			}
		}
		p.write("not json\n")
		p.read()
	}
	t.Run("no ledger, then one", func(t *testing.T) {
		p := newBed(t).startTest(noisy...)
		calls(p)
		p.closed()
		if !strings.Contains(p.errs.String(), "a stray line on standard output") || !strings.Contains(p.errs.String(), "panic in panics") {
			t.Errorf("standard error lacks what was printed: %s", p.errs)
		}
	})
	t.Run("the shipped program", func(t *testing.T) {
		p := newBed(t).start(noisy...)
		calls(p)
		p.closed()
	})
	t.Run("damaged", func(t *testing.T) {
		b := newBed(t)
		p := b.start()
		p.initialize()
		p.must("holdfast_record", note("n-1"))
		p.closed()
		b.flip()
		p = b.start(noisy...)
		calls(p)
		p.closed()
	})
	t.Run("no cache, no state, not writable", func(t *testing.T) {
		if os.Geteuid() == 0 {
			t.Log("run as root: what can't be written is a file in the way instead")
		}
		b := newBed(t)
		if err := os.WriteFile(filepath.Join(b.home, ".cache"), nil, 0o444); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(b.dir, ".holdfast"), nil, 0o444); err != nil {
			t.Fatal(err)
		}
		p := b.start(noisy...)
		calls(p)
		p.closed()
	})
}

func TestAPanicCostsOneCall(t *testing.T) {
	b := newBed(t)
	p := b.startTest()
	p.initialize()
	r := p.ask("panics", nil)
	if !r.IsError || r.field("code") != "internal" || strings.Contains(r.text(), "nothing was saved") {
		t.Errorf("the call that panicked: %s", r.text())
	}
	p.must("holdfast_record", note("n-0"))
	p.closed()
	b.saved(t, 1)
}

// TestEndsSoon logs how long the end takes: docs/BENCHMARKS.md has the bar.
func TestEndsSoon(t *testing.T) {
	p := newBed(t).start()
	p.initialize()
	p.must("holdfast_record", note("n-0"))
	begin := time.Now()
	p.closed()
	t.Logf("ended %v after its input", time.Since(begin).Round(time.Millisecond))
}
