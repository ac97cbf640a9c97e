package filelog

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"holdfast/internal/durable"
)

// Remains is what this machine has of a ledger.
type Remains struct {
	Ledger string
	Paths  []string // that Forget removes
	Others []string // other folders on this machine whose ledger has the same id
	Head   int64    // newest revision that is known, -1 for none
}

// Remains finds what there is of the ledger here, which may be damaged, lost or
// foreign. ErrNone: there is nothing.
func (l *Log) Remains(ctx context.Context) (Remains, error) {
	r := Remains{Head: -1}
	head, herr := l.Head(ctx)
	r.Ledger = l.ID()
	if foreign, ok := errors.AsType[*ForeignError](herr); ok {
		r.Ledger = foreign.ID
	}
	if lost, ok := errors.AsType[*LostError](herr); ok {
		r.Ledger, r.Head = lost.ID, lost.Saves
	}
	if head.Hash != "" {
		r.Head = head.Rev
	}
	if ctx.Err() != nil {
		return r, ctx.Err()
	}
	if r.Ledger == "" {
		return r, ErrNone
	}
	parent, err := l.m.Layer.OpenForeignDir(l.p.Dir)
	if err != nil {
		return r, fmt.Errorf("look for ledger: %w", err)
	}
	defer parent.Close()
	if _, err := parent.Lstat(l.p.Name); err == nil {
		r.Paths = append(r.Paths, l.Dir())
	}
	real := realPath(l.p.Dir)
	for _, n := range l.m.notes() {
		if n.Ledger != r.Ledger || n.Path == real {
			continue
		}
		fm, err := l.m.formatAt(filepath.Join(n.Path, l.p.Name))
		if err == nil && fm == r.Ledger {
			r.Others = append(r.Others, n.Path)
		}
	}
	if len(r.Others) == 0 {
		for _, root := range l.m.State {
			if d, err := l.m.stateOf(root, r.Ledger); err == nil {
				r.Paths = append(r.Paths, d.Path())
				d.Close()
			}
		}
	}
	return r, nil
}

// formatAt is the id of the ledger in a folder.
func (m *Machine) formatAt(dir string) (string, error) {
	d, err := m.Layer.OpenDir(dir)
	if err != nil {
		return "", err
	}
	defer d.Close()
	fm, err := readFormat(d)
	return fm.Ledger, err
}

// Forget removes the ledger's folder, its state folders and this path's note, in
// this order: what a cut leaves can be forgotten again. It waits for writers.
func (l *Log) Forget(ctx context.Context, r Remains) error {
	unlock, err := l.lock(ctx)
	if err != nil {
		return err
	}
	err = unlock() // who waited for it finds the folder gone
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, path := range r.Paths {
		if err := l.m.removeTree(path, path == l.Dir()); err != nil {
			return err
		}
	}
	l.seen = seen{}
	return l.m.dropNote(realPath(l.p.Dir))
}

func (m *Machine) removeTree(path string, foreign bool) error {
	open := m.Layer.OpenDir
	if foreign { // a project's folder may belong to anybody
		open = m.Layer.OpenForeignDir
	}
	d, err := open(filepath.Dir(path))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return errors.Join(removeWhole(d, filepath.Base(path)), d.Close())
}

// removeWhole takes the name away first: no half of it is ever taken for the whole.
func removeWhole(d *durable.Dir, name string) error {
	gone := name + ".forgotten"
	if err := d.RemoveTree(gone); err != nil {
		return err
	}
	if err := d.Rename(name, d, gone); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return d.RemoveTree(gone)
}
