package filelog

import (
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
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

var (
	errBadKey  = errors.New("it is not a key")
	errNoState = errors.New("no state folder is known")
)

// Keys reads the seal keys of all state folders. A key that can't be read is
// left out; the error says so and is not fatal.
func (m *Machine) Keys() (ledger.Seals, error) {
	seals := ledger.Seals{}
	var problem error
	for _, root := range m.State {
		k, err := m.keyIn(root)
		switch {
		case err == nil:
			seals[k.KeyID()] = k
		case !errors.Is(err, fs.ErrNotExist):
			problem = errors.Join(problem, err)
		}
	}
	return seals, problem
}

// Key is the key that this machine seals with: the first that can be read. It
// is fs.ErrNotExist that there is none; another error says that there is one.
func (m *Machine) Key() (ledger.Key, error) {
	var problem error
	for _, root := range m.State {
		k, err := m.keyIn(root)
		if err == nil {
			return k, nil
		}
		if problem == nil || !errors.Is(err, fs.ErrNotExist) {
			problem = err
		}
	}
	if problem == nil {
		problem = fmt.Errorf("read seal key: %w", fs.ErrNotExist)
	}
	return nil, problem
}

func (m *Machine) keyIn(root string) (ledger.Key, error) {
	d, err := m.Layer.OpenDir(root)
	if err != nil {
		return nil, fmt.Errorf("open state folder: %w", err)
	}
	defer d.Close()
	return readKey(d)
}

func readKey(d *durable.Dir) (ledger.Key, error) {
	b, err := readFile(d, d, keyName, 256)
	if err != nil {
		return nil, fmt.Errorf("read seal key: %w", err)
	}
	k, err := hex.DecodeString(strings.TrimSpace(string(b)))
	if err != nil || len(k) != 32 {
		return nil, fmt.Errorf("read seal key: %w", errBadKey)
	}
	return k, nil
}

// EnsureKey is Key, but makes the key where there is none.
func (m *Machine) EnsureKey() (ledger.Key, error) {
	var notice []string // the next save tells what it finds
	return m.makeKey(&notice)
}

// makeKey gives the key, making it where there is none. A key file that can't
// be read is left as it is. What stops nothing and must be told goes to notice.
func (m *Machine) makeKey(notice *[]string) (ledger.Key, error) {
	k, err := m.Key()
	if err == nil || !errors.Is(err, fs.ErrNotExist) || len(m.State) == 0 {
		return k, err
	}
	raw := make([]byte, 32)
	if _, err := io.ReadFull(m.Rand, raw); err != nil {
		return nil, fmt.Errorf("make seal key: %w", err)
	}
	err = m.inState(func(d *durable.Dir) error {
		return publish(d, d, keyName, []byte(hex.EncodeToString(raw)+"\n"), notice)
	})
	if err != nil {
		return nil, fmt.Errorf("make seal key: %w", err)
	}
	return m.Key() // the winner's
}

// publish publishes a file of which there is to be one, whoever makes it.
func publish(d, tmp *durable.Dir, name string, data []byte, notice *[]string) error {
	pub, err := d.Publish(tmp, name, data, fileMode)
	tell(notice, pub)
	if errors.Is(err, durable.ErrExists) {
		return nil
	}
	return err
}

func tell(notice *[]string, pub durable.Published) {
	for _, w := range pub.Warnings {
		*notice = append(*notice, w.Error())
	}
}

// inState does something in the preferred state folder in which it can be done,
// making the folder where it is missing.
func (m *Machine) inState(do func(top *durable.Dir) error) error {
	problem := errNoState
	for i, root := range m.State {
		err := m.inRoot(root, do)
		if err == nil {
			return nil
		}
		if i == 0 {
			problem = err
		} else {
			problem = errors.Join(problem, err)
		}
	}
	return problem
}

func (m *Machine) inRoot(root string, do func(top *durable.Dir) error) error {
	if err := m.Layer.MkdirAll(root, folderMode); err != nil {
		return fmt.Errorf("open state folder: %w", err)
	}
	d, err := m.Layer.OpenDir(root)
	if err != nil {
		return fmt.Errorf("open state folder: %w", err)
	}
	defer d.Close()
	return do(d)
}

// readState reads a small file of a state folder.
func (m *Machine) readState(dir, name string) ([]byte, error) {
	d, err := m.Layer.OpenDir(dir)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	return d.ReadFile(name, 64<<10)
}

// stateOf opens the folder of one ledger in a state folder, for reading.
func (m *Machine) stateOf(root, id string) (*durable.Dir, error) {
	if !validLedgerID(id) {
		return nil, fmt.Errorf("open state of ledger: %w", fs.ErrInvalid)
	}
	return m.Layer.OpenDir(filepath.Join(root, id))
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

// unwritable: a state folder that can't be written leaves saves unprotected
// and unsealed, and does not stop them.
func unwritable(err error) bool {
	return durable.NotWritable(err) || errors.Is(err, fs.ErrNotExist) || durable.DiskFull(err) ||
		errors.Is(err, durable.ErrUnsafe) || errors.Is(err, errNoState)
}
