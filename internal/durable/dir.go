package durable

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
)

// Dir is one opened, verified folder. It keeps leading to that folder when the
// path is moved or replaced; Same tells. It is safe for many goroutines.
type Dir struct {
	l    *Layer
	root *os.Root
	path string      // absolute
	info fs.FileInfo // as it was opened; for identity only
	me   int         // this process's user
	uid  int         // owner, -1 where there are none (Windows)
	gid  int

	mu     sync.Mutex
	dot    *os.File // the folder itself, opened when first needed
	closed bool
}

// OpenDir opens the folder at path. It must be a real folder, not a link, and
// belong to this user. For root any owner will do, and what belongs to that
// owner counts as ours (sudo, containers).
// Links among the parents are followed: they are the user's own layout.
func (l *Layer) OpenDir(path string) (*Dir, error) { return l.openDir(path, false) }

// OpenForeignDir is OpenDir for a folder that may belong to anybody, such as a
// shared project folder; what is opened in it must still be ours.
func (l *Layer) OpenForeignDir(path string) (*Dir, error) { return l.openDir(path, true) }

func (l *Layer) openDir(path string, foreign bool) (*Dir, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("open folder: %w", err)
	}
	d := &Dir{l: l, path: abs, me: os.Geteuid()}
	lstat := func() (fs.FileInfo, error) { return os.Lstat(abs) }
	open := func() (*os.Root, error) { return os.OpenRoot(abs) }
	if err := d.open(lstat, open); err != nil {
		return nil, fmt.Errorf("open folder: %w", err)
	}
	if !foreign && d.uid >= 0 && d.me != 0 && d.me != d.uid {
		d.Close()
		return nil, fmt.Errorf("open folder: %w", &UnsafeFileError{abs, "belongs to another user"})
	}
	return d, nil
}

// open fills d from the two ways of reaching one folder, which must agree:
// os.OpenRoot and Root.OpenRoot follow links.
func (d *Dir) open(lstat func() (fs.FileInfo, error), open func() (*os.Root, error)) error {
	var before fs.FileInfo
	err := d.l.do(OpStat, d.path, func() (err error) { before, err = lstat(); return err })
	if err != nil {
		return err
	}
	if !before.IsDir() {
		return &UnsafeFileError{d.path, kind(before.Mode()) + " in place of a folder"}
	}
	err = d.l.do(OpOpen, d.path, func() (err error) { d.root, err = open(); return err })
	if err != nil {
		return err
	}
	if d.info, err = d.Info(); err == nil && !os.SameFile(before, d.info) {
		err = &UnsafeFileError{d.path, "changed while it was opened"}
	}
	if err != nil {
		d.root.Close()
		return err
	}
	d.uid, d.gid, _ = ownerOf(d.info)
	return nil
}

// Path is the absolute path that the folder was opened by.
func (d *Dir) Path() string { return d.path }

func (d *Dir) join(name string) string { return filepath.Join(d.path, name) }

// Close releases the folder. Closing twice is harmless.
func (d *Dir) Close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return nil
	}
	d.closed = true
	var err error
	if d.dot != nil {
		err = d.dot.Close()
	}
	return errors.Join(err, d.root.Close())
}

// handle is the folder as a file, for flushing and for calls between folders.
func (d *Dir) handle() (*os.File, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return nil, fmt.Errorf("open %s: %w", d.path, os.ErrClosed)
	}
	if d.dot != nil {
		return d.dot, nil
	}
	err := d.l.do(OpOpen, d.path, func() (err error) { d.dot, err = d.openDot(); return err })
	return d.dot, err
}

// openDot opens the folder as a file. O_NONBLOCK means nothing for a folder; with it
// the os package need not find out whether it can be polled.
func (d *Dir) openDot() (*os.File, error) { return d.root.OpenFile(".", os.O_RDONLY|openFlags, 0) }

// ready opens what a link or rename between folders and the flush after it
// will need, so that a failure to open comes before anything is done.
func ready(from, to *Dir) error {
	_, err := from.handle()
	if err == nil {
		_, err = to.handle()
	}
	return err
}

// Sub opens the folder name in d: a real folder, not a link, and ours. A
// missing one is fs.ErrNotExist.
func (d *Dir) Sub(name string) (*Dir, error) {
	if err := d.checkName(name); err != nil {
		return nil, fmt.Errorf("open folder: %w", err)
	}
	s := &Dir{l: d.l, path: d.join(name), me: d.me}
	lstat := func() (fs.FileInfo, error) { return d.root.Lstat(name) }
	open := func() (*os.Root, error) { return d.root.OpenRoot(name) }
	if err := s.open(lstat, open); err != nil {
		return nil, fmt.Errorf("open folder: %w", err)
	}
	if !d.ours(s.info) {
		s.Close()
		return nil, fmt.Errorf("open folder: %w", &UnsafeFileError{s.path, "belongs to another user"})
	}
	return s, nil
}

// Same returns nil if the path still leads to this folder, else ErrReplaced.
func (d *Dir) Same() error {
	var now fs.FileInfo
	err := d.l.do(OpStat, d.path, func() (err error) { now, err = os.Lstat(d.path); return err })
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("look at folder %s: it is gone: %w", d.path, ErrReplaced)
	case err != nil:
		return fmt.Errorf("look at folder: %w", err)
	case !os.SameFile(now, d.info):
		return fmt.Errorf("look at folder %s: %w", d.path, ErrReplaced)
	}
	return nil
}

// Info describes the open folder as it is now.
func (d *Dir) Info() (fs.FileInfo, error) {
	var info fs.FileInfo
	err := d.l.do(OpStat, d.path, func() (err error) { info, err = d.root.Stat("."); return err })
	if err != nil {
		return nil, fmt.Errorf("look at folder: %w", err)
	}
	return info, nil
}

// Names lists the folder, sorted.
func (d *Dir) Names() ([]string, error) {
	var f *os.File
	err := d.l.do(OpOpen, d.path, func() (err error) { f, err = d.openDot(); return err })
	if err != nil {
		return nil, fmt.Errorf("list folder: %w", err)
	}
	defer f.Close()
	var names []string
	err = d.l.do(OpReadDir, d.path, func() error {
		more, err := f.Readdirnames(-1)
		names = append(names, more...) // an interrupted listing goes on where it was
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("list folder: %w", err)
	}
	slices.Sort(names)
	return names, nil
}

// Lstat describes name without following it.
func (d *Dir) Lstat(name string) (fs.FileInfo, error) {
	if err := d.checkName(name); err != nil {
		return nil, err
	}
	var info fs.FileInfo
	err := d.l.do(OpStat, d.join(name), func() (err error) { info, err = d.root.Lstat(name); return err })
	return info, err
}

// holds reports whether name is the file that info describes.
func (d *Dir) holds(name string, info fs.FileInfo) bool {
	now, err := d.Lstat(name)
	return err == nil && os.SameFile(now, info)
}

// Sync flushes the folder, so that its names survive a power cut. It does
// nothing on Windows and on file systems that can't do it (EINVAL).
func (d *Dir) Sync() error {
	_, err := d.flush()
	return err
}

// flush is Sync that also tells when the file system can't do it.
func (d *Dir) flush() (warning, err error) {
	err = d.l.do(OpSyncDir, d.path, d.flushFolder)
	if err != nil && hasNoFolderFlush(err) {
		return fmt.Errorf("flush folder %s: not possible on this file system: %w", d.path, err), nil
	}
	if err != nil {
		return nil, fmt.Errorf("flush folder: %w", err)
	}
	return nil, nil
}
