package durable

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// Append adds data to the end of name, in one write and flushed; a missing
// file is made, and d flushed. If the last line there is torn (no newline at
// its end) it is closed with a newline first. Append keeps no other writer
// out: hold a lock.
//
// When the write fails, what got through is cut off again unless somebody else
// has added to it meanwhile; a file made for it stays, empty. When a later
// step fails the outcome is an *UnknownOutcomeError: the bytes may stand.
func (d *Dir) Append(name string, data []byte, perm fs.FileMode) error {
	path := d.join(name)
	f, size, created, err := d.openAppend(name, plain(perm))
	if err != nil {
		return fmt.Errorf("append: %w", err)
	}
	if created {
		// A file system without modes has nothing to set here.
		_, err = d.dress(f, path, plain(perm))
	}
	if err == nil {
		data, err = d.closeTorn(f, path, size, data)
	}
	if err != nil {
		f.Close()
		return fmt.Errorf("append to %s: %w", path, err)
	}
	if n, err := d.l.write(f, path, data); err != nil {
		cutErr := d.cutBack(f, path, size, n)
		f.Close()
		return errors.Join(fmt.Errorf("append to %s: %w", path, err), cutErr)
	}
	err = d.l.sync(f, path)
	if cerr := d.l.close(f, path); err == nil {
		err = cerr
	}
	if err == nil && created {
		err = d.Sync()
	}
	if err != nil {
		return &UnknownOutcomeError{path, err}
	}
	return nil
}

// openAppend opens or makes name; making is always exclusive, so that no link
// is ever created through.
func (d *Dir) openAppend(name string, a attrs) (f *os.File, size int64, created bool, err error) {
	f, info, created, err := d.openOrCreate(name, os.O_RDWR|os.O_APPEND, a)
	if err != nil || created {
		return f, 0, created, err
	}
	return f, info.Size(), false, nil
}

func (d *Dir) openOrCreate(name string, flag int, a attrs) (*os.File, fs.FileInfo, bool, error) {
	if err := d.checkNewName(name); err != nil {
		return nil, nil, false, err
	}
	for range openTries {
		f, info, err := d.openFile(name, flag, 1)
		if err == nil || !errors.Is(err, fs.ErrNotExist) {
			return f, info, false, err
		}
		f, err = d.create(name, flag, a)
		if err == nil || !errors.Is(err, fs.ErrExist) {
			return f, nil, true, err
		}
	}
	return nil, nil, false, &UnsafeFileError{d.join(name), "keeps coming and going"}
}

// closeTorn puts a newline in front of data if the file doesn't end with one.
func (d *Dir) closeTorn(f *os.File, path string, size int64, data []byte) ([]byte, error) {
	if size == 0 {
		return data, nil
	}
	var last [1]byte
	err := d.l.do(OpRead, path, func() error {
		_, err := f.ReadAt(last[:], size-1)
		return err
	})
	if err != nil || last[0] == '\n' {
		return data, err
	}
	return append([]byte{'\n'}, data...), nil
}

// cutBack undoes a partial write if nothing came after it.
func (d *Dir) cutBack(f *os.File, path string, size int64, n int) error {
	if n <= 0 {
		return nil
	}
	info, err := d.l.fstat(f, path)
	if err == nil && info.Size() == size+int64(n) {
		err = d.l.do(OpTruncate, path, func() error { return f.Truncate(size) })
	}
	if err != nil {
		return fmt.Errorf("cut back: %w", err)
	}
	return nil
}
