package secret

import (
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
)

// ordinary is a text of 2,000 characters as notes have them: words of the
// rules all over, and no secret.
func ordinary(b testing.TB) string {
	text := strings.Repeat(`The revision file is published by linking a temporary file to its final name, so the commit and the
compare-and-swap are one step. A key is never reused: the same key with other content is refused, and they said the
answer of a replay must flush first. See internal/filelog/append.go and https://example.test/docs/locks for the lock.
Token checks stay in the web layer; authentication there is a one-time code. The API takes 1,000 entries per page. `, 8)
	text = text[:2000]
	if found := New(nil).Check([]Field{{"text", text}}); len(found) > 0 {
		b.Fatalf("the ordinary text isn't: %v", found)
	}
	return text
}

func BenchmarkCheckOrdinary(b *testing.B) {
	s, fields := New(nil), []Field{{"text", ordinary(b)}}
	b.SetBytes(int64(len(fields[0].Text)))
	b.ReportAllocs()
	for b.Loop() {
		s.Check(fields)
	}
	if s.det != nil {
		b.Error("an ordinary text loaded the detector")
	}
}

// BenchmarkCheckSecretLike screens the corpus of clean texts, which is full of
// names, digests and samples; the detector stays loaded.
func BenchmarkCheckSecretLike(b *testing.B) {
	s := New(nil)
	var fields []Field
	n := 0
	for _, l := range cleanLines(b) {
		fields = append(fields, Field{"text", l})
		n += len(l)
	}
	b.SetBytes(int64(n))
	b.ReportAllocs()
	for b.Loop() {
		s.Check(fields)
	}
}

// BenchmarkCheckSecret screens one token in a sentence, detector loaded.
func BenchmarkCheckSecret(b *testing.B) {
	s := New(nil)
	fields := []Field{{"text", "it printed " + known(b)[1] + " in the log, please rotate it"}}
	for b.Loop() {
		if len(s.Check(fields)) != 1 {
			b.Fatal("not found")
		}
	}
}

// BenchmarkLoad measures what the first text of a kind costs, and how much
// memory stays in use until Idle: for one vendor's rule, for the generic rule,
// and for all rules (which no text of ours needs).
func BenchmarkLoad(b *testing.B) {
	one, generic := []string{"github-pat"}, []string{genericRule}
	all := make([]string, 0, len(gitleaksRules))
	for _, r := range gitleaksRules {
		all = append(all, r.id)
	}
	for name, ids := range map[string][]string{"one": one, "generic": generic, "all": all} {
		b.Run(name, func(b *testing.B) {
			s := New(nil)
			var held, back uint64
			for b.Loop() {
				b.StopTimer()
				s.Idle()
				before := inUse()
				b.StartTimer()
				for _, id := range ids {
					if _, err := s.run(id, "x"); err != nil {
						b.Fatal(err)
					}
				}
				b.StopTimer()
				loaded := inUse()
				s.Idle()
				held, back = loaded-before, inUse()-before
				b.StartTimer()
			}
			b.ReportMetric(float64(held)/1024, "KiB-held")
			b.ReportMetric(float64(int64(back))/1024, "KiB-after-idle")
		})
	}
}

func inUse() uint64 {
	debug.FreeOSMemory()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// TestIdleGivesMemoryBack wants the detector's memory back after Idle, and
// screening to go on as before.
func TestIdleGivesMemoryBack(t *testing.T) {
	s := New(nil)
	text := "api_key = " + known(t)[1] + " and cache key: 12ab34cd56ef78gh90ij"
	first := s.Check([]Field{{"text", text}})
	if len(first) == 0 || s.det == nil {
		t.Fatalf("found %v, loaded %v", first, s.det != nil)
	}
	loaded := inUse()
	s.Idle()
	if s.det != nil {
		t.Error("the detector is still there")
	}
	if after := inUse(); loaded < after+(2<<20) {
		t.Errorf("%d KiB in use before Idle, %d after", loaded>>10, after>>10)
	}
	if again := s.Check([]Field{{"text", text}}); len(again) != len(first) {
		t.Errorf("found %v, after Idle %v", first, again)
	}
}
