package durable

import (
	"errors"
	"testing"
	"time"
)

var errInUse = errors.New("used by another process")

// A file that others have open on Windows: rename fails a number of times.
func TestCaseC013_SharingConflictsAreWaitedOut(t *testing.T) {
	for _, tc := range []struct {
		times int
		ok    bool
	}{{0, true}, {1, true}, {3, true}, {1000, false}} {
		d, tmp := tempDir(t, nil)
		put(t, d.join("x"), "old")
		left, pauses := tc.times, []time.Duration{}
		d.l = &Layer{
			Retry: func(err error) bool { return errors.Is(err, errInUse) },
			Sleep: func(p time.Duration) { pauses = append(pauses, p) },
			Fault: func(op Op, _ string) error {
				if op == OpRename && left > 0 {
					left--
					return errInUse
				}
				if op == OpTruncate {
					t.Error("truncated")
				}
				return nil
			},
		}
		tmp.l = d.l
		err := d.Replace(tmp, "x", []byte("new"), 0o600)
		if (err == nil) != tc.ok {
			t.Fatalf("%d times: %v", tc.times, err)
		}
		if tc.ok {
			wantFile(t, d.join("x"), "new")
			if len(pauses) != tc.times {
				t.Errorf("%d pauses for %d failures", len(pauses), tc.times)
			}
			continue
		}
		wantIs(t, err, errInUse)
		wantFile(t, d.join("x"), "old")
		wantNoTemporaries(t, d.Path())
		var sum time.Duration
		for i, p := range pauses {
			if sum += p; i > 0 && p < pauses[i-1] {
				t.Errorf("a pause of %v after %v", p, pauses[i-1])
			}
		}
		if sum < retryFor || sum > retryFor+retryFor/4 {
			t.Errorf("waited %v in all", sum)
		}
	}
}

// Any other error is not worth a second try.
func TestCaseC013_OtherErrorsAreNotRetried(t *testing.T) {
	d, tmp := tempDir(t, nil)
	tries := 0
	d.l = &Layer{
		Sleep: func(time.Duration) { t.Error("paused") },
		Fault: func(op Op, _ string) error {
			if op == OpRename {
				tries++
				return errFull
			}
			return nil
		},
	}
	wantIs(t, d.Replace(tmp, "x", nil, 0o600), errFull)
	if tries != 1 {
		t.Errorf("%d tries", tries)
	}
}
