package filelog

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"holdfast/internal/durable"
	"holdfast/internal/ledger"
)

// create makes the ledger with its revision 0, in an order in which a crash
// leaves either nothing that counts or an unfinished creation that the next
// one completes: key, folder, FORMAT, revision 0, mirror, path note. Folders
// that an earlier attempt left are flushed with what is above them, before
// anything is linked below.
func (l *Log) create(ctx context.Context, draft ledger.Draft) (ledger.Saved, error) {
	if v, err := l.checked(ctx); err == nil {
		v.close()
		return ledger.Saved{}, &ledger.ConflictError{Head: v.head}
	} else if !errors.Is(err, ErrNone) {
		return ledger.Saved{}, err
	}
	ctx = context.WithoutCancel(ctx)
	v := &view{f: &folder{gen: 1}, s: listing{head: -1}}
	defer func() { v.close() }()
	if _, err := l.m.makeKey(&v.notice); err != nil && len(l.m.State) > 0 && !unwritable(err) {
		return ledger.Saved{}, err // the save itself tells of one that can't be had
	}
	var err error
	if v.f.top, err = l.makeFolder(&v.notice); err != nil {
		return ledger.Saved{}, err
	}
	if v.f.id, err = l.makeFormat(v.f.top, &v.notice); err != nil {
		return ledger.Saved{}, err
	}
	if err := v.f.makeGeneration(); err != nil {
		return ledger.Saved{}, err
	}
	l.seen = seen{id: v.f.id}
	v.st = l.states(v.f.id)
	draft.Ledger, draft.HeadFields.Tool = v.f.id, l.m.Tool
	e, saved, err := l.commit(ctx, v, draft)
	if err != nil {
		return saved, err
	}
	return l.settle(ctx, v, &e, saved), nil
}

// settle does what follows revision 0.
func (l *Log) settle(ctx context.Context, v *view, e *ledger.Entry, saved ledger.Saved) ledger.Saved {
	if info, err := v.f.rev.Info(); err == nil {
		l.seen.known = stampOf(info).Inode + 1
	}
	l.protect(ctx, v, e, &saved)
	if err := l.ensureNote(v); err != nil {
		v.notice = append(v.notice, "not noted: "+err.Error())
		saved.Protected = false
	}
	saved.Warnings = v.notice
	return saved
}

// makeFolder makes the ledger's folder in the project's, which must be there.
func (l *Log) makeFolder(notice *[]string) (*durable.Dir, error) {
	project, err := l.m.Layer.OpenForeignDir(realPath(l.p.Dir))
	if err != nil {
		return nil, fmt.Errorf("make ledger folder: %w", err)
	}
	defer project.Close()
	top, err := project.MakeSub(l.p.Name, folderMode)
	if err != nil {
		return nil, fmt.Errorf("make ledger folder: %w", err)
	}
	if err = project.Sync(); err == nil {
		err = publish(top, top, ignoreName, []byte("*\n"), notice)
	}
	if err != nil {
		top.Close()
		return nil, fmt.Errorf("make ledger folder: %w", err)
	}
	return top, nil
}

func (f *folder) makeGeneration() error {
	gens, err := f.top.MakeSub(genName, folderMode)
	if err != nil {
		return fmt.Errorf("make generation: %w", err)
	}
	defer gens.Close()
	if f.genDir, err = gens.MakeSub(genFolder(1), folderMode); err != nil {
		return fmt.Errorf("make generation: %w", err)
	}
	if f.rev, err = f.genDir.MakeSub(revName, folderMode); err != nil {
		return fmt.Errorf("make generation: %w", err)
	}
	for _, d := range []*durable.Dir{f.top, gens, f.genDir} {
		if err := d.Sync(); err != nil {
			return fmt.Errorf("make generation: %w", err)
		}
	}
	return nil
}

// StartOver gives up the ledger that this machine knows here, so that the next
// save makes a new one: a person's decision. The old one's mirror is kept. It
// refuses, with a *PresentError, where anything of a ledger still lies.
func (l *Log) StartOver(_ context.Context) (old Note, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	top, oerr := l.m.Layer.OpenDir(l.Dir())
	if oerr == nil {
		defer top.Close()
		oerr = l.emptyFolder(top)
	}
	if oerr != nil && !errors.Is(oerr, fs.ErrNotExist) {
		return old, fmt.Errorf("start over: %w", oerr)
	}
	old, known := l.noted()
	if known {
		given := old
		given.GivenUp = true
		given.Path = realPath(l.p.Dir)
		err = l.m.replaceNote(given)
		if err == nil && old.Path != given.Path { // it was noted where the folder was before
			err = l.m.dropNote(old.Path)
		}
	}
	l.seen = seen{}
	return old, err
}

// emptyFolder makes sure that nothing but an unfinished creation lies there. An
// id that is left of the old ledger is replaced by a new one.
func (l *Log) emptyFolder(top *durable.Dir) error {
	f := &folder{top: top}
	defer func() { f.top = nil; f.close() }()
	if err := f.openGeneration(nil); err != nil {
		return err
	}
	if f.gen > 0 {
		s, d, err := f.list()
		if err != nil {
			return err
		}
		if d != nil || s.head >= 0 || f.gen > 1 {
			return &PresentError{Path: top.Path()}
		}
	}
	if _, err := top.Lstat(formatName); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	id, err := l.m.newID()
	if err != nil {
		return err
	}
	return top.Replace(top, formatName, formatOf(id).bytes(), sealedMode)
}
