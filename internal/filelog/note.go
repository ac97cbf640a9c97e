package filelog

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"holdfast/internal/durable"
)

// Note is what this machine remembers of a path: which ledger was seen there.
type Note struct {
	Ledger      string `json:"ledger"`
	Path        string `json:"path"`
	Folder      string `json:"folder"`                 // identity of the folder: inode and birth time
	FirstCommit string `json:"first_commit,omitempty"` // of the repository
	At          string `json:"at"`                     // when the ledger was first seen there
	GivenUp     bool   `json:"given_up,omitempty"`     // a person started over here
}

// before orders notes by age; of two copies the one with the older note goes on.
func (n *Note) before(o *Note) bool {
	if n.At != o.At {
		return n.At < o.At
	}
	return n.Path < o.Path
}

// isFolder reports whether the note was made of the very folder that identity
// names. Where the file system keeps no birth time inodes are reused, and the
// path has to agree as well.
func (n *Note) isFolder(identity, real string) bool {
	return n.Folder != "" && n.Folder == identity && (n.Path == real || strings.Contains(identity, "."))
}

func noteName(real string) string {
	sum := sha256.Sum256([]byte(real))
	return hex.EncodeToString(sum[:])
}

// readNote finds the note for a real path. ok is false when there is none.
func (m *Machine) readNote(real string) (n Note, ok bool) {
	for _, root := range m.State {
		b, err := m.readState(filepath.Join(root, pathsName), noteName(real))
		if err == nil && json.Unmarshal(b, &n) == nil && validLedgerID(n.Ledger) && n.Path == real {
			return n, true
		}
	}
	return Note{}, false
}

func (m *Machine) writeNote(n Note) error {
	b, err := json.Marshal(n)
	if err != nil {
		return fmt.Errorf("encode path note: %w", err)
	}
	return m.inState(func(top *durable.Dir) error { return putNote(top, n.Path, append(b, '\n')) })
}

// replaceNote writes a note into each state folder that has one for its path,
// so that no process goes by an older one, and into at least one.
func (m *Machine) replaceNote(n Note) error {
	b, err := json.Marshal(n)
	if err != nil {
		return fmt.Errorf("encode path note: %w", err)
	}
	done := false
	for _, root := range m.State {
		if _, err := m.readState(filepath.Join(root, pathsName), noteName(n.Path)); errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err := m.inRoot(root, func(top *durable.Dir) error { return putNote(top, n.Path, append(b, '\n')) }); err != nil {
			return err
		}
		done = true
	}
	if done {
		return nil
	}
	return m.writeNote(n)
}

func putNote(top *durable.Dir, real string, b []byte) error {
	paths, err := top.MakeSub(pathsName, folderMode)
	if err != nil {
		return fmt.Errorf("open path notes: %w", err)
	}
	defer paths.Close()
	if err := paths.Replace(paths, noteName(real), b, fileMode); err != nil {
		return fmt.Errorf("write path note: %w", err)
	}
	return nil
}

// dropNote removes the note of a path from every state folder.
func (m *Machine) dropNote(real string) error {
	var problem error
	for _, root := range m.State {
		d, err := m.Layer.OpenDir(filepath.Join(root, pathsName))
		if err != nil {
			continue // there is no note to remove
		}
		err = d.RemoveSync(noteName(real))
		d.Close()
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			problem = errors.Join(problem, fmt.Errorf("remove path note: %w", err))
		}
	}
	return problem
}

// notes lists the path notes that a person didn't give up; of two for one path
// that of the preferred state folder.
func (m *Machine) notes() []Note {
	var out []Note
	seen := map[string]bool{}
	for _, root := range m.State {
		d, err := m.Layer.OpenDir(filepath.Join(root, pathsName))
		if err != nil {
			continue
		}
		names, _ := d.Names()
		for _, name := range names {
			var n Note
			b, err := d.ReadFile(name, 64<<10)
			if err != nil || seen[name] || json.Unmarshal(b, &n) != nil || noteName(n.Path) != name || !validLedgerID(n.Ledger) {
				continue
			}
			seen[name] = true
			if !n.GivenUp {
				out = append(out, n)
			}
		}
		d.Close()
	}
	return out
}

// noted gives the note of the ledger that this machine knows here, while it
// still counts: while the folder's identity or the repository's first commit
// agrees. A folder that was moved is found by its identity.
func (l *Log) noted() (Note, bool) {
	real, identity := realPath(l.p.Dir), folderIdentity(l.p.Dir)
	n, found := l.m.readNote(real)
	switch {
	case found && n.GivenUp:
		return n, false
	case found && n.isFolder(identity, real), found && n.FirstCommit != "" && n.FirstCommit == l.firstCommit():
		return n, true
	}
	for _, n := range l.m.notes() {
		if n.isFolder(identity, real) {
			return n, true
		}
	}
	return Note{}, false
}

func (l *Log) firstCommit() string {
	if l.p.FirstCommit == nil {
		return ""
	}
	return l.p.FirstCommit()
}

// realPath is the path by which a folder is remembered: absolute, links
// resolved. Where it can't be resolved the cleaned absolute path serves.
func realPath(dir string) string {
	if p, err := filepath.EvalSymlinks(dir); err == nil {
		dir = p
	}
	if p, err := filepath.Abs(dir); err == nil {
		dir = p
	}
	return dir
}
