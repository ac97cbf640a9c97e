package filelog

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"holdfast/internal/ledger"
)

// bare makes the same system calls as a save and nothing else: the measure that
// a save is held against.
type bare struct {
	dir  string
	line []byte
	n    int
}

func newBare(b *testing.B, loose int64) *bare {
	dir := b.TempDir()
	mkdir(b, filepath.Join(dir, "rev"))
	mkdir(b, filepath.Join(dir, "tmp"))
	for i := range loose { // a folder of its size
		check(b, os.WriteFile(filepath.Join(dir, "rev", revFile(1_000_000+i)), make([]byte, 700), 0o400))
	}
	return &bare{dir: dir, line: make([]byte, 700)}
}

func (x *bare) save(b *testing.B) {
	x.n++
	tmp, final := filepath.Join(x.dir, "tmp", "x"), filepath.Join(x.dir, "rev", revFile(int64(x.n)))
	f, err := os.OpenFile(tmp, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o400)
	check(b, err)
	_, err = f.Write(x.line)
	check(b, err)
	check(b, f.Sync())
	check(b, f.Close())
	check(b, os.Link(tmp, final))
	check(b, os.Remove(tmp))
	d, err := os.Open(filepath.Join(x.dir, "rev"))
	check(b, err)
	check(b, d.Sync())
	check(b, d.Close())
	m, err := os.OpenFile(filepath.Join(x.dir, "mirror"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	check(b, err)
	_, err = m.Write(x.line)
	check(b, err)
	check(b, m.Sync())
	check(b, m.Close())
}

func BenchmarkBare(b *testing.B) {
	x := newBare(b, 0)
	for b.Loop() {
		x.save(b)
	}
}

// locked saves as the hub does.
func locked(b *testing.B, l *Log, d ledger.Draft) {
	ctx := context.Background()
	unlock, err := l.Lock(ctx)
	check(b, err)
	p, err := l.Head(ctx)
	check(b, err)
	saved, err := l.Append(ctx, p, d)
	check(b, err)
	if !saved.Protected || len(saved.Warnings) > 0 {
		b.Fatalf("saved %+v", saved)
	}
	check(b, unlock())
}

var sizes = []int64{100, 10_000, 100_000}

// BenchmarkSave measures a long-lived process: Lock, Head, Append, unlock.
func BenchmarkSave(b *testing.B) {
	for _, n := range sizes {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			l, _ := seeded(b, testLog(b), n, plain)
			locked(b, l, note("warm"))
			for b.Loop() {
				locked(b, l, note(plain(0)))
			}
		})
	}
}

// BenchmarkSaveAgainstBare takes turns between a save and the bare calls, since
// a disk is not the same from one second to the next. x-bare is the ratio of the
// medians; the bar is 1.4.
func BenchmarkSaveAgainstBare(b *testing.B) {
	for _, n := range sizes {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			l, _ := seeded(b, testLog(b), n, plain)
			x := newBare(b, min(n, PackSize))
			locked(b, l, note("warm"))
			var bares, saves []time.Duration
			for b.Loop() {
				start := time.Now()
				x.save(b)
				mid := time.Now()
				locked(b, l, note(plain(0)))
				bares, saves = append(bares, mid.Sub(start)), append(saves, time.Since(mid))
			}
			b.ReportMetric(float64(median(saves))/float64(median(bares)), "x-bare")
			b.ReportMetric(float64(median(saves).Microseconds()), "µs/save")
			b.ReportMetric(float64(slices.Max(saves).Microseconds()), "µs-longest")
		})
	}
}

func median(ds []time.Duration) time.Duration {
	s := slices.Clone(ds)
	slices.Sort(s)
	return s[len(s)/2]
}

// BenchmarkHead measures a fresh process's first look at a ledger.
func BenchmarkHead(b *testing.B) {
	for _, n := range []int64{100, 2_000, 100_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			l, p := seeded(b, testLog(b), n, plain)
			for b.Loop() {
				h, err := l.again().Head(context.Background())
				if err != nil || h != p {
					b.Fatal(h, err)
				}
			}
		})
	}
}

// BenchmarkEntries reads and checks every entry, as a rebuilt index does. The
// bars are 150 MB/s of packs and 20,000 loose revisions a second.
func BenchmarkEntries(b *testing.B) {
	for _, n := range []int64{2_000, 52_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			l, p := seeded(b, testLog(b), n, plain)
			size := int64(0)
			for e := range l.Entries(context.Background(), ledger.Pos{}) {
				size += int64(len(e.Raw))
			}
			b.SetBytes(size)
			for b.Loop() {
				end, err := ledger.Verify(ledger.Pos{}, l.Entries(context.Background(), ledger.Pos{}))
				if err != nil || end != p {
					b.Fatal(end, err)
				}
			}
			b.ReportMetric(float64(n)*float64(b.N)/b.Elapsed().Seconds(), "entries/s")
		})
	}
}

// BenchmarkPackingSave is the save that packs: 1,000 revisions read, written
// once more and removed.
func BenchmarkPackingSave(b *testing.B) {
	for b.Loop() {
		b.StopTimer()
		l, p := seeded(b, testLog(b), MaxLoose, plain)
		head(b, l)
		b.StartTimer()
		add(b, l, p, note("packs"))
	}
}

func BenchmarkStamps(b *testing.B) {
	l, _ := seeded(b, testLog(b), 100_000, plain)
	for b.Loop() {
		s, err := l.Stamps(context.Background())
		if err != nil || len(s) < MaxLoose {
			b.Fatal(len(s), err)
		}
	}
}
