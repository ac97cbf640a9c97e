package filelog

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"time"

	"holdfast/internal/durable"
	"holdfast/internal/ledger"
)

// noted gives this path's note while it still counts: while the folder's
// identity or the repository's first commit agrees.
func (l *Log) noted() (Note, bool) {
	n, ok := l.m.readNote(realPath(l.p.Dir))
	if !ok {
		return n, false
	}
	if n.Folder != "" && n.Folder == folderIdentity(l.p.Dir) {
		return n, true
	}
	return n, n.FirstCommit != "" && n.FirstCommit == l.firstCommit()
}

func (l *Log) firstCommit() string {
	if l.p.FirstCommit == nil {
		return ""
	}
	return l.p.FirstCommit()
}

// checkKnown tells a ledger of this machine from a foreign one.
func (l *Log) checkKnown(f *folder, s *listing, t tail, seals ledger.Seals) error {
	if l.seen.known || slices.Contains(l.m.Adopted, f.id) {
		l.seen.known = true
		return nil
	}
	first, err := f.entry(s, 0)
	if err == nil && seals.Check(&first) == ledger.SealedHere && first.Ledger == f.id {
		l.seen.known = true
		return nil
	}
	if t.last.Hash != "" {
		e, err := f.entry(s, min(t.last.Rev, s.head))
		if err == nil && e.Hash == t.last.Hash {
			l.seen.known = true
			return nil
		}
	}
	if err == nil && l.adopted(f, s, seals) {
		l.seen.known = true
		return nil
	}
	if n, ok := l.noted(); (ok && n.Ledger == f.id || t.last.Hash != "" && l.mirrorStarts(t, first.Hash)) && (err != nil || first.Type != ledger.TypeLedger || t.last.Hash != "") {
		return damage(DamageRegressed, 0, f.top.Path(), "it is not the ledger that this machine knows by this id")
	}
	return &ForeignError{ID: f.id, Path: f.top.Path()}
}

// mirrorStarts reports whether the mirror begins with the entry of that hash.
func (l *Log) mirrorStarts(t tail, hash string) bool {
	for e, err := range mirrorEntries(l.m, t.root, t.id) {
		return err == nil && e.Rev == 0 && e.Hash == hash
	}
	return false
}

// adopted looks for an adopt entry that this machine sealed.
func (l *Log) adopted(f *folder, s *listing, seals ledger.Seals) bool {
	found := false
	for rev := s.head; rev > 0 && !found; rev-- {
		e, err := f.entry(s, rev)
		if err != nil {
			return false
		}
		found = e.Type == ledger.TypeAdopt && (e.ID == "" || e.ID == f.id) && seals.Check(&e) == ledger.SealedHere
	}
	return found
}

// ensureNote writes this path's note where it is missing or outdated, and
// refuses a folder that is a second live copy of a ledger on this machine.
func (l *Log) ensureNote(f *folder) error {
	if l.seen.noted {
		return nil
	}
	real := realPath(l.p.Dir)
	n, ok := l.m.readNote(real)
	if ok && n.Ledger == f.id && n.Folder == folderIdentity(l.p.Dir) {
		l.seen.noted = true
		return nil
	}
	if !ok || n.Ledger != f.id {
		if other := l.otherCopy(f, real); other != "" {
			return &CopyError{ID: f.id, Path: f.top.Path(), Other: other}
		}
	}
	n = Note{Ledger: f.id, Path: real, Folder: folderIdentity(l.p.Dir), FirstCommit: l.firstCommit(), At: l.m.Now().UTC().Format(ledger.TimeLayout)}
	if err := l.m.writeNote(n); err != nil {
		return err
	}
	l.seen.noted = true
	return nil
}

// otherCopy finds another folder on this machine that holds the same ledger and
// is not this one through another mount.
func (l *Log) otherCopy(f *folder, real string) string {
	info, err := f.top.Info()
	if err != nil {
		return ""
	}
	for _, n := range l.m.notes() {
		if n.Ledger != f.id || n.Path == real {
			continue
		}
		dir := filepath.Join(n.Path, l.p.Name)
		if sameFolder(dir, info) {
			continue
		}
		d, err := l.m.Layer.OpenDir(dir)
		if err != nil {
			continue
		}
		b, err := d.ReadFile(formatName, 4<<10)
		fm, perr := parseFormat(dir, b)
		copied := err == nil && perr == nil && fm.Ledger == f.id && !l.shared(f, d)
		d.Close()
		if copied {
			return dir
		}
	}
	return ""
}

// shared reports whether a file created in f's tmp folder appears in the other's:
// then both are one folder.
func (l *Log) shared(f *folder, other *durable.Dir) bool {
	tmp, err := f.genDir.MakeSub(tmpName, folderMode)
	if err != nil {
		return false
	}
	defer tmp.Close()
	name, err := l.m.newID()
	if err != nil {
		return false
	}
	name = "probe-" + name
	if _, err := tmp.Publish(tmp, name, nil, fileMode); err != nil {
		return false
	}
	defer tmp.Remove(name)
	d := other
	for _, sub := range []string{genName, genFolder(f.gen), tmpName} {
		next, err := d.Sub(sub)
		if d != other {
			d.Close()
		}
		if err != nil {
			return false
		}
		d = next
	}
	defer d.Close()
	_, err = d.Lstat(name)
	return err == nil
}

// Damage is what somebody noted of a ledger: writing stops until doctor or
// recover clears it.
type Damage struct {
	Kind string `json:"kind"`
	Rev  int64  `json:"rev"`
	Path string `json:"path"`
	Why  string `json:"why"`
	At   string `json:"at"`
}

// NoteDamage remembers damage in the state folder, so that every save refuses
// until it is cleared. It keeps an earlier note.
func (l *Log) NoteDamage(id string, d *DamageError, now time.Time) error {
	dir, err := l.m.makeStateOf(id)
	if err != nil {
		return fmt.Errorf("note damage: %w", err)
	}
	defer dir.Close()
	b, err := encodeJSON(Damage{d.Kind, d.Rev, d.Path, d.Why, now.UTC().Format(ledger.TimeLayout)})
	if err != nil {
		return fmt.Errorf("note damage: %w", err)
	}
	if _, err := dir.Publish(dir, damageName, b, fileMode); err != nil && !errors.Is(err, durable.ErrExists) {
		return fmt.Errorf("note damage: %w", err)
	}
	return nil
}

// ClearDamage removes the note.
func (l *Log) ClearDamage(id string) error {
	for _, root := range l.m.State {
		d, err := l.m.stateOf(root, id)
		if err != nil {
			continue
		}
		err = d.RemoveSync(damageName)
		d.Close()
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("clear damage: %w", err)
		}
	}
	return nil
}

// noted damage refuses the save.
func (l *Log) checkDamage(id string) error {
	for _, root := range l.m.State {
		b, err := l.m.readState(filepath.Join(root, id), damageName, 64<<10)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			continue // a state folder that can't be read can't hold us up
		}
		var d Damage
		if err := decodeJSON(b, &d); err != nil {
			d = Damage{Kind: DamageUnreadable, Rev: -1, Path: filepath.Join(root, id, damageName), Why: "damage was noted, but the note can't be read"}
		}
		return &DamageError{Kind: d.Kind, Rev: d.Rev, Path: d.Path, Why: d.Why}
	}
	return nil
}
