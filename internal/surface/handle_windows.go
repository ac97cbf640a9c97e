package surface

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"syscall"
)

// handle is an open folder.
type handle struct{ root *os.Root }

// openFolder opens a folder below root, which it can't leave.
func openFolder(root *os.Root, rel string) (*handle, error) {
	sub, err := root.OpenRoot(rel)
	return &handle{sub}, err
}

func (h *handle) close() { h.root.Close() }

func (h *handle) self() (stat, error) { return h.stat(".") }

func (h *handle) stat(name string) (stat, error) {
	info, err := h.root.Lstat(name)
	return statOf(info), err
}

func (h *handle) sub(name string) (*handle, error) {
	if info, err := h.root.Lstat(name); err != nil || !info.IsDir() {
		return nil, errors.Join(err, errChanging)
	}
	return openFolder(h.root, name)
}

// names lists the folder, at most once.
func (h *handle) names() ([]string, error) {
	f, err := h.root.Open(".")
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return f.Readdirnames(maxEntries + 1)
}

func (h *handle) readlink(name string) (string, error) { return h.root.Readlink(name) }

// file is an open file of any kind.
type file struct{ f *os.File }

func (h *handle) file(name string) (file, error) {
	f, err := h.root.Open(name)
	return file{f}, err
}

func (f file) close() { f.f.Close() }

func (f file) stat() (stat, error) {
	info, err := f.f.Stat()
	return statOf(info), err
}

// read gives 0 at the end of the file.
func (f file) read(b []byte) (int, error) {
	n, err := f.f.Read(b)
	if err == io.EOF {
		err = nil
	}
	return n, err
}

// osFile hands the open file over.
func (f file) osFile(string) *os.File { return f.f }

func (s *stat) same(t *stat) bool {
	return s.info != nil && t.info != nil && os.SameFile(s.info, t.info)
}

// identified: a stat on Windows tells no change time, so nothing can stand in
// for reading.
func (s *stat) identified() bool { return false }

func statOf(info fs.FileInfo) stat {
	if info == nil {
		return stat{}
	}
	return stat{now: state{size: info.Size(), mtime: info.ModTime().UnixNano()}, mode: info.Mode(), info: info}
}

func isLoop(err error) bool { return errors.Is(err, syscall.ELOOP) }

// statInfo is the stat of a path that was looked at by name.
func statInfo(path string) (stat, error) {
	info, err := os.Lstat(path)
	return statOf(info), err
}
