package filelog

import (
	"errors"
	"os"

	"holdfast/internal/durable"
)

// readFile reads a small file in d. It may have a second name only as long as
// that is the temporary in tmp from which it was published: any other could be
// written through.
func readFile(d, tmp *durable.Dir, name string, limit int64) ([]byte, error) {
	b, err := d.ReadFile(name, limit)
	for try := 0; try < 3 && errors.Is(err, durable.ErrUnsafe) && regular(d, name); try++ {
		if published(d, tmp, name) {
			return d.ReadLinked(name, limit)
		}
		b, err = d.ReadFile(name, limit) // its temporary may be gone by now
	}
	return b, err
}

// openFile is readFile for a large file.
func openFile(d, tmp *durable.Dir, name string) (*os.File, error) {
	f, err := d.Open(name)
	for try := 0; try < 3 && errors.Is(err, durable.ErrUnsafe) && regular(d, name); try++ {
		if published(d, tmp, name) {
			return d.OpenLinked(name)
		}
		f, err = d.Open(name)
	}
	return f, err
}

func regular(d *durable.Dir, name string) bool {
	info, err := d.Lstat(name)
	return err == nil && info.Mode().IsRegular()
}

// published reports whether a temporary in tmp is the file of that name.
func published(d, tmp *durable.Dir, name string) bool {
	if tmp == nil {
		return false
	}
	info, err := d.Lstat(name)
	if err != nil {
		return false
	}
	names, err := tmp.Names()
	if err != nil {
		return false
	}
	for _, n := range names {
		if !durable.IsTemporary(n) {
			continue
		}
		if t, err := tmp.Lstat(n); err == nil && os.SameFile(t, info) {
			return true
		}
	}
	return false
}

// readRevision and openPack read what was published from the generation's folder
// of temporaries.
func (f *folder) readRevision(name string, limit int64) ([]byte, error) {
	b, err := f.rev.ReadFile(name, limit)
	if !errors.Is(err, durable.ErrUnsafe) {
		return b, err
	}
	tmp, terr := f.genDir.Sub(tmpName)
	if terr != nil {
		return b, err
	}
	defer tmp.Close()
	return readFile(f.rev, tmp, name, limit)
}

func (f *folder) openPack(name string) (*os.File, error) {
	file, err := f.pack.Open(name)
	if !errors.Is(err, durable.ErrUnsafe) {
		return file, err
	}
	tmp, terr := f.genDir.Sub(tmpName)
	if terr != nil {
		return file, err
	}
	defer tmp.Close()
	return openFile(f.pack, tmp, name)
}
