package filelog

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"sync"
	"sync/atomic"

	"holdfast/internal/durable"
	"holdfast/internal/ledger"
)

// Place is where a ledger lives or would live.
type Place struct {
	Dir  string // the project's folder, or the common folder of a bare repository
	Name string // FolderName or BareFolderName
	// FirstCommit names the repository's first commit, for telling a project
	// whose folder was made anew; nil or empty without one.
	FirstCommit func() string
}

// Log is a ledger in a folder. It implements ledger.Log and ledger.Locker and is
// safe for concurrent use. Between calls it holds neither lock nor open file.
type Log struct {
	m *Machine
	p Place

	locked atomic.Int32  // locks given out by Lock and not given back
	turn   chan struct{} // in place of a lock, where there are none

	mu   sync.Mutex
	held *view // what Head opened under the lock, for the Append that follows
	seen seen
	keys map[string]keyed // by state folder
}

// seen is what the last look found, so that the next one need not repeat what
// stamps prove unchanged. The revision files can contradict all of it.
type seen struct {
	id     string
	format Stamp // of FORMAT
	gens   highest

	listing *listing // nil: list anew
	gen     int      // of listing, as are the next two
	rev     Stamp
	pack    Stamp

	head    ledger.Pos
	headGen int
	// headStamp is of the head's file.
	headStamp Stamp
	added     *ledger.Entry // what this Log appended last
	newer     bool          // the head is of a newer build
	becomes   string        // the head adopts the ledger under this id, and FORMAT lags behind
	renamed   bool          // head was seen under another id

	known uint64          // 1 + inode of the folder of revisions that was found to be this machine's
	noted bool            // this path's note is written and no other copy lives
	tails map[string]tail // by state folder: ends of mirrors that are in the ledger
	// doubt is how far the mirrors are flushed whose last write failed.
	doubt map[string]ledger.Pos
}

// New gives the log at p. It does no input or output: a ledger that isn't there
// is created by the first Append.
func New(m *Machine, p Place) *Log {
	return &Log{m: m, p: p, turn: make(chan struct{}, 1), keys: map[string]keyed{}}
}

// Dir is the ledger's folder.
func (l *Log) Dir() string { return filepath.Join(l.p.Dir, l.p.Name) }

// Close implements ledger.Log.
func (l *Log) Close() error { return nil }

// ID is the ledger's id, empty before one was seen.
func (l *Log) ID() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.seen.id
}

// Lock implements ledger.Locker: writers of one kernel take turns. Without a
// ledger there is nothing to lock yet. It writes nothing into a folder whose
// format is newer or whose ledger is foreign.
func (l *Log) Lock(ctx context.Context) (func() error, error) {
	if err := l.lockable(ctx); err != nil {
		return nil, err
	}
	return l.lock(ctx)
}

// underLock is Lock for what works under the lock whoever took it: where Lock gave it
// out there is nothing to take and nothing to give back.
func (l *Log) underLock(ctx context.Context) (func() error, error) {
	if l.locked.Load() > 0 {
		return func() error { return nil }, nil
	}
	return l.Lock(ctx)
}

func (l *Log) lock(ctx context.Context) (func() error, error) {
	top, err := l.m.Layer.OpenDir(l.Dir())
	if errors.Is(err, fs.ErrNotExist) {
		return func() error { return nil }, nil
	}
	if err != nil {
		return nil, fmt.Errorf("open ledger folder: %w", err)
	}
	lock, err := top.Lock(ctx, lockName, l.m.LockWait, l.m.Owner)
	leave := func() {}
	if errors.Is(err, durable.ErrLockUnsupported) {
		leave, err = l.takeTurn(ctx, top.Path())
	}
	if err != nil {
		top.Close()
		return nil, fmt.Errorf("lock ledger: %w", err)
	}
	l.locked.Add(1)
	var once sync.Once
	return func() (err error) {
		once.Do(func() {
			if l.locked.Add(-1) == 0 {
				l.release()
			}
			err = errors.Join(lock.Unlock(), top.Close())
			leave()
		})
		return err
	}, nil
}

// takeTurn stands in for a lock where the file system has none: the callers of
// this Log take turns, others are met at the link.
func (l *Log) takeTurn(ctx context.Context, path string) (leave func(), err error) {
	ctx, cancel := context.WithTimeout(ctx, l.m.LockWait)
	defer cancel()
	select {
	case l.turn <- struct{}{}:
		return func() { <-l.turn }, nil
	case <-ctx.Done():
		return nil, &durable.BusyError{Path: place(path, lockName), Err: ctx.Err()}
	}
}

// lockable looks at a ledger that this Log hasn't used yet before anything in
// its folder is opened for writing.
func (l *Log) lockable(ctx context.Context) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.seen.known != 0 {
		return nil
	}
	return l.patiently(ctx, func() error {
		v, err := l.view()
		if err == nil {
			err = l.checkKnown(ctx, v)
			v.close()
		}
		_, foreign := errors.AsType[*ForeignError](err)
		_, newer := errors.AsType[*NewerError](err)
		if foreign || newer || errors.Is(err, durable.ErrUnsafe) {
			return err
		}
		return nil // Head says it better
	})
}

// Head implements ledger.Log. It checks the folder, that the ledger is this
// machine's, the head's hash, body and seal, and that the mirror's last line is
// part of the ledger. It takes no lock and writes nothing.
func (l *Log) Head(ctx context.Context) (ledger.Pos, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	v, err := l.checked(ctx)
	if errors.Is(err, ErrNone) {
		return ledger.Pos{}, nil
	}
	if err != nil {
		return ledger.Pos{}, err
	}
	if l.held != nil {
		l.held.close()
		l.held = nil
	}
	if l.locked.Load() > 0 {
		l.held = v
	} else {
		v.close()
	}
	return v.head, nil
}

// release closes what Head kept open under the lock.
func (l *Log) release() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.held != nil {
		l.held.close()
		l.held = nil
	}
}
