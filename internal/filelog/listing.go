package filelog

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
)

// listing is what lies in a generation's folders: revision 0, packs without a
// gap from revision 1 to packed, and loose revisions without a gap from there to
// head.
type listing struct {
	packed int64   // last revision in a pack, 0 for none
	head   int64   // -1: nothing at all
	covers []int64 // loose files that a pack covers: leftovers of packing
}

func (s *listing) loose() int64 { return s.head - s.packed }

func (s *listing) isPacked(rev int64) bool { return rev > 0 && rev <= s.packed }

// list reads the names. What is missing between them, or stands beside them, is
// given as damage; then the listing ends before the first gap. The revisions
// are listed before the packs: packing publishes first and removes later, so
// nothing is missed that is being packed.
func (f *folder) list() (listing, *DamageError, error) {
	revs, copies, err := f.listRevisions()
	if err != nil {
		return listing{}, nil, err
	}
	packs, more, err := f.listPacks()
	if err != nil {
		return listing{}, nil, err
	}
	s := listing{head: -1}
	d := s.setPacks(f, packs)
	if gap := s.setLoose(f, revs); d == nil {
		d = gap
	}
	if d == nil {
		d = s.checkCopies(append(copies, more...))
	}
	if len(f.copies) > 0 && d == nil {
		d = damage(DamageCopy, -1, f.copies[0], "it looks like a second copy of a generation")
	}
	return s, d, nil
}

// copied is a file that looks like a copy of a numbered one.
type copied struct {
	path   string
	rev    int64
	ofPack bool
}

func (f *folder) listRevisions() (revs []int64, copies []copied, err error) {
	names, err := f.rev.Names()
	if err != nil {
		return nil, nil, fmt.Errorf("list revisions: %w", err)
	}
	revs = make([]int64, 0, len(names))
	for _, name := range names {
		if rev, ok := parseRev(name); ok {
			revs = append(revs, rev)
		} else if rev, ok := copiedNumber(name, 8); ok {
			copies = append(copies, copied{place(f.rev.Path(), name), rev, false})
		}
	}
	slices.Sort(revs)
	return revs, copies, nil
}

func (f *folder) listPacks() (packs []pack, copies []copied, err error) {
	if err := f.reopenPacks(); err != nil || f.pack == nil {
		return nil, nil, err
	}
	names, err := f.pack.Names()
	if err != nil {
		return nil, nil, fmt.Errorf("list packs: %w", err)
	}
	for _, name := range names {
		if p, ok := parsePack(name); ok {
			packs = append(packs, p)
		} else if rev, ok := copiedNumber(name, 8); ok {
			copies = append(copies, copied{place(f.pack.Path(), name), rev, true})
		}
	}
	slices.SortFunc(packs, func(a, b pack) int { return int(a.from - b.from) })
	return packs, copies, nil
}

func (s *listing) setPacks(f *folder, packs []pack) *DamageError {
	for _, p := range packs {
		if p.from != s.packed+1 {
			return damage(DamageMissing, s.packed+1, place(f.genDir.Path(), packName, packOf(s.packed+1).name()), "the pack is missing").may(briefly)
		}
		s.packed = p.to
	}
	return nil
}

// setLoose finds the head. A name that the listing lacks is looked for by
// itself: the listing of a network folder may lag behind.
func (s *listing) setLoose(f *folder, revs []int64) *DamageError {
	zero := len(revs) > 0 && revs[0] == 0
	if zero {
		revs = revs[1:]
	}
	n, _ := slices.BinarySearch(revs, s.packed+1)
	if n > 0 {
		s.covers = slices.Clone(revs[:n])
	}
	if !zero && (s.packed > 0 || len(revs) > 0) && !f.has(0) {
		return damage(DamageMissing, 0, place(f.rev.Path(), revFile(0)), "the revision is missing").may(briefly)
	}
	if !zero && len(revs) == 0 && s.packed == 0 {
		return nil
	}
	s.head = s.packed
	for _, rev := range revs[n:] {
		for ; s.head+1 < rev; s.head++ {
			if !f.has(s.head + 1) {
				return damage(DamageMissing, s.head+1, place(f.rev.Path(), revFile(s.head+1)), "the revision is missing").may(briefly)
			}
		}
		s.head = rev
	}
	for f.has(s.head + 1) {
		s.head++
	}
	return nil
}

func (f *folder) has(rev int64) bool {
	_, err := f.rev.Lstat(revFile(rev))
	return err == nil
}

// checkCopies: a copy of a pack, of a revision that the ledger has, or of the
// next one, means that there may be two contents for it. A copy of a loose file
// under a pack doesn't count, as the file itself doesn't.
func (s *listing) checkCopies(copies []copied) *DamageError {
	for _, c := range copies {
		if c.rev <= s.head+1 && (c.ofPack || !s.isPacked(c.rev)) {
			return damage(DamageCopy, c.rev, c.path, "it looks like a second copy of a revision")
		}
	}
	return nil
}

// listed lists the folder, or trusts the last listing where the folders' stamps
// and the absence of a next revision show that nothing was added.
func (l *Log) listed(v *view) (err error) {
	f := v.f
	rev, pk, err := f.stamps()
	if err != nil {
		return err
	}
	if l.seen.listing != nil && l.seen.gen == f.gen && l.seen.rev == rev && l.seen.pack == pk && len(f.copies) == 0 {
		v.s = *l.seen.listing
		_, err := f.rev.Lstat(revFile(v.s.head + 1))
		if errors.Is(err, fs.ErrNotExist) {
			v.trusted = true
			return nil
		}
	}
	l.seen.listing = nil
	if v.s, v.d, err = f.list(); err != nil {
		return err
	}
	if v.s.head < 0 && v.d == nil {
		if f.gen == 1 {
			return l.absent(f.rev.Path(), f.id)
		}
		v.d = damage(DamageGone, 0, f.rev.Path(), "it is empty").may(briefly)
	}
	if v.d == nil {
		s := v.s
		l.seen.listing, l.seen.gen, l.seen.rev, l.seen.pack = &s, f.gen, rev, pk
	}
	return nil
}

// stamps are those of the two folders; that of the packs is zero without one.
func (f *folder) stamps() (rev, pk Stamp, err error) {
	i, err := f.rev.Info()
	if err != nil {
		return rev, pk, fmt.Errorf("look at revisions: %w", err)
	}
	rev = stampOf(i)
	if f.pack != nil {
		if i, err = f.pack.Info(); err != nil {
			return rev, pk, fmt.Errorf("look at packs: %w", err)
		}
		pk = stampOf(i)
	}
	return rev, pk, nil
}
