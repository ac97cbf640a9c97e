package web

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"holdfast/internal/project"
)

func asJSON(t *testing.T, v any) []byte {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// blocked is a transaction that an agent could not finish: its writes never
// took effect.
func (h *house) blocked(t *testing.T) string {
	t.Helper()
	return h.blockedOn(t, "Publish <b>notes.md</b>", "write it", "notes.md", "it said <script>ok</script>")
}

func (h *house) blockedOn(t *testing.T, intent, label, file, detail string) string {
	t.Helper()
	p := h.open(codex)
	a, err := p.TxnBegin(t.Context(), asJSON(t, map[string]any{"intent": intent, "operations": []any{map[string]any{"label": label, "kind": "write", "destination": "file:" + file,
		"postconditions": []any{map[string]any{"surface": "file:" + file, "expect": map[string]any{"state": "present"}}}}}}), nil)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		g, err := p.TxnAttempt(t.Context(), asJSON(t, map[string]any{"transaction": a.Transaction, "operation": 0}))
		if err != nil || !g.Granted {
			t.Fatalf("%+v, %v", g, err)
		}
		if _, err := p.TxnReport(t.Context(), asJSON(t, map[string]any{"transaction": a.Transaction, "attempt": g.Attempt, "outcome": "succeeded", "detail": detail})); err != nil {
			t.Fatal(err)
		}
	}
	return a.Transaction
}

// TestBlockedTransaction: why it is blocked, and reopened only by its typed name.
func TestBlockedTransaction(t *testing.T) {
	h := filled(t, 0)
	id := h.blocked(t)
	h.serve(0)
	b := h.enter()
	b.has("Unfinished transactions").has("Publish <b>notes.md</b>").accessible("now with a blocked transaction")
	b.open(h.at("transactions")).has("Publish <b>notes.md</b>").has("blocked, not complete").accessible("transactions")
	b.press("Publish <b>notes.md</b>").has("Blocked, not complete.").has("changed nothing").has("it said <script>ok</script>").has("1 of 2 retries used").accessible("transaction")
	b.write("reason", "The disk was full then").write("typed", "wrong").press("Reopen").has("is not that of this transaction")
	if b.value("reason") != "The disk was full then" {
		t.Error("the reason is lost")
	}
	b.write("typed", id).press("Reopen").has("A new transaction follows the blocked one").has("It follows")
	l, err := h.open(person).TxnList(t.Context(), true)
	if err != nil || len(l.Transactions) != 2 {
		t.Fatalf("%+v, %v", l, err)
	}
	b.open(h.at("map?at=file:notes.md")).has("wants to reach").press("transaction " + id).has("Open the transaction").accessible("map with a transaction")
	b.open(h.at("transactions/" + id)).has("It was reopened as").has("Blocked, not complete.")
}

// TestAgentsViewReopensNothing.
func TestAgentsViewReopensNothing(t *testing.T) {
	h := filled(t, 0)
	id := h.blocked(t)
	c := project.ViewCaller(&project.World{Env: []string{"CLAUDECODE=1"}})
	h.caller = &c
	h.serve(0)
	b := h.enter()
	b.open(h.at("transactions/"+id)).write("reason", "because").write("typed", id).press("Reopen").has("a person must do this")
}

// TestPutOriginalsBack by preview and typed name.
func TestPutOriginalsBack(t *testing.T) {
	h := filled(t, 0)
	p := h.open(codex)
	a, err := p.TxnBegin(t.Context(), asJSON(t, map[string]any{"intent": "Empty writer.go", "operations": []any{map[string]any{"kind": "write", "destination": "file:writer.go",
		"postconditions": []any{map[string]any{"surface": "file:writer.go", "expect": map[string]any{"size": 0}}}}}}), nil)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(h.dir, "writer.go")
	if err := os.WriteFile(file, []byte("spoilt"), 0o600); err != nil {
		t.Fatal(err)
	}
	h.serve(0)
	b := h.enter()
	b.open(h.at("transactions/" + a.Transaction)).press("See what putting them back would change").has("would be written over").accessible("putting back")
	b.until("document.querySelector('#r-typed')")
	eval[bool](b, "(document.querySelector('#r-reason').value = 'It was spoilt', document.querySelector('#r-typed').value = "+quote(a.Transaction)+", true)")
	b.press("Put them back").has("Put back.")
	if got, err := os.ReadFile(file); err != nil || string(got) != "package p\n" {
		t.Errorf("the file has %q, %v", got, err)
	}
}
