package project

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"holdfast/internal/durable"
	"holdfast/internal/ledger"
)

// faulty makes the file layer fail at its n-th call, once or from then on.
type faulty struct {
	n, calls int
	forever  bool
	err      error
	op       durable.Op
	name     string
}

func (f *faulty) hook(op durable.Op, name string) error {
	f.calls++
	if f.calls == f.n || f.forever && f.calls > f.n {
		if f.calls == f.n {
			f.op, f.name = op, filepath.Base(name)
		}
		return &fs.PathError{Op: string(op), Path: name, Err: f.err}
	}
	return nil
}

// TestCaseC005_FaultAtEveryCallOfASave: whatever call of the file layer fails
// while a save is under way, the caller learns of it, what was acknowledged
// before is there, and what was refused is not.
func TestCaseC005_FaultAtEveryCallOfASave(t *testing.T) {
	for _, kind := range []struct {
		name string
		err  error
	}{{"input/output error", syscall.EIO}, {"disk full", syscall.ENOSPC}, {"read-only", syscall.EROFS}} {
		for _, forever := range []bool{false, true} {
			name := kind.name + ", once"
			if forever {
				name = kind.name + ", for ever"
			}
			if kind.err != syscall.EIO && os.Getenv("HOLDFAST_TORTURE") == "" {
				continue // the same calls fail the same way: the long form tries them all
			}
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				reached := 0
				for n := 1; ; n++ {
					f := &faulty{n: n, forever: forever, err: kind.err}
					saveUnderFault(t, f)
					if f.calls < n {
						break
					}
					reached = n
				}
				if reached < 20 {
					t.Errorf("only %d calls were failed: the save doesn't go through the layer", reached)
				}
				t.Logf("%d calls of the file layer failed, one at a time", reached)
			})
		}
	}
}

func saveUnderFault(t *testing.T, f *faulty) {
	t.Helper()
	b := newBench(t)
	p := b.open(codex)
	save(t, p, request("note", "before", "acknowledged"))
	b.w.Layer.Fault = f.hook
	s, err := p.Record(context.Background(), []RecordRequest{request("note", "during", "maybe")})
	b.w.Layer.Fault = nil
	if f.calls < f.n {
		if err != nil {
			t.Fatalf("no fault, and an error: %v", err)
		}
		return
	}
	_, unknown := errors.AsType[*ledger.UnknownOutcomeError](err)
	if err == nil && s.Protected && len(s.Warnings) == 0 && harms(f) {
		t.Errorf("%s of %s failed, call %d, and nothing was told", f.op, f.name, f.n)
	}
	fresh := b.open(claude)
	got, rerr := fresh.Resume(context.Background(), ResumeRequest{})
	if rerr != nil {
		t.Fatalf("%s of %s failed, call %d: reading: %v (save: %v)", f.op, f.name, f.n, rerr, err)
	}
	there := " " + ids(got) + " "
	switch {
	case !strings.Contains(there, " before "):
		t.Errorf("%s of %s failed, call %d: an acknowledged record is gone", f.op, f.name, f.n)
	case err == nil && !strings.Contains(there, " during "):
		t.Errorf("%s of %s failed, call %d: acknowledged and not there", f.op, f.name, f.n)
	case err != nil && !unknown && strings.Contains(there, " during "):
		t.Errorf("%s of %s failed, call %d: refused (%v) and there", f.op, f.name, f.n, err)
	}
	if _, err := fresh.Record(context.Background(), []RecordRequest{request("note", "after", "later")}); err != nil {
		t.Errorf("%s of %s failed, call %d: the next save: %v", f.op, f.name, f.n, err)
	}
	noLitter(t, p, f)
}

// harms: a step whose failure can cost something. Reading and looking are done
// again or another way, and a lock is for fairness.
func harms(f *faulty) bool {
	switch f.op {
	case durable.OpWrite, durable.OpSync, durable.OpSyncDir, durable.OpLink, durable.OpRename:
		return f.name != "lock" && f.name != "mirror.lock"
	}
	return false
}

// noLitter: no temporary file stays, but for one whose removal was what failed.
func noLitter(t *testing.T, p *Project, f *faulty) {
	t.Helper()
	if f.op == durable.OpRemove || f.forever {
		return
	}
	left, err := os.ReadDir(filepath.Join(p.Path(), "gen", "0001", "tmp"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	for _, e := range left {
		t.Errorf("%s of %s failed, call %d: %s stays", f.op, f.name, f.n, e.Name())
	}
}
