package web

import (
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// TestNewEntriesAppear without a reload and without taking the focus away.
func TestNewEntriesAppear(t *testing.T) {
	h := filled(t, 0).serve(0)
	b := h.enter()
	eval[bool](b, "(window.same = true, document.querySelector('button[value^=\"done:n-docs:\"]').focus(), true)")
	kept := "document.querySelector('[data-key=n-docs]')"
	eval[bool](b, "(window.item = "+kept+", true)")
	h.agent(request("next", "n-new", "Made by an agent just now"))
	b.has("Made by an agent just now").has("1 new entry.").until("document.getElementById('where').textContent.includes('revision 2')")
	if !eval[bool](b, "window.same === true && window.item === "+kept+" && document.activeElement.value.startsWith('done:n-docs:')") {
		t.Error("the page was made anew")
	}
	h.correct("n-docs", "Describe the format better", 1)
	eval[bool](b, "(document.activeElement.blur(), true)")
	h.agent(request("note", "t-new", "One more"))
	b.has("Describe the format better").has("One more")
	h.open(person) // another process looks; nothing changes
	b.click(`button[value^="done:n-docs:3"], button[value^="done:n-docs:"]`).has("Marked as done.")
	b.open(h.at("timeline")).has("One more")
	h.agent(request("note", "t-more", "Seen on the timeline"))
	b.has("Seen on the timeline")
}

func TestSearchAsYouType(t *testing.T) {
	h := filled(t, 0).serve(0)
	b := h.enter()
	b.open(h.at("search")).write("q", "wri").has("One writer per file").has("matches")
	b.write("q", "clock").has("two minutes behind").has("1 match")
	b.until("!document.body.innerText.includes('One writer per file')").until("location.search.includes('q=clock')")
	b.write("q", `"unbalanced`).until("document.getElementById('found').textContent.length > 0")
	b.accessible("search as you type")
}

// TestKeyboardAlone: the whole way to a saved record.
func TestKeyboardAlone(t *testing.T) {
	h := filled(t, 0).serve(0)
	b := h.enter()
	key := func(keys string) { b.do(chromedp.KeyEvent(keys)) }
	key(kb.Tab)
	if s := eval[string](b, "document.activeElement.textContent"); s != "Skip to the content" {
		t.Errorf("the first stop is %q", s)
	}
	key(kb.Enter)
	b.until("document.activeElement.id === 'main'")
	key(kb.Tab)
	if s := eval[string](b, "document.activeElement.textContent"); s != "Add a record" {
		t.Errorf("behind the skip link comes %q", s)
	}
	key(kb.Enter)
	b.has("New next action").until("document.querySelector('#text')")
	for range 40 {
		if eval[string](b, "document.activeElement.id") == "text" {
			break
		}
		key(kb.Tab)
	}
	key("Typed with the keyboard")
	for range 12 {
		key(kb.Tab)
		if eval[string](b, "document.activeElement.textContent") == "Save" {
			break
		}
	}
	key(kb.Enter)
	b.has("Saved.").has("Typed with the keyboard")
	key("/")
	b.until("document.activeElement.id === 'top-q'")
	key("writer" + kb.Enter)
	b.has("One writer per file")
}

func TestMapByKeyboard(t *testing.T) {
	h := filled(t, 0).serve(0)
	b := h.enter()
	b.open(h.at("map?at=record:d-writer")).until("document.querySelector('.node.focus')")
	if n := eval[int](b, "document.querySelectorAll('.arc.guess').length"); n != 1 {
		t.Errorf("%d suggested lines, want 1", n)
	}
	if n := eval[int](b, "document.querySelectorAll('.arc:not(.guess)').length"); n != 2 {
		t.Errorf("%d recorded lines, want 2", n)
	}
	b.has("a guess").has("its text names it").has("cites")
	eval[bool](b, "(document.querySelector('.node.focus').focus(), true)")
	b.do(chromedp.KeyEvent(kb.ArrowLeft))
	b.until("document.activeElement.getAttribute('href').includes('n-importer')")
	b.do(chromedp.KeyEvent(kb.ArrowRight))
	b.until("document.activeElement.getAttribute('href').includes('d-writer')")
	b.do(chromedp.KeyEvent(kb.ArrowRight))
	b.do(chromedp.KeyEvent(kb.Enter))
	b.until("!location.search.includes('d-writer')").has("Links of")
	// Everything on the map is in the list too.
	missing := eval[string](b, "[...document.querySelectorAll('.node:not(.focus)')].map(n => n.getAttribute('href')).filter(h => ![...document.querySelectorAll('.links a')].some(a => a.getAttribute('href') === h)).join()")
	if strings.TrimSpace(missing) != "" {
		t.Errorf("only on the map: %s", missing)
	}
}
