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
	top, err := l.m.Layer.OpenDir(l.Dir())
	if err != nil {
		return fmt.Errorf("restore manifest: %w", err)
	}
	defer top.Close()
	d, err := top.MakeSub(ManifestsName, folderMode)
	if err != nil {
		return fmt.Errorf("restore manifest: %w", err)
	}
	defer d.Close()
	if _, err := d.Publish(d, sum+".gz", data, sealedMode); err != nil && !errors.Is(err, durable.ErrExists) {
		return fmt.Errorf("restore manifest: %w", err)
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
