package web

import (
	"crypto/rand"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"holdfast/internal/filelog"
	"holdfast/internal/ledger"
)

// receipt saves a receipt as the tool does that runs a check.
func (h *house) receipt(r ledger.Receipt) {
	h.t.Helper()
	m := &filelog.Machine{State: []string{filepath.Join(h.root, "home", ".local", "state", "holdfast")}, Layer: h.w.Layer, Rand: rand.Reader, Now: time.Now, LockWait: time.Second, Tool: "test"}
	l := filelog.New(m, filelog.Place{Dir: h.dir, Name: filelog.FolderName})
	head, err := l.Head(h.t.Context())
	if err == nil {
		_, err = l.Append(h.t.Context(), head, ledger.Draft{Type: ledger.TypeCheck, At: time.Now(),
			Body: ledger.Body{Actor: ledger.Actor{Kind: ledger.Agent, Client: "codex", Via: ledger.ViaCLI}, Git: ledger.Git{Branch: "main"}, Receipt: &r}})
	}
	if err != nil {
		h.t.Fatal("save receipt:", err)
	}
}

// TestChecksPage: the history of outcomes, and what a hostile title can't do.
func TestChecksPage(t *testing.T) {
	h := filled(t, 0)
	began := time.Date(2026, 11, 30, 8, 0, 0, 0, time.UTC)
	for i, outcome := range []string{ledger.Failed, ledger.Failed, ledger.Passed, ledger.TimedOut, ledger.Passed} {
		h.receipt(ledger.Receipt{ID: "unit", Title: "Unit tests <b>", Argv: []string{"go", "test", "./..."}, Outcome: outcome, ExitCode: i % 2,
			StartedAt: began.Add(time.Duration(i) * time.Minute).Format(ledger.TimeLayout), DurationMS: 61234, Counts: &ledger.Counts{Runner: "go", Passed: 600 + i, Total: 600 + i}})
	}
	// An older run that finishes last doesn't take the place of a newer one.
	h.receipt(ledger.Receipt{ID: "unit", Argv: []string{"go", "test"}, Outcome: ledger.Failed, StartedAt: began.Add(30 * time.Second).Format(ledger.TimeLayout)})
	h.receipt(ledger.Receipt{ID: "<script>", Title: hostile[1], Argv: []string{hostile[0]}, Outcome: hostile[0], StartedAt: hostile[7]})
	h.serve(0)
	b := h.enter()
	b.has("Unit tests <b>").has("no longer holds").accessible("now with checks")
	b.open(h.at("checks")).has("Unit tests <b>").has("604 passed").has("before: 603 in all").has("go test ./...").has("no longer holds").accessible("checks")
	b.dark(true)
	b.accessible("checks dark")
	got := eval[string](b, `JSON.stringify([...document.querySelectorAll("[data-key=unit] rect")].map(e => e.getAttribute("class").slice(4)))`)
	if want := `["failed","failed","failed","passed","failed","passed"]`; got != want {
		t.Errorf("the chart has %s, want %s", got, want)
	}
	if n := eval[int](b, "(window.pwned ?? 0) + document.querySelectorAll('main img, main script').length"); n != 0 {
		t.Error("a receipt's text became markup")
	}
	h.receipt(ledger.Receipt{ID: "lint", Title: "Lint", Argv: []string{"make", "lint"}, Outcome: ledger.Passed, StartedAt: fmt.Sprint(began.Format(ledger.TimeLayout))})
	b.has("Lint") // without a reload
}
