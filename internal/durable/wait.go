package durable

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"
)

// The pauses between two questions, and the turnstile's times (see waiter).
// With 8 savers on 2 cores they make a total of 1.1 times that of one process
// and a longest wait of 0.24 s; without the turnstile that was 0.5 s, and with
// saves of 20 ms more than the product's limit of 5 s.
const (
	firstPause = 200 * time.Microsecond
	maxPause   = 2 * time.Millisecond
	turnPause  = 100 * time.Microsecond // first one of who keeps the turn
	impatience = 200 * time.Millisecond // keep the turn from here on
	patience   = time.Second            // ask without the turn from here on
)

// waiter is one wait for a lock. Asking again and again is unfair by itself:
// who lets go and comes back at once finds the lock free, the others find it
// taken. So there is a turnstile in front: only who has the turn asks, and who
// has waited for long keeps the turn until the lock is his. It is for fairness
// alone: where there is none everybody asks, and a waiter that was stopped in
// its turn delays the others by the patience, no more.
type waiter struct {
	d      *Dir
	name   string
	path   string
	f      *os.File // nil: to be opened
	turn   *turn    // nil: not ours
	kept   bool     // the turn was ours during a pause
	wait   time.Duration
	waited time.Duration // sum of the pauses
	pause  time.Duration
}

// try asks once. A file that is not the one at the name any more is let go,
// since whoever holds the new one would not see us, and the new one is asked.
// The last time it asks without having the turn.
func (w *waiter) try(last bool) (bool, error) {
	for range openTries {
		if err := w.open(); err != nil {
			return false, err
		}
		if !w.takeTurn() && !last && w.waited < patience {
			return false, nil
		}
		held, err := w.ask()
		if err != nil || !held {
			return false, err
		}
		current, err := w.current()
		if err != nil || current {
			return current, err
		}
		w.release()
	}
	return false, nil
}

func (w *waiter) open() error {
	if w.f != nil {
		return nil
	}
	f, _, created, err := w.d.openOrCreate(w.name, os.O_RDWR, plain(0o600))
	if err != nil {
		return err
	}
	w.f = f
	if created {
		_, _ = w.d.dress(f, w.path, plain(0o600)) // for root: the owner
	}
	return nil
}

func (w *waiter) ask() (held bool, err error) {
	l := w.d.l
	err = l.do(OpLock, w.path, func() (err error) { held, err = tryLock(w.f); return err })
	if err != nil && hasNoLocks(err) {
		err = fmt.Errorf("%w: %w", ErrLockUnsupported, err)
	}
	return held, err
}

// takeTurn reports whether the turn is ours, or can't be had here at all.
func (w *waiter) takeTurn() bool {
	if w.turn != nil || w.wait <= 0 {
		return true
	}
	t, free, err := tryTurn(w.d, w.f)
	if err == nil && free {
		w.turn = t
	}
	return err != nil || free
}

func (w *waiter) leaveTurn() {
	if w.turn != nil {
		w.turn.leave()
		w.turn = nil
	}
}

// current reports whether the name still leads to the open file.
func (w *waiter) current() (bool, error) {
	info, err := w.d.l.fstat(w.f, w.path)
	if err != nil {
		return false, err
	}
	now, err := w.d.Lstat(w.name)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil && os.SameFile(info, now), err
}

// release closes the file, and with it the lock.
func (w *waiter) release() {
	w.leaveTurn()
	if w.f != nil {
		_ = unlock(w.f)
		w.f.Close()
		w.f = nil
	}
}

// sleep pauses, each time a little longer, until ctx is done.
func (w *waiter) sleep(ctx context.Context) {
	if w.turn != nil && !w.kept {
		w.kept, w.pause = true, turnPause
	}
	p := w.pause
	if w.kept {
		w.pause = min(p+p/16, maxPause)
	} else {
		w.pause = min(p*3/2, maxPause)
	}
	w.waited += p
	if l := w.d.l; l != nil && l.Sleep != nil {
		l.Sleep(p)
		return
	}
	t := time.NewTimer(p)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}
