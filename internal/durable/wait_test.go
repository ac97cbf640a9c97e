package durable

import (
	"errors"
	"os"
	"testing"
	"time"
)

// The turnstile: who finds it taken does not ask for the lock, but neither for
// ever nor when told not to wait.
func TestLockTurnstile(t *testing.T) {
	d, _ := tempDir(t, nil)
	put(t, d.join("lock"), "")
	f, err := os.OpenFile(d.join("lock"), os.O_RDWR, 0)
	check(t, err)
	defer f.Close()
	other, free, err := tryTurn(d, f)
	check(t, err)
	if !free {
		t.Fatal("the turn is taken")
	}
	defer other.leave()
	var waited time.Duration
	asked := 0
	d2 := openDir(t, &Layer{
		Sleep: func(p time.Duration) { waited += p },
		Trace: func(op Op, _ string) {
			if op == OpLock {
				asked++
			}
		},
	}, d.Path())
	k, err := d2.Lock(bg, "lock", time.Hour, "")
	check(t, err)
	check(t, k.Unlock())
	if waited < patience || waited > patience+maxPause || asked != 1 {
		t.Errorf("asked %d times, first after %v", asked, waited)
	}
	waited = 0
	for _, wait := range []time.Duration{0, 10 * time.Millisecond} {
		k, err = d2.Lock(bg, "lock", wait, "")
		check(t, err)
		check(t, k.Unlock())
	}
	if waited > 10*time.Millisecond+maxPause {
		t.Errorf("waited %v", waited)
	}
}

// Who has waited for long keeps the turn, and leaves it with the lock or the
// wait.
func TestLockTurnIsKeptByTheImpatient(t *testing.T) {
	d, _ := tempDir(t, nil)
	k, err := d.Lock(bg, "lock", 0, "holder")
	check(t, err)
	turnIsFree := func() bool {
		t.Helper()
		tn, free, err := tryTurn(d, k.f)
		check(t, err)
		if free {
			tn.leave()
		}
		return free
	}
	var waited time.Duration
	wait := time.Hour
	d2 := openDir(t, &Layer{Sleep: func(p time.Duration) {
		if free := turnIsFree(); free != (waited < impatience) {
			t.Errorf("after %v the turn is free: %v", waited, free)
		}
		if waited += p; waited > 2*impatience && wait == time.Hour {
			check(t, k.Unlock())
		}
	}}, d.Path())
	k2, err := d2.Lock(bg, "lock", wait, "waiter")
	check(t, err)
	k, wait, waited = k2, 2*impatience, 0
	if !turnIsFree() {
		t.Error("the turn stays with the holder")
	}
	_, err = d2.Lock(bg, "lock", wait, "late")
	var busy *BusyError
	if !errors.As(err, &busy) || !turnIsFree() {
		t.Errorf("got %v; is the turn free: %v", err, turnIsFree())
	}
	check(t, k2.Unlock())
}
