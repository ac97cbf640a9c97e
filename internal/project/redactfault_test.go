package project

import (
	"context"
	"errors"
	"os"
	"syscall"
	"testing"
)

// TestCaseC005_FaultAtEveryCallOfARedaction: whatever call of the file layer
// fails while texts are erased, nobody is told that they are gone while they
// aren't, and whoever comes next finishes it.
func TestCaseC005_FaultAtEveryCallOfARedaction(t *testing.T) {
	for name, forever := range map[string]bool{"once": false, "for ever": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			reached := 0
			step := 7 // the long form fails them all
			if os.Getenv("HOLDFAST_TORTURE") != "" {
				step = 1
			}
			for n := 1; ; n += step {
				f := &faulty{n: n, forever: forever, err: syscall.EIO}
				redactUnderFault(t, f)
				if f.calls < n {
					break
				}
				reached = n
			}
			if reached < 40 {
				t.Errorf("only %d calls were failed", reached)
			}
			t.Logf("calls of the file layer failed one at a time, every %d. of %d", step, reached)
		})
	}
}

func redactUnderFault(t *testing.T, f *faulty) {
	t.Helper()
	b := newBench(t)
	ctx := context.Background()
	p := b.open(codex)
	save(t, p, request("note", "plain", "nothing to hide"))
	s := save(t, p, request("note", "leak", leaked))
	b.quarantine("original-1", "x\n"+leaked+"\ny\n")
	if err := p.Close(ctx); err != nil {
		t.Fatal(err)
	}
	q := RedactRequest{Revisions: []int64{s.Revision}}
	own := b.open(person)
	d, err := own.Redact(ctx, q)
	if err != nil {
		t.Fatal(err)
	}
	q.Expect = d.Fingerprint
	b.w.Layer.Fault = f.hook
	d, err = own.Redact(ctx, q)
	b.w.Layer.Fault = nil
	if f.calls < f.n {
		if err != nil {
			t.Fatalf("no fault, and an error: %v", err)
		}
		return
	}
	left := b.holds("battery")
	_, unfinished := errors.AsType[*RedactUnfinishedError](err)
	if err == nil && len(left) > 0 {
		t.Errorf("%s of %s failed, call %d: told as done, and it is in %v", f.op, f.name, f.n, left)
	}
	if d.Applied != (err == nil || unfinished) {
		t.Errorf("%s of %s failed, call %d: applied %v, and %v", f.op, f.name, f.n, d.Applied, err)
	}
	fresh := b.open(codex)
	got, rerr := fresh.Resume(ctx, ResumeRequest{})
	if rerr != nil {
		t.Fatalf("%s of %s failed, call %d: reading: %v (redact: %v)", f.op, f.name, f.n, rerr, err)
	}
	switch has := ids(got); {
	case d.Applied && has != "plain":
		t.Errorf("%s of %s failed, call %d: redacted and shown: %q", f.op, f.name, f.n, has)
	case !d.Applied && has != "leak plain" && has != "plain": // unknown outcome: either
		t.Errorf("%s of %s failed, call %d: has %q", f.op, f.name, f.n, has)
	}
	if left := b.holds("battery"); d.Applied && len(left) > 0 {
		t.Errorf("%s of %s failed, call %d: not finished, it is in %v (redact: %v)", f.op, f.name, f.n, left, err)
	}
	save(t, fresh, request("note", "after", "goes on"))
}
