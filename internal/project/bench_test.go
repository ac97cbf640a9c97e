package project

import (
	"fmt"
	"testing"
	"time"
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

// BenchmarkTransaction is each call of a transaction's life in a long-lived
// process, in milliseconds beside those of a save.
func BenchmarkTransaction(b *testing.B) {
	bn := newBench(b).repo()
	p := bn.open(codex)
	spent := map[string]time.Duration{}
	timed := func(name string, f func() error) {
		t := time.Now()
		if err := f(); err != nil {
			b.Fatal(err)
		}
		spent[name] += time.Since(t)
	}
	n := 0
	for b.Loop() {
		n++
		name, ctx := fmt.Sprintf("f-%d", n), b.Context()
		timed("save", func() error {
			_, err := p.Record(ctx, []RecordRequest{request("note", fmt.Sprintf("n-%d", n), "the importer keeps its place")})
			return err
		})
		var id, attempt string
		timed("begin", func() error {
			a, err := p.TxnBegin(ctx, beginJSON(fileOp(name, "new")), nil)
			id = a.Transaction
			return err
		})
		timed("attempt", func() error {
			a, err := p.TxnAttempt(ctx, fmt.Appendf(nil, `{"transaction":%q,"operation":0}`, id))
			attempt = a.Attempt
			return err
		})
		timed("observe", func() error {
			return second(p.TxnObserve(ctx, fmt.Appendf(nil, `{"transaction":%q}`, id)))
		})
		bn.put(name, "new")
		timed("report", func() error {
			return second(p.TxnReport(ctx, fmt.Appendf(nil, `{"transaction":%q,"attempt":%q,"outcome":"succeeded"}`, id, attempt)))
		})
	}
	for name, d := range spent {
		b.ReportMetric(d.Seconds()*1000/float64(n), name+"-ms")
	}
}
