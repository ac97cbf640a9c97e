package durable

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// openTries bounds the openings of a name that others keep replacing.
const openTries = 8

// Open opens name for reading: a regular file that is ours and has no second
// name. Anything else is an *UnsafeFileError, found before it is opened and
// again after; a FIFO never blocks.
func (d *Dir) Open(name string) (*os.File, error) { return d.openRead(name, 1) }

// OpenLinked is Open for a published file whose temporary may still exist: it
// may have two names.
func (d *Dir) OpenLinked(name string) (*os.File, error) { return d.openRead(name, 2) }

func (d *Dir) openRead(name string, links int64) (*os.File, error) {
	f, _, err := d.openFile(name, os.O_RDONLY, links)
	return f, err
}

// openFile opens an existing file with the given access and verifies it.
func (d *Dir) openFile(name string, flag int, links int64) (*os.File, fs.FileInfo, error) {
	path := d.join(name)
	for range openTries {
		before, err := d.Lstat(name)
		if err != nil {
			return nil, nil, fmt.Errorf("open %s: %w", path, err)
		}
		if err := d.verify(path, nil, before, links); err != nil {
			return nil, nil, err
		}
		var f *os.File
		err = d.l.do(OpOpen, path, func() (err error) {
			f, err = d.root.OpenFile(name, flag|openFlags, 0)
			return err
		})
		if err != nil {
			return nil, nil, fmt.Errorf("open %s: %w", path, err)
		}
		after, err := d.l.fstat(f, path)
		if err == nil && (os.SameFile(before, after) || Sabotage == FollowLinks) && linksOf(f, after) > 0 {
			err = d.verify(path, f, after, links)
			if err == nil {
				return f, after, nil
			}
		}
		f.Close()
		if err != nil {
			return nil, nil, err
		}
	}
	return nil, nil, &UnsafeFileError{path, "keeps changing while it is opened"}
}

func (l *Layer) fstat(f *os.File, path string) (info fs.FileInfo, err error) {
	err = l.do(OpStat, path, func() (err error) { info, err = f.Stat(); return err })
	return info, err
}

// verify accepts a regular file of ours with at most that many names.
func (d *Dir) verify(path string, f *os.File, info fs.FileInfo, links int64) error {
	switch {
	case Sabotage == FollowLinks:
	case !info.Mode().IsRegular():
		return &UnsafeFileError{path, kind(info.Mode()) + " in place of a file"}
	case !d.ours(info):
		return &UnsafeFileError{path, "belongs to another user"}
	case linksOf(f, info) > links:
		return &UnsafeFileError{path, fmt.Sprintf("has %d names", linksOf(f, info))}
	}
	return nil
}

// ours: the owner is this user; or this user is root and the owner is that of
// the folder.
func (d *Dir) ours(info fs.FileInfo) bool {
	uid, _, ok := ownerOf(info)
	if !ok {
		return true
	}
	return uid == d.me || d.me == 0 && uid == d.uid
}

// kind names what a mode is, for messages.
func kind(m fs.FileMode) string {
	switch {
	case m.IsRegular():
		return "a file"
	case m.IsDir():
		return "a folder"
	case m&fs.ModeSymlink != 0:
		return "a symbolic link"
	case m&fs.ModeNamedPipe != 0:
		return "a FIFO"
	case m&fs.ModeSocket != 0:
		return "a socket"
	case m&fs.ModeDevice != 0:
		return "a device"
	}
	return "something unknown"
}

// ReadFile reads a whole file of at most limit bytes, else *TooLargeError. It
// opens as Open does.
func (d *Dir) ReadFile(name string, limit int64) ([]byte, error) { return d.readFile(name, limit, 1) }

// ReadLinked is ReadFile that opens as OpenLinked does.
func (d *Dir) ReadLinked(name string, limit int64) ([]byte, error) { return d.readFile(name, limit, 2) }

func (d *Dir) readFile(name string, limit, links int64) ([]byte, error) {
	f, info, err := d.openFile(name, os.O_RDONLY, links)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	path := d.join(name)
	if info.Size() > limit {
		return nil, &TooLargeError{path, info.Size(), limit}
	}
	data, err := d.l.readAll(f, path, info.Size(), limit)
	if err != nil {
		return nil, err
	}
	if int64(len(data)) > limit {
		return nil, &TooLargeError{path, int64(len(data)), limit}
	}
	return data, nil
}

// readAll reads to the end of f, or one byte past limit. size is what to expect.
func (l *Layer) readAll(f *os.File, path string, size, limit int64) ([]byte, error) {
	data := make([]byte, 0, size+1) // one more: the end shows without growing
	for int64(len(data)) <= limit {
		if len(data) == cap(data) {
			data = append(data, 0)[:len(data)]
		}
		var n int
		err := l.do(OpRead, path, func() (err error) {
			n, err = f.Read(data[len(data):cap(data)])
			return err
		})
		data = data[:len(data)+n]
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", path, err)
		}
	}
	return data, nil
}
