package durable

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"
)

// attrs are what a new file is to be, before its first byte.
type attrs struct {
	perm     fs.FileMode
	uid, gid int               // -1: as they come
	xattrs   map[string][]byte // access list and user attributes
}

func plain(perm fs.FileMode) attrs { return attrs{perm.Perm(), -1, -1, nil} }

// temp is a whole, flushed and closed file under a random name.
type temp struct {
	dir      *Dir
	name     string
	info     fs.FileInfo
	warnings []error
}

// writeTemp makes one in d. If it fails nothing stays.
func (d *Dir) writeTemp(data []byte, a attrs) (*temp, error) {
	return d.streamTemp(a, whole(data))
}

// streamTemp is writeTemp for content that need not be in memory at once.
func (d *Dir) streamTemp(a attrs, write func(io.Writer) error) (*temp, error) {
	f, name, err := d.createTemp(a)
	if err != nil {
		return nil, err
	}
	t := &temp{dir: d, name: name}
	if err := t.fill(f, a, write); err != nil {
		return nil, errors.Join(fmt.Errorf("write temporary file: %w", err), t.drop())
	}
	return t, nil
}

func (d *Dir) createTemp(a attrs) (f *os.File, name string, err error) {
	for range 8 { // a random name that is taken means a poor source
		if name, err = d.l.tempName(); err != nil {
			return nil, "", err
		}
		f, err = d.create(name, os.O_WRONLY, a)
		if err == nil || !errors.Is(err, fs.ErrExist) {
			break
		}
	}
	if err != nil {
		return nil, "", fmt.Errorf("create temporary file: %w", err)
	}
	return f, name, nil
}

// create makes a new file, never through a link, and never more open than
// it will be.
func (d *Dir) create(name string, flag int, a attrs) (f *os.File, err error) {
	perm := filePerm(a.perm)
	if a.uid >= 0 || a.gid >= 0 {
		perm = 0o600
	}
	err = d.l.do(OpCreate, d.join(name), func() (err error) {
		f, err = d.root.OpenFile(name, flag|openFlags|os.O_CREATE|os.O_EXCL, perm)
		return err
	})
	return f, err
}

// fill dresses, writes, flushes, describes and closes f, in this order.
func (t *temp) fill(f *os.File, a attrs, write func(io.Writer) error) error {
	l, path := t.dir.l, t.dir.join(t.name)
	warning, err := t.dir.dress(f, path, a)
	if warning != nil {
		t.warnings = append(t.warnings, warning)
	}
	if err == nil {
		err = write(&stepWriter{l, f, path})
	}
	if err == nil {
		err = l.sync(f, path)
	}
	if err == nil {
		t.info, err = l.fstat(f, path)
	}
	if cerr := l.close(f, path); err == nil {
		err = cerr
	}
	return err
}

// stepWriter makes each write a step.
type stepWriter struct {
	l    *Layer
	f    *os.File
	path string
}

func (w *stepWriter) Write(data []byte) (int, error) { return w.l.write(w.f, w.path, data) }

// dress gives a new file its owner and mode before the first byte. Where the
// file system has neither (FAT) that is a warning: all its files are alike.
func (d *Dir) dress(f *os.File, path string, a attrs) (warning, err error) {
	info, err := d.l.fstat(f, path)
	if err != nil {
		return nil, err
	}
	uid, gid, owned := ownerOf(info)
	if owned && (a.uid >= 0 && a.uid != uid || a.gid >= 0 && a.gid != gid) {
		err := d.l.do(OpChmod, path, func() error { return f.Chown(a.uid, a.gid) })
		if err != nil {
			return nil, fmt.Errorf("keep owner: %w", err)
		}
	} else if owned && a.uid < 0 && d.givesAway() && uid != d.uid {
		// A file that stays root's is still ours.
		_ = d.l.do(OpChmod, path, func() error { return f.Chown(d.uid, d.gid) })
	}
	if info.Mode().Perm() == a.perm {
		return nil, d.attach(f, path, a)
	}
	err = d.l.do(OpChmod, path, func() error { return setMode(f, a.perm) })
	if err != nil && hasNoModes(err) {
		return fmt.Errorf("set mode of %s: not possible on this file system: %w", path, err), nil
	}
	return nil, errors.Join(err, d.attach(f, path, a))
}

// attach gives a new file its extended attributes, behind the mode: an access
// list brings a mode of its own.
func (d *Dir) attach(f *os.File, path string, a attrs) error {
	for name, value := range a.xattrs {
		if err := d.l.do(OpChmod, path, func() error { return setXattr(f, name, value) }); err != nil {
			return fmt.Errorf("keep extended attribute %s: %w", name, err)
		}
	}
	return nil
}

// drop removes the temporary name; one that is gone already is fine.
func (t *temp) drop() error {
	err := t.dir.removeName(t.name)
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return fmt.Errorf("remove temporary file: %w", err)
}

// Sweep removes temporary files of ours last written before olderThan: those
// that a crash left behind. It returns how many, and goes on after an error.
func (d *Dir) Sweep(olderThan time.Time) (int, error) {
	names, err := d.Names()
	if err != nil {
		return 0, err
	}
	n := 0
	var errs []error
	for _, name := range names {
		if !IsTemporary(name) {
			continue
		}
		info, err := d.Lstat(name)
		if err == nil {
			if !info.Mode().IsRegular() || !info.ModTime().Before(olderThan) {
				continue
			}
			err = d.removeName(name)
		}
		switch {
		case err == nil:
			n++
		case !errors.Is(err, fs.ErrNotExist):
			errs = append(errs, fmt.Errorf("sweep: %w", err))
		}
	}
	return n, errors.Join(errs...)
}
