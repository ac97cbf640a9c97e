package index_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"testing"
	"time"

	"holdfast/internal/index"
	"holdfast/internal/ledger"
	"holdfast/internal/ledger/ledgertest"
)

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
