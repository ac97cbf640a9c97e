package index_test

import (
	"bytes"
	"context"
	"fmt"
	"iter"
	"math/rand"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"holdfast/internal/index"
	"holdfast/internal/ledger"
	"holdfast/internal/ledger/ledgertest"
)

// corpus makes entries as agents make them: records of all kinds by several
// clients, each save with its key, a fifth of them later closed or corrected,
// on a default branch with a commit every 20 saves, and some on branches that
// were merged, or not.
type corpus struct {
	mu    sync.Mutex
	made  map[int]pack
	words []string
}

// pack is a log that lies in memory as it would in a file: reading it costs
// the same, and the collector has nothing to follow.
type pack struct {
	lines []byte
	last  ledger.Pos
}

func (p pack) Entries(_ context.Context, after ledger.Pos) iter.Seq2[ledger.Entry, error] {
	return func(yield func(ledger.Entry, error) bool) {
		for line := range bytes.Lines(p.lines) {
			e, err := ledger.Parse(line)
			if err == nil && e.Rev < after.Next() {
				continue
			}
			if !yield(e, err) || err != nil {
				return
			}
		}
	}
}

var shared corpus

func (c *corpus) log(tb testing.TB, n int) pack {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.made == nil {
		c.made = map[int]pack{}
	}
	if c.made[n].lines == nil {
		c.made[n] = c.make(tb, n)
	}
	return c.made[n]
}

func (c *corpus) make(tb testing.TB, n int) pack {
	r := rand.New(rand.NewSource(1))
	c.words = c.words[:0]
	for range 20000 {
		b := make([]byte, 3+r.Intn(8))
		for i := range b {
			b[i] = byte('a' + r.Intn(26))
		}
		c.words = append(c.words, string(b))
	}
	zipf := rand.NewZipf(r, 1.1, 4, uint64(len(c.words)-1))
	text := func(words int) string {
		var b strings.Builder
		for range words {
			b.WriteString(c.words[zipf.Uint64()])
			b.WriteByte(' ')
		}
		return b.String()
	}
	var lines []byte
	count := 0
	salt := make([]byte, 16)
	var pos ledger.Pos
	push := func(d ledger.Draft) {
		r.Read(salt)
		d.At = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).Add(time.Duration(count) * time.Minute)
		e, err := ledger.Encode(pos, d, salt, ledgertest.Key())
		if err != nil {
			tb.Fatal(err)
		}
		pos = e.Pos()
		lines = append(lines, e.Raw...)
		count++
	}
	push(ledgertest.First())
	type made struct {
		id  string
		rev int64
	}
	var open []made
	for count < n {
		g := ledger.Git{Branch: "main", Commit: ledgertest.ID(count / 20), Base: ledgertest.ID(count / 20)}
		switch k := count; {
		case k%1000 > 900:
			g = ledger.Git{Branch: fmt.Sprintf("feature/%d", k/1000), Commit: ledgertest.ID(1_000_000 + k/20), Base: ledgertest.ID(k / 20)}
		}
		if len(open) > 200 && r.Intn(5) == 0 {
			i := r.Intn(len(open))
			m := open[i]
			open[i] = open[len(open)-1]
			open = open[:len(open)-1]
			push(ledgertest.On(ledgertest.WithKey(ledgertest.Status(m.id, m.rev, ledger.StatusDone), fmt.Sprintf("done-%d", count)), g))
			continue
		}
		kind := ledger.Kinds[r.Intn(len(ledger.Kinds))]
		rec := ledgertest.Record(fmt.Sprintf("%s-%s-%d", c.words[r.Intn(500)], c.words[r.Intn(500)], count), kind, text(25)+"common")
		rec.Why, rec.Source = text(8), "said in the session"
		if kind == ledger.KindNext {
			open = append(open, made{rec.ID, int64(count)})
		}
		push(ledgertest.On(ledgertest.WithKey(ledgertest.Save(rec), fmt.Sprintf("save-%d", count)), g))
	}
	return pack{lines, pos}
}

func BenchmarkRebuild(b *testing.B) {
	const n = 100_000
	log := shared.log(b, n)
	cpu := cpuTime()
	for b.Loop() {
		dir := b.TempDir()
		x := open(b, index.Options{Dir: dir})
		if err := x.Follow(b.Context(), log); err != nil {
			b.Fatal(err)
		}
		fi, _ := os.Stat(filepath.Join(dir, index.FileName))
		b.ReportMetric(float64(fi.Size())/n, "bytes/entry")
	}
	b.ReportMetric(float64(b.N*n)/b.Elapsed().Seconds(), "entries/s")
	b.ReportMetric(float64((cpuTime()-cpu).Microseconds())/float64(b.N*n), "cpu-µs/entry")
}

// built gives an index of n entries that is kept for all benchmarks.
func built(b *testing.B, n int) string {
	b.Helper()
	dir := b.TempDir()
	x := open(b, index.Options{Dir: dir})
	if err := x.Follow(b.Context(), shared.log(b, n)); err != nil {
		b.Fatal(err)
	}
	return dir
}

// linear is a history without merges: whatever was made on the default branch
// is in force everywhere.
type linear struct{}

func (linear) Ancestor(c string) bool   { return c < ledgertest.ID(1_000_000) }
func (linear) Tip(string) string        { return "" }
func (linear) Reaches(_, _ string) bool { return true }

// BenchmarkFindOpen is what a briefing asks, opening the file included: each
// kind's open records, what was finished, what is elsewhere, what happened last.
func BenchmarkFindOpen(b *testing.B) {
	for _, n := range []int{1000, 10_000, 100_000} {
		for _, branch := range []string{"", "main", "feature/0"} {
			name := branch
			if name == "" {
				name = "everything"
			}
			b.Run(fmt.Sprintf("%s/%d", name, n), func(b *testing.B) {
				dir := built(b, n)
				cpu := cpuTime()
				for b.Loop() {
					x, err := index.Open(b.Context(), index.Options{Dir: dir, Ledger: ledgertest.LedgerID})
					if err != nil {
						b.Fatal(err)
					}
					brief(b, x, branch)
					if err := x.Close(); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64((cpuTime()-cpu).Microseconds())/1000/float64(b.N), "cpu-ms/op")
			})
		}
	}
}

func brief(b *testing.B, x *index.Index, branch string) {
	ctx := b.Context()
	v, err := x.View(ctx, nil)
	if err != nil {
		b.Fatal(err)
	}
	scope := ledger.All()
	if branch != "" {
		uses, err := v.Commits(ctx)
		if err != nil {
			b.Fatal(err)
		}
		carries, err := v.Carries(ctx)
		if err != nil {
			b.Fatal(err)
		}
		scope = ledger.NewScope(ledger.Place{Git: ledger.Git{Branch: branch}, Default: "main"}, uses, carries, linear{})
	}
	for _, k := range ledger.Kinds {
		if _, err := v.Find(ctx, ledger.Query{Scope: scope, Kinds: []string{k}, Limit: 20}); err != nil {
			b.Fatal(err)
		}
	}
	since := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).Add(time.Duration(v.Head().Rev-10000) * time.Minute).Format(ledger.TimeLayout)
	if _, err := v.Find(ctx, ledger.Query{Scope: scope, State: ledger.FindFinished, Since: since, Limit: 20}); err != nil {
		b.Fatal(err)
	}
	if _, err := v.Elsewhere(ctx, scope); err != nil {
		b.Fatal(err)
	}
	if _, err := v.Events(ctx, ledger.EventQuery{Since: -1, Limit: 20}); err != nil {
		b.Fatal(err)
	}
}

func BenchmarkSearch(b *testing.B) {
	const n = 100_000
	x, err := index.Open(b.Context(), index.Options{Dir: built(b, n)})
	if err != nil {
		b.Fatal(err)
	}
	defer x.Close()
	w := shared.words
	for _, q := range []struct{ name, text string }{
		{"Word/everywhere", "common"}, {"Word/often", w[0]}, {"Word/seldom", w[3000]}, {"Word/two", w[0] + " " + w[1]}, {"Word/four", strings.Join(w[:3], " ") + " common"},
		{"Phrase/often", `"` + w[0] + " " + w[1] + `"`}, {"Phrase/end", `"` + w[0] + ` common"`}, {"Phrase/seldom", `"` + w[200] + " " + w[0] + `"`},
		{"Prefix/1", "a*"}, {"Prefix/2", "ab*"}, {"Prefix/3", w[0][:3] + "*"}, {"Prefix/everywhere", "comm*"}, {"Prefix/mixed", "common a*"}, {"Prefix/two", w[0][:3] + "* " + w[1][:3] + "*"},
		{"Nothing", ""},
	} {
		for _, history := range []bool{false, true} {
			b.Run(fmt.Sprintf("%s/history=%v", q.name, history), func(b *testing.B) {
				cpu := cpuTime()
				for b.Loop() {
					v, err := x.View(b.Context(), nil)
					if err != nil {
						b.Fatal(err)
					}
					if _, err := v.Search(b.Context(), index.SearchQuery{Text: q.text, Scope: ledger.All(), History: history}); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64((cpuTime()-cpu).Microseconds())/1000/float64(b.N), "cpu-ms/op")
			})
		}
	}
}

// BenchmarkFollowOne is what one save costs the index of a large ledger.
func BenchmarkFollowOne(b *testing.B) {
	const n = 100_000
	last := shared.log(b, n).last
	x, err := index.Open(b.Context(), index.Options{Dir: built(b, n)})
	if err != nil {
		b.Fatal(err)
	}
	defer x.Close()
	cpu := cpuTime()
	for b.Loop() {
		b.StopTimer()
		d := ledgertest.WithKey(ledgertest.Save(ledgertest.Record(fmt.Sprintf("new-%d", last.Rev), ledger.KindNote, "one more record of a few words")), fmt.Sprint(last.Rev))
		e, err := ledger.Encode(last, d, make([]byte, 16), ledgertest.Key())
		if err != nil {
			b.Fatal(err)
		}
		last = e.Pos()
		log := logOf([]ledger.Entry{e})
		b.StartTimer()
		if err := x.Follow(b.Context(), log); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64((cpuTime()-cpu).Microseconds())/1000/float64(b.N), "cpu-ms/op")
}

// BenchmarkEvents looks for entries of a type that there are few of.
func BenchmarkEvents(b *testing.B) {
	const n = 100_000
	x, err := index.Open(b.Context(), index.Options{Dir: built(b, n)})
	if err != nil {
		b.Fatal(err)
	}
	defer x.Close()
	for _, q := range []ledger.EventQuery{{Since: -1, Limit: 50}, {Since: -1, Kind: ledger.TypeCheck, Limit: 50}, {Since: -1, Kind: ledger.KindNext, Limit: 50}} {
		b.Run("kind="+q.Kind, func(b *testing.B) {
			for b.Loop() {
				v, err := x.View(b.Context(), nil)
				if err != nil {
					b.Fatal(err)
				}
				if _, err := v.Events(b.Context(), q); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
