package ledgertest

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"time"

	"holdfast/internal/ledger"
)

// together runs f n times at once and waits for all.
func together(n int, f func(i int)) {
	var wg sync.WaitGroup
	start := make(chan struct{})
	for i := range n {
		wg.Go(func() { <-start; f(i) })
	}
	close(start)
	wg.Wait()
}

func (s *suite) firstRace(t *testing.T) {
	l := s.empty(t)
	contest(t, l, ledger.Pos{}, func(int) ledger.Draft { return s.zero(l) })
}

func (s *suite) race(t *testing.T) {
	l, p := s.started(t)
	for range 4 {
		p = contest(t, l, p, note)
	}
}

// contest lets 16 writers append at one place: one wins, the others learn of it.
func contest(t *testing.T, l ledger.Log, after ledger.Pos, draft func(i int) ledger.Draft) ledger.Pos {
	t.Helper()
	const n = 16
	saved, errs := make([]ledger.Saved, n), make([]error, n)
	together(n, func(i int) { saved[i], errs[i] = l.Append(t.Context(), after, draft(i)) })
	var won []ledger.Pos
	for i, err := range errs {
		if err == nil {
			won = append(won, saved[i].Pos)
		}
	}
	if len(won) != 1 {
		t.Fatalf("%d of %d appends at one place won; errors: %v", len(won), n, errs)
	}
	for _, err := range errs {
		if err != nil {
			if got := conflict(t, err); got != won[0] {
				t.Errorf("a loser was told %v, the winner is %v", got, won[0])
			}
		}
	}
	if got := head(t, l); got != won[0] {
		t.Errorf("head = %v, want %v", got, won[0])
	}
	verified(t, l)
	return won[0]
}

func (s *suite) writers(t *testing.T) {
	l, _ := s.started(t)
	const writers, saves = 8, 12
	var mu sync.Mutex
	acked := map[string]int64{}
	together(writers, func(w int) {
		for i := range saves {
			id := fmt.Sprintf("w%d-%d", w, i)
			saved, err := retry(t.Context(), l, Save(Record(id, ledger.KindNote, "From writer.")))
			if err != nil {
				t.Errorf("%s: %v", id, err)
				return
			}
			mu.Lock()
			acked[id] = saved.Rev
			mu.Unlock()
		}
	})
	es := verified(t, l)
	if len(es) != writers*saves+1 {
		t.Errorf("%d entries, want %d", len(es), writers*saves+1)
	}
	for _, e := range es[1:] {
		body, _, err := e.Body()
		if err != nil {
			t.Fatal(err)
		}
		id := body.Records[0].ID
		if rev, ok := acked[id]; !ok || rev != e.Rev {
			t.Errorf("%s stands at %d, acknowledged was %d", id, e.Rev, rev)
		}
		delete(acked, id)
	}
	for id, rev := range acked {
		t.Errorf("%s was acknowledged at %d and is lost", id, rev)
	}
}

// retry appends behind whatever head there is until the draft is in.
func retry(ctx context.Context, l ledger.Log, d ledger.Draft) (ledger.Saved, error) {
	d.At = At(1)
	p, err := l.Head(ctx)
	for err == nil {
		runtime.Gosched() // let others be first
		var saved ledger.Saved
		if saved, err = l.Append(ctx, p, d); err == nil {
			return saved, nil
		}
		var c *ledger.ConflictError
		if errors.As(err, &c) {
			p, err = c.Head, nil
		}
	}
	return ledger.Saved{}, err
}

func (s *suite) entriesMeanwhile(t *testing.T) {
	l, _ := s.started(t)
	ctx, stop := context.WithCancel(t.Context())
	var done sync.WaitGroup
	for range 3 {
		done.Go(func() {
			for seen := 0; ctx.Err() == nil; {
				es, err := collect(t.Context(), l, ledger.Pos{})
				if err != nil {
					t.Errorf("entries while others append: %v", err)
					return
				}
				if _, err := ledger.Verify(ledger.Pos{}, chainOf(es)); err != nil {
					t.Errorf("verify while others append: %v", err)
					return
				}
				if len(es) < seen {
					t.Errorf("%d entries, there were %d before", len(es), seen)
				}
				seen = len(es)
			}
		})
	}
	together(3, func(w int) {
		for i := range 15 {
			if _, err := retry(t.Context(), l, Save(Record(fmt.Sprintf("m%d-%d", w, i), ledger.KindNote, "Meanwhile."))); err != nil {
				t.Errorf("append: %v", err)
			}
		}
	})
	stop()
	done.Wait()
	if es := verified(t, l); len(es) != 46 {
		t.Errorf("%d entries, want 46", len(es))
	}
}

func chainOf(es []ledger.Entry) func(func(ledger.Entry, error) bool) {
	return func(yield func(ledger.Entry, error) bool) {
		for _, e := range es {
			if !yield(e, nil) {
				return
			}
		}
	}
}

func (s *suite) lock(t *testing.T) {
	l, p := s.started(t)
	locker, ok := l.(ledger.Locker)
	if !ok {
		t.Skip("this log has no lock")
	}
	unlock, err := locker.Lock(t.Context())
	if err != nil {
		t.Fatalf("lock: %v", err)
	}
	p = add(t, l, p, note(1)) // whoever holds the lock can save
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if second, err := locker.Lock(ctx); err == nil {
		second()
		t.Error("a second lock was given while the first is held")
	}
	if err := unlock(); err != nil {
		t.Fatalf("unlock: %v", err)
	}
	unlock, err = locker.Lock(t.Context())
	if err != nil {
		t.Fatalf("lock after unlock: %v", err)
	}
	add(t, l, p, note(2))
	if err := unlock(); err != nil {
		t.Fatalf("unlock: %v", err)
	}
}
