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
// one completes: key, folder, FORMAT, revision 0, mirror, path note.
func (l *Log) create(ctx context.Context, draft ledger.Draft) (ledger.Saved, error) {
	if e, err := l.lookAtHead(); err == nil {
		return ledger.Saved{}, &ledger.ConflictError{Head: e.Pos()}
	} else if !errors.Is(err, ErrNone) {
		return ledger.Saved{}, err
	}
	if _, err := l.m.makeKey(); err != nil && len(l.m.State) > 0 && !unwritable(err) {
		return ledger.Saved{}, err
	}
	top, err := l.makeFolder()
	if err != nil {
		return ledger.Saved{}, err
	}
	f := &folder{top: top, gen: 1}
	defer f.close()
	if f.id, err = l.makeFormat(top); err != nil {
		return ledger.Saved{}, err
	}
	if err := f.makeGeneration(); err != nil {
		return ledger.Saved{}, err
	}
	draft.Ledger, draft.Tool = f.id, l.m.Tool
	l.seen = seen{id: f.id, gen: 1}
	s := &listing{head: -1}
	saved, err := l.save(ctx, f, s, ledger.Pos{}, draft)
	if err != nil {
		l.seen = seen{}
		return saved, err
	}
	l.seen.known, l.seen.listing = true, nil
	if err := l.ensureNote(f); err != nil {
		saved.Warnings = append(saved.Warnings, "not noted: "+err.Error())
		saved.Protected = false
	}
	return saved, nil
}

// unwritable: a state folder that can't be written leaves saves unprotected
// and unsealed, and does not stop them.
func unwritable(err error) bool {
	return durable.NotWritable(err) || errors.Is(err, fs.ErrNotExist) || durable.DiskFull(err)
}

func (l *Log) makeFolder() (*durable.Dir, error) {
	if err := l.m.Layer.MkdirAll(l.Dir(), folderMode); err != nil {
		return nil, fmt.Errorf("make ledger folder: %w", err)
	}
	top, err := l.m.Layer.OpenDir(l.Dir())
	if err != nil {
		return nil, fmt.Errorf("open ledger folder: %w", err)
	}
	if _, err := top.Publish(top, ignoreName, []byte("*\n"), fileMode); err != nil && !errors.Is(err, durable.ErrExists) {
		top.Close()
		return nil, fmt.Errorf("make ledger folder: %w", err)
	}
	return top, nil
}

// makeFormat publishes FORMAT with a new id, or takes the id of whoever was
// first.
func (l *Log) makeFormat(top *durable.Dir) (string, error) {
	id, err := l.m.newID()
	if err != nil {
		return "", err
	}
	_, err = top.Publish(top, formatName, format{"holdfast", ledger.FormatVersion, id}.bytes(), sealedMode)
	if err == nil {
		return id, nil
	}
	if !errors.Is(err, durable.ErrExists) {
		return "", fmt.Errorf("publish format: %w", err)
	}
	b, err := top.ReadFile(formatName, 4<<10)
	if err != nil {
		return "", fmt.Errorf("read format: %w", err)
	}
	fm, err := parseFormat(place(top.Path(), formatName), b)
	return fm.Ledger, err
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
	return nil
}
