package durable

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// The ways in which Publish can take a name.
const (
	ByLink   = "link"
	ByRename = "rename"
	ByCreate = "excl"
)

// Published tells about a file that Publish made.
type Published struct {
	How      string      // ByLink, ByRename or ByCreate
	Info     fs.FileInfo // taken before the last name came or went: good for identity, size, mode and time
	Warnings []error
}

// Publish makes the file name in d, whole or not at all, and durable when it
// returns nil. Of all who try one name exactly one wins. The bytes are written
// to a random name in tmp (nil: d itself, same file system), flushed, and
// linked to name; then d is flushed. Two flushes in all.
//
// Errors: ErrExists when the name is somebody else's. A name that holds our
// own temporary, by inode or by equal bytes, is ours: a reply was lost on the
// way. *UnknownOutcomeError when a step failed from which on the file may
// stand. Any other error: nothing was published.
//
// Where there are no hard links it renames exclusively, and where that is not
// to be had either it creates the final name and writes there: then others can
// see a file that is not whole yet.
func (d *Dir) Publish(tmp *Dir, name string, data []byte, perm fs.FileMode) (Published, error) {
	if tmp == nil {
		tmp = d
	}
	if err := d.checkNewName(name); err != nil {
		return Published{}, fmt.Errorf("publish: %w", err)
	}
	if err := ready(tmp, d); err != nil {
		return Published{}, fmt.Errorf("publish: %w", err)
	}
	t, err := tmp.writeTemp(data, plain(perm))
	if err != nil {
		return Published{}, fmt.Errorf("publish %s: %w", d.join(name), err)
	}
	return d.publish(&claim{dir: d, name: name, data: data, temp: t, perm: perm.Perm()})
}

// PublishFrom is Publish for content that write makes bit by bit. check, if
// given, sees the finished file, opened again, before it takes its name; where
// it fails nothing is published.
func (d *Dir) PublishFrom(name string, perm fs.FileMode, write func(io.Writer) error, check func(*os.File) error) (Published, error) {
	if err := d.checkNewName(name); err != nil {
		return Published{}, fmt.Errorf("publish: %w", err)
	}
	if err := d.Same(); err != nil {
		return Published{}, fmt.Errorf("publish: %w", err)
	}
	t, err := d.streamTemp(plain(perm), write)
	if err != nil {
		return Published{}, fmt.Errorf("publish %s: %w", d.join(name), err)
	}
	if check != nil {
		if err := t.reopened(check); err != nil {
			return Published{}, errors.Join(fmt.Errorf("publish %s: %w", d.join(name), err), t.drop())
		}
	}
	return d.publish(&claim{dir: d, name: name, temp: t, perm: perm.Perm()})
}

// reopened hands the finished file to fn.
func (t *temp) reopened(fn func(*os.File) error) error {
	f, err := t.dir.Open(t.name)
	if err != nil {
		return err
	}
	defer f.Close()
	return fn(f)
}

func (d *Dir) publish(c *claim) (Published, error) {
	name, t := c.name, c.temp
	pub, err := c.take()
	if dropErr := t.drop(); dropErr != nil {
		if err != nil {
			return Published{}, errors.Join(err, dropErr)
		}
		pub.Warnings = append(pub.Warnings, dropErr)
	}
	if err != nil {
		return Published{}, err
	}
	warning, err := d.flush()
	if err != nil {
		return Published{}, &UnknownOutcomeError{d.join(name), err}
	}
	if warning != nil {
		pub.Warnings = append(pub.Warnings, warning)
	}
	return pub, nil
}

// claim is one attempt to give a finished temporary its final name.
type claim struct {
	dir  *Dir
	name string
	data []byte // nil: as temp has it
	temp *temp
	perm fs.FileMode
}

func (c *claim) path() string { return c.dir.join(c.name) }

// take tries the three ways in turn. A way that the file system doesn't have
// leaves nothing behind.
func (c *claim) take() (Published, error) {
	if Sabotage == IgnoreExists {
		return c.takeOver()
	}
	err := c.move(OpLink, linkFile)
	if err == nil {
		return c.won(ByLink)
	}
	if !hasNoLinks(err) {
		return c.judge(ByLink, err)
	}
	err = c.move(OpRename, renameExclusive)
	if err == nil {
		return c.won(ByRename)
	}
	if !hasNoExclusiveRename(err) {
		return c.judge(ByRename, err)
	}
	return c.create()
}

// takeOver is the fault IgnoreExists.
func (c *claim) takeOver() (Published, error) {
	if err := c.move(OpRename, renameOver); err != nil {
		return Published{}, err
	}
	return c.won(ByRename)
}

func (c *claim) move(op Op, f func(from *Dir, oldName string, to *Dir, newName string) error) error {
	l := c.dir.l
	return l.retrying(func() error {
		return l.do(op, c.path(), func() error { return f(c.temp.dir, c.temp.name, c.dir, c.name) })
	})
}

func (c *claim) won(how string) (Published, error) {
	return Published{How: how, Info: c.temp.info, Warnings: c.temp.warnings}, nil
}

// judge looks at who has the name after err.
func (c *claim) judge(how string, err error) (Published, error) {
	info, lerr := c.dir.Lstat(c.name)
	switch {
	case errors.Is(lerr, fs.ErrNotExist) && errors.Is(err, fs.ErrExist):
		return Published{}, fmt.Errorf("publish %s: %w", c.path(), ErrExists) // taken then, gone now
	case errors.Is(lerr, fs.ErrNotExist) && isRefusal(err):
		return Published{}, fmt.Errorf("publish %s: %w", c.path(), err)
	case lerr != nil:
		return Published{}, &UnknownOutcomeError{c.path(), err}
	case os.SameFile(info, c.temp.info):
		return c.won(how)
	case c.data == nil || !info.Mode().IsRegular() || info.Size() != int64(len(c.data)):
		return Published{}, fmt.Errorf("publish %s: %w", c.path(), ErrExists)
	}
	got, rerr := c.dir.ReadLinked(c.name, int64(len(c.data)))
	var big *TooLargeError
	switch {
	case rerr == nil && bytes.Equal(got, c.data):
		return Published{How: how, Info: info, Warnings: c.temp.warnings}, nil
	case rerr == nil, errors.Is(rerr, ErrUnsafe), errors.As(rerr, &big), errors.Is(rerr, fs.ErrPermission):
		return Published{}, fmt.Errorf("publish %s: %w", c.path(), ErrExists)
	}
	return Published{}, &UnknownOutcomeError{c.path(), errors.Join(err, rerr)}
}

// create makes the final name itself. Once the bytes are whole others may
// build upon them, so from then on nothing is taken back.
func (c *claim) create() (Published, error) {
	l := c.dir.l
	f, err := c.dir.create(c.name, os.O_WRONLY, plain(c.perm))
	if err != nil {
		return c.judge(ByCreate, err)
	}
	warning, err := c.dir.dress(f, c.path(), plain(c.perm))
	if err == nil {
		err = c.copyTo(&stepWriter{l, f, c.path()})
	}
	info, serr := f.Stat()
	if err != nil {
		f.Close()
		if serr == nil && info.Size() < c.temp.info.Size() {
			if werr := c.dir.Withdraw(c.name, info); werr == nil {
				return Published{}, fmt.Errorf("publish %s: %w", c.path(), err)
			}
		}
		return Published{}, &UnknownOutcomeError{c.path(), err}
	}
	if err = serr; err == nil {
		err = l.sync(f, c.path())
	}
	if cerr := l.close(f, c.path()); err == nil {
		err = cerr
	}
	if err != nil {
		return Published{}, &UnknownOutcomeError{c.path(), err}
	}
	warnings := c.temp.warnings
	if warning != nil {
		warnings = append(warnings, warning)
	}
	return Published{How: ByCreate, Info: info, Warnings: warnings}, nil
}

func (c *claim) copyTo(w io.Writer) error {
	if c.data != nil {
		_, err := w.Write(c.data)
		return err
	}
	return c.temp.reopened(func(f *os.File) error {
		_, err := io.Copy(w, f)
		return err
	})
}

// Withdraw removes name if it is still the file that info describes, and
// flushes d. A name that is gone is fine, one that leads elsewhere ErrReplaced.
// Between the look and the removal another process could put a new file there:
// only a holder of the lock may call it.
func (d *Dir) Withdraw(name string, info fs.FileInfo) error {
	now, err := d.Lstat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return d.Sync()
	case err != nil:
		return fmt.Errorf("withdraw %s: %w", d.join(name), err)
	case !os.SameFile(now, info):
		return fmt.Errorf("withdraw %s: %w", d.join(name), ErrReplaced)
	}
	return d.RemoveSync(name)
}
