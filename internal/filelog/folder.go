package filelog

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"

	"holdfast/internal/durable"
	"holdfast/internal/ledger"
)

// folder is one verified look at a ledger's folder. It is opened for one call
// and closed at its end.
type folder struct {
	top    *durable.Dir // .holdfast
	id     string       // from FORMAT; empty while the ledger is being created
	gen    int          // 0 while there is no generation
	genDir *durable.Dir
	rev    *durable.Dir
	pack   *durable.Dir // nil while nothing is packed
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
		return nil, l.absent(l.Dir())
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
	b, err := f.top.ReadFile(formatName, 4<<10)
	if errors.Is(err, fs.ErrNotExist) {
		if _, err := f.top.Lstat(genName); err == nil {
			return l.headless(f, damage(DamageGone, -1, place(f.top.Path(), formatName), "it is missing"))
		}
		return l.absent(place(f.top.Path(), formatName))
	}
	if err != nil {
		return fmt.Errorf("read format: %w", err)
	}
	fm, err := parseFormat(place(f.top.Path(), formatName), b)
	if err != nil {
		return l.headless(f, err)
	}
	f.id = fm.Ledger
	if err := f.openGeneration(); err != nil {
		return err
	}
	if f.gen == 0 { // FORMAT without revision 0: unfinished, unless one was seen here
		return l.absent(place(f.top.Path(), genName))
	}
	return nil
}

// headless decides what an unreadable FORMAT means: damage where this machine
// knows the ledger, else a foreign folder.
func (l *Log) headless(f *folder, err error) error {
	var newer *NewerError
	if errors.As(err, &newer) {
		return err
	}
	if _, known := l.noted(); known {
		return err
	}
	return &ForeignError{Path: f.top.Path()}
}

// absent decides what a missing part means: a loss where this path's note names
// a ledger, else that there is none yet.
func (l *Log) absent(path string) error {
	n, known := l.noted()
	if !known {
		return ErrNone
	}
	saves := int64(0)
	if t := l.tail(n.Ledger); t.last.Hash != "" {
		saves = t.last.Rev
	}
	return &LostError{ID: n.Ledger, Path: path, Saves: saves}
}

func (f *folder) openGeneration() error {
	gens, err := f.top.Sub(genName)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("open generations: %w", err)
	}
	defer gens.Close()
	if f.gen, err = highestGeneration(gens); err != nil || f.gen == 0 {
		return err
	}
	if f.genDir, err = gens.Sub(genFolder(f.gen)); err != nil {
		return fmt.Errorf("open generation: %w", err)
	}
	f.rev, err = f.genDir.Sub(revName)
	if errors.Is(err, fs.ErrNotExist) {
		f.gen = 0
		return nil
	}
	if err != nil {
		return fmt.Errorf("open revisions: %w", err)
	}
	f.pack, err = f.genDir.Sub(packName)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("open packs: %w", err)
	}
	return f.checkCreated()
}

// checkCreated: the first generation exists once revision 0 does, since
// creation makes its folders first.
func (f *folder) checkCreated() error {
	if f.gen != 1 || f.pack != nil {
		return nil
	}
	if _, err := f.rev.Lstat(revFile(0)); !errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	names, err := f.rev.Names()
	if err != nil {
		return fmt.Errorf("list revisions: %w", err)
	}
	if len(names) == 0 {
		f.gen = 0
	}
	return nil
}

func highestGeneration(gens *durable.Dir) (int, error) {
	names, err := gens.Names()
	if err != nil {
		return 0, fmt.Errorf("list generations: %w", err)
	}
	highest := 0
	for _, name := range names {
		n, err := strconv.Atoi(name)
		if err == nil && genPattern.MatchString(name) && genFolder(n) == name {
			highest = max(highest, n)
		}
	}
	return highest, nil
}

// listing is what lies in a generation's folders.
type listing struct {
	packs  []pack
	loose  []int64 // not covered by a pack, ascending
	covers []int64 // loose files that a pack covers: leftovers
	copies []string
	head   int64 // -1: nothing at all
}

func (s *listing) packed() int64 {
	if n := len(s.packs); n > 0 {
		return s.packs[n-1].to
	}
	return 0
}

func (s *listing) packOf(rev int64) (pack, bool) {
	i := (rev - 1) / PackSize
	if rev < 1 || i >= int64(len(s.packs)) {
		return pack{}, false
	}
	return s.packs[i], true
}

// list reads the names and checks that no revision is missing between them.
func (f *folder) list() (*listing, error) {
	s := &listing{head: -1}
	if f.pack != nil {
		names, err := f.pack.Names()
		if err != nil {
			return nil, fmt.Errorf("list packs: %w", err)
		}
		for _, name := range names {
			if p, ok := parsePack(name); ok {
				s.packs = append(s.packs, p)
			} else if copyPattern.MatchString(name) {
				s.copies = append(s.copies, place(f.pack.Path(), name))
			}
		}
	}
	names, err := f.rev.Names()
	if err != nil {
		return nil, fmt.Errorf("list revisions: %w", err)
	}
	slices.SortFunc(s.packs, func(a, b pack) int { return int(a.from - b.from) })
	for _, name := range names {
		if rev, ok := parseRev(name); !ok {
			if copyPattern.MatchString(name) {
				s.copies = append(s.copies, place(f.rev.Path(), name))
			}
		} else if rev != 0 && rev <= s.packed() {
			s.covers = append(s.covers, rev)
		} else {
			s.loose = append(s.loose, rev)
		}
	}
	slices.Sort(s.loose)
	return s, s.check(f)
}

func (s *listing) check(f *folder) error {
	for i, p := range s.packs {
		if p.from != int64(i)*PackSize+1 {
			return damage(DamageMissing, int64(i)*PackSize+1, place(f.genDir.Path(), packName), "a pack is missing")
		}
	}
	next := int64(0)
	for _, r := range s.loose {
		if next == 1 {
			next = s.packed() + 1
		}
		if r != next {
			return damage(DamageMissing, next, place(f.rev.Path(), revFile(next)), "the revision is missing")
		}
		next++
	}
	if next == 0 && len(s.packs) > 0 {
		return damage(DamageMissing, 0, place(f.rev.Path(), revFile(0)), "the revision is missing")
	}
	s.head = max(next-1, s.packed())
	if len(s.loose) == 0 && len(s.packs) == 0 {
		s.head = -1
	}
	if len(s.copies) > 0 {
		return damage(DamageCopy, -1, s.copies[0], "it looks like a second copy of a revision")
	}
	return nil
}

// entry reads one revision by its number. Its own hash and body are checked,
// its place in the chain is not.
func (f *folder) entry(s *listing, rev int64) (ledger.Entry, error) {
	if p, ok := s.packOf(rev); ok {
		return f.packedEntry(p, rev)
	}
	return f.looseEntry(rev)
}

func (f *folder) looseEntry(rev int64) (ledger.Entry, error) {
	path := place(f.rev.Path(), revFile(rev))
	b, err := f.rev.ReadFile(revFile(rev), ledger.MaxEntry)
	if tooLarge, ok := errors.AsType[*durable.TooLargeError](err); ok {
		return ledger.Entry{}, &DamageError{Kind: DamageChanged, Rev: rev, Path: path, Why: "it is larger than a revision can be", Err: tooLarge}
	}
	if err != nil {
		return ledger.Entry{}, fmt.Errorf("read revision %d: %w", rev, err)
	}
	return checkEntry(path, rev, b)
}

func checkEntry(path string, rev int64, line []byte) (ledger.Entry, error) {
	e, err := ledger.Parse(line)
	if err != nil {
		return e, asDamage(path, rev, err)
	}
	if e.Rev != rev {
		return e, damage(DamageChanged, rev, path, "it holds another revision")
	}
	if !e.CheckBody() {
		return e, damage(DamageChanged, rev, path, "its body was changed")
	}
	return e, nil
}
