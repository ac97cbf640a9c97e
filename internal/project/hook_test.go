package project

import (
	"context"
	"strings"
	"testing"
	"time"

	"holdfast/internal/durable"
)

// TestHookThatIsTooSlowSaysSo: a session hears that there is more, and how to
// get it, where a ledger can't be read in time.
func TestHookThatIsTooSlowSaysSo(t *testing.T) {
	b := newBench(t)
	save(t, b.open(codex), request("goal", "ship-1", "Ship"))
	slow := false
	b.w.Layer.Fault = func(op durable.Op, name string) error {
		if !slow && op == durable.OpRead && strings.HasSuffix(name, ".json") {
			slow = true
			time.Sleep(readTime + 100*time.Millisecond)
		}
		return nil
	}
	q := HookRequest{Client: "claude", Event: "SessionStart", Stdin: []byte(`{"session_id":"s","source":"startup"}`)}
	if out := string(Hook(context.Background(), b.w, b.dir, q)); !slow || !strings.Contains(out, "holdfast_resume") || strings.Contains(out, "Ship") {
		t.Errorf("slow %v: %s", slow, out)
	}
	if out := string(Hook(context.Background(), b.w, b.dir, q)); !strings.Contains(out, "Ship") {
		t.Errorf("the next start is told nothing: %s", out)
	}
}
