package web

import (
	"testing"
)

// TestAccessible runs axe on every page, in light and dark, wide and narrow.
func TestAccessible(t *testing.T) {
	h := filled(t, 200).serve(0)
	b := newTab(t)
	b.open(h.s.gate.origin() + "/").until("document.querySelector('h1')")
	b.accessible("login")
	b.open(h.s.Link()).until("document.getElementById('where')")
	for _, p := range pageList {
		b.open(h.at(p.path)).until("document.readyState === 'complete'")
		for _, dark := range []bool{false, true} {
			b.dark(dark)
			name := p.name + " light"
			if dark {
				name = p.name + " dark"
			}
			b.accessible(name)
		}
		b.size(320, 800)
		if over := eval[int](b, "document.documentElement.scrollWidth"); over > 320 {
			t.Errorf("%s: %d pixels wide at a width of 320", p.name, over)
		}
		b.size(1280, 900)
		if n := eval[int](b, "document.querySelectorAll('h1').length"); n != 1 {
			t.Errorf("%s: %d headings of the first level", p.name, n)
		}
	}
}

// TestWithoutScript: everything reads, and the login works by hand.
func TestWithoutScript(t *testing.T) {
	h := filled(t, 0).serve(0)
	b := newTab(t)
	b.script(false)
	b.open(h.s.gate.origin() + "/")
	b.script(true) // the page is there; the test itself needs to evaluate
	eval[bool](b, "(document.querySelector('#code').value = "+quote(h.s.Code())+", true)")
	b.script(false)
	eval[bool](b, "(document.querySelector('[data-login] button').click(), true)")
	b.has("Ship the first release")
	for _, p := range pageList {
		b.open(h.at(p.path))
		if n := eval[int](b, "document.querySelector('main').innerText.length"); n < 30 {
			t.Errorf("%s: only %d characters without script", p.name, n)
		}
	}
}
