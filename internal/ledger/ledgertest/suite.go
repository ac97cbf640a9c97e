package ledgertest

import (
	"bytes"
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"holdfast/internal/ledger"
)

// Option widens the suite for logs that can do more.
type Option func(*suite)

// Reopen lets the suite close a log and open what it kept once more. f gets the
// closed log.
func Reopen(f func(t *testing.T, closed ledger.Log) ledger.Log) Option {
	return func(s *suite) { s.reopen = f }
}

// FirstDraft says what revision 0 of a log must be, for a log that knows its
// id before its first entry.
func FirstDraft(f func(l ledger.Log) ledger.Draft) Option {
	return func(s *suite) { s.first = f }
}

type suite struct {
	open   func(t *testing.T) ledger.Log
	reopen func(t *testing.T, closed ledger.Log) ledger.Log
	first  func(ledger.Log) ledger.Draft
}

// Run checks that the logs which open makes are what ledger.Log promises. Each
// call of open makes a new, empty log; Run closes it.
func Run(t *testing.T, open func(t *testing.T) ledger.Log, opts ...Option) {
	s := &suite{open: open, first: func(ledger.Log) ledger.Draft { return First() }}
	for _, o := range opts {
		o(s)
	}
	for _, c := range []struct {
		name string
		test func(*testing.T)
	}{
		{"EmptyHead", s.emptyHead},
		{"FirstAppendIsRevisionZero", s.firstAppend},
		{"FirstAppendIsDecidedOnce", s.firstRace},
		{"RoundTrip", s.roundTrip},
		{"OddText", s.oddText},
		{"LargestEntry", s.largestEntry},
		{"TooLargeIsNotSaved", s.tooLarge},
		{"StaleAppendConflicts", s.stale},
		{"WrongHashConflicts", s.wrongHash},
		{"RaceAtOnePositionHasOneWinner", s.race},
		{"WritersThatRetryLoseNothing", s.writers},
		{"EntriesFromEveryPosition", s.entriesFrom},
		{"EntriesCanBeLeftEarly", s.leaveEarly},
		{"EntriesWhileOthersAppend", s.entriesMeanwhile},
		{"CancelledBeforeAppendSavesNothing", s.cancelledBefore},
		{"CancelledMeanwhileIsAllOrNothing", s.cancelledMeanwhile},
		{"CancelledReadingIsNoShortRead", s.cancelledReading},
		{"CloseTwice", s.closeTwice},
		{"Lock", s.lock},
		{"ReopenKeepsEverything", s.reopened},
	} {
		t.Run(c.name, c.test)
	}
}

func (s *suite) empty(t *testing.T) ledger.Log {
	t.Helper()
	l := s.open(t)
	t.Cleanup(func() { l.Close() })
	return l
}

// started is a log with revision 0, and its head.
func (s *suite) started(t *testing.T) (ledger.Log, ledger.Pos) {
	t.Helper()
	l := s.empty(t)
	return l, add(t, l, ledger.Pos{}, s.zero(l))
}

func (s *suite) zero(l ledger.Log) ledger.Draft {
	d := s.first(l)
	if d.At.IsZero() {
		d.At = At(0)
	}
	return d
}

func (s *suite) emptyHead(t *testing.T) {
	l := s.empty(t)
	if got := head(t, l); got != (ledger.Pos{}) {
		t.Errorf("head of an empty log = %v, want the zero position", got)
	}
	if es := all(t, l); len(es) != 0 {
		t.Errorf("an empty log has %d entries", len(es))
	}
}

func (s *suite) firstAppend(t *testing.T) {
	l, p := s.started(t)
	if p.Rev != 0 || p.Hash == "" {
		t.Fatalf("position of the first entry = %v, want revision 0 with a hash", p)
	}
	es := all(t, l)
	if len(es) != 1 {
		t.Fatalf("%d entries, want 1", len(es))
	}
	e := es[0]
	if e.Type != ledger.TypeLedger || e.Rev != 0 || e.Prev != "" || e.Ledger == "" || e.Pos() != p {
		t.Errorf("first entry: type %q, rev %d, prev %q, ledger %q, position %v", e.Type, e.Rev, e.Prev, e.Ledger, e.Pos())
	}
}

func (s *suite) roundTrip(t *testing.T) {
	l, p := s.started(t)
	g := ledger.Git{Branch: "feature/x", Commit: digest("c")[:40], Base: digest("b")[:40]}
	drafts := []ledger.Draft{
		On(WithKey(Save(Record("g-1", ledger.KindGoal, "Ship it"), Record("n-1", ledger.KindNext, "Write the reader")), "key-1"), g),
		On(Status("n-1", 1, ledger.StatusDone), g),
		Retract("g-1", 1),
		Restore("g-1", 3),
		Carry("feature/y"),
		Check("unit", ledger.Passed),
		TxnBegin("t-1"),
	}
	for i, d := range drafts {
		d.At, d.Recovery = At(i+1).Add(123*time.Millisecond), "a-generation"
		drafts[i] = d
		p = add(t, l, p, d)
	}
	es := all(t, l)
	if len(es) != len(drafts)+1 {
		t.Fatalf("%d entries, want %d", len(es), len(drafts)+1)
	}
	for i, e := range es[1:] {
		sameEntry(t, e, drafts[i])
	}
	verified(t, l)
}

// sameEntry checks that e is whole, says what d says, and nothing else.
func sameEntry(t *testing.T, e ledger.Entry, d ledger.Draft) {
	t.Helper()
	again, err := ledger.Parse(e.Raw)
	if err != nil {
		t.Fatalf("parse entry %d again: %v", e.Rev, err)
	}
	if diff := cmp.Diff(again, e); diff != "" {
		t.Errorf("entry %d differs from its own bytes:\n%s", e.Rev, diff)
	}
	if !bytes.HasSuffix(e.Raw, []byte("\n")) || !e.CheckBody() {
		t.Errorf("entry %d: no newline or another body than its head names", e.Rev)
	}
	if e.At != d.At.UTC().Format(ledger.TimeLayout) || e.Type != d.Type || e.Recovery != d.Recovery || e.KeySHA256 != ledger.KeyHash(d.Key) {
		t.Errorf("head of entry %d = %+v, which is not the draft's", e.Rev, e.Head)
	}
	if diff := cmp.Diff(d.HeadFields, e.HeadFields); diff != "" {
		t.Errorf("head fields of entry %d:\n%s", e.Rev, diff)
	}
	body, there, err := e.Body()
	if err != nil || !there || len(body.Salt) != 32 {
		t.Fatalf("body of entry %d: there %v, salt of %d digits, error %v", e.Rev, there, len(body.Salt), err)
	}
	body.Salt = ""
	if diff := cmp.Diff(d.Body, body); diff != "" {
		t.Errorf("body of entry %d:\n%s", e.Rev, diff)
	}
}

func (s *suite) reopened(t *testing.T) {
	if s.reopen == nil {
		t.Skip("this log keeps nothing beyond Close")
	}
	l, p := s.started(t)
	for i := range 5 {
		p = add(t, l, p, note(i))
	}
	before := all(t, l)
	if err := l.Close(); err != nil {
		t.Fatalf("close: %v", err)
	}
	again := s.reopen(t, l)
	t.Cleanup(func() { again.Close() })
	if got := head(t, again); got != p {
		t.Errorf("head after reopening = %v, want %v", got, p)
	}
	if diff := cmp.Diff(before, all(t, again)); diff != "" {
		t.Errorf("entries after reopening:\n%s", diff)
	}
	add(t, again, p, note(5))
	if es := verified(t, again); len(es) != len(before)+1 {
		t.Errorf("%d entries after one more append, want %d", len(es), len(before)+1)
	}
}

func (s *suite) closeTwice(t *testing.T) {
	l, _ := s.started(t)
	for range 2 {
		if err := l.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	}
}

func note(n int) ledger.Draft {
	d := Save(Record("note-"+digest(string(rune(n)))[:12], ledger.KindNote, "Worth keeping."))
	d.At = At(n + 1)
	return d
}

func add(t *testing.T, l ledger.Log, after ledger.Pos, d ledger.Draft) ledger.Pos {
	t.Helper()
	saved, err := l.Append(t.Context(), after, d)
	if err != nil {
		t.Fatalf("append after revision %d: %v", after.Rev, err)
	}
	if saved.Rev != after.Next() || saved.Hash == "" {
		t.Fatalf("append after revision %d gave %v", after.Rev, saved.Pos)
	}
	if want := d.At.UTC().Format(ledger.TimeLayout); saved.At != want {
		t.Errorf("time of revision %d = %q, want %q", saved.Rev, saved.At, want)
	}
	if got := head(t, l); got != saved.Pos {
		t.Fatalf("head after the append = %v, want %v", got, saved.Pos)
	}
	return saved.Pos
}

func head(t *testing.T, l ledger.Log) ledger.Pos {
	t.Helper()
	p, err := l.Head(t.Context())
	if err != nil {
		t.Fatalf("head: %v", err)
	}
	return p
}

func all(t *testing.T, l ledger.Log) []ledger.Entry {
	t.Helper()
	es, err := collect(t.Context(), l, ledger.Pos{})
	if err != nil {
		t.Fatalf("entries: %v", err)
	}
	return es
}

func collect(ctx context.Context, l ledger.Log, after ledger.Pos) ([]ledger.Entry, error) {
	var es []ledger.Entry
	for e, err := range l.Entries(ctx, after) {
		if err != nil {
			return es, err
		}
		es = append(es, e)
	}
	return es, nil
}

// verified checks the whole chain, and that it ends at the head.
func verified(t *testing.T, l ledger.Log) []ledger.Entry {
	t.Helper()
	p, err := ledger.Verify(ledger.Pos{}, l.Entries(t.Context(), ledger.Pos{}))
	if err != nil {
		t.Fatalf("verify: %v", err)
	}
	if h := head(t, l); h != p {
		t.Errorf("the chain ends at %v, the head is %v", p, h)
	}
	return all(t, l)
}

// conflict checks that err is a conflict, and gives the head that it names.
func conflict(t *testing.T, err error) ledger.Pos {
	t.Helper()
	var c *ledger.ConflictError
	if !errors.As(err, &c) {
		t.Fatalf("error = %v, want a conflict", err)
	}
	return c.Head
}
