package index

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"holdfast/internal/durable"
)

// FileName is the index's name in its folder.
const FileName = "index.db"

const journalSuffix = "-journal"

// The places that are tried, in this order.
const (
	levelCache = iota
	levelReadOnly
	levelTemp
	levelMemory
)

// settle opens the first place that will do, from level on.
func (x *Index) settle(ctx context.Context, level int) error {
	for ; level < levelMemory; level++ {
		if err := ctx.Err(); err != nil {
			return err
		}
		if x.try(ctx, level) == nil {
			return nil
		}
	}
	d, err := open(ctx, "", false)
	if err != nil {
		return err
	}
	x.take(d, InMemory, levelMemory, "", nil)
	return x.create()
}

func (x *Index) take(d *database, where string, level int, path string, file fs.FileInfo) {
	x.d, x.where, x.level, x.path, x.file = d, where, level, path, file
}

// errNoPlace: this place is not to be used; the next one is tried.
var errNoPlace = errors.New("no place for an index")

func (x *Index) try(ctx context.Context, level int) error {
	dir, where := x.opt.Dir, InCache
	switch level {
	case levelCache:
		if x.opt.ReadOnly {
			return errNoPlace
		}
	case levelReadOnly:
		where = InReadOnly
	case levelTemp:
		dir, where = x.tempDir(), InTemp
	}
	if dir == "" {
		return errNoPlace
	}
	if where != InReadOnly {
		if err := x.opt.Files.MkdirAll(dir, 0o700); err != nil {
			return err
		}
	}
	folder, err := x.opt.Files.OpenDir(dir)
	if err != nil {
		return err
	}
	defer folder.Close()
	for range 3 { // it may be emptied by us, and deleted by others meanwhile
		if err = x.openIn(ctx, folder, where, level); !errors.Is(err, errAgain) {
			break
		}
	}
	return err
}

// tempDir is this user's own folder in the temporary one, for this ledger. It
// is checked as any folder: somebody else's is not used.
func (x *Index) tempDir() string {
	if x.opt.TempDir == "" || x.opt.Ledger == "" || filepath.Base(x.opt.Ledger) != x.opt.Ledger {
		return ""
	}
	return filepath.Join(x.opt.TempDir, fmt.Sprintf("holdfast-index-%d-%s", os.Geteuid(), x.opt.Ledger))
}

// errUnfit: the file is whole, and not what is wanted.
var errUnfit = errors.New("the index is of another version, ledger or run")

// errAgain: what was in the way is gone.
var errAgain = errors.New("open once more")

// openIn opens the file in folder. SQLite follows links and opens by path, so
// the file is looked at before and after.
func (x *Index) openIn(ctx context.Context, folder *durable.Dir, where string, level int) error {
	path := filepath.Join(folder.Path(), FileName)
	info, err := folder.Lstat(FileName)
	if errors.Is(err, fs.ErrNotExist) && where != InReadOnly {
		// SQLite would give it the umask's permissions.
		if err = folder.Append(FileName, nil, 0o600); err == nil {
			info, err = folder.Lstat(FileName)
		}
	}
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		if where == InReadOnly {
			return &durable.UnsafeFileError{Path: path, Why: "is not a regular file"}
		}
		return errors.Join(folder.Remove(FileName), errAgain)
	}
	d, err := open(ctx, path, where == InReadOnly)
	if damaged(err) && where != InReadOnly { // not even the settings could be read
		return errors.Join(removeFrom(folder), errAgain)
	}
	if err != nil {
		return err
	}
	x.take(d, where, level, path, info)
	if err = x.same(); err == nil {
		err = x.admit()
	}
	if errors.Is(err, errUnfit) && where != InReadOnly {
		err = x.wipe()
	}
	switch {
	case err == nil:
		return nil
	case errors.Is(err, errMoved):
		return errors.Join(d.close(), errAgain)
	case where != InReadOnly && damaged(err):
		return errors.Join(x.remove(folder), errAgain)
	}
	return errors.Join(err, d.close())
}

// same checks that the path still leads to the file that was opened. A file
// that was deleted under us shares its journal's name with its successor: even
// reading it could take that journal for its own.
func (x *Index) same() error {
	if x.path == "" {
		return nil
	}
	info, err := os.Lstat(x.path)
	if err != nil || !os.SameFile(info, x.file) {
		return errMoved
	}
	return nil
}

// admit checks what the opened file is, and fills an empty one with tables.
func (x *Index) admit() error {
	var version, tables int
	if _, err := x.d.one("PRAGMA user_version", nil, &version); err != nil {
		return err
	}
	if version == 0 {
		if _, err := x.d.one("SELECT count(*) FROM sqlite_schema", nil, &tables); err != nil {
			return err
		}
		if tables > 0 || x.where == InReadOnly {
			return errUnfit
		}
		return x.create()
	}
	if version != schemaVersion {
		return errUnfit
	}
	b, err := x.readBase()
	switch {
	case err != nil:
		return err
	case x.where == InReadOnly && b.filling:
		return errNoPlace
	case !b.filling && x.opt.Ledger != "" && b.ledger != x.opt.Ledger:
		return errUnfit
	case x.opt.Boot != "" && b.boot != "" && b.boot != x.opt.Boot && b.flushed <= b.pos.Rev:
		return errUnfit
	}
	return nil
}

// create makes the tables, unless another process did so meanwhile.
func (x *Index) create() error {
	return x.d.inTx("BEGIN IMMEDIATE", func() error {
		var version int
		if _, err := x.d.one("PRAGMA user_version", nil, &version); err != nil || version != 0 {
			return err
		}
		return x.tables()
	})
}

func (x *Index) tables() error {
	if err := x.d.script(schema); err != nil {
		return err
	}
	return x.d.script(fmt.Sprintf("PRAGMA user_version(%d)", schemaVersion))
}
