package filelog

import (
	"bytes"
	"errors"
	"fmt"

	"holdfast/internal/durable"
	"holdfast/internal/ledger"
)

// packOldest seals the oldest PackSize loose revisions into a pack, reads it
// back, and only then removes what it covers. A loose file that a pack covers
// is ignored, so a crash in between leaves nothing wrong.
func (l *Log) packOldest(f *folder, s *listing) error {
	p := pack{s.packed() + 1, s.packed() + PackSize}
	var b bytes.Buffer
	prev := ledger.Pos{}
	for rev := p.from; rev <= p.to; rev++ {
		e, err := f.looseEntry(rev)
		if err != nil {
			return fmt.Errorf("pack: %w", err)
		}
		if prev.Hash != "" && e.Prev != prev.Hash {
			return fmt.Errorf("pack: %w", damage(DamageChanged, rev, place(f.rev.Path(), revFile(rev)), "it doesn't follow the entry before it"))
		}
		prev = e.Pos()
		b.Write(e.Raw)
	}
	var err error
	if f.pack == nil {
		if f.pack, err = f.genDir.MakeSub(packName, folderMode); err != nil {
			return fmt.Errorf("pack: %w", err)
		}
	}
	tmp, err := f.genDir.MakeSub(tmpName, folderMode)
	if err != nil {
		return fmt.Errorf("pack: %w", err)
	}
	defer tmp.Close()
	if _, err := f.pack.Publish(tmp, p.name(), b.Bytes(), sealedMode); err != nil && !errors.Is(err, durable.ErrExists) {
		return fmt.Errorf("pack: %w", err)
	}
	back, err := f.pack.ReadFile(p.name(), int64(b.Len()))
	if err != nil || !bytes.Equal(back, b.Bytes()) {
		return errors.Join(fmt.Errorf("pack: %w", damage(DamageChanged, p.from, place(f.pack.Path(), p.name()), "it does not read back as written")), err)
	}
	l.seen.listing = nil
	return f.removeCovered(p)
}

func (f *folder) removeCovered(p pack) error {
	for rev := p.from; rev <= p.to; rev++ {
		if err := f.rev.Remove(revFile(rev)); err != nil {
			return fmt.Errorf("remove packed revision: %w", err)
		}
	}
	if err := f.rev.Sync(); err != nil {
		return fmt.Errorf("remove packed revisions: %w", err)
	}
	return nil
}
