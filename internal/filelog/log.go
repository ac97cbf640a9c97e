package filelog

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

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

	mu   sync.Mutex
	seen seen
}

// seen is what the last look found, so that the next one need not repeat what
// the folders' stamps prove unchanged.
type seen struct {
	id      string
	gen     int
	known   bool // the ledger is this machine's
	noted   bool // this path's note is written
	head    ledger.Pos
	listing *listing
	rev     stamp
	pack    stamp
	mirror  tail
}

// New gives the log at p. It does no input or output: a ledger that isn't there
// is created by the first Append.
func New(m *Machine, p Place) *Log { return &Log{m: m, p: p} }

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

// stamp tells whether a file or folder changed.
type stamp struct {
	size  int64
	mtime time.Time
	info  fs.FileInfo
}

func stampOf(i fs.FileInfo) stamp { return stamp{i.Size(), i.ModTime(), i} }

func (s stamp) same(o stamp) bool {
	return s.info != nil && o.info != nil && s.size == o.size && s.mtime.Equal(o.mtime) && os.SameFile(s.info, o.info)
}

// Lock implements ledger.Locker: writers of one kernel take turns. Without a
// ledger there is nothing to lock yet.
func (l *Log) Lock(ctx context.Context) (func() error, error) {
	top, err := l.m.Layer.OpenDir(l.Dir())
	if errors.Is(err, fs.ErrNotExist) {
		return func() error { return nil }, nil
	}
	if err != nil {
		return nil, fmt.Errorf("open ledger folder: %w", err)
	}
	lock, err := top.Lock(ctx, lockName, l.m.LockWait, l.m.Owner)
	if errors.Is(err, durable.ErrLockUnsupported) {
		return top.Close, nil
	}
	if err != nil {
		top.Close()
		return nil, fmt.Errorf("lock ledger: %w", err)
	}
	return func() error { return errors.Join(lock.Unlock(), top.Close()) }, nil
}

// Head implements ledger.Log. It checks the folder, that the ledger is this
// machine's, the head's hash, body and seal, and that the mirror's last line is
// part of the ledger. It takes no lock and writes nothing.
func (l *Log) Head(ctx context.Context) (ledger.Pos, error) {
	e, err := l.headEntry(ctx)
	return e.Pos(), err
}

// headEntry is Head with the entry. Damage is believed only after several
// looks, since others may be writing.
func (l *Log) headEntry(ctx context.Context) (ledger.Entry, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for try := 0; ; try++ {
		e, err := l.lookAtHead()
		if err == nil || errors.Is(err, ErrNone) {
			if errors.Is(err, ErrNone) {
				err = nil
			}
			return e, err
		}
		if try == 4 || !worthAnotherLook(err) || ctx.Err() != nil {
			return e, err
		}
		time.Sleep(time.Duration(1<<try) * time.Millisecond)
		l.seen.listing = nil
	}
}

// worthAnotherLook: what a writer at work may have caused.
func worthAnotherLook(err error) bool {
	d, ok := errors.AsType[*DamageError](err)
	return ok && (d.Kind == DamageMissing || d.Kind == DamageRegressed || d.Kind == DamageUnreadable) ||
		errors.Is(err, fs.ErrNotExist) || errors.Is(err, durable.ErrReplaced)
}

func (l *Log) lookAtHead() (ledger.Entry, error) {
	// The mirror is read first: it never holds what the ledger has not, so a
	// head read later can't be behind it by another's work.
	t := l.knownTail()
	f, err := l.look()
	if err != nil {
		return ledger.Entry{}, err
	}
	defer f.close()
	if t.id != f.id {
		t = l.tail(f.id)
	}
	return l.checkHead(f, t)
}

// checkHead finds and checks the head of an opened folder.
func (l *Log) checkHead(f *folder, t tail) (ledger.Entry, error) {
	s, err := l.listed(f)
	if err != nil {
		return ledger.Entry{}, err
	}
	e, err := f.entry(s, s.head)
	if err != nil {
		return e, err
	}
	seals, _ := l.m.Keys()
	if seals.Check(&e) == ledger.BadSeal {
		return e, damage(DamageChanged, e.Rev, place(f.rev.Path(), revFile(e.Rev)), "its seal is not this machine's")
	}
	if err := l.checkKnown(f, s, t, seals); err != nil {
		return e, err
	}
	if err := l.checkMirror(f, s, &e, t); err != nil {
		return e, err
	}
	l.seen.head, l.seen.mirror = e.Pos(), t
	return e, nil
}

// listed lists the folder, or trusts the last listing where the folders' stamps
// and the absence of a next revision show that nothing was added.
func (l *Log) listed(f *folder) (*listing, error) {
	rev, pk := f.stamps()
	s := l.seen.listing
	if s != nil && l.seen.id == f.id && l.seen.gen == f.gen && rev.same(l.seen.rev) && (f.pack == nil && l.seen.pack.info == nil || pk.same(l.seen.pack)) {
		if _, err := f.rev.Lstat(revFile(s.head + 1)); errors.Is(err, fs.ErrNotExist) {
			return s, nil
		}
	}
	l.seen.listing = nil
	s, err := f.list()
	if err != nil {
		return nil, err
	}
	if s.head < 0 {
		return nil, damage(DamageGone, 0, f.rev.Path(), "it is empty")
	}
	if l.seen.id != f.id {
		l.seen = seen{id: f.id}
	}
	l.seen.gen, l.seen.listing, l.seen.rev, l.seen.pack = f.gen, s, rev, pk
	return s, nil
}

func (f *folder) stamps() (rev, pk stamp) {
	if i, err := f.rev.Info(); err == nil {
		rev = stampOf(i)
	}
	if f.pack != nil {
		if i, err := f.pack.Info(); err == nil {
			pk = stampOf(i)
		}
	}
	return rev, pk
}
