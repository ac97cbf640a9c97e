package index

import (
	"errors"
	"fmt"
	"io/fs"

	"holdfast/internal/durable"
)

// wipe empties the file without deleting it: its pages are overwritten, and
// whoever else has it open sees by SQLite's own counters that it changed. It
// waits for those who are using it.
func (x *Index) wipe() error {
	if err := x.d.script("PRAGMA secure_delete(1)"); err != nil {
		return err
	}
	err := x.d.inTx("BEGIN EXCLUSIVE", func() error {
		for {
			// A virtual table first: others may be parts of it, and go with it.
			var name string
			more, err := x.d.one("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite!_%' ESCAPE '!' ORDER BY sql LIKE 'CREATE VIRTUAL%' DESC LIMIT 1", nil, &name)
			if err != nil {
				return err
			}
			if !more {
				break
			}
			if err := x.d.script(fmt.Sprintf("DROP TABLE %q", name)); err != nil {
				return err
			}
		}
		return x.tables()
	})
	if serr := x.d.script("PRAGMA secure_delete(0)"); err == nil {
		err = serr
	}
	return err
}

// remove deletes a file that can't be wiped, and closes it. Whoever else has it
// open notices at his next transaction; see same.
func (x *Index) remove(folder *durable.Dir) error {
	err := x.d.exec("BEGIN EXCLUSIVE")
	if busy(err) { // somebody can write it: then this place is his
		return errors.Join(err, x.d.close())
	}
	x.d.open = err == nil // a file too damaged for a transaction goes without
	if err = removeFrom(folder); err == nil {
		_ = x.d.close() // of a deleted file
		return nil
	}
	_ = x.d.close()
	return removeFrom(folder) // Windows removes no open file
}

// removeFrom removes the journal first: a new file must never meet an old
// journal, while an old file without one is on its way out.
func removeFrom(folder *durable.Dir) error {
	for _, name := range []string{FileName + journalSuffix, FileName} {
		if err := folder.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}
