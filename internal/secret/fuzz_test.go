package secret

import (
	"strings"
	"testing"
	"unicode/utf8"
)

// known are secrets that must be found wherever they stand between delimiters.
func known(t testing.TB) []string {
	var out []string
	for _, r := range readRows(t, "C066/secrets.tsv", unescape) {
		switch r.kind {
		case "github-classic", "stripe-live", "age-identity", "jwt", "slack-bot", "google-api", "aws-access-key-id":
			out = append(out, r.value)
		}
	}
	if len(out) != 7 {
		t.Fatalf("%d known secrets, want 7", len(out))
	}
	return out
}

// FuzzCheck wants findings to lie in the text and apart from each other, an
// error that names no value, and a known secret to be found in any company.
func FuzzCheck(f *testing.F) {
	secrets := known(f)
	s := New(nil)
	for _, l := range cleanLines(f) {
		f.Add(l, "", uint8(0))
	}
	for i, r := range readRows(f, "C066/secrets.tsv", unescape) {
		f.Add(r.text(), "after", uint8(i))
	}
	for i, r := range readRows(f, "more-secrets.tsv", unescape) {
		f.Add("before ", r.text(), uint8(i))
	}
	f.Add("\xff\xfe%E2%80%8B\\u0067\x1b[31m&#95;", "\xf0\x9f", uint8(3))
	f.Fuzz(func(t *testing.T, before, after string, pick uint8) {
		if len(before)+len(after) > 16<<10 {
			return
		}
		wellFormed(t, s, before+after)
		v := secrets[int(pick)%len(secrets)]
		text := before + "\n" + v + "\n" + after
		at := len(before) + 1
		for _, h := range wellFormed(t, s, text) {
			if h.Start <= at && h.End >= at+len(v) {
				return
			}
		}
		t.Errorf("a known secret passed in %q", text)
	})
}

// wellFormed checks the promises that hold for every text.
func wellFormed(t *testing.T, s *Screen, text string) []Finding {
	found := check(t, s, text)
	end := 0
	for _, h := range found {
		if h.Start < end {
			t.Errorf("finding %+v overlaps the one before it", h)
		}
		end = h.End
		if want := utf8.RuneCountInString(text[:h.Start]) + 1; h.CharStart != want {
			t.Errorf("finding %+v begins at character %d", h, want)
		}
		if h.Rule == "" || strings.ContainsAny(h.Rule, " \n") {
			t.Errorf("finding %+v has no rule", h)
		}
	}
	return found
}
