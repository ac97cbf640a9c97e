package index_test

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"iter"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

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

// Two indexes on one file, in one process and in others: followers, readers,
// and now and then one that discards it. All answers are right.
func TestManyFollowers(t *testing.T) {
	es := ledgertest.Entries(ledgertest.Key(), sample()...)
	dir := t.TempDir()
	var wg sync.WaitGroup
	for n := range 4 {
		wg.Go(func() {
			for round := range 6 {
				x, err := index.Open(t.Context(), index.Options{Dir: dir, Ledger: id})
				if err != nil {
					t.Error(err)
					return
				}
				if n == 0 && round%2 == 1 {
					if err := x.Discard(t.Context()); err != nil {
						t.Error(err)
					}
				}
				for upTo := 10 + n; upTo <= len(es); upTo += 13 {
					if msg := right(t.Context(), x, es[:upTo]); msg != "" {
						t.Errorf("follower %d: %s", n, msg)
					}
				}
				if err := x.Close(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	asked(t, open(t, index.Options{Dir: dir, Ledger: id}), es)
}

// right follows es and says what is wrong with the answers. The index may be
// ahead of es, by somebody else's doing.
func right(ctx context.Context, x *index.Index, es []ledger.Entry) string {
	for try := 0; ; try++ {
		msg, err := countRecords(ctx, x, es)
		var d *index.DamagedError
		var g *index.RegressedError
		switch {
		case errors.As(err, &d) && try < 50, errors.As(err, &g) && g.Base.Rev >= int64(len(es)):
			if g != nil {
				return "" // another one's log is longer
			}
			continue
		case err != nil:
			return err.Error()
		}
		return msg
	}
}

func countRecords(ctx context.Context, x *index.Index, es []ledger.Entry) (string, error) {
	if err := x.Follow(ctx, logOf(es)); err != nil {
		return "", err
	}
	base := x.Base()
	if base.Hash != "" && base.Rev >= int64(len(es)) {
		return "", nil
	}
	tail := es
	if base.Hash != "" {
		tail = es[base.Rev+1:]
	}
	v, err := x.View(ctx, tail)
	if err != nil {
		return "", err
	}
	var s ledger.State
	for _, e := range es {
		if err := s.Apply(e); err != nil {
			return "", err
		}
	}
	for _, f := range []ledger.FindState{ledger.FindOpen, ledger.FindFinished} {
		q := ledger.Query{Scope: ledger.All(), State: f}
		want, err := s.Find(ctx, q)
		if err != nil {
			return "", err
		}
		got, err := v.Find(ctx, q)
		if err != nil {
			return "", err
		}
		if got.Total != want.Total || len(got.Items) != len(want.Items) {
			return fmt.Sprintf("at revision %d there are %d (%d) records, want %d", v.Head().Rev, got.Total, len(got.Items), want.Total), nil
		}
	}
	return "", nil
}

// The environment variable that makes a test process a follower.
const followerEnv = "HOLDFAST_TEST_FOLLOWER"

// TestFollowerProcess is not a test: it follows until it is killed.
func TestFollowerProcess(t *testing.T) {
	dir := os.Getenv(followerEnv)
	if dir == "" {
		t.Skip("runs only as a process of TestKilledFollowers")
	}
	es := ledgertest.Entries(nil, many(3000)...)
	for {
		x, err := index.Open(context.Background(), index.Options{Dir: dir})
		if err != nil {
			t.Fatal(err)
		}
		x.Limits(0, 0, 2, 40, 1000)
		for upTo := 500; upTo <= len(es); upTo += 500 {
			if msg := right(context.Background(), x, es[:upTo]); msg != "" {
				t.Fatal(msg)
			}
		}
		if err := errors.Join(x.Discard(context.Background()), x.Close()); err != nil {
			t.Fatal(err)
		}
	}
}

// Processes that follow, discard and are killed at any moment leave a file that
// answers rightly.
func TestKilledFollowers(t *testing.T) {
	es := ledgertest.Entries(nil, many(3000)...)
	dir := t.TempDir()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	rounds := 12
	if testing.Short() {
		rounds = 3
	}
	for round := range rounds {
		var running []*exec.Cmd
		var outs []*bytes.Buffer
		for range 2 {
			c := exec.Command(self, "-test.run=^TestFollowerProcess$")
			c.Env = append(os.Environ(), followerEnv+"="+dir)
			var out bytes.Buffer
			c.Stdout, c.Stderr = &out, &out
			if err := c.Start(); err != nil {
				t.Fatal(err)
			}
			running, outs = append(running, c), append(outs, &out)
		}
		time.Sleep(time.Duration(100+round*137%500) * time.Millisecond)
		for i, c := range running {
			_ = c.Process.Kill()
			_ = c.Wait()
			if bytes.Contains(outs[i].Bytes(), []byte("FAIL")) {
				t.Errorf("follower: %s", outs[i])
			}
		}
		x, err := index.Open(t.Context(), index.Options{Dir: dir})
		if err != nil {
			t.Fatal(err)
		}
		upTo := 1000 + round*100
		if msg := right(t.Context(), x, es[:upTo]); msg != "" {
			t.Errorf("round %d: %s", round, msg)
		}
		if err := x.Close(); err != nil {
			t.Fatal(err)
		}
	}
	asked(t, open(t, index.Options{Dir: dir}), es[:3000])
}

// A view made before the file was deleted or made anew by somebody else answers
// rightly or says that it can't.
func TestViewOfReplacedFile(t *testing.T) {
	es := logEntries(t, 60)
	dir := t.TempDir()
	x, other := open(t, index.Options{Dir: dir}), open(t, index.Options{Dir: dir})
	follow(t, x, es[:40])
	v := view(t, x, es[40:])
	if err := other.Discard(t.Context()); err != nil {
		t.Fatal(err)
	}
	answers(t, v, es) // of the deleted file
	follow(t, other, es)
	answers(t, v, es)
	check(t, x, es) // takes the new file
	if x.Base() != es[59].Pos() || other.Base() != es[59].Pos() {
		t.Errorf("indexes are at %v and %v", x.Base(), other.Base())
	}
	if err := x.Discard(t.Context()); err != nil {
		t.Fatal(err)
	}
	var d *index.DamagedError
	if _, err := v.Versions(t.Context(), "r-1"); !errors.As(err, &d) {
		t.Errorf("view of a discarded index: %v, want a DamagedError", err)
	}
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
