package filelog

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"

	"holdfast/internal/durable"
	"holdfast/internal/ledger"
)

// packDue: when more than MaxLoose are loose, and if that failed, not again at
// each save.
func (v *view) packDue() bool {
	over := v.s.loose() - MaxLoose - 1
	return over >= 0 && over%64 == 0
}

// packOldest seals the oldest PackSize loose revisions into a pack, reads it
// back, and only then removes what it covers. A loose file that a pack covers
// is ignored, so a crash in between leaves nothing wrong; what it leaves is
// removed by the next packing.
func (l *Log) packOldest(ctx context.Context, v *view) error {
	l.seen.listing = nil
	p := packOf(v.s.packed + 1)
	lines, err := v.collect(ctx, p)
	if err != nil {
		return fmt.Errorf("pack: %w", err)
	}
	leftovers, err := v.leftovers()
	if err != nil {
		return fmt.Errorf("pack: %w", err)
	}
	if err := v.publishPack(p, lines); err != nil {
		return fmt.Errorf("pack: %w", err)
	}
	v.s.packed = p.to
	for rev := p.from; rev <= p.to; rev++ {
		leftovers = append(leftovers, rev)
	}
	if err := v.f.removeCovered(leftovers); err != nil {
		return fmt.Errorf("remove packed revisions: %w", err)
	}
	if _, err := l.sweep(v); err != nil { // once in a thousand saves
		return fmt.Errorf("sweep: %w", err)
	}
	return nil
}

// collect reads the lines of a pack to be, and checks that they are a chain.
func (v *view) collect(ctx context.Context, p pack) ([]byte, error) {
	var b bytes.Buffer
	prev := ledger.Pos{}
	upTo := *v
	upTo.s.head = p.to
	_, err := upTo.walk(ctx, p.from, func(e ledger.Entry) error {
		if prev.Hash != "" && e.Prev != prev.Hash {
			return damage(DamageChanged, e.Rev, place(v.f.rev.Path(), revFile(e.Rev)), "it doesn't follow the entry before it")
		}
		prev = e.Pos()
		b.Write(e.Raw)
		return nil
	})
	return b.Bytes(), err
}

// leftovers are loose revisions under packs that hold the same. One that differs
// stays: it may be all that is left of something.
func (v *view) leftovers() ([]int64, error) {
	var same []int64
	for revs := v.s.covers; len(revs) > 0; {
		p := packOf(revs[0])
		hashes := map[int64]string{}
		err := v.f.walkPack(p, p.from, func(e ledger.Entry) error { hashes[e.Rev] = e.Hash; return nil })
		if err != nil {
			return nil, err
		}
		for ; len(revs) > 0 && revs[0] <= p.to; revs = revs[1:] {
			if e, err := v.f.looseEntry(revs[0]); err == nil && e.Hash == hashes[revs[0]] {
				same = append(same, revs[0])
			}
		}
	}
	return same, nil
}

// publishPack publishes a pack and reads it back. Another process may have been
// first: its pack must hold the same entries, with or without bodies.
func (v *view) publishPack(p pack, lines []byte) error {
	var err error
	if v.f.pack == nil {
		if v.f.pack, err = v.f.genDir.MakeSub(packName, folderMode); err != nil {
			return err
		}
	}
	tmp, err := v.f.tmp()
	if err != nil {
		return err
	}
	defer tmp.Close()
	pub, err := v.f.pack.Publish(tmp, p.name(), lines, sealedMode)
	tell(&v.notice, pub)
	if err == nil {
		back, err := readFile(v.f.pack, tmp, p.name(), int64(len(lines)))
		if err == nil && !bytes.Equal(back, lines) {
			err = damage(DamageChanged, p.from, place(v.f.pack.Path(), p.name()), "it does not read back as written")
		}
		return err
	} else if !errors.Is(err, durable.ErrExists) {
		return err
	}
	return v.checkPack(p, lines)
}

func (v *view) checkPack(p pack, lines []byte) error {
	if err := v.f.pack.Sync(); err != nil {
		return err
	}
	r := lineReader{r: bytes.NewReader(lines)}
	return v.f.walkPack(p, p.from, func(e ledger.Entry) error {
		line, err := r.next()
		if err != nil {
			return err
		}
		mine, err := ledger.Parse(line)
		if err == nil && mine.Hash != e.Hash {
			err = damage(DamageFork, e.Rev, place(v.f.pack.Path(), p.name()), "it holds other revisions than the loose files")
		}
		return err
	})
}

// removeCovered removes loose revisions that a pack holds. Another process may
// be doing the same.
func (f *folder) removeCovered(revs []int64) error {
	for _, rev := range revs {
		if err := f.rev.Remove(revFile(rev)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return f.rev.Sync()
}
