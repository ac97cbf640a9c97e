package web

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestCompareWords(t *testing.T) {
	same := func(s string) Part { return Part{Text: s} }
	old := func(s string) Part { return Part{Text: s, Old: true} }
	now := func(s string) Part { return Part{Text: s, New: true} }
	for _, c := range []struct {
		a, b string
		want []Part
	}{
		{"", "", []Part{same("")}},
		{"a b", "a b", []Part{same("a b")}},
		{"", "new", []Part{now("new")}},
		{"gone", "", []Part{old("gone")}},
		{"keep the old word", "keep the new word", []Part{same("keep the "), old("old"), now("new"), same(" word")}},
		{"and say so", "and mark it as old", []Part{same("and "), old("say so"), now("mark it as old")}},
		{"one two", "one and two", []Part{same("one "), now("and "), same("two")}},
		{"Größe 12", "Größe 13", []Part{same("Größe "), old("12"), now("13")}},
	} {
		if d := cmp.Diff(c.want, compare(c.a, c.b)); d != "" {
			t.Errorf("%q to %q (-want +got):\n%s", c.a, c.b, d)
		}
	}
}

// TestCompareLosesNothing: the parts that aren't new are the old text, and those
// that aren't old the new one.
func TestCompareLosesNothing(t *testing.T) {
	text := rapid.StringMatching(`([a-c]| |\n|\.|é){0,30}`)
	rapid.Check(t, func(t *rapid.T) {
		a, b := text.Draw(t, "a"), text.Draw(t, "b")
		old, now := "", ""
		for _, p := range compare(a, b) {
			if !p.New {
				old += p.Text
			}
			if !p.Old {
				now += p.Text
			}
		}
		if old != a || now != b {
			t.Fatalf("%q to %q gives %q and %q", a, b, old, now)
		}
	})
}

func FuzzCompare(f *testing.F) {
	f.Add("one writer", "two writers")
	f.Add("\xff\u202e", "é\n")
	f.Fuzz(func(t *testing.T, a, b string) {
		old, now := "", ""
		for _, p := range compare(a, b) {
			if !p.New {
				old += p.Text
			}
			if !p.Old {
				now += p.Text
			}
		}
		if old != a || now != b {
			t.Fatalf("%q and %q", old, now)
		}
	})
}
