package filelog

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"slices"
	"strings"

	"holdfast/internal/durable"
	"holdfast/internal/ledger"
)

// Generation is one generation as it lies in the ledger's folder.
type Generation struct {
	Name   string // of its folder: 0001, or .build-… for one in the making
	Number int    // 0 for one in the making
	Path   string
	Sealed bool  // a recovery sealed it
	Packed int64 // last revision in an unbroken row of packs
	Head   int64 // last revision before the first gap, -1 for none
	Err    error // a gap, a copy, or why it can't be read
}

// Generations lists them, the highest last and those in the making first. It
// goes by names alone, and works on a damaged, foreign or lost ledger.
func (l *Log) Generations(ctx context.Context) ([]Generation, error) {
	var out []Generation
	err := l.inGenerations(func(gens *durable.Dir) error {
		names, err := gens.Names()
		if err != nil {
			return err
		}
		for _, name := range names {
			n, ok := parseGen(name)
			if err := ctx.Err(); err != nil {
				return err
			}
			if ok || strings.HasPrefix(name, buildPrefix) {
				out = append(out, describeGeneration(gens, name, n))
			}
		}
		slices.SortFunc(out, func(a, b Generation) int { return a.Number - b.Number })
		return nil
	})
	return out, err
}

// inGenerations opens the folder of generations, if there is one.
func (l *Log) inGenerations(do func(gens *durable.Dir) error) error {
	top, err := l.m.Layer.OpenDir(l.Dir())
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("open ledger folder: %w", err)
	}
	defer top.Close()
	gens, err := top.Sub(genName)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("open generations: %w", err)
	}
	defer gens.Close()
	return do(gens)
}

func describeGeneration(gens *durable.Dir, name string, n int) Generation {
	g := Generation{Name: name, Number: n, Path: place(gens.Path(), name), Head: -1}
	v, err := openGeneration(gens, name, n)
	if err != nil {
		g.Err = err
		return g
	}
	defer v.close()
	g.Packed, g.Head = v.s.packed, v.s.head
	if v.d != nil {
		g.Err = v.d
	}
	if _, err := v.f.genDir.Lstat(sealedName); err == nil {
		g.Sealed = true
	}
	return g
}

// openGeneration opens one generation as far as it is listed, whatever it is.
func openGeneration(gens *durable.Dir, name string, n int) (*view, error) {
	v := &view{f: &folder{gen: n}}
	err := v.f.openNumber(gens, name)
	if err == nil && v.f.rev == nil {
		err = fmt.Errorf("open revisions: %w", fs.ErrNotExist)
	}
	if err == nil {
		v.s, v.d, err = v.f.list()
	}
	if err != nil {
		v.close()
		return nil, err
	}
	return v, nil
}

// GenerationEntries yields every line of a generation's packs and then of its
// loose revisions, those under packs too, as they lie there. What can't be read
// or is no entry comes with an error, and the next one after it. Nothing is
// checked but each entry by itself, and that it stands where it belongs: the
// caller follows the chain. It works on any ledger, a foreign one too.
func (l *Log) GenerationEntries(ctx context.Context, name string) iter.Seq2[Line, error] {
	return func(yield func(Line, error) bool) {
		err := l.inGenerations(func(gens *durable.Dir) error {
			n, _ := parseGen(name)
			v, err := openGeneration(gens, name, n)
			if err != nil {
				return err
			}
			defer v.close()
			return v.f.everything(ctx, yield)
		})
		if err != nil && !errors.Is(err, errStop) {
			yield(Line{}, err)
		}
	}
}

func (f *folder) everything(ctx context.Context, yield func(Line, error) bool) error {
	packs, _, err := f.listPacks()
	if err != nil {
		return err
	}
	for _, p := range packs {
		if err := f.packLines(ctx, p, yield); err != nil {
			return err
		}
	}
	revs, _, err := f.listRevisions()
	if err != nil {
		return err
	}
	for _, rev := range revs {
		if err := ctx.Err(); err != nil {
			return err
		}
		e, err := f.looseEntry(rev)
		if !yield(Line{Path: place(f.rev.Path(), revFile(rev)), Line: 1, Entry: e}, err) {
			return errStop
		}
	}
	return nil
}

// packLines is walkPack that goes on behind what is wrong.
func (f *folder) packLines(ctx context.Context, p pack, yield func(Line, error) bool) error {
	at := Line{Path: place(f.pack.Path(), p.name())}
	file, err := f.openPack(p.name())
	if err != nil {
		if !yield(at, fmt.Errorf("open pack: %w", err)) {
			return errStop
		}
		return nil
	}
	defer file.Close()
	r := lineReader{r: file}
	for n := int64(1); ; n++ {
		line, err := r.next()
		if errors.Is(err, io.EOF) {
			break
		}
		at.Line, at.Entry = n, ledger.Entry{}
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return fmt.Errorf("read pack: %w", err)
		}
		at.Entry, err = checkEntry(at.Path, p.from+n-1, line)
		if !yield(at, err) {
			return errStop
		}
	}
	if lines := at.Line; lines != PackSize {
		at.Entry = ledger.Entry{}
		if !yield(at, damage(DamageMissing, p.from+lines, at.Path, "it has not as many lines as revisions")) {
			return errStop
		}
	}
	return nil
}
