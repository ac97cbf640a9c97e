package durable

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"time"
)

var errTODO = errors.New("not built yet")

// Dir is one opened, verified folder. It is safe for use by many goroutines.
type Dir struct {
	l    *Layer
	path string
}

// Lock is a held lock.
type Lock struct{}

// Published says how Publish did it. Info is of the file before it got its
// final name.
type Published struct {
	How      string // "link", "rename" or "excl"
	Info     fs.FileInfo
	Warnings []error
}

func (l *Layer) OpenDir(path string) (*Dir, error)            { return nil, errTODO }
func (l *Layer) OpenForeignDir(path string) (*Dir, error)     { return nil, errTODO }
func (l *Layer) MkdirAll(path string, perm fs.FileMode) error { return errTODO }
func (d *Dir) Path() string                                   { return d.path }
func (d *Dir) Close() error                                   { return errTODO }
func (d *Dir) Sub(name string) (*Dir, error)                  { return nil, errTODO }
func (d *Dir) MakeSub(name string, perm fs.FileMode) (*Dir, error) {
	return nil, errTODO
}
func (d *Dir) Same() error                                       { return errTODO }
func (d *Dir) Info() (fs.FileInfo, error)                        { return nil, errTODO }
func (d *Dir) Names() ([]string, error)                          { return nil, errTODO }
func (d *Dir) Lstat(name string) (fs.FileInfo, error)            { return nil, errTODO }
func (d *Dir) Open(name string) (*os.File, error)                { return nil, errTODO }
func (d *Dir) OpenLinked(name string) (*os.File, error)          { return nil, errTODO }
func (d *Dir) ReadFile(name string, limit int64) ([]byte, error) { return nil, errTODO }
func (d *Dir) Publish(tmp *Dir, name string, data []byte, perm fs.FileMode) (Published, error) {
	return Published{}, errTODO
}
func (d *Dir) Withdraw(name string, info fs.FileInfo) error { return errTODO }
func (d *Dir) Replace(tmp *Dir, name string, data []byte, perm fs.FileMode) error {
	return errTODO
}
func (d *Dir) ReplaceKeeping(tmp *Dir, name string, data []byte) error { return errTODO }
func (d *Dir) WriteInPlace(name string, data []byte) error             { return errTODO }
func (d *Dir) Append(name string, data []byte, perm fs.FileMode) error { return errTODO }
func (d *Dir) Remove(name string) error                                { return errTODO }
func (d *Dir) RemoveSync(name string) error                            { return errTODO }
func (d *Dir) Rename(old string, to *Dir, new string) error            { return errTODO }
func (d *Dir) Sync() error                                             { return errTODO }
func (d *Dir) Chmod(name string, perm fs.FileMode) error               { return errTODO }
func (d *Dir) Sweep(olderThan time.Time) (int, error)                  { return 0, errTODO }
func (d *Dir) Lock(ctx context.Context, name string, wait time.Duration, owner string) (*Lock, error) {
	return nil, errTODO
}
func (l *Lock) Unlock() error { return errTODO }
