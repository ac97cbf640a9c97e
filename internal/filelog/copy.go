package filelog

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"holdfast/internal/durable"
	"holdfast/internal/ledger"
)

// ensureNote writes this path's note where it is missing or outdated, and
// refuses a folder that is a second live copy of a ledger on this machine: of
// two the one with the older note goes on.
func (l *Log) ensureNote(v *view) error {
	if l.seen.noted {
		return nil
	}
	real, identity := realPath(l.p.Dir), folderIdentity(l.p.Dir)
	n, found := l.m.readNote(real)
	mine := found && !n.GivenUp && n.Ledger == v.f.id
	if !mine {
		n = Note{Ledger: v.f.id, Path: real, At: l.m.Now().UTC().Format(ledger.TimeLayout)}
	}
	var moved []string
	for _, o := range l.m.notes() {
		if o.Ledger != v.f.id || o.Path == real {
			continue
		}
		if o.Folder == identity && identity != "" && folderIdentity(o.Path) != identity {
			moved = append(moved, o.Path) // it was this folder, before it was moved
			n.At = min(n.At, o.At)
			continue
		}
		if mine && n.before(&o) {
			continue
		}
		if other := l.copyAt(v, o.Path); other != "" {
			return &CopyError{ID: v.f.id, Path: v.f.top.Path(), Other: other}
		}
	}
	if err := l.renewNote(n, mine, identity); err != nil {
		return err
	}
	for _, path := range moved {
		if err := l.m.dropNote(path); err != nil {
			return err
		}
	}
	l.seen.noted = true
	return nil
}

// renewNote writes what is new. The first commit is asked for as long as there
// is none: a project may have a ledger before it has one.
func (l *Log) renewNote(n Note, mine bool, identity string) error {
	if mine && n.Folder == identity && n.FirstCommit != "" {
		return nil
	}
	first := l.firstCommit()
	if mine && n.Folder == identity && first == "" {
		return nil
	}
	n.Folder = identity
	if first != "" {
		n.FirstCommit = first
	}
	return l.m.writeNote(n)
}

// original finds another folder of this machine that holds the same ledger and in
// it p, which this one lacks: then this one is a copy that stayed behind. It only
// reads.
func (l *Log) original(v *view, p ledger.Pos) string {
	real := realPath(l.p.Dir)
	for _, n := range l.m.notes() {
		if n.Ledger != v.f.id || n.Path == real {
			continue
		}
		for _, name := range []string{FolderName, BareFolderName} {
			dir := filepath.Join(n.Path, name)
			if l.hasAt(dir, v.f.id, p) {
				return dir
			}
		}
	}
	return ""
}

// hasAt reports whether the ledger in dir has that id, and p.
func (l *Log) hasAt(dir, id string, p ledger.Pos) bool {
	top, err := l.m.Layer.OpenDir(dir)
	if err != nil {
		return false
	}
	f := &folder{top: top}
	defer f.close()
	fm, err := readFormat(top)
	if err != nil || fm.Ledger != id || f.openGeneration(nil) != nil || f.gen == 0 {
		return false
	}
	s, _, err := f.list()
	if err != nil || p.Rev > s.head {
		return false
	}
	e, err := f.entry(&s, p.Rev)
	return err == nil && e.Pos() == p
}

// copyAt finds a live folder at a noted path that holds the same ledger and is
// not this one through another mount.
func (l *Log) copyAt(v *view, path string) string {
	info, err := v.f.top.Info()
	if err != nil {
		return ""
	}
	for _, name := range []string{FolderName, BareFolderName} {
		dir := filepath.Join(path, name)
		if now, err := os.Lstat(dir); err != nil || os.SameFile(now, info) {
			continue
		}
		d, err := l.m.Layer.OpenDir(dir)
		if err != nil {
			continue
		}
		fm, err := readFormat(d)
		copied := err == nil && fm.Ledger == v.f.id && !l.shared(v, d)
		d.Close()
		if copied {
			return dir
		}
	}
	return ""
}

// shared reports whether a file created in f's folder of temporaries appears in
// the other's: then both are one folder.
func (l *Log) shared(v *view, other *durable.Dir) bool {
	tmp, err := v.f.tmp()
	if err != nil {
		return false
	}
	defer tmp.Close()
	id, err := l.m.newID()
	if err != nil {
		return false
	}
	name := probePrefix + id
	if err := publish(tmp, tmp, name, nil, &v.notice); err != nil {
		return false
	}
	seen := appears(other, name, genName, genFolder(v.f.gen), tmpName)
	if err := tmp.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		v.notice = append(v.notice, err.Error())
	}
	return seen
}

// appears reports whether name is in the folder that subs lead to from d.
func appears(d *durable.Dir, name string, subs ...string) bool {
	if len(subs) == 0 {
		_, err := d.Lstat(name)
		return err == nil
	}
	sub, err := d.Sub(subs[0])
	if err != nil {
		return false
	}
	defer sub.Close()
	return appears(sub, name, subs[1:]...)
}

// CopyOf reports whether this folder is a second live copy of a ledger of this
// machine, which must not go on under its id: nil if it isn't. It works on a copy
// that stayed behind, too.
func (l *Log) CopyOf(ctx context.Context) (*CopyError, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	v, err := l.legible(ctx)
	if err != nil {
		return nil, err
	}
	defer v.close()
	err = l.ensureNote(v)
	if c, ok := errors.AsType[*CopyError](err); ok {
		return c, nil
	}
	return nil, err
}
