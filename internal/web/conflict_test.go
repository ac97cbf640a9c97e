package web

import (
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"testing"
)

// TestConflictKeepsTheDraft: a second writer saved first. The person sees both.
func TestConflictKeepsTheDraft(t *testing.T) {
	for _, keep := range []bool{true, false} {
		h := filled(t, 0).serve(0)
		b := h.enter()
		b.open(h.at("record/d-writer/edit")).write("text", "One writer per file, says the person")
		h.correct("d-writer", "One writer per folder, says codex", 1)
		b.press("Save").has("Nothing was saved, and your draft is not lost.").has("One writer per folder, says codex").has("One writer per file, says the person")
		marks := eval[string](b, "[...document.querySelectorAll('mark')].map(e => e.textContent).join('|')")
		if !strings.Contains(marks, "folder") || !strings.Contains(marks, "person") {
			t.Errorf("marked: %q", marks)
		}
		b.accessible("conflict")
		if !keep {
			b.press("Take the latest").has("One writer per folder, says codex")
			b.open(h.at("record/d-writer/edit")).until("document.querySelector('#text').value === 'One writer per folder, says codex'")
			continue
		}
		h.correct("d-writer", "One writer per disk, says codex", 2) // and once more
		b.press("Keep my draft and save").has("One writer per disk, says codex").has("One writer per file, says the person")
		b.press("Keep my draft and save").has("Saved.")
		s := h.shown("d-writer")
		if s.Text != "One writer per file, says the person" || len(s.History) != 4 {
			t.Errorf("%+v", s.Item)
		}
		if left := eval[int](b, "sessionStorage.length"); left != 0 {
			t.Errorf("%d drafts are left", left)
		}
	}
}

// TestDraftSurvivesReload, and a reload of a conflict too.
func TestDraftSurvivesReload(t *testing.T) {
	h := filled(t, 0).serve(0)
	b := h.enter()
	b.open(h.at("record/d-writer/edit")).write("text", "A long thought").write("why", "which took an hour")
	b.open(h.at("timeline")).has("Timeline")
	b.open(h.at("record/d-writer/edit")).has("Your unsaved draft was brought back.")
	if b.value("text") != "A long thought" || b.value("why") != "which took an hour" {
		t.Errorf("%q, %q", b.value("text"), b.value("why"))
	}
	h.correct("d-writer", "Meanwhile", 1)
	b.open(h.at("record/d-writer/edit")).has("Your unsaved draft was brought back.")
	b.press("Save").has("Somebody changed it meanwhile").has("A long thought")
	b.open(h.at("record/d-writer/edit")).has("Your unsaved draft was brought back.").press("Discard it")
	if b.value("text") != "Meanwhile" {
		t.Errorf("after discarding: %q", b.value("text"))
	}
}

// TestUncertainAnswerIsRetried: the save is made, its answer is lost.
func TestUncertainAnswerIsRetried(t *testing.T) {
	var lost atomic.Int32
	h := filled(t, 0)
	h.wrap = func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/save") && lost.Add(1) <= 2 {
				next.ServeHTTP(&discard{}, r)
				panic(http.ErrAbortHandler) // the connection breaks
			}
			next.ServeHTTP(w, r)
		})
	}
	h.serve(0)
	b := h.enter()
	b.open(h.at("record/d-writer/edit")).write("text", "Said once").press("Save").has("Saved.").has("Said once")
	if s := h.shown("d-writer"); len(s.History) != 2 || lost.Load() < 3 {
		t.Errorf("%d versions after %d requests", len(s.History), lost.Load())
	}
}

type discard struct{ h http.Header }

func (d *discard) Header() http.Header {
	if d.h == nil {
		d.h = http.Header{}
	}
	return d.h
}
func (*discard) Write(b []byte) (int, error) { return len(b), nil }
func (*discard) WriteHeader(int)             {}

// TestKilledServer: the view ends under an open draft, and another one starts
// at the same port.
func TestKilledServer(t *testing.T) {
	h := filled(t, 0).serve(0)
	port := h.s.Port()
	b := h.enter()
	b.open(h.at("record/d-writer/edit")).write("text", "Typed before the end")
	h.stop()
	b.has("Holdfast does not answer any more")
	b.press("Save").has("is never made twice").press("Stop trying").has("Not sent. Your draft is kept")
	if b.value("text") != "Typed before the end" {
		t.Errorf("the draft is %q", b.value("text"))
	}
	h.serve(port)
	b.press("Save").has("session has ended").until("document.querySelector('#text').value === 'Typed before the end'") // a page of a run that ended
	b.open(h.s.Link()).until("document.getElementById('where')")
	b.open(h.at("record/d-writer/edit")).has("Your unsaved draft was brought back.").press("Save").has("Saved.")
	if s := h.shown("d-writer"); s.Text != "Typed before the end" {
		t.Errorf("%+v", s.Item)
	}
}

func TestBranchSwitchedUnderADraft(t *testing.T) {
	h := filled(t, 0).serve(0)
	b := h.enter()
	b.open(h.at("new?kind=note")).write("text", "Noted").write("id", "t-new")
	h.git("checkout", "-q", "-b", "feature/x")
	b.has("The branch was switched to feature/x meanwhile").press("Save").has("Saved.")
	if s := h.shown("t-new"); len(s.History) != 1 || h.branchOf("t-new") != "feature/x" {
		t.Errorf("made on %q", h.branchOf("t-new"))
	}
	b.open(h.at("")).has("feature/x")
	h.git("checkout", "-q", "main")
	b.until("document.getElementById('where').textContent.includes('main')").until("!document.body.innerText.includes('Noted')")
}

func TestDeletedProjectUnderADraft(t *testing.T) {
	h := filled(t, 0).serve(0)
	b := h.enter()
	b.open(h.at("record/d-writer/edit")).write("text", "Typed before the end")
	if err := os.RemoveAll(h.dir + "/.holdfast"); err != nil {
		t.Fatal(err)
	}
	b.until("document.getElementById('alerts').textContent.includes('nothing was saved') || document.getElementById('alerts').textContent.includes('mirror')")
	b.press("Save").has("Your draft is below").until("document.querySelector('#text').value === 'Typed before the end'")
	if _, err := os.Lstat(h.dir + "/.holdfast"); err == nil {
		t.Error("the view started a ledger over")
	}
	if err := os.RemoveAll(h.dir); err != nil {
		t.Fatal(err)
	}
	b.press("Save").until("document.querySelector('[role=alert]').textContent.length > 20").until("document.querySelector('#text').value === 'Typed before the end'")
	b.open(h.at("")).until("document.querySelector('h1')")
}
