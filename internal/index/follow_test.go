package index_test

import (
	"context"
	"database/sql"
	"errors"
	"iter"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"testing"

	"holdfast/internal/index"
	"holdfast/internal/ledger"
	"holdfast/internal/ledger/ledgertest"
)

func TestFollowChecksTheChain(t *testing.T) {
	es := logEntries(t, 10)
	other := ledgertest.Entries(ledgertest.OtherKey(), many(12)...)
	for name, c := range map[string]struct {
		before, after []ledger.Entry
		regressed     bool
		chain         bool
		base          int64
	}{
		"goes on":                    {es[:5], es, false, false, 9},
		"nothing new":                {es, es, false, false, 9},
		"log is shorter":             {es, es[:5], true, false, 9},
		"log is empty":               {es, nil, true, false, 9},
		"log is another":             {es[:5], other, true, false, 4},
		"log is another of the same": {es, other[:10], true, false, 9},
		"log differs at the end":     {es, ledgertest.Extend(es[:9:9], nil, ledgertest.Save(ledgertest.Record("x", ledger.KindNote, "another"))), true, false, 9},
		"a gap":                      {es[:3], append(es[:6:6], es[7:]...), false, true, 5},
		"a gap right behind":         {es[:3], append(es[:3:3], es[4:]...), false, true, 2},
		"broken chain":               {es[:3], append(es[:6:6], other[6:]...), false, true, 5},
	} {
		t.Run(name, func(t *testing.T) {
			for _, where := range []index.Options{{Dir: t.TempDir()}, {}} {
				x := open(t, where)
				follow(t, x, c.before)
				err := x.Follow(t.Context(), logOf(c.after))
				var regressed *index.RegressedError
				var chain *ledger.ChainError
				if errors.As(err, &regressed) != c.regressed || errors.As(err, &chain) != c.chain || (err != nil) != (c.regressed || c.chain) {
					t.Fatalf("follow: %v", err)
				}
				if c.regressed && regressed.Base != c.before[len(c.before)-1].Pos() {
					t.Errorf("regressed from %v", regressed.Base)
				}
				if got := x.Base(); got.Rev != c.base {
					t.Errorf("index is at %v, want revision %d", got, c.base)
				}
				if c.regressed {
					if err := x.Discard(t.Context()); err != nil {
						t.Fatal(err)
					}
					check(t, x, c.after)
				}
			}
		})
	}
}

// A read-only index that the log left behind is noticed too.
func TestRegressedReadOnly(t *testing.T) {
	es := logEntries(t, 10)
	dir := t.TempDir()
	follow(t, open(t, index.Options{Dir: dir}), es)
	x := open(t, index.Options{Dir: dir, ReadOnly: true})
	var regressed *index.RegressedError
	if err := x.Follow(t.Context(), logOf(es[:5])); !errors.As(err, &regressed) {
		t.Errorf("follow: %v, want a RegressedError", err)
	}
}

var errLog = errors.New("the log can't be read")

// failing is a log that fails behind n entries.
type failing struct {
	*ledgertest.Memory
	n int64
}

func (f failing) Entries(ctx context.Context, after ledger.Pos) iter.Seq2[ledger.Entry, error] {
	return func(yield func(ledger.Entry, error) bool) {
		for e, err := range f.Memory.Entries(ctx, after) {
			if e.Rev >= f.n {
				yield(ledger.Entry{}, errLog)
				return
			}
			if !yield(e, err) {
				return
			}
		}
	}
}

// An error of the log is passed on, and what came before it is kept.
func TestFollowFailingLog(t *testing.T) {
	es := logEntries(t, 700)
	for _, n := range []int64{0, 1, 255, 256, 257, 600} {
		x := open(t, index.Options{})
		if err := x.Follow(t.Context(), failing{logOf(es), n}); !errors.Is(err, errLog) {
			t.Errorf("log that fails at %d: %v", n, err)
		}
		check(t, x, es)
	}
}

func TestFollowStopsWithItsContext(t *testing.T) {
	es := logEntries(t, 700)
	x := open(t, index.Options{})
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if err := x.Follow(ctx, logOf(es)); !errors.Is(err, context.Canceled) {
		t.Errorf("follow: %v", err)
	}
	check(t, x, es)
}

func TestProgress(t *testing.T) {
	var got []int64
	x := open(t, index.Options{Progress: func(rev int64) { got = append(got, rev) }})
	x.Limits(500, 50, 6, 300, 5000)
	follow(t, x, logEntries(t, 1000))
	if len(got) < 2 || got[len(got)-1] != 999 {
		t.Errorf("progress %v", got)
	}
}

// A writer that holds the file is not waited for long, and makes nothing fail:
// the entries behind are folded.
func TestFollowWhileLocked(t *testing.T) {
	es := logEntries(t, 60)
	dir := t.TempDir()
	x := open(t, index.Options{Dir: dir, Ledger: id})
	follow(t, x, es[:20])
	db, err := sql.Open("sqlite", filepath.Join(dir, index.FileName))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	conn, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	lock := func(q string) {
		if _, err := conn.ExecContext(t.Context(), q); err != nil {
			t.Fatal(err)
		}
	}
	lock("BEGIN IMMEDIATE")
	follow(t, x, es)
	if x.Base() != es[19].Pos() || x.Where() != index.InCache {
		t.Errorf("index is at %v in %q", x.Base(), x.Where())
	}
	answers(t, view(t, x, es[20:]), es)
	if err := x.SetMeta(t.Context(), "a", "b"); !errors.Is(err, index.ErrNotKept) {
		t.Errorf("set a note: %v, want ErrNotKept", err)
	}
	lock("COMMIT")
	check(t, x, es)
	if x.Base() != es[59].Pos() {
		t.Errorf("index is at %v", x.Base())
	}
	lock("BEGIN EXCLUSIVE") // somebody was stopped in the middle of a commit
	asked(t, x, es)
	asked(t, open(t, index.Options{Dir: dir, Ledger: id, TempDir: t.TempDir()}), es)
	lock("COMMIT")
}

// A file that is being filled by somebody who is stopped can't be left behind:
// there is nothing to read in it.
func TestFollowWhileFillingIsStuck(t *testing.T) {
	es := logEntries(t, 60)
	dir := t.TempDir()
	x := open(t, index.Options{Dir: dir})
	db, err := sql.Open("sqlite", filepath.Join(dir, index.FileName))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.ExecContext(t.Context(), "BEGIN IMMEDIATE"); err != nil {
		t.Fatal(err)
	}
	check(t, x, es)
	if x.Where() != index.InMemory {
		t.Errorf("index is in %q", x.Where())
	}
}

// A view made before the file was emptied, filled again or deleted by somebody
// else answers rightly or says that it can't.
func TestViewOfReplacedFile(t *testing.T) {
	es := logEntries(t, 60)
	dir := t.TempDir()
	x, other := open(t, index.Options{Dir: dir}), open(t, index.Options{Dir: dir})
	follow(t, x, es[:40])
	v := view(t, x, es[40:])
	refuses := func(v *index.View) {
		t.Helper()
		var d *index.DamagedError
		if _, err := v.Versions(t.Context(), "r-1"); !errors.As(err, &d) {
			t.Errorf("view of a file that is gone: %v, want a DamagedError", err)
		}
	}
	if err := other.Discard(t.Context()); err != nil {
		t.Fatal(err)
	}
	refuses(v)
	follow(t, other, es[:30])
	refuses(v)
	follow(t, other, es[:50])
	answers(t, v, es)
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	refuses(v)
	check(t, x, es) // in a new file
	check(t, other, es)
	if x.Base() != es[59].Pos() || other.Base() != es[59].Pos() || x.Where() != index.InCache || other.Where() != index.InCache {
		t.Errorf("indexes are at %v in %q and %v in %q", x.Base(), x.Where(), other.Base(), other.Where())
	}
	w := view(t, x, nil)
	if err := x.Discard(t.Context()); err != nil {
		t.Fatal(err)
	}
	refuses(w)
}

func TestClosed(t *testing.T) {
	x, err := index.Open(t.Context(), index.Options{})
	if err != nil {
		t.Fatal(err)
	}
	v := view(t, x, nil)
	if err := errors.Join(x.Close(), x.Close()); err != nil {
		t.Fatal(err)
	}
	if _, err := v.Newer(t.Context()); err == nil {
		t.Error("a view of a closed index answers")
	}
	if err := x.Follow(t.Context(), logOf(logEntries(t, 2))); err == nil {
		t.Error("a closed index follows")
	}
	if err := x.SetMeta(t.Context(), "a", "b"); err == nil {
		t.Error("a closed index keeps notes")
	}
	if x.Base() != (ledger.Pos{}) {
		t.Error("a closed index has a position")
	}
}

func TestTailThatDoesNotFollow(t *testing.T) {
	es := logEntries(t, 10)
	x := open(t, index.Options{})
	follow(t, x, es[:5])
	for name, tail := range map[string][]ledger.Entry{"gap": es[6:], "overlap": es[4:], "gap inside": append(es[5:7:7], es[8:]...)} {
		var chain *ledger.ChainError
		if _, err := x.View(t.Context(), tail); !errors.As(err, &chain) {
			t.Errorf("%s: %v, want a ChainError", name, err)
		}
	}
}

func TestUseAtOnce(t *testing.T) {
	es := logEntries(t, 200)
	x := open(t, index.Options{Dir: t.TempDir()})
	follow(t, x, es[:50])
	var wg sync.WaitGroup
	for n := range 6 {
		wg.Go(func() {
			for i := 50; i <= 200; i += 10 {
				if n == 0 {
					if err := x.Follow(t.Context(), logOf(es[:i])); err != nil {
						t.Error(err)
					}
					continue
				}
				v, err := x.View(t.Context(), nil)
				if err != nil {
					t.Error(err)
					return
				}
				page, err := v.Find(t.Context(), ledger.Query{Scope: ledger.All(), Limit: 3})
				if err != nil || page.Total != int(v.Head().Rev) || page.Items[0].ID != "r-"+strconv.Itoa(page.Total) {
					t.Errorf("at %v: %d records, %v", v.Head(), page.Total, err)
				}
				if err := x.SetMeta(t.Context(), "n", strconv.Itoa(n)); err != nil && !errors.Is(err, index.ErrNotKept) {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
}
