package web

import (
	"testing"

	"holdfast/internal/ledger"
	"holdfast/internal/project"
)

// TestEveryAction does in the browser what a person can do there.
func TestEveryAction(t *testing.T) {
	h := filled(t, 0).serve(0)
	b := h.enter()

	b.open(h.at("new?kind=decision"))
	b.write("text", "Use one lock file").write("why", "Simple, and enough").write("rejected", "No lock :: two writers\nA server").write("cites", "writer.go")
	b.write("id", "d-lock").press("Save").has("Saved.").has("Use one lock file").has("two writers")
	s := h.shown("d-lock")
	if s.Actor.Kind != ledger.Person || s.Actor.Via != ledger.ViaView || !s.Confirmed || len(s.Rejected) != 2 || s.Rejected[0].Why != "two writers" || len(s.Cites) != 1 {
		t.Errorf("saved as %+v", s.Item)
	}

	b.open(h.at("new?kind=note")).write("text", "No name was given, so one is made").press("Save").has("note-no-name-was-given-")

	b.open(h.at("record/d-writer")).press("Correct").write("text", "One writer per file and per folder").press("Save").has("Saved.")
	b.until("[...document.querySelectorAll('#l-versions ins')].some(e => e.textContent.includes('and per folder'))")
	if s := h.shown("d-writer"); s.Text != "One writer per file and per folder" || len(s.History) != 2 || s.Why == "" || len(s.Cites) != 1 {
		t.Errorf("corrected to %+v", s.Item)
	}

	b.open(h.at("record/g-release")).press("Confirm").has("you vouch for it")
	if s := h.shown("g-release"); !s.Confirmed {
		t.Error("not confirmed")
	}

	b.open(h.at("record/q-licence")).press("Answer").write("answer", "MIT").press("Save").has("Saved.").has("MIT")
	if s := h.shown("q-licence"); s.Kind != ledger.KindAnswer || s.Answer != "MIT" {
		t.Errorf("answered as %+v", s.Item)
	}

	b.open(h.at("")).click(`button[value^="done:n-docs:"]`).has("Marked as done.")
	b.open(h.at("record/t-clock")).press("Retract").has("It is hidden, not deleted").press("Restore").has("Restored.")
	b.open(h.at("record/g-release")).press("Give up").has("Given up.")
	for id, status := range map[string]string{"n-docs": ledger.StatusDone, "g-release": ledger.StatusDropped} {
		if s := h.shown(id); s.Status != status {
			t.Errorf("%s is %q, want %q", id, s.Status, status)
		}
	}
	if s := h.shown("t-clock"); s.Retracted || len(s.History) != 3 {
		t.Errorf("retracted and restored: %+v", s.Item)
	}
}

// TestEvidence: an action with a check isn't closed without a receipt, unless a
// reason is given.
func TestEvidence(t *testing.T) {
	h := filled(t, 0).serve(0)
	b := h.enter()
	b.open(h.at("record/n-importer")).press("Mark as done").has("is done when check unit has passed")
	b.write("reason", "The CI was down; I read the output myself").press("Mark as done without evidence").has("Marked as done.").has("I read the output myself")
	if s := h.shown("n-importer"); s.Status != ledger.StatusDone || s.WithoutEvidence == "" {
		t.Errorf("%+v", s.Item)
	}
}

func TestCarry(t *testing.T) {
	h := filled(t, 0)
	h.git("checkout", "-q", "-b", "feature")
	h.git("-c", "user.name=T", "-c", "user.email=t@example.test", "commit", "-q", "--allow-empty", "-m", "work")
	h.agent(request("decision", "d-queue", "Queue what waits"))
	h.git("checkout", "-q", "main")
	h.serve(0)
	b := h.enter()
	b.has("On other branches").press("See what bringing them here would change").has("d-queue").press("Bring them here").has("Brought here.").has("Queue what waits")
}

// TestConfirmVouchesOnlyForWhatWasRead: the agent's correction came between.
func TestConfirmVouchesOnlyForWhatWasRead(t *testing.T) {
	h := filled(t, 0).serve(0)
	b := h.enter()
	b.open(h.at("record/d-writer"))
	eval[bool](b, "(document.querySelector('#record button').focus(), true)") // the person is about to press it
	h.correct("d-writer", "Delete the ledger", 1)
	eval[bool](b, "(document.querySelector('button[value^=\"confirm:d-writer:1\"]').click(), true)")
	b.has("is at revision 2, not 1").has("What stands there now").has("Delete the ledger")
	if s := h.shown("d-writer"); s.Confirmed {
		t.Error("a text that wasn't read is confirmed")
	}
	b.press("Confirm, this version").has("you vouch for it")
}

// TestAgentsViewIsNoPerson: an agent that starts a view can't vouch there.
func TestAgentsViewIsNoPerson(t *testing.T) {
	h := filled(t, 0)
	h.w.Env = append(h.w.Env, "CODEX_SANDBOX=1")
	c := project.ViewCaller(h.w)
	h.caller = &c
	h.serve(0)
	b := h.enter()
	b.has("This view was started by codex")
	b.open(h.at("record/d-writer")).press("Confirm").has("a person must do this")
	b.open(h.at("new?kind=note")).write("text", "By an agent").write("id", "t-agent").press("Save").has("codex, unconfirmed")
}
