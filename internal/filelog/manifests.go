package filelog

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"holdfast/internal/durable"
)

// maxManifest is the largest manifest of a receipt, compressed, in bytes.
const maxManifest = 64 << 20

// parseManifest reads the name of a receipt's manifest: the SHA-256 of what is in
// it.
func parseManifest(name string) (sum string, ok bool) {
	sum, ok = strings.CutSuffix(name, ".gz")
	b, err := hex.DecodeString(sum)
	return sum, ok && err == nil && len(b) == 32 && hex.EncodeToString(b) == sum
}

// Manifests lists the receipts' manifests, those in the ledger's folder and the
// copies beside its mirrors, by the SHA-256 that names each.
func (l *Log) Manifests(_ context.Context, id string) ([]string, error) {
	var out []string
	err := l.inManifests(id, func(d *durable.Dir) error {
		names, err := d.Names()
		for _, name := range names {
			if sum, ok := parseManifest(name); ok && !slices.Contains(out, sum) {
				out = append(out, sum)
			}
		}
		return err
	})
	slices.Sort(out)
	return out, err
}

// ReadManifest reads one, compressed, from wherever a copy is. What is in it is
// not checked.
func (l *Log) ReadManifest(id, sum string) ([]byte, error) {
	var out []byte
	problem := fs.ErrNotExist
	err := l.inManifests(id, func(d *durable.Dir) error {
		if out != nil {
			return nil
		}
		b, err := readFile(d, d, sum+".gz", maxManifest)
		if err == nil {
			out = b
		} else if !errors.Is(err, fs.ErrNotExist) {
			problem = err
		}
		return nil
	})
	if err == nil && out == nil {
		err = fmt.Errorf("read manifest: %w", problem)
	}
	return out, err
}

// RestoreManifest puts one into the ledger's folder, where none is.
func (l *Log) RestoreManifest(sum string, data []byte) error {
	if _, ok := parseManifest(sum + ".gz"); !ok {
		return fmt.Errorf("restore manifest: %w", fs.ErrInvalid)
	}
	if err := l.putInto(ManifestsName, sum+".gz", data); err != nil {
		return fmt.Errorf("restore manifest: %w", err)
	}
	return nil
}

// KeepManifest puts a receipt's manifest into the ledger's folder, and a copy
// beside each mirror. It is named by the SHA-256 of what is in it. The error
// tells of each copy that could not be made; the receipt can do without.
func (l *Log) KeepManifest(sum string, packed []byte) error {
	if err := l.RestoreManifest(sum, packed); err != nil {
		return err
	}
	var problem error
	for _, root := range l.m.State {
		top, err := l.m.stateOf(root, l.ID())
		if err != nil {
			continue // no mirror lies there
		}
		if err := putInto(top, ManifestsName, sum+".gz", packed); err != nil {
			problem = errors.Join(problem, fmt.Errorf("keep manifest: %w", err))
		}
		top.Close()
	}
	return problem
}

// putInto publishes a file in a folder inside the ledger's. One that is there
// already with this name stays.
func (l *Log) putInto(folder, name string, data []byte) error {
	top, err := l.m.Layer.OpenDir(l.Dir())
	if err != nil {
		return err
	}
	defer top.Close()
	return putInto(top, folder, name, data)
}

func putInto(top *durable.Dir, folder, name string, data []byte) error {
	d, err := top.MakeSub(folder, folderMode)
	if err != nil {
		return err
	}
	defer d.Close()
	if _, err := d.Publish(nil, name, data, sealedMode); err != nil && !errors.Is(err, durable.ErrExists) {
		return err
	}
	return nil
}

// inManifests does something in each folder that may hold manifests, if it is
// there.
func (l *Log) inManifests(id string, do func(*durable.Dir) error) error {
	dirs := []func() (*durable.Dir, error){func() (*durable.Dir, error) { return l.m.Layer.OpenDir(l.Dir()) }}
	for _, root := range l.m.State {
		dirs = append(dirs, func() (*durable.Dir, error) { return l.m.stateOf(root, id) })
	}
	for _, open := range dirs {
		top, err := open()
		if err != nil {
			continue // there is none
		}
		d, err := top.Sub(ManifestsName)
		if err == nil {
			err = do(d)
			d.Close()
		}
		top.Close()
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("look at manifests: %w", err)
		}
	}
	return nil
}
