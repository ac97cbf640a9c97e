package web

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"holdfast/internal/project"
)

// goBack recovers as another person would at a terminal.
func (h *house) goBack(at int64) project.Recovery {
	h.t.Helper()
	p := h.open(person)
	plan, err := p.Recover(h.t.Context(), project.RecoverRequest{At: &at})
	if err == nil {
		plan, err = p.Recover(h.t.Context(), project.RecoverRequest{At: &at, Expect: plan.Fingerprint})
	}
	if err != nil {
		h.t.Fatal("recover:", err)
	}
	return plan
}

// TestRecoveryUnderADraft: the draft stays, under its old generation, until the
// person looked at what stands there now.
func TestRecoveryUnderADraft(t *testing.T) {
	h := filled(t, 0)
	h.correct("d-writer", "A second version", 1)
	h.serve(0)
	b := h.enter()
	b.open(h.at("record/d-writer/edit")).write("text", "The person's third version")
	h.goBack(1)
	b.has("The ledger was recovered since this page was opened").press("Save")
	b.has("The ledger was recovered meanwhile").has("your draft is not lost").has("One writer per file").has("The person's third version")
	b.accessible("recovered")
	if !eval[bool](b, "!document.querySelector('form[data-kept]').checkValidity()") {
		t.Error("it can be saved without having been reviewed")
	}
	// Reloading loses nothing, and the draft still asks for the review.
	b.open(h.at("record/d-writer/edit")).has("Your unsaved draft was brought back.").press("Save").has("The ledger was recovered meanwhile")
	if s := h.shown("d-writer"); s.Text != "One writer per file" {
		t.Errorf("it is %q before the review", s.Text)
	}
	b.click("input[name=reviewed]").press("Keep my draft and save").has("Saved.").has("The person's third version")
	if s := h.shown("d-writer"); s.Text != "The person's third version" {
		t.Errorf("it is %q", s.Text)
	}
}

// TestRecoverInTheView: slider, preview, apply; and a preview that is stale.
func TestRecoverInTheView(t *testing.T) {
	h := filled(t, 0)
	h.correct("d-writer", "A wrong version", 1)
	h.agent(request("note", "t-wrong", "A wrong note"))
	h.serve(0)
	b := h.enter()
	b.open(h.at("recovery")).until("document.querySelector('#slide').offsetWidth > 0")
	eval[bool](b, "(() => { const s = document.querySelector('#slide'); s.value = 1; s.dispatchEvent(new InputEvent('input', {bubbles: true})); return true })()")
	b.until("document.querySelector('output').textContent.includes('g-release')").press("See what would change")
	b.has("2 saves would be hidden").has("t-wrong").accessible("recovery preview")
	h.agent(request("note", "t-late", "Saved after the preview"))
	b.press("Go back to revision 1").has("it is not what the preview showed")
	if s := h.shown("d-writer"); s.Text != "A wrong version" {
		t.Errorf("a stale preview was applied: %q", s.Text)
	}
	b.open(h.at("recovery?at=1")).has("3 saves would be hidden").press("Go back to revision 1").has("nothing was erased")
	if s := h.shown("d-writer"); s.Text != "One writer per file" {
		t.Errorf("it is %q", s.Text)
	}
	b.open(h.at("timeline")).has("undone by a recovery").has("recovered the ledger")
}

// TestRecoverADamagedLedger from its mirror, in the view.
func TestRecoverADamagedLedger(t *testing.T) {
	h := filled(t, 0)
	h.agent(request("note", "t-last", "The last note"))
	files, err := filepath.Glob(filepath.Join(h.dir, ".holdfast", "gen", "*", "rev", "00000001.json"))
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	raw, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(files[0], 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(files[0], []byte(strings.Replace(string(raw), "writer", "WRITER", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(filepath.Join(h.root, "home", ".cache")); err != nil {
		t.Fatal(err)
	}
	h.serve(0)
	b := h.enter()
	b.open(h.at("recovery?at=")).has("What would change").has("damaged").has("mirror").accessible("recovery of a damaged ledger")
	b.until("document.querySelector('form[action$=recovery] [name=expect]')")
	eval[bool](b, "(document.querySelector('.plan form button').click(), true)")
	b.has("nothing was erased")
	b.open(h.at("")).has("One writer per file").has("The last note")
}
