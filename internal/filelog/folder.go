package filelog

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"holdfast/internal/durable"
)

// folder is one verified look at a ledger's folder. It is opened for one call
// and closed at its end.
type folder struct {
	top    *durable.Dir // .holdfast
	id     string       // from FORMAT
	gen    int
	genDir *durable.Dir
	rev    *durable.Dir
	pack   *durable.Dir // nil while nothing is packed
	copies []string     // copies of a generation's folder
}

func (f *folder) close() {
	for _, d := range []*durable.Dir{f.pack, f.rev, f.genDir, f.top} {
		if d != nil {
			d.Close()
		}
	}
}

// look opens the ledger's folder as it is now. ErrNone: there is none.
func (l *Log) look() (*folder, error) {
	top, err := l.m.Layer.OpenDir(l.Dir())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, l.absent(l.Dir(), "")
	}
	if err != nil {
		return nil, fmt.Errorf("open ledger folder: %w", err)
	}
	f := &folder{top: top}
	if err := l.fill(f); err != nil {
		f.close()
		return nil, err
	}
	return f, nil
}

func (l *Log) fill(f *folder) error {
	if err := l.identify(f); err != nil {
		return err
	}
	if err := f.openGeneration(&l.seen.gens); err != nil {
		return err
	}
	if f.gen == 0 { // FORMAT without a generation: unfinished, unless one was seen
		return l.absent(place(f.top.Path(), genName), f.id)
	}
	return nil
}

// identify finds the ledger's id. FORMAT is read again only when its stamp says
// that it changed.
func (l *Log) identify(f *folder) error {
	info, err := f.top.Lstat(formatName)
	if err == nil && l.seen.id != "" && l.seen.format == stampOf(info) {
		f.id = l.seen.id
		return nil
	}
	fm, err := readFormat(f.top)
	if errors.Is(err, fs.ErrNotExist) {
		if _, gerr := f.top.Lstat(genName); gerr == nil {
			return l.headless(f, damage(DamageGone, -1, place(f.top.Path(), formatName), "it is missing").may(briefly))
		}
		return l.absent(place(f.top.Path(), formatName), "")
	}
	if _, damaged := errors.AsType[*DamageError](err); damaged {
		return l.headless(f, err)
	}
	if err != nil {
		return err
	}
	if fm.Ledger != l.seen.id {
		l.seen = seen{id: fm.Ledger, head: l.seen.head, headGen: l.seen.headGen, renamed: l.seen.id != ""}
	}
	if info != nil {
		l.seen.format = stampOf(info)
	}
	f.id = fm.Ledger
	return nil
}

// headless decides what an unreadable FORMAT means: damage where this machine
// knows the ledger, by what was seen before, by this path's note or by a mirror
// of the id that the first revision names, and where nothing else lies there;
// else a foreign folder.
func (l *Log) headless(f *folder, err error) error {
	if n, known := l.noted(); known {
		l.seen.id = n.Ledger
		return err
	}
	if l.seen.head.Hash != "" {
		return err
	}
	gerr := f.openGeneration(nil)
	if gerr == nil && f.gen == 0 {
		return err // lost rather than new
	}
	if gerr == nil {
		if e, eerr := f.looseEntry(0); eerr == nil && l.mirrored(e.Ledger) {
			l.seen.id = e.Ledger
			return err
		}
	}
	return &ForeignError{Path: f.top.Path()}
}

// absent decides what a missing part means: a loss where this path's note names
// a ledger or this machine has a mirror of it, else that there is none yet.
func (l *Log) absent(path, id string) error {
	if n, known := l.noted(); known {
		id = n.Ledger
	} else if l.seen.head.Hash != "" { // this process has seen it
		id = l.seen.id
	} else if id == "" || !l.mirrored(id) {
		return ErrNone
	}
	lost := &LostError{ID: id, Path: path, Saves: l.seen.head.Rev}
	for _, root := range l.m.State {
		if t, err := l.tailIn(root, id); err == nil && t.last.Hash != "" {
			lost.Saves = max(lost.Saves, t.last.Rev)
		}
	}
	if l.seen.id == "" {
		l.seen.id = id
	}
	return lost
}

// mirrored reports whether a mirror of the ledger is here.
func (l *Log) mirrored(id string) bool {
	for _, root := range l.m.State {
		if t, err := l.tailIn(root, id); err == nil && t.last.Hash != "" {
			return true
		}
	}
	return false
}

// highest is the highest generation, and the stamp of the folder of generations
// under which it was found.
type highest struct {
	stamp Stamp
	gen   int
}

// openGeneration opens the highest generation. It leaves gen at 0 where there
// is none, or only the first one in the making. known, if given, saves a listing
// as long as the folder doesn't change.
func (f *folder) openGeneration(known *highest) error {
	f.gen = 0
	gens, err := f.top.Sub(genName)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("open generations: %w", err)
	}
	defer gens.Close()
	info, err := gens.Info()
	if err != nil {
		return err
	}
	if stamp := stampOf(info); known != nil && known.stamp == stamp {
		f.gen = known.gen
	} else if f.gen, f.copies, err = highestGeneration(gens); err != nil || f.gen == 0 {
		return err
	} else if known != nil && len(f.copies) == 0 {
		*known = highest{stamp, f.gen}
	}
	return f.openNumber(gens, genFolder(f.gen))
}

// openNumber opens one generation. A first one without a folder of revisions is
// one in the making.
func (f *folder) openNumber(gens *durable.Dir, name string) (err error) {
	if f.genDir, err = gens.Sub(name); err != nil {
		return fmt.Errorf("open generation: %w", err)
	}
	f.rev, err = f.genDir.Sub(revName)
	if errors.Is(err, fs.ErrNotExist) {
		if f.gen == 1 {
			f.gen = 0
			return nil
		}
		return damage(DamageGone, -1, place(f.genDir.Path(), revName), "it is missing").may(briefly)
	}
	if err != nil {
		return fmt.Errorf("open revisions: %w", err)
	}
	return f.reopenPacks()
}

func (f *folder) reopenPacks() error {
	d, err := f.genDir.Sub(packName)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("open packs: %w", err)
	}
	if f.pack != nil {
		f.pack.Close()
	}
	f.pack = d
	return nil
}

// highestGeneration also gives the paths of what looks like a copy of one.
func highestGeneration(gens *durable.Dir) (highest int, copies []string, err error) {
	names, err := gens.Names()
	if err != nil {
		return 0, nil, fmt.Errorf("list generations: %w", err)
	}
	for _, name := range names {
		if n, ok := parseGen(name); ok {
			highest = max(highest, n)
			continue
		}
		if n, ok := copiedNumber(name, 4); ok && n > 0 && !strings.HasPrefix(name, buildPrefix) {
			copies = append(copies, place(gens.Path(), name))
		}
	}
	return highest, copies, nil
}

// tmp opens the folder of temporary files, making it where it is missing.
func (f *folder) tmp() (*durable.Dir, error) {
	d, err := f.genDir.MakeSub(tmpName, folderMode)
	if err != nil {
		return nil, fmt.Errorf("open temporary folder: %w", err)
	}
	return d, nil
}
