package secret

import (
	"fmt"
	"math/rand"
	"regexp/syntax"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/zricethezav/gitleaks/v8/detect"
	"github.com/zricethezav/gitleaks/v8/report"
	"pgregory.net/rapid"
)

// fullDetector is gitleaks as it comes, with all rules compiled. Only its
// comment that switches rules off is ignored, as we do.
var fullDetector = sync.OnceValues(func() (*detect.Detector, error) {
	d, err := detect.NewDetectorDefaultConfig()
	if err == nil {
		d.IgnoreGitleaksAllow = true
	}
	return d, err
})

// missed returns the first finding of gitleaks in the text whose rule wasn't
// run, or that Check neither found nor dropped with a reason.
func missed(t testing.TB, s *Screen, text string) (report.Finding, bool) {
	t.Helper()
	full, err := fullDetector()
	if err != nil {
		t.Fatal(err)
	}
	found := s.Check([]Field{{"text", text}})
	ran := neededBy(s, text)
next:
	for _, f := range full.DetectString(text) {
		if !slices.Contains(ran, f.RuleID) {
			return f, true
		}
		if dropped(f) != "" {
			continue
		}
		v := strings.TrimSpace(f.Secret)
		at := strings.Index(text, v)
		for _, h := range found {
			if h.Start <= at && at+len(v) <= h.End {
				continue next
			}
		}
		return f, true
	}
	return report.Finding{}, false
}

// neededBy lists the rules that the prefilter lets through for a text.
func neededBy(s *Screen, text string) []string {
	p := &page{sc: &scan{screen: s}, v: &view{text: text}, s: text}
	p.anchors = vocab().matcher.find(text, nil)
	p.findRuns()
	return p.needed()
}

// TestNothingThatGitleaksFindsIsMissed makes texts from gitleaks' own regular
// expressions, puts them among words, and wants Check to find what gitleaks
// with all rules loaded finds.
func TestNothingThatGitleaksFindsIsMissed(t *testing.T) {
	s := New(nil)
	d, err := loadDetector()
	if err != nil {
		t.Fatal(err)
	}
	byRule := map[string]int{}
	rnd := rand.New(rand.NewSource(7))
	for _, r := range d.rules.Rules {
		if r.Regex == "" || r.Path != "" {
			continue
		}
		re, err := syntax.Parse(r.Regex, syntax.Perl)
		if err != nil {
			t.Fatal(err)
		}
		for range 12 {
			word := r.Keywords[rnd.Intn(len(r.Keywords))]
			text := fmt.Sprintf("for %s we saw %s here", word, sample(rnd, re))
			if rnd.Intn(2) == 0 {
				text = sample(rnd, re) + "\nand " + word
			}
			odd := strings.NewReplacer("k", "\u212a", "i", "\u0130").Replace(word)
			for _, text := range []string{text, sample(rnd, re) + " " + odd, oddLetters.Replace(text)} {
				if f, ok := missed(t, s, text); ok {
					t.Errorf("%s: missed %s in %q", r.ID, f.RuleID, text)
				}
			}
			full, _ := fullDetector()
			byRule[r.ID] += len(full.DetectString(text))
		}
	}
	idle := 0
	for _, n := range byRule {
		if n == 0 {
			idle++
		}
	}
	if idle*10 > len(byRule) {
		t.Errorf("%d of %d rules never matched the texts made for them", idle, len(byRule))
	}
}

// oddLetters puts letters beyond ASCII where case folding takes them for k and s.
var oddLetters = strings.NewReplacer("k", "\u212a", "S", "\u017f")

// TestGenericRule makes values that the generic rule just accepts: twelve
// different characters, the longest gaps, every sign.
func TestGenericRule(t *testing.T) {
	s := New(nil)
	seen := 0
	rapid.Check(t, func(rt *rapid.T) {
		chars := rapid.Permutation([]rune("abcdefghijklmnopqrstuvwxyz0123456789=")).Draw(rt, "chars")
		n := rapid.IntRange(11, 16).Draw(rt, "distinct")
		value := string(chars[:n]) + rapid.StringMatching(`[`+string(chars[:4])+`]{0,3}`).Draw(rt, "more")
		text := rapid.SampledFrom([]string{"access", "Auth", "api", "API", "credential", "creds", "key", "KEY", "passwd", "secret", "to\u212aen", "\u017fecret secret"}).Draw(rt, "keyword") +
			rapid.OneOf(rapid.StringMatching(`[ \tA-Z.-]{0,20}`), rapid.StringMatching(`[A-Z.-]{18,20}`)).Draw(rt, "gap") +
			rapid.OneOf(rapid.StringMatching(`[ \n'"]{0,3}`), rapid.Just("' \"")).Draw(rt, "close") +
			rapid.SampledFrom([]string{"=", ">", ":=", ":::=", "||", ":", "=>", "?=", ","}).Draw(rt, "sign") +
			rapid.StringMatching("[`'\" \n=]{0,5}").Draw(rt, "open") + value +
			rapid.SampledFrom([]string{"", " ", "\"", ";", "\\n", "`"}).Draw(rt, "end")
		if f, ok := missed(t, s, text); ok {
			rt.Fatalf("missed %s (%s) in %q", f.RuleID, f.Secret, text)
		}
		full, _ := fullDetector()
		seen += len(full.DetectString(text))
	})
	if seen == 0 {
		t.Error("gitleaks found nothing in any of the texts")
	}
}

// sample makes a text that the expression matches.
func sample(r *rand.Rand, re *syntax.Regexp) string {
	switch re.Op {
	case syntax.OpLiteral:
		return string(re.Rune)
	case syntax.OpCharClass:
		for range 50 {
			i := 2 * r.Intn(len(re.Rune)/2)
			lo, hi := re.Rune[i], min(re.Rune[i+1], 0x17f)
			if lo <= hi && lo >= ' ' || lo == hi {
				return string(lo + rune(r.Intn(int(hi-lo)+1)))
			}
		}
		return "x"
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		return string(rune('a' + r.Intn(26)))
	case syntax.OpCapture:
		return sample(r, re.Sub[0])
	case syntax.OpConcat:
		var b strings.Builder
		for _, s := range re.Sub {
			b.WriteString(sample(r, s))
		}
		return b.String()
	case syntax.OpAlternate:
		return sample(r, re.Sub[r.Intn(len(re.Sub))])
	case syntax.OpStar, syntax.OpPlus, syntax.OpQuest, syntax.OpRepeat:
		lo, hi := 0, 3
		switch re.Op {
		case syntax.OpPlus:
			lo = 1
		case syntax.OpQuest:
			hi = 1
		case syntax.OpRepeat:
			lo, hi = re.Min, max(re.Min, min(re.Max, re.Min+3))
		}
		var b strings.Builder
		for range lo + r.Intn(hi-lo+1) {
			b.WriteString(sample(r, re.Sub[0]))
		}
		return b.String()
	}
	return ""
}

// TestGitleaksInMixedText does the same with texts put together from keywords,
// signs, values and odd characters.
func TestGitleaksInMixedText(t *testing.T) {
	s := New(nil)
	value := rapid.StringMatching(`[a-z0-9]{10,44}|[A-Za-z0-9_=-]{12,50}|[A-Za-z0-9+/]{12,40}={0,2}|[0-9a-f]{32}|[0-9a-f]{40}|[A-Z0-9]{16,30}`)
	piece := rapid.OneOf(
		rapid.SampledFrom(vocab().words),
		rapid.SampledFrom([]string{": ", " = ", "=\"", "=>", " || ", ",", ":=", "'", "\"", "\n", " ", "\t", ".", "-", "_", "ſ", "\u212a", "İ", "é", "\xff", "KEY", "Token", "API", "s.", "curl -u ", "gitleaks:allow"}),
		value,
		rapid.StringMatching(`[a-z]{1,8} `),
	)
	rapid.Check(t, func(rt *rapid.T) {
		text := strings.Join(rapid.SliceOfN(piece, 1, 14).Draw(rt, "pieces"), "")
		if f, ok := missed(t, s, text); ok {
			rt.Fatalf("missed %s (%s) in %q", f.RuleID, f.Secret, text)
		}
	})
}

// TestConcurrentUse screens from many goroutines while others let it go idle.
func TestConcurrentUse(t *testing.T) {
	s := New(func(v string) bool { return v == "allowed" })
	rows := readRows(t, "C066/secrets.tsv", unescape)
	var wg sync.WaitGroup
	for g := range 4 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for i, r := range rows {
				if len(s.Check([]Field{{"text", r.text()}})) == 0 {
					t.Errorf("%s passed", r.kind)
				}
				if (i+g)%7 == 0 {
					s.Idle()
				}
			}
		}()
	}
	wg.Wait()
}
