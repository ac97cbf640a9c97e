package durable

import (
	"errors"
	"fmt"
	"os"
)

// WriteInPlace rewrites an existing file without a rename, for the one case in
// which there is no other way (*MountedError). The order keeps the risk small:
// first the bytes beyond the old end, which is where a full disk shows, then
// the rest, a flush, the cut to the new length, a flush. When a step fails the
// old content is put back.
//
// The risk that remains: a crash or power cut in between leaves a mix of old
// and new. The caller must have a copy of the old content elsewhere.
func (d *Dir) WriteInPlace(name string, data []byte) error {
	path := d.join(name)
	f, info, err := d.openFile(name, os.O_RDWR, 1)
	if err != nil {
		return fmt.Errorf("write in place: %w", err)
	}
	old, err := d.l.readAll(f, path, info.Size(), info.Size())
	if err != nil {
		f.Close()
		return fmt.Errorf("write in place: %w", err)
	}
	if err := d.overwrite(f, path, len(old), data); err != nil {
		backErr := d.putBack(f, path, old)
		f.Close()
		if backErr != nil {
			return &UnknownOutcomeError{path, errors.Join(err, fmt.Errorf("put back: %w", backErr))}
		}
		return fmt.Errorf("write %s in place: %w", path, err)
	}
	if err := d.l.close(f, path); err != nil {
		return &UnknownOutcomeError{path, err}
	}
	return nil
}

// overwrite turns a content that is size bytes long into data.
func (d *Dir) overwrite(f *os.File, path string, size int, data []byte) error {
	common := min(size, len(data))
	if common < len(data) {
		if _, err := d.l.writeAt(f, path, data[common:], int64(common)); err != nil {
			return err
		}
		if err := d.l.sync(f, path); err != nil {
			return err
		}
	}
	if _, err := d.l.writeAt(f, path, data[:common], 0); err != nil {
		return err
	}
	if err := d.l.sync(f, path); err != nil || size <= len(data) {
		return err
	}
	if err := d.l.do(OpTruncate, path, func() error { return f.Truncate(int64(len(data))) }); err != nil {
		return err
	}
	return d.l.sync(f, path)
}

// putBack does all it can, whatever fails on the way.
func (d *Dir) putBack(f *os.File, path string, old []byte) error {
	_, werr := d.l.writeAt(f, path, old, 0)
	terr := d.l.do(OpTruncate, path, func() error { return f.Truncate(int64(len(old))) })
	return errors.Join(werr, terr, d.l.sync(f, path))
}
