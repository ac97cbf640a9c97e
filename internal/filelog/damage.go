package filelog

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"time"

	"holdfast/internal/durable"
	"holdfast/internal/ledger"
)

// Damage is what somebody noted of a ledger: writing stops until doctor or
// recover clears it. It concerns one folder: a copy of the ledger elsewhere goes
// its own way.
type Damage struct {
	Kind   string `json:"kind"`
	Rev    int64  `json:"rev"`
	Path   string `json:"path"`
	Why    string `json:"why"`
	At     string `json:"at"`
	Dir    string `json:"dir"`              // the folder that the ledger's lies in
	Folder string `json:"folder,omitempty"` // its identity: inode and birth time
}

func (d *Damage) concerns(real, identity string) bool {
	n := Note{Path: d.Dir, Folder: d.Folder}
	return d.Dir == real || n.isFolder(identity, real)
}

// readDamage reads the notes in a ledger's state folder.
func readDamage(dir *durable.Dir) (notes []Damage, err error) {
	b, err := dir.ReadFile(damageName, 256<<10)
	if err == nil {
		err = json.Unmarshal(b, &notes)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, &DamageError{Kind: DamageUnreadable, Rev: -1, Path: place(dir.Path(), damageName), Why: "damage was noted, but the note can't be read", Err: err}
	}
	return notes, nil
}

// damageIn is what is noted in a ledger's state folder about this one's.
func (l *Log) damageIn(dir *durable.Dir) error {
	if _, err := dir.Lstat(damageName); errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		return fmt.Errorf("look for noted damage: %w", err)
	}
	notes, err := readDamage(dir)
	if err != nil {
		return err
	}
	real, identity := realPath(l.p.Dir), folderIdentity(l.p.Dir)
	for _, d := range notes {
		if d.concerns(real, identity) {
			return &DamageError{Kind: d.Kind, Rev: d.Rev, Path: d.Path, Why: d.Why}
		}
	}
	return nil
}

// NoteDamage remembers damage in a state folder, so that every save in this
// folder refuses until it is cleared. It keeps an earlier note. Another ledger
// in this one's place, an unfinished recovery and copies beside the ledger's files
// are not noted: every look finds them, for as long as they are there and no
// longer.
func (l *Log) NoteDamage(id string, d *DamageError, now time.Time) error {
	if d.Kind == DamageOther || d.Kind == DamageIncomplete || d.Kind == DamageCopy {
		return nil
	}
	if !validLedgerID(id) {
		return fmt.Errorf("note damage: %w", fs.ErrInvalid)
	}
	note := Damage{d.Kind, d.Rev, d.Path, d.Why, now.UTC().Format(ledger.TimeLayout), realPath(l.p.Dir), folderIdentity(l.p.Dir)}
	err := l.m.inState(func(top *durable.Dir) error {
		dir, err := top.MakeSub(id, folderMode)
		if err != nil {
			return err
		}
		defer dir.Close()
		return l.changeDamage(dir, func(notes []Damage) []Damage {
			if slices.ContainsFunc(notes, func(n Damage) bool { return n.concerns(note.Dir, note.Folder) }) {
				return notes
			}
			return append(notes, note)
		})
	})
	if err != nil {
		return fmt.Errorf("note damage: %w", err)
	}
	return nil
}

// ClearDamage removes the notes about this folder, and those that can't be read.
func (l *Log) ClearDamage(id string) error {
	real, identity := realPath(l.p.Dir), folderIdentity(l.p.Dir)
	var problem error
	for _, root := range l.m.State {
		dir, err := l.m.stateOf(root, id)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err == nil {
			err = l.changeDamage(dir, func(notes []Damage) []Damage {
				return slices.DeleteFunc(notes, func(n Damage) bool { return n.concerns(real, identity) })
			})
			dir.Close()
		}
		if err != nil {
			problem = errors.Join(problem, fmt.Errorf("clear damage: %w", err))
		}
	}
	return problem
}

// changeDamage rewrites the notes if change changes their number. Notes that
// can't be read are given up only where there is nothing to add.
func (l *Log) changeDamage(dir *durable.Dir, change func([]Damage) []Damage) error {
	_, lerr := dir.Lstat(damageName)
	missing := errors.Is(lerr, fs.ErrNotExist)
	notes, rerr := readDamage(dir)
	before := len(notes)
	notes = change(notes)
	switch {
	case rerr != nil && len(notes) > 0, rerr == nil && len(notes) == before:
		return nil // an unreadable note stops saves as well as a new one
	case len(notes) == 0 && missing:
		return nil
	case len(notes) == 0:
		return dir.RemoveSync(damageName)
	}
	b, err := json.Marshal(notes)
	if err != nil {
		return err
	}
	return dir.Replace(dir, damageName, append(b, '\n'), fileMode)
}

// NotedDamage is the damage that was noted of the ledger in this folder, nil if
// none was.
func (l *Log) NotedDamage(id string) *DamageError {
	for _, root := range l.m.State {
		dir, err := l.m.stateOf(root, id)
		if err != nil {
			continue
		}
		err = l.damageIn(dir)
		dir.Close()
		if d, ok := errors.AsType[*DamageError](err); ok {
			return d
		}
	}
	return nil
}
