package filelog

import (
	"context"
	"errors"
	"io/fs"
	"strings"

	"holdfast/internal/durable"
)

// Oddity is a file or folder of the ledger, or of its state, that is not as we
// make it. None of it says that an entry is damaged.
type Oddity struct {
	Path   string
	Misfit durable.Misfit // empty: Strange or Copy
	Copy   bool           // it looks like a copy that something made of a revision
	Why    string

	dir  *durable.Dir // open while mend runs
	name string
	mode fs.FileMode
}

// Inspect looks at names, kinds, owners and modes in the ledger's folder and in the
// state folders. It opens no file and writes nothing.
func (l *Log) Inspect(ctx context.Context) ([]Oddity, error) {
	in := inspector{ctx: ctx}
	err := l.inspect(&in)
	return in.found, err
}

// Tighten takes from other users what they may do with the ledger's files and the
// state's, and says with which. It works under the ledger's lock.
func (l *Log) Tighten(ctx context.Context) (paths []string, err error) {
	unlock, err := l.underLock(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, unlock()) }()
	in := inspector{ctx: ctx, mend: func(o *Oddity) error {
		if o.Misfit != durable.MisfitMode {
			return nil
		}
		paths = append(paths, o.Path)
		return o.dir.Chmod(o.name, o.mode.Perm()&^0o077)
	}}
	err = l.inspect(&in)
	return paths, err
}

type inspector struct {
	ctx   context.Context
	found []Oddity
	mend  func(*Oddity) error // nil: only look
}

func (l *Log) inspect(in *inspector) error {
	parent, err := l.m.Layer.OpenForeignDir(l.p.Dir)
	if err != nil {
		return err
	}
	defer parent.Close()
	if err := in.one(parent, l.p.Name, 1); err != nil {
		return err
	}
	if err := in.folder(parent, l.p.Name, (*inspector).ledgerName); err != nil {
		return err
	}
	for _, root := range l.m.State {
		if err := l.inspectState(in, root); err != nil {
			return err
		}
	}
	return nil
}

// inspectState looks at what one state folder has of this ledger.
func (l *Log) inspectState(in *inspector, root string) error {
	top, err := l.m.Layer.OpenDir(root)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer top.Close()
	for _, name := range []string{keyName, pathsName, l.ID()} {
		if name == "" {
			continue
		}
		if err := in.one(top, name, 1); err != nil {
			return err
		}
		if err := in.folder(top, name, (*inspector).anyName); err != nil {
			return err
		}
	}
	return nil
}

// judge says what a name in a folder may be: how to look at what is below it, how
// many names its file may have, and what is odd about it if anything is.
type judge func(in *inspector, name string) (below judge, links int64, odd *Oddity)

// folder looks at everything in a folder, which may be missing or be a file.
func (in *inspector) folder(parent *durable.Dir, name string, j judge) error {
	if err := in.ctx.Err(); err != nil {
		return err
	}
	info, err := parent.Lstat(name)
	if notThere(err) || err == nil && !info.IsDir() {
		return nil
	}
	if err != nil {
		return err
	}
	d, err := parent.Sub(name)
	if errors.Is(err, durable.ErrUnsafe) || notThere(err) {
		return nil // told of already, or gone
	}
	if err != nil {
		return err
	}
	defer d.Close()
	names, err := d.Names()
	if err != nil {
		return err
	}
	for _, name := range names {
		below, links, odd := j(in, name)
		told := len(in.found)
		if err := in.one(d, name, links); err != nil {
			return err
		}
		if odd != nil && told == len(in.found) {
			odd.Path = place(d.Path(), name)
			in.found = append(in.found, *odd)
		}
		if below == nil {
			continue
		}
		if err := in.folder(d, name, below); err != nil {
			return err
		}
	}
	return nil
}

// one looks at one name.
func (in *inspector) one(d *durable.Dir, name string, links int64) error {
	info, bad, why, err := d.Fit(name, links)
	if notThere(err) || err == nil && bad == "" {
		return nil
	}
	if err != nil {
		return err
	}
	o := Oddity{Path: place(d.Path(), name), Misfit: bad, Why: why, dir: d, name: name, mode: info.Mode()}
	if in.mend != nil {
		return in.mend(&o)
	}
	o.dir = nil
	in.found = append(in.found, o)
	return nil
}

func strange() *Oddity { return &Oddity{Why: "is nothing that belongs there"} }

func copyOf(number bool) *Oddity {
	if !number {
		return strange()
	}
	return &Oddity{Copy: true, Why: "looks like a copy that a synchronising program or a person made"}
}

func (in *inspector) ledgerName(name string) (judge, int64, *Oddity) {
	switch {
	case name == genName:
		return (*inspector).generations, 1, nil
	case name == QuarantineName, name == ManifestsName:
		return (*inspector).anyName, 1, nil
	case name == formatName, name == ignoreName, name == lockName, name == HandoffName, durable.IsTemporary(name):
		return nil, 2, nil
	}
	return nil, 1, strange()
}

func (in *inspector) generations(name string) (judge, int64, *Oddity) {
	if _, ok := parseGen(name); ok || strings.HasPrefix(name, buildPrefix) {
		return (*inspector).generation, 1, nil
	}
	_, number := copiedNumber(name, 4)
	return nil, 1, copyOf(number)
}

func (in *inspector) generation(name string) (judge, int64, *Oddity) {
	switch name {
	case revName:
		return numbered(func(name string) bool { _, ok := parseRev(name); return ok }), 1, nil
	case packName:
		return numbered(func(name string) bool { _, ok := parsePack(name); return ok }), 1, nil
	case tmpName:
		return (*inspector).anyName, 1, nil
	case sealedName:
		return nil, 2, nil
	}
	return nil, 1, strange()
}

// numbered judges a folder of revisions or packs. A published file may still have
// its temporary name.
func numbered(ok func(string) bool) judge {
	return func(_ *inspector, name string) (judge, int64, *Oddity) {
		if ok(name) || durable.IsTemporary(name) {
			return nil, 2, nil
		}
		_, number := copiedNumber(name, 8)
		return nil, 1, copyOf(number)
	}
}

// anyName judges a folder whose names say nothing here.
func (in *inspector) anyName(string) (judge, int64, *Oddity) {
	return (*inspector).anyName, 2, nil
}
