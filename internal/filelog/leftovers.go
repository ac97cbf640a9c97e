package filelog

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"holdfast/internal/durable"
)

// Kinds of leftover.
const (
	LeftGeneration = "generation" // one that a recovery replaced
	LeftBuild      = "build"      // what a recovery that died, or a removal, left
	LeftQuarantine = "quarantine"
	LeftManifest   = "manifest" // of a receipt
)

// Leftover is something that a ledger works without.
type Leftover struct {
	Kind  string
	Name  string // its own
	Path  string
	Files int
	Bytes int64
	Sum   string // SHA-256 over names, sizes and times of its files
}

// prunedPrefix marks a generation whose removal has begun.
const prunedPrefix = buildPrefix + "pruned-"

// Leftovers lists what lies in the ledger's folder and beside its mirrors that the
// newest generation and the mirrors don't need. Whether anybody else does is for
// the caller to say. It writes nothing.
func (l *Log) Leftovers(ctx context.Context) ([]Leftover, error) {
	var out []Leftover
	collect := func(kind string, pick func(name string) bool) func(*durable.Dir) error {
		return func(d *durable.Dir) error {
			names, err := d.Names()
			for _, name := range names {
				if err != nil || ctx.Err() != nil {
					return errors.Join(err, ctx.Err())
				}
				if pick(name) {
					var left Leftover
					left, err = measure(d, kind, name)
					out = append(out, left)
				}
			}
			return err
		}
	}
	err := l.inGenerations(func(gens *durable.Dir) error {
		highest, _, err := highestGeneration(gens)
		if err != nil {
			return err
		}
		older := func(name string) bool { n, ok := parseGen(name); return ok && n < highest }
		building := func(name string) bool { return strings.HasPrefix(name, buildPrefix) }
		return errors.Join(collect(LeftGeneration, older)(gens), collect(LeftBuild, building)(gens))
	})
	if err != nil {
		return nil, fmt.Errorf("list leftovers: %w", err)
	}
	any := func(name string) bool { return !durable.IsTemporary(name) }
	if err := l.inSub(QuarantineName, collect(LeftQuarantine, any)); err != nil {
		return nil, fmt.Errorf("list leftovers: %w", err)
	}
	manifest := func(name string) bool { _, ok := parseManifest(name); return ok }
	return out, l.inManifests(l.ID(), collect(LeftManifest, manifest))
}

// inSub does something in a folder of the ledger's, if it is there.
func (l *Log) inSub(name string, do func(*durable.Dir) error) error {
	top, err := l.m.Layer.OpenDir(l.Dir())
	if err != nil {
		return err
	}
	defer top.Close()
	d, err := top.Sub(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer d.Close()
	return do(d)
}

func measure(d *durable.Dir, kind, name string) (Leftover, error) {
	left := Leftover{Kind: kind, Name: name, Path: place(d.Path(), name)}
	files, err := d.Tree(name)
	h := sha256.New()
	for _, f := range files {
		left.Files++
		left.Bytes += f.Info.Size()
		fmt.Fprintf(h, "%s\x00%d\x00%d\x00%o\n", f.Name, f.Info.Size(), f.Info.ModTime().UnixNano(), f.Info.Mode())
	}
	left.Sum = hex.EncodeToString(h.Sum(nil))
	return left, err
}

// RemoveLeftover removes one. A generation loses its name first, so that none is
// ever seen in part.
func (l *Log) RemoveLeftover(left *Leftover) error {
	d, err := l.m.Layer.OpenDir(filepath.Dir(left.Path))
	if err != nil {
		return fmt.Errorf("remove leftover: %w", err)
	}
	defer d.Close()
	name := left.Name
	if left.Kind == LeftGeneration {
		name = prunedPrefix + name
		if err := d.RemoveTree(name); err != nil { // of a removal that was cut short
			return fmt.Errorf("remove leftover: %w", err)
		}
		if err := d.Rename(left.Name, d, name); err != nil {
			return fmt.Errorf("remove leftover: %w", err)
		}
	}
	if err := d.RemoveTree(name); err != nil {
		return fmt.Errorf("remove leftover: %w", err)
	}
	return nil
}
