package filelog

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"holdfast/internal/durable"
	"holdfast/internal/ledger"
)

// Machine is this machine as the ledger's files see it: its state folders, its
// clock and its randomness. It holds no open files.
type Machine struct {
	// State are the folders that may hold keys, mirrors and notes, the preferred
	// one first: some clients strip the environment that names it.
	State []string
	Layer *durable.Layer
	Rand  io.Reader
	Now   func() time.Time
	// LockWait is how long a writer waits for its turn.
	LockWait time.Duration
	// Owner is what the lock's text says of this process.
	Owner string
	// Adopted are ledger ids that count as known here.
	Adopted []string
	// Tool is the version that a new ledger's first entry names.
	Tool string
}

// Keys reads the seal keys of all state folders. A key that can't be read is
// left out; the error says so and is not fatal.
func (m *Machine) Keys() (ledger.Seals, error) {
	seals := ledger.Seals{}
	var problem error
	for _, root := range m.State {
		k, err := m.readKey(root)
		switch {
		case err == nil:
			seals[k.KeyID()] = k
		case !errors.Is(err, fs.ErrNotExist):
			problem = errors.Join(problem, err)
		}
	}
	return seals, problem
}

// Key is the key that this machine seals with: the first that can be read.
func (m *Machine) Key() (ledger.Key, error) {
	var problem error = fs.ErrNotExist
	for _, root := range m.State {
		k, err := m.readKey(root)
		if err == nil {
			return k, nil
		}
		problem = err
	}
	return nil, problem
}

func (m *Machine) readKey(root string) (ledger.Key, error) {
	d, err := m.Layer.OpenDir(root)
	if err != nil {
		return nil, fmt.Errorf("open state folder: %w", err)
	}
	defer d.Close()
	b, err := d.ReadFile(keyName, 256)
	if err != nil {
		return nil, fmt.Errorf("read seal key: %w", err)
	}
	k, err := hex.DecodeString(strings.TrimSpace(string(b)))
	if err != nil || len(k) != 32 {
		return nil, fmt.Errorf("read seal key: %w", errBadKey)
	}
	return k, nil
}

var errBadKey = errors.New("it is not a key")

// makeKey gives the key, making it where there is none. An unreadable key file
// is left as it is.
func (m *Machine) makeKey() (ledger.Key, error) {
	k, err := m.Key()
	if err == nil || !errors.Is(err, fs.ErrNotExist) || len(m.State) == 0 {
		return k, err
	}
	d, err := m.stateDir()
	if err != nil {
		return nil, err
	}
	defer d.Close()
	raw := make([]byte, 32)
	if _, err := io.ReadFull(m.Rand, raw); err != nil {
		return nil, fmt.Errorf("make seal key: %w", err)
	}
	_, err = d.Publish(d, keyName, []byte(hex.EncodeToString(raw)+"\n"), fileMode)
	if err != nil && !errors.Is(err, durable.ErrExists) {
		return nil, fmt.Errorf("make seal key: %w", err)
	}
	return m.Key() // the winner's
}

// stateDir opens the preferred state folder that can be made.
func (m *Machine) stateDir() (*durable.Dir, error) {
	var problem error = errors.New("no state folder is known")
	for _, root := range m.State {
		if problem = m.Layer.MkdirAll(root, folderMode); problem != nil {
			continue
		}
		var d *durable.Dir
		if d, problem = m.Layer.OpenDir(root); problem == nil {
			return d, nil
		}
	}
	return nil, fmt.Errorf("open state folder: %w", problem)
}

// Note is what this machine remembers of a path: which ledger was seen there.
type Note struct {
	Ledger      string `json:"ledger"`
	Path        string `json:"path"`
	Folder      string `json:"folder"`                 // identity of the folder, as FolderIdentity gives it
	FirstCommit string `json:"first_commit,omitempty"` // of the repository
	At          string `json:"at"`
}

func noteName(real string) string {
	sum := sha256.Sum256([]byte(real))
	return hex.EncodeToString(sum[:])
}

// readNote finds the note for a real path. ok is false when there is none.
func (m *Machine) readNote(real string) (n Note, ok bool) {
	for _, root := range m.State {
		b, err := m.readState(filepath.Join(root, pathsName), noteName(real), 64<<10)
		if err == nil && json.Unmarshal(b, &n) == nil && n.Ledger != "" {
			return n, true
		}
	}
	return Note{}, false
}

func (m *Machine) readState(dir, name string, limit int64) ([]byte, error) {
	d, err := m.Layer.OpenDir(dir)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	return d.ReadFile(name, limit)
}

func (m *Machine) writeNote(n Note) error {
	d, err := m.stateDir()
	if err != nil {
		return err
	}
	defer d.Close()
	paths, err := d.MakeSub(pathsName, folderMode)
	if err != nil {
		return fmt.Errorf("open path notes: %w", err)
	}
	defer paths.Close()
	b, err := json.Marshal(n)
	if err != nil {
		return fmt.Errorf("encode path note: %w", err)
	}
	if err := paths.Replace(paths, noteName(n.Path), append(b, '\n'), fileMode); err != nil {
		return fmt.Errorf("write path note: %w", err)
	}
	return nil
}

// notes lists all path notes, for finding copies and for doctor.
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
			if err == nil && !seen[name] && json.Unmarshal(b, &n) == nil && noteName(n.Path) == name {
				seen[name] = true
				out = append(out, n)
			}
		}
		d.Close()
	}
	return out
}

// stateOf opens the folder of one ledger in a state folder, for reading.
func (m *Machine) stateOf(root, id string) (*durable.Dir, error) {
	if !validLedgerID(id) {
		return nil, fmt.Errorf("open state of ledger: %w", fs.ErrInvalid)
	}
	return m.Layer.OpenDir(filepath.Join(root, id))
}

// makeStateOf opens it for writing, making it where it is missing.
func (m *Machine) makeStateOf(id string) (*durable.Dir, error) {
	d, err := m.stateDir()
	if err != nil {
		return nil, err
	}
	defer d.Close()
	return d.MakeSub(id, folderMode)
}

func validLedgerID(id string) bool {
	b, err := hex.DecodeString(id)
	return err == nil && len(b) == 16 && hex.EncodeToString(b) == id
}

func (m *Machine) newID() (string, error) {
	b := make([]byte, 16)
	if _, err := io.ReadFull(m.Rand, b); err != nil {
		return "", fmt.Errorf("make ledger id: %w", err)
	}
	return hex.EncodeToString(b), nil
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

// sameFolder reports whether path is the folder that info describes.
func sameFolder(path string, info fs.FileInfo) bool {
	now, err := os.Lstat(path)
	return err == nil && os.SameFile(now, info)
}

// format is the content of FORMAT.
type format struct {
	Format string `json:"format"`
	V      int    `json:"v"`
	Ledger string `json:"ledger"`
}

func (f format) bytes() []byte {
	return fmt.Appendf(nil, `{"format":"holdfast","v":%d,"ledger":"%s"}`+"\n", f.V, f.Ledger)
}

func parseFormat(path string, b []byte) (format, error) {
	var f format
	if len(bytes.Trim(b, "\x00")) == 0 {
		return f, damage(DamageUnreadable, -1, path, "it is empty or holds only NUL bytes")
	}
	if err := json.Unmarshal(b, &f); err != nil || f.Format != "holdfast" || f.V < 1 {
		return f, damage(DamageUnreadable, -1, path, "it is not a ledger's format file")
	}
	if f.V > ledger.FormatVersion {
		return f, &NewerError{Path: path, Rev: -1}
	}
	if !validLedgerID(f.Ledger) || !bytes.Equal(b, f.bytes()) {
		return f, damage(DamageUnreadable, -1, path, "it is not as it was written")
	}
	return f, nil
}
