package filelog

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"holdfast/internal/durable"
	"holdfast/internal/ledger"
)

// recorder notes the steps that change something, with names for what is random.
type recorder struct{ steps []string }

func (r *recorder) layer(l *Log) *durable.Layer {
	return &durable.Layer{Trace: func(op durable.Op, path string) {
		switch op {
		case durable.OpOpen, durable.OpStat, durable.OpRead, durable.OpReadDir, durable.OpChmod, durable.OpClose:
			return
		}
		rel, err := filepath.Rel(filepath.Dir(l.p.Dir), path)
		if err != nil {
			rel = path
		}
		rel = strings.ReplaceAll(filepath.ToSlash(rel), l.id(), "ID")
		if durable.IsTemporary(filepath.Base(rel)) {
			rel = filepath.ToSlash(filepath.Dir(rel)) + "/TMP"
		}
		r.steps = append(r.steps, fmt.Sprintf("%s %s", op, rel))
	}}
}

func (r *recorder) flushes() (n int) {
	for _, s := range r.steps {
		if strings.HasPrefix(s, "sync") {
			n++
		}
	}
	return n
}

// A save is exactly these steps, in this order, three flushes among them: the
// revision's bytes before its name, its name before the mirror.
func TestOrderOfASave(t *testing.T) {
	l, p := made(t, 3)
	r := &recorder{}
	s := l.with(r.layer(l))
	p = add(t, s, p, note("the first one of a process"))
	r.steps = nil
	unlock, err := s.Lock(t.Context())
	check(t, err)
	if h := head(t, s); h != p {
		t.Fatalf("head %v", h)
	}
	add(t, s, p, note("x"))
	check(t, unlock())
	wantSteps := []string{
		"lock project/.holdfast/lock",
		"create project/.holdfast/gen/0001/tmp/TMP",
		"write project/.holdfast/gen/0001/tmp/TMP",
		"sync project/.holdfast/gen/0001/tmp/TMP",
		"link project/.holdfast/gen/0001/rev/00000005.json",
		"remove project/.holdfast/gen/0001/tmp/TMP",
		"syncdir project/.holdfast/gen/0001/rev",
		"lock state/ID/mirror.lock",
		"write state/ID/mirror.jsonl",
		"sync state/ID/mirror.jsonl",
	}
	got := slices.DeleteFunc(r.steps, func(s string) bool { // the lock's text, of whoever held it first
		return s == "create project/.holdfast/lock" || s == "write project/.holdfast/lock" || s == "write state/ID/mirror.lock"
	})
	if diff := cmp.Diff(wantSteps, got); diff != "" {
		t.Error(diff)
	}
	if n := r.flushes(); n != 3 {
		t.Errorf("%d flushes", n)
	}
}

// Completing the mirror flushes what others published, before the mirror has it.
func TestCompletingFlushesFirst(t *testing.T) {
	l, p := made(t, 3)
	put(t, l.mirror(), strings.Join(strings.SplitAfter(get(t, l.mirror()), "\n")[:2], ""))
	r := &recorder{}
	check(t, l.with(r.layer(l)).Secure(t.Context()))
	rev := slices.Index(r.steps, "syncdir project/.holdfast/gen/0001/rev")
	mirror := slices.Index(r.steps, "write state/ID/mirror.jsonl")
	if rev < 0 || mirror < rev {
		t.Errorf("steps %q", r.steps)
	}
	wantMirrored(t, l, p)

	// With nothing to complete both are flushed all the same: whoever wrote them
	// may not have got to it.
	r.steps = nil
	check(t, l.with(r.layer(l)).Secure(t.Context()))
	for _, step := range []string{"syncdir project/.holdfast/gen/0001/rev", "sync state/ID/mirror.jsonl"} {
		if !slices.Contains(r.steps, step) {
			t.Errorf("no %q in %q", step, r.steps)
		}
	}
}

// After a failed flush of the mirror its last line is written again: the system
// takes it for written, and it may not be.
func TestMirrorAfterAFailedFlush(t *testing.T) {
	l, p := made(t, 3)
	failing := true
	s := l.with(&durable.Layer{Fault: func(op durable.Op, path string) error {
		if failing && op == durable.OpSync && filepath.Base(path) == mirrorName {
			return errIO
		}
		return nil
	}})
	saved, err := s.Append(t.Context(), p, note("x"))
	check(t, err)
	if saved.Protected || len(saved.Warnings) == 0 {
		t.Fatalf("saved %+v", saved)
	}
	failing = false
	line := get(t, l.rev(saved.Rev))
	q := add(t, s, saved.Pos, note("y"))
	if n := strings.Count(get(t, l.mirror()), line); n != 2 {
		t.Errorf("the doubtful line stands %d times", n)
	}
	q = add(t, s, q, note("z"))
	if n := strings.Count(get(t, l.mirror()), line); n != 2 {
		t.Errorf("the doubtful line stands %d times", n)
	}
	verify(t, l, q)
}

// A lower revision is never appended behind a higher one of the same chain:
// whoever comes late finds its line there.
func TestMirrorIsNotAppendedBackwards(t *testing.T) {
	l, p := made(t, 2)
	other := l.again()
	head(t, other)
	var q ledger.Pos
	slow := l.with(when(durable.OpLock, mirrorLockName, func() { q = add(t, other, head(t, other), note("quicker")) }))
	saved, err := slow.Append(t.Context(), p, note("slow"))
	check(t, err)
	if !saved.Protected || q.Rev != saved.Rev+1 {
		t.Fatalf("%+v, then %v", saved, q)
	}
	if n := strings.Count(get(t, l.mirror()), "\n"); n != 5 {
		t.Errorf("%d lines in the mirror, want 5", n)
	}
	verify(t, l, q)
	wantMirrored(t, l, q)
	q = add(t, slow, q, note("next"))
	wantMirrored(t, l, q)
}

// Two mirrors that disagree by much are completed from where each is.
func TestMirrorGapIsFilled(t *testing.T) {
	l, _ := made(t, 4)
	first := strings.SplitAfter(get(t, l.mirror()), "\n")
	put(t, l.mirror(), first[0])
	p := fill(t, l.again(), 3)
	if n := strings.Count(get(t, l.mirror()), "\n"); n != 8 {
		t.Errorf("%d lines, want 8", n)
	}
	wantMirrored(t, l, p)
}
