package filelog

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"time"

	"holdfast/internal/durable"
	"holdfast/internal/ledger"
)

// eraser erases bodies wherever a ledger keeps them.
type eraser struct {
	l      *Log
	v      *view
	byHash map[string]*target
	files  []string
}

func notThere(err error) bool { return errors.Is(err, fs.ErrNotExist) }

// everywhere goes from the copies to the original.
func (x *eraser) everywhere(ctx context.Context) error {
	var problem error
	for _, s := range x.v.st {
		if s.dir != nil {
			continue
		}
		// A look takes what it can't open for absent. Here that won't do.
		if dir, err := x.l.m.stateOf(s.root, x.v.f.id); err == nil {
			s.dir = dir
		} else if !notThere(err) {
			problem = errors.Join(problem, fmt.Errorf("erase: %w", err))
		}
	}
	problem = errors.Join(problem, x.removeManifests())
	for _, d := range x.stateDirs() {
		problem = errors.Join(problem, x.mirror(ctx, d))
	}
	gens, err := x.v.f.top.Sub(genName)
	if err != nil {
		return errors.Join(problem, err)
	}
	defer gens.Close()
	names, err := gens.Names()
	if err != nil {
		return errors.Join(problem, err)
	}
	for _, name := range names {
		if _, ok := parseGen(name); (ok || strings.HasPrefix(name, buildPrefix)) && name != genFolder(x.v.f.gen) {
			problem = errors.Join(problem, x.generation(gens, name))
		}
	}
	problem = errors.Join(problem, x.removeManifests(), x.temporaries(x.v.f.top))
	return errors.Join(problem, x.generation(gens, genFolder(x.v.f.gen)))
}

// stateDirs are the ledger's folders in the state folders.
func (x *eraser) stateDirs() []*durable.Dir {
	var out []*durable.Dir
	for _, s := range x.v.st {
		if s.dir != nil {
			out = append(out, s.dir)
		}
	}
	return out
}

// generation erases in one generation, or one in the making.
func (x *eraser) generation(gens *durable.Dir, name string) error {
	return inSub(gens, name, func(g *durable.Dir) error {
		tmp := inSub(g, tmpName, x.temporaries)
		packs := inSub(g, packName, func(d *durable.Dir) error {
			return x.folder(g, d, func(name string) bool {
				p, ok := parsePack(name)
				return !ok || x.within(p.from, p.to)
			})
		})
		revs := inSub(g, revName, func(d *durable.Dir) error {
			return x.folder(g, d, func(name string) bool {
				rev, ok := parseRev(name)
				return !ok || x.within(rev, rev)
			})
		})
		return errors.Join(tmp, packs, revs)
	})
}

func (x *eraser) within(from, to int64) bool {
	for _, t := range x.byHash {
		if t.Rev >= from && t.Rev <= to {
			return true
		}
	}
	return false
}

// inSub does something in a folder, if it is there. One that was made read-only
// is made so again.
func inSub(d *durable.Dir, name string, do func(*durable.Dir) error) (err error) {
	info, err := d.Lstat(name)
	if notThere(err) {
		return nil
	}
	if err == nil && info.IsDir() && info.Mode().Perm()&0o200 == 0 {
		if err := d.Chmod(name, folderMode); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, d.Chmod(name, info.Mode().Perm())) }()
	}
	sub, err := d.Sub(name)
	if err != nil {
		return err
	}
	defer sub.Close()
	return do(sub)
}

// folder erases in the files that may hold a body: those that their names say,
// and whatever else lies there, such as copies.
func (x *eraser) folder(g, d *durable.Dir, may func(name string) bool) error {
	names, err := d.Names()
	if err != nil {
		return err
	}
	problem := x.temporaries(d)
	for _, name := range names {
		if durable.IsTemporary(name) || !may(name) {
			continue
		}
		if info, err := d.Lstat(name); notThere(err) || err == nil && info.IsDir() {
			continue // packed meanwhile, or nothing of a ledger
		}
		problem = errors.Join(problem, x.file(g, d, name))
	}
	return problem
}

// temporaries removes what a crash left: nobody else writes under the lock.
func (x *eraser) temporaries(d *durable.Dir) error {
	n, err := d.Sweep(time.Unix(1<<40, 0))
	if n > 0 {
		x.files = append(x.files, place(d.Path(), "temporary files"))
	}
	return err
}

// mirror erases in one mirror, under its lock.
func (x *eraser) mirror(ctx context.Context, d *durable.Dir) error {
	if _, err := d.Lstat(mirrorName); notThere(err) {
		return x.temporaries(d)
	}
	lock, err := d.Lock(ctx, mirrorLockName, x.l.m.LockWait, x.l.m.Owner)
	if err != nil && !errors.Is(err, durable.ErrLockUnsupported) {
		return fmt.Errorf("lock mirror: %w", err)
	}
	defer lock.Unlock()
	return errors.Join(x.temporaries(d), x.file(nil, d, mirrorName))
}

// file rewrites one file if it holds a body to erase. g, if any, is the folder
// above its temporaries.
func (x *eraser) file(g, d *durable.Dir, name string) error {
	changes, err := x.copyLines(d, name, io.Discard)
	if err != nil || !changes {
		return err
	}
	tmp := d
	if g != nil {
		if tmp, err = g.MakeSub(tmpName, folderMode); err != nil {
			return fmt.Errorf("erase: %w", err)
		}
		defer tmp.Close()
	}
	info, err := d.Lstat(name)
	if err != nil {
		return fmt.Errorf("erase: %w", err)
	}
	err = d.ReplaceFrom(tmp, name, info.Mode().Perm(), func(w io.Writer) error {
		_, err := x.copyLines(d, name, w)
		return err
	})
	if err != nil {
		return fmt.Errorf("erase: %w", err)
	}
	x.files = append(x.files, place(d.Path(), name))
	return nil
}

// copyLines copies a file to w without the bodies to erase, and tells whether
// that changes anything.
func (x *eraser) copyLines(d *durable.Dir, name string, w io.Writer) (changes bool, err error) {
	f, err := d.Open(name)
	if err != nil {
		return false, fmt.Errorf("erase: %w", err)
	}
	defer f.Close()
	r := lineReader{r: f}
	ls := lines{put: func(b []byte) error { _, err := w.Write(b); return err }}
	open := false // the last line has no end
	for {
		line, err := r.next()
		if errors.Is(err, io.EOF) {
			return changes, ls.flush()
		}
		if err != nil {
			return false, fmt.Errorf("erase: %w", err)
		}
		if open { // it was cut: too long for an entry
			err = ls.add([]byte{'\n'})
		}
		out, changed := x.line(line)
		changes = changes || changed
		open = out[len(out)-1] != '\n'
		if err == nil {
			err = ls.add(out)
		}
		if err != nil {
			return false, err
		}
	}
}

// line gives a line without its body if that is to be erased. A damaged copy of
// the line, known by the entry's head or its salt, is replaced by the whole one.
func (x *eraser) line(line []byte) (out []byte, changed bool) {
	e, err := ledger.Parse(line)
	if err != nil {
		for _, t := range x.byHash {
			for _, mark := range t.marks {
				if bytes.Contains(line, mark) {
					return t.erased, true
				}
			}
		}
		return line, false
	}
	t := x.byHash[e.Hash]
	if t == nil || e.BodyRaw == nil {
		return line, false
	}
	t.learn(&e)
	return t.erased, true
}

func (x *eraser) remove(d *durable.Dir, name string) error {
	err := d.RemoveSync(name)
	if notThere(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("erase: %w", err)
	}
	x.files = append(x.files, place(d.Path(), name))
	return nil
}
