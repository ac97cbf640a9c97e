package web

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"holdfast/internal/project"
)

// BenchmarkPages measures pages of a large ledger, one save an entry:
//
//	HOLDFAST_BENCH_ENTRIES=100000 go test ./internal/web -run '^$' -bench Pages -benchtime 20x
//
// The figures are of the whole request over loopback; B/page is a page's size.
func BenchmarkPages(b *testing.B) {
	n := 1000
	fmt.Sscan(os.Getenv("HOLDFAST_BENCH_ENTRIES"), &n)
	h := newHouse(b)
	fillEntries(b, h, n)
	h.serve(0)
	c := h.client()
	for _, p := range append(pageList, struct{ name, path string }{"deep", fmt.Sprintf("timeline?before=%d", n/2)}, struct{ name, path string }{"typing", "search?q=rea&typing=1"}, struct{ name, path string }{"seldom", "search?q=9999&typing=1"},
		struct{ name, path string }{"rare", "timeline?actor=nobody"}, struct{ name, path string }{"page40", "list?section=notes&page=40"}) {
		b.Run(p.name, func(b *testing.B) {
			size := int64(0)
			for b.Loop() {
				res, err := c.Get(h.at(p.path))
				if err != nil {
					b.Fatal(err)
				}
				size, err = io.Copy(io.Discard, res.Body)
				res.Body.Close()
				if err != nil || res.StatusCode >= 500 {
					b.Fatal(res.Status, err)
				}
			}
			b.ReportMetric(float64(size), "B/page")
		})
	}
	if dir := os.Getenv("HOLDFAST_SHOTS"); dir != "" {
		t := h.enter()
		for _, name := range []string{"", "timeline", "search?q=reader", "map", "list?section=notes"} {
			t.open(h.at(name)).until("document.readyState === 'complete'")
			t.shot(filepath.Join(dir, fmt.Sprintf("many-%d-%.4s.png", n, name+"now")))
		}
	}
}

// fillEntries saves n entries, one record each.
func fillEntries(tb testing.TB, h *house, n int) {
	tb.Helper()
	if err := os.WriteFile(filepath.Join(h.dir, "writer.go"), []byte("package p\n"), 0o600); err != nil {
		tb.Fatal(err)
	}
	kinds := []string{"note", "next", "decision", "question"}
	p := h.open(codex)
	began := time.Now()
	for i := range n {
		r := request(kinds[i%4], fmt.Sprintf("r-%06d", i), fmt.Sprintf("Record %d of many: keep the reader of part %d apart from the writer", i, i%97))
		r.Why = str(fmt.Sprintf("Part %d was torn when both wrote, and nobody saw it for %d days", i%97, i%13))
		if _, err := p.Record(context.Background(), []project.RecordRequest{r}); err != nil {
			tb.Fatal(err)
		}
	}
	tb.Logf("%d entries in %v", n, time.Since(began))
}

// TestPagesStaySmall: no page grows with the ledger.
func TestPagesStaySmall(t *testing.T) {
	h := filled(t, 3000).serve(0)
	for _, p := range append(pageList, struct{ name, path string }{"page", "list?section=notes&page=5"}) {
		status, body := h.get(p.path)
		if status >= http.StatusInternalServerError || len(body) > 200_000 {
			t.Errorf("%s: %d, %d bytes", p.name, status, len(body))
		}
	}
}
