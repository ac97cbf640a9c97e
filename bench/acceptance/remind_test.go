package acceptance

import (
	"strings"
	"testing"
)

// TestRemind lets each client with hooks work without a save: its stop is held
// up once, the model hears why, and the session ends all the same. A hook that
// asks twice can keep a client going without end.
func TestRemind(t *testing.T) {
	const why = "nothing was saved in the project's handoff ledger"
	for _, c := range wanted(t) {
		if !c.hooks {
			continue
		}
		t.Run(c.id, func(t *testing.T) {
			h := newHouse(t)
			h.must(nil, "holdfast", "record", "goal", "g-quokka", "--text", "Bring the quokka home", "--source", "the acceptance test")
			h.must(nil, "holdfast", "setup", "--client", c.id, "--yes", "--remind")
			m, out := h.session(&c, call{"holdfast_resume", func([]string) map[string]any {
				h.write("work.txt", "work that the session did\n")
				return obj{}
			}})
			heard := 0
			for _, r := range m.asked() {
				if strings.Contains(r.body, why) {
					heard++
				}
			}
			if n := len(m.asked()); heard != 1 || n != 3 {
				t.Errorf("%d requests, %d of them with the reminder, want 3 and 1\n%s", n, heard, tail(out))
			}
		})
	}
}
