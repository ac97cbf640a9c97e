package filelog

import (
	"errors"
	"strings"
	"testing"
	"time"

	"holdfast/internal/durable"
	"holdfast/internal/ledger"
)

// linkless is a layer over a file system that has neither hard links nor an
// exclusive rename: the final name is made itself.
func linkless(more func(op durable.Op, path string) error) *durable.Layer {
	return &durable.Layer{Fault: func(op durable.Op, path string) error {
		if strings.Contains(path, "/gen/") && (op == durable.OpLink || op == durable.OpRename) {
			return errNoLinks
		}
		if more != nil {
			return more(op, path)
		}
		return nil
	}}
}

func TestWithoutLinks(t *testing.T) {
	l := testLog(t).with(linkless(nil))
	create(t, l)
	p := fill(t, l, 5)
	verify(t, l, p)
	if found := l.temporaries(t); len(found) > 0 {
		t.Errorf("left: %v", found)
	}
}

// A newest revision that isn't whole is never skipped. Who doesn't hold the lock
// waits and is told that it is not whole yet; who holds it and sees it stay as
// it is says that it is damaged.
func TestUnfinishedRevision(t *testing.T) {
	for _, part := range []string{"", "{", `{"head":{"v":1,"rev":4`, strings.Repeat("\x00", 700)} {
		l, p := made(t, 3)
		put(t, l.rev(4), part)

		_, err := l.again().Head(t.Context())
		u := want[*UnfinishedError](t, err)
		if u.Rev != 4 || u.Path != l.rev(4) || !errors.As(err, new(*durable.BusyError)) {
			t.Errorf("%+v", u)
		}
		_, err = l.again().Append(t.Context(), p, note("over it"))
		want[*UnfinishedError](t, err)
		n := 0
		for _, err = range l.again().Entries(t.Context(), ledger.Pos{}) {
			n++
		}
		want[*UnfinishedError](t, err)
		if n != 5 {
			t.Errorf("%d entries and the error, want 4", n)
		}

		s := l.again()
		unlock, err := s.Lock(t.Context())
		check(t, err)
		_, err = s.Head(t.Context())
		d := wantDamage(t, err, DamageUnreadable)
		check(t, unlock())
		if get(t, l.rev(4)) != part {
			t.Error("it was changed")
		}

		// Once noted, nobody waits for it any more.
		l.m.LockWait = time.Hour
		check(t, l.NoteDamage(l.id(), d, time.Now()))
		_, err = l.again().Head(t.Context())
		want[*UnfinishedError](t, err)
	}
}

// A revision that is whole in the end was only waited for.
func TestRevisionInTheMaking(t *testing.T) {
	l, p := made(t, 3)
	e, err := ledger.Encode(p, note("slow"), make([]byte, 16), nil)
	check(t, err)
	l.m.LockWait = 10 * time.Second
	put(t, l.rev(4), string(e.Raw[:100]))
	time.AfterFunc(200*time.Millisecond, func() { put(t, l.rev(4), string(e.Raw)) })
	s := l.again()
	unlock, err := s.Lock(t.Context())
	check(t, err)
	if h := head(t, s); h != e.Pos() {
		t.Errorf("head %v", h)
	}
	check(t, unlock())
	time.Sleep(time.Millisecond)
	verify(t, l, add(t, l.again(), e.Pos(), note("next")))
}

// One that changes while it is looked at is being written, whoever holds the
// lock here: another kernel's writer can't be seen.
func TestRevisionThatGrows(t *testing.T) {
	l, _ := made(t, 3)
	put(t, l.rev(4), "{")
	n := 0
	s := l.with(&durable.Layer{Trace: func(op durable.Op, path string) {
		if op == durable.OpRead && path == l.rev(4) {
			n++
			put(t, l.rev(4), strings.Repeat("{", n))
		}
	}})
	unlock, err := s.Lock(t.Context())
	check(t, err)
	defer unlock()
	_, err = s.Head(t.Context())
	want[*UnfinishedError](t, err)
}

// A writer that dies half way through leaves what stops the next one, and a
// write that fails takes its part back.
func TestHalfWrittenRevision(t *testing.T) {
	l, p := made(t, 3)
	s := l.with(linkless(func(op durable.Op, path string) error {
		if op == durable.OpWrite && path == l.rev(4) {
			return &durable.ShortWrite{N: 50, Err: errFull}
		}
		return nil
	}))
	_, err := s.Append(t.Context(), p, note("x"))
	if err == nil || !durable.DiskFull(err) {
		t.Errorf("got %v", err)
	}
	verify(t, l, add(t, l.again(), p, note("now")))
}
