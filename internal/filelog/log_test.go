package filelog

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"testing"

	"holdfast/internal/durable"
	"holdfast/internal/ledger"
)

func TestSaveAndReopen(t *testing.T) {
	l, p := made(t, 5)
	verify(t, l, p)
}

// Without a ledger there is nothing to read, and nothing is made by reading.
func TestReadingNothing(t *testing.T) {
	l := testLog(t)
	before := snapshot(t, l.p.Dir, l.m.State[0])
	if h := head(t, l); h != (ledger.Pos{}) {
		t.Errorf("head = %v", h)
	}
	for range l.Entries(t.Context(), ledger.Pos{}) {
		t.Error("an entry of nothing")
	}
	if _, err := l.Entry(t.Context(), 0); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("entry: %v", err)
	}
	if s, err := l.Stamps(t.Context()); err != nil || len(s) > 0 {
		t.Errorf("stamps: %v, %v", s, err)
	}
	if err := l.Secure(t.Context()); !errors.Is(err, ErrNone) {
		t.Errorf("secure: %v", err)
	}
	same(t, before, snapshot(t, l.p.Dir, l.m.State[0]))
}

func same(t testing.TB, before, after map[string]string) {
	t.Helper()
	for path, was := range before {
		if is, there := after[path]; !there {
			t.Errorf("%s is gone", path)
		} else if is != was {
			t.Errorf("%s changed", path)
		}
	}
	for path := range after {
		if _, there := before[path]; !there {
			t.Errorf("%s is new", path)
		}
	}
}

// Every way of reading leaves every byte and every time as it was, and asks the
// file layer for nothing that writes.
func TestReadingWritesNothing(t *testing.T) {
	l, p := made(t, 5)
	before := snapshot(t, l.p.Dir, l.m.State[0])
	reader := l.with(&durable.Layer{Trace: func(op durable.Op, path string) {
		switch op {
		case durable.OpOpen, durable.OpStat, durable.OpRead, durable.OpReadDir, durable.OpClose:
		default:
			t.Errorf("reading does %s on %s", op, path)
		}
	}})
	ctx := t.Context()
	verify(t, reader, p)
	if e, err := reader.Entry(ctx, 3); err != nil || e.Rev != 3 {
		t.Errorf("entry: %v, %v", e.Rev, err)
	}
	if s, err := reader.Stamps(ctx); err != nil || len(s) != 6 {
		t.Errorf("%d stamps, %v", len(s), err)
	}
	if _, err := reader.Redactions(ctx); err != nil {
		t.Error(err)
	}
	if d, err := reader.Describe(ctx, nil); err != nil || d.Entries != 6 || d.Err != nil {
		t.Errorf("describe: %+v, %v", d, err)
	}
	if g, err := reader.Generations(ctx); err != nil || len(g) != 1 || g[0].Head != 5 {
		t.Errorf("generations: %+v, %v", g, err)
	}
	for range reader.Salvage(ctx) {
	}
	for _, m := range reader.Mirrors(ctx, l.id()) {
		for _, err := range reader.MirrorEntries(ctx, m) {
			check(t, err)
		}
	}
	same(t, before, snapshot(t, l.p.Dir, l.m.State[0]))
}

// A deleted folder is noticed, by the process that used it and by every other.
func TestDeletedFolderIsNoticed(t *testing.T) {
	for _, part := range []string{"", "FORMAT", "gen", "gen/0001", "gen/0001/rev"} {
		t.Run("without "+part, func(t *testing.T) {
			l, p := made(t, 3)
			check(t, os.RemoveAll(l.at(part)))
			for _, l := range []*Log{l, l.again()} {
				for _, after := range []ledger.Pos{{}, p} {
					err := refuses(t, l, after)
					if lost, ok := errors.AsType[*LostError](err); ok {
						if lost.Saves != 3 || lost.ID == "" {
							t.Errorf("lost: %+v", lost)
						}
					} else {
						wantDamage(t, err, DamageGone)
					}
				}
				if _, err := l.Head(t.Context()); !Damaged(err) {
					t.Errorf("head: %v", err)
				}
			}
		})
	}
}

// The project's own folder is never made: a ledger of a folder that is gone
// would be found by nobody.
func TestProjectFolderIsNotMade(t *testing.T) {
	l := testLog(t)
	check(t, os.Remove(l.p.Dir))
	if _, err := l.Append(t.Context(), ledger.Pos{}, ledger.Draft{Type: ledger.TypeLedger}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("append: %v", err)
	}
	if _, err := os.Lstat(l.p.Dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the folder was made: %v", err)
	}
}

func TestEntriesBehindAPositionOfAnotherHistory(t *testing.T) {
	l, p := made(t, 5)
	other, q := made(t, 5)
	_ = other
	for _, after := range []ledger.Pos{{Rev: 2, Hash: p.Hash}, {Rev: 3, Hash: q.Hash}} {
		var got error
		for _, err := range l.Entries(t.Context(), after) {
			got = err
			break
		}
		if _, ok := errors.AsType[*ledger.ChainError](got); !ok {
			t.Errorf("got %v", got)
		}
		if _, ok := errors.AsType[*DamageError](got); ok {
			t.Errorf("a caller's wrong position counts as damage: %v", got)
		}
	}
	verify(t, l, p)
}

func TestLock(t *testing.T) {
	l, p := made(t, 1)
	unlock, err := l.Lock(t.Context())
	check(t, err)
	_, err = l.again().Lock(t.Context())
	busy := want[*durable.BusyError](t, err)
	if busy.Holder != "test" {
		t.Errorf("holder %q", busy.Holder)
	}
	add(t, l, p, note("under the lock"))
	check(t, unlock())
	check(t, unlock()) // twice is harmless
	if n := l.locked.Load(); n != 0 {
		t.Errorf("%d locks counted", n)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := l.Lock(ctx); err == nil {
		t.Error("a cancelled wait got the lock")
	}
}
