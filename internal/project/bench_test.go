package project

import (
	"fmt"
	"testing"
)

// BenchmarkRecord is a save in a long-lived process, from request to answer.
func BenchmarkRecord(b *testing.B) {
	bn := newBench(b).repo()
	p := bn.open(codex)
	i := 0
	for b.Loop() {
		i++
		save(b, p, request("note", fmt.Sprintf("n-%d", i), "the importer keeps its place in a small file beside the source"))
	}
}

// BenchmarkResume is a briefing in a long-lived process.
func BenchmarkResume(b *testing.B) {
	bn := newBench(b).repo()
	p := bn.open(codex)
	for i := range 200 {
		save(b, p, request("note", fmt.Sprintf("n-%d", i), "the importer keeps its place in a small file beside the source"))
	}
	for b.Loop() {
		brief(b, p)
	}
}
