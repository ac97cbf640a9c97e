package ledgertest

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"sync"

	"holdfast/internal/ledger"
)

// Options are how a Memory is made.
type Options struct {
	Sealer  ledger.Sealer  // nil: entries are unsealed
	Entries []ledger.Entry // what the log holds at first
}

// Memory is a ledger.Log and a ledger.Locker that keeps entries in memory. It
// can be made to fail as a log on a disk may. The lock is not needed to append.
type Memory struct {
	sealer ledger.Sealer
	turn   chan struct{}

	mu       sync.Mutex
	entries  []ledger.Entry
	failures []Failure
	appends  int
}

var (
	_ ledger.Log    = (*Memory)(nil)
	_ ledger.Locker = (*Memory)(nil)
)

// Failure is what goes wrong in one append.
type Failure int

// Failures of an append.
const (
	Pass         Failure = iota // nothing goes wrong
	Refuse                      // nothing is saved; the error is ErrRefused
	Conflict                    // another writer's entry is saved first
	UnknownSaved                // the entry is saved, but the outcome is unknown
	UnknownLost                 // the entry is not saved, and the outcome is unknown
	Unprotected                 // the entry is saved, without its second copy, with a warning
)

// ErrRefused is the error of an append that Refuse let fail.
var ErrRefused = errors.New("refused by the test")

// NewMemory makes a log.
func NewMemory(o Options) *Memory {
	return &Memory{sealer: o.Sealer, entries: slices.Clone(o.Entries), turn: make(chan struct{}, 1)}
}

// Fail lets the next appends fail, one failure each, in order.
func (m *Memory) Fail(fs ...Failure) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.failures = append(m.failures, fs...)
}

// Put adds an entry as it is, whatever it is: one of a newer build, one that
// breaks the chain.
func (m *Memory) Put(es ...ledger.Entry) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.entries = append(m.entries, es...)
}

// Erase erases the bodies of the revisions, as the verb redact does after its
// entry was saved.
func (m *Memory) Erase(revs ...int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.entries = slices.Clone(m.entries)
	for i := range m.entries {
		if slices.Contains(revs, m.entries[i].Rev) {
			m.entries[i] = m.entries[i].Erase()
		}
	}
}

// Appends counts the calls of Append so far, refused ones too.
func (m *Memory) Appends() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.appends
}

// Snapshot gives the entries as they are now.
func (m *Memory) Snapshot() []ledger.Entry {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.entries)
}

// Head implements ledger.Log.
func (m *Memory) Head(ctx context.Context) (ledger.Pos, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.head(), ctx.Err()
}

func (m *Memory) head() ledger.Pos {
	if n := len(m.entries); n > 0 {
		return m.entries[n-1].Pos()
	}
	return ledger.Pos{}
}

// Append implements ledger.Log.
func (m *Memory) Append(ctx context.Context, after ledger.Pos, d ledger.Draft) (ledger.Saved, error) {
	if err := ctx.Err(); err != nil {
		return ledger.Saved{}, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.appends++
	var f Failure
	if len(m.failures) > 0 {
		f, m.failures = m.failures[0], m.failures[1:]
	}
	switch f {
	case Refuse:
		return ledger.Saved{}, ErrRefused
	case Conflict:
		m.entries = Extend(m.entries, m.sealer, m.rival())
	}
	head := m.head()
	if head != after {
		return ledger.Saved{}, &ledger.ConflictError{Head: head}
	}
	e, err := ledger.Encode(after, d, salt(after), m.sealer)
	if err != nil {
		return ledger.Saved{}, err
	}
	lost := &ledger.UnknownOutcomeError{Rev: e.Rev, Err: ErrRefused}
	if f == UnknownLost {
		return ledger.Saved{}, lost
	}
	m.entries = append(m.entries, e)
	if f == UnknownSaved {
		return ledger.Saved{}, lost
	}
	s := ledger.Saved{Pos: e.Pos(), At: e.At, Protected: f != Unprotected}
	if f == Unprotected {
		s.Warnings = []string{"the second copy was not written"}
	}
	return s, nil
}

func (m *Memory) rival() ledger.Draft {
	if len(m.entries) == 0 {
		return First()
	}
	id := fmt.Sprintf("rival-%d", len(m.entries))
	return Save(Record(id, ledger.KindNote, "Another writer was first."))
}

// Entries implements ledger.Log.
func (m *Memory) Entries(ctx context.Context, after ledger.Pos) iter.Seq2[ledger.Entry, error] {
	return func(yield func(ledger.Entry, error) bool) {
		for _, e := range m.Snapshot() {
			if e.Rev < after.Next() {
				continue
			}
			if err := ctx.Err(); err != nil {
				yield(ledger.Entry{}, err)
				return
			}
			if !yield(e, nil) {
				return
			}
		}
	}
}

// Lock implements ledger.Locker.
func (m *Memory) Lock(ctx context.Context) (func() error, error) {
	select {
	case m.turn <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	var once sync.Once
	return func() error { once.Do(func() { <-m.turn }); return nil }, nil
}

// Close implements ledger.Log.
func (m *Memory) Close() error { return nil }
