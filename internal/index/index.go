package index

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"sync"

	"holdfast/internal/durable"
	"holdfast/internal/ledger"
)

// Options of Open. The zero Options is an index in memory.
type Options struct {
	Dir      string // cache folder of this ledger; empty: none
	TempDir  string // where a folder for the index may be made if Dir won't do; empty: nowhere
	Ledger   string // the ledger's id; empty while unknown
	ReadOnly bool   // Dir is not to be written

	// Boot names the run of the operating system. The file is not flushed to
	// disk as it grows, so one that an earlier run left is made anew unless
	// Flush was called. Empty: it is believed.
	Boot string

	// Progress is called while entries are applied, with the last revision so
	// far. It may be nil.
	Progress func(rev int64)

	Files *durable.Layer // nil: the file system as it is
}

// Places where an index can be, see Where.
const (
	InCache    = "cache"
	InReadOnly = "read-only" // in the cache folder, and can't be written
	InTemp     = "temp"
	InMemory   = "memory"
)

// Index is the state of one ledger, on disk. It is safe for concurrent use.
type Index struct {
	opt    Options
	limits limits

	mu     sync.Mutex // guards what follows, and the connection
	d      *database
	where  string
	level  int         // into levels
	path   string      // empty in memory
	file   fs.FileInfo // what path was when it was opened
	known  *base       // what Base told last
	closed bool
}

// Open opens the index, or makes an empty one. A bad file is no error: it is
// replaced, or another place is taken.
func Open(ctx context.Context, o Options) (*Index, error) {
	x := &Index{opt: o, limits: usual(), known: &base{}}
	x.mu.Lock()
	defer x.mu.Unlock()
	if err := x.settle(ctx, 0); err != nil {
		return nil, fmt.Errorf("open index: %w", err)
	}
	x.look()
	return x, nil
}

// Close gives back the file. Nothing is lost if it isn't called.
func (x *Index) Close() error {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.closed {
		return nil
	}
	x.closed = true
	return x.d.close()
}

// Where tells where the index is: InCache, InReadOnly, InTemp or InMemory.
func (x *Index) Where() string {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.where
}

// Base is the position that the index holds, by now: another process may have
// brought it further. An index that can't be read holds nothing.
func (x *Index) Base() ledger.Pos {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.look()
}

// Known is what Base or Follow told last, without looking.
func (x *Index) Known() ledger.Pos {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.known.pos
}

func (x *Index) look() ledger.Pos {
	x.known = &base{}
	if b, err := x.readBase(); err == nil && !b.filling {
		x.known = b
	}
	return x.known.pos
}

// Discard empties the index: Follow makes it anew.
// Views made before give *DamagedError.
func (x *Index) Discard(ctx context.Context) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.discard(ctx)
}

func (x *Index) discard(ctx context.Context) error {
	x.known = &base{}
	level := x.level
	switch x.where {
	case InMemory:
		_ = x.d.close() // nothing of it is wanted
	case InReadOnly:
		_ = x.d.close()
		level = levelTemp
	default:
		if err := x.clear(); err == nil {
			return nil
		} else if !errors.Is(err, errMoved) { // what can't be emptied can't be trusted
			level = max(level+1, levelTemp)
		}
	}
	if err := x.settle(ctx, level); err != nil {
		return fmt.Errorf("rebuild index: %w", err)
	}
	return nil
}

// clear empties the file, or else deletes and closes it. The error is errMoved
// when a new one must be opened.
func (x *Index) clear() error {
	err := x.same()
	if err == nil {
		err = x.wipe()
	}
	if err == nil {
		return nil
	}
	if errors.Is(err, errMoved) || !damaged(err) {
		return errors.Join(err, x.d.close())
	}
	folder, err := x.opt.Files.OpenDir(filepath.Dir(x.path))
	if err != nil {
		return errors.Join(err, x.d.close())
	}
	defer folder.Close()
	if err := x.remove(folder); err != nil {
		return err
	}
	return errMoved
}

// Flush makes what the index holds survive a power cut, for a process that has
// nothing better to do. See Options.Boot.
func (x *Index) Flush(context.Context) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.flush()
}

func (x *Index) flush() error {
	if x.where != InCache && x.where != InTemp {
		return nil
	}
	err := x.d.script("PRAGMA synchronous(2)")
	// Twice: what the mark vouches for must be on disk before the mark is.
	for _, q := range []string{"UPDATE base SET flushed = flushed", "UPDATE base SET flushed = rev + 1"} {
		if err == nil {
			err = x.write(func() error { return x.d.exec(q) })
		}
	}
	if serr := x.d.script("PRAGMA synchronous(0)"); err == nil {
		err = serr
	}
	if err != nil {
		return fmt.Errorf("flush index: %w", err)
	}
	return nil
}

// base is the row that says what the file holds.
type base struct {
	pos      ledger.Pos
	ledger   string
	recovery string
	lastAt   string // latest time of an entry
	vn       int64  // last number given
	marks    [][2]int64
	odd      int64 // records whose kind is the name of a type of entry
	filling  bool  // not yet complete for the first time: no index but the primary keys
	boot     string
	flushed  int64 // entries on disk
	spans    ledger.Spans
}

// readBase reads the base as it is at this moment, inside a transaction or not.
func (x *Index) readBase() (*base, error) {
	if err := x.same(); err != nil {
		return nil, err
	}
	var b base
	var marks string
	var version int
	ok, err := x.d.one("SELECT version, rev, hash, ledger, recovery, last_at, vn, marks, odd, filling, boot, flushed FROM base", nil,
		&version, &b.pos.Rev, &b.pos.Hash, &b.ledger, &b.recovery, &b.lastAt, &b.vn, &marks, &b.odd, &b.filling, &b.boot, &b.flushed)
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, errContent
	}
	if version != schemaVersion { // another build made it anew
		return nil, errUnfit
	}
	if marks != "" {
		if err := json.Unmarshal([]byte(marks), &b.marks); err != nil {
			return nil, errContent
		}
	}
	for _, m := range b.marks {
		b.spans.Recover(m[0], m[1])
	}
	return &b, nil
}

func (x *Index) writeBase(b *base) error {
	marks := ""
	if len(b.marks) > 0 {
		j, err := json.Marshal(b.marks)
		if err != nil {
			return err
		}
		marks = string(j)
	}
	return x.d.exec("UPDATE base SET rev = ?, hash = ?, ledger = ?, recovery = ?, last_at = ?, vn = ?, marks = ?, odd = ?, filling = ?, boot = ?",
		b.pos.Rev, b.pos.Hash, b.ledger, b.recovery, b.lastAt, b.vn, marks, b.odd, b.filling, x.opt.Boot)
}

// write runs fn in a transaction that may write, waiting next to not at all for
// another writer.
func (x *Index) write(fn func() error) error {
	if x.where == InReadOnly {
		return ErrNotKept
	}
	if err := x.d.exec(fmt.Sprintf("PRAGMA busy_timeout(%d)", writeWait)); err != nil {
		return err
	}
	err := x.same()
	if err == nil {
		err = x.d.inTx("BEGIN IMMEDIATE", fn)
	}
	if perr := x.d.exec(fmt.Sprintf("PRAGMA busy_timeout(%d)", readWait)); err == nil {
		err = perr
	}
	return err
}
