package filelog

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"holdfast/internal/durable"
	"holdfast/internal/ledger"
)

// Stamps gives the stamps of all packs and loose revisions of the current
// generation, by their paths relative to it, with the generation's own folder
// as the first element. It opens and writes nothing.
func (l *Log) Stamps(ctx context.Context) (map[string]Stamp, error) { return l.StampsFrom(ctx, 0) }

// StampsFrom gives those of the loose revisions from one on, and for 0 all.
func (l *Log) StampsFrom(ctx context.Context, from int64) (map[string]Stamp, error) {
	out := map[string]Stamp{}
	return out, l.EachStamp(ctx, from, func(name []byte, s Stamp) { out[string(name)] = s })
}

// EachStamp hands StampsFrom's stamps to fn, which must not keep the name.
func (l *Log) EachStamp(ctx context.Context, from int64, fn func(name []byte, s Stamp)) error {
	l.mu.Lock()
	v, err := l.legible(ctx)
	l.mu.Unlock()
	if errors.Is(err, ErrNone) {
		return nil
	}
	if err != nil {
		return err
	}
	defer v.close()
	gen := genFolder(v.f.gen)
	if v.f.pack != nil && from == 0 {
		packs := stamper{v.f.pack, []byte(path.Join(gen, packName) + "/"), fn}
		for rev := int64(1); rev <= v.s.packed; rev += PackSize {
			if err := packs.look(packOf(rev).name()); err != nil {
				return err
			}
		}
	}
	revs := stamper{v.f.rev, []byte(path.Join(gen, revName) + "/"), fn}
	if from == 0 {
		if err := revs.look(revFile(0)); err != nil {
			return err
		}
	}
	for rev := max(v.s.packed+1, from); rev <= v.s.head; rev++ {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := revs.look(revFile(rev)); err != nil {
			return err
		}
	}
	return nil
}

// stamper looks at the files of one folder.
type stamper struct {
	dir    *durable.Dir
	prefix []byte // of a name as it is told
	fn     func(name []byte, s Stamp)
}

// look leaves out what is gone, packed meanwhile perhaps, and what still has its
// temporary name: its stamp will change.
func (t *stamper) look(name string) error {
	info, err := t.dir.Lstat(name)
	if notThere(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("look at %s: %w", name, err)
	}
	if links(info) == 1 {
		t.fn(append(t.prefix, name...), stampOf(info))
	}
	return nil
}

// RevisionsOf is which revisions a file holds that Stamps names, both ends
// included.
func RevisionsOf(name string) (from, to int64, ok bool) {
	base := path.Base(name)
	if rev, ok := parseRev(base); ok {
		return rev, rev, true
	}
	p, ok := parsePack(base)
	return p.from, p.to, ok
}

// Change is a file whose stamp is not what it was.
type Change struct {
	Name string // as Stamps gives it
	Gone bool
}

// ChangedStamps lists what in old is otherwise or gone in now, in order. What
// saving and packing do is no change: new files, and loose revisions that a pack
// covers by now. Stamps of another generation are not compared.
func ChangedStamps(old, now map[string]Stamp) []Change {
	var out []Change
	gen := generationOf(now)
	for name, was := range old {
		is, there := now[name]
		g, _, _ := strings.Cut(name, "/")
		switch {
		case there && is == was, gen != "" && g != gen:
		case there:
			out = append(out, Change{Name: name})
		case !packedIn(now, name):
			out = append(out, Change{Name: name, Gone: true})
		}
	}
	slices.SortFunc(out, func(a, b Change) int { return strings.Compare(a.Name, b.Name) })
	return out
}

func packedIn(now map[string]Stamp, name string) bool {
	rev, ok := parseRev(path.Base(name))
	if !ok || rev == 0 {
		return false
	}
	_, packed := now[path.Join(path.Dir(path.Dir(name)), packName, packOf(rev).name())]
	return packed
}

// generationOf is the generation that stamps are of.
func generationOf(stamps map[string]Stamp) string {
	for name := range stamps {
		gen, _, _ := strings.Cut(name, "/")
		return gen
	}
	return ""
}

// CheckChanged reads what changed stamps point at: a backup program or a change
// of mode touches a file without harm. It returns nil if every file still holds
// what the chain asks for, else the first damage.
func (l *Log) CheckChanged(ctx context.Context, changes []Change) error {
	l.mu.Lock()
	v, err := l.legible(ctx)
	l.mu.Unlock()
	if err != nil {
		return err
	}
	defer v.close()
	for _, c := range changes {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := v.checkNamed(c); err != nil {
			return err
		}
	}
	return nil
}

func (v *view) checkNamed(c Change) error {
	name := path.Base(c.Name)
	if gen, _, _ := strings.Cut(c.Name, "/"); gen != genFolder(v.f.gen) {
		return nil // of a generation that was replaced
	}
	if rev, ok := parseRev(name); ok {
		_, err := v.inChain(rev)
		if errors.Is(err, fs.ErrNotExist) {
			err = damage(DamageMissing, rev, v.pathOf(rev), "the revision is missing")
		}
		return err
	}
	p, ok := parsePack(name)
	if !ok {
		return nil
	}
	if !v.s.isPacked(p.to) {
		return damage(DamageMissing, p.from, place(v.f.genDir.Path(), packName, name), "the pack is missing")
	}
	return v.checkPackInChain(p)
}

// checkPackInChain checks a whole pack, and both its ends.
func (v *view) checkPackInChain(p pack) error {
	before, err := v.entry(p.from - 1)
	if err != nil {
		return err
	}
	prev := before.Hash
	err = v.f.walkPack(p, p.from, func(e ledger.Entry) error {
		if e.Prev != prev || v.seals.Check(&e) == ledger.BadSeal {
			return damage(DamageChanged, e.Rev, v.pathOf(e.Rev), "it doesn't follow the entry before it, or its seal is another")
		}
		prev = e.Hash
		return nil
	})
	if err != nil {
		return err
	}
	if p.to == v.s.head {
		return nil
	}
	next, err := v.entry(p.to + 1)
	if err == nil && next.Prev != prev {
		err = damage(DamageChanged, p.to, v.pathOf(p.to), "the entry after it doesn't follow it")
	}
	return err
}
