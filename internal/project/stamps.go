package project

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"holdfast/internal/filelog"
	"holdfast/internal/index"
	"holdfast/internal/ledger"
)

// CheckStamps compares the files of the ledger with what was seen of them when
// they were last verified, reads those that look otherwise, and notes damage.
// The stamps of what is whole are kept in the index. A server does it when it
// starts, and Resume each time.
func (p *Project) CheckStamps(ctx context.Context) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	head, err := p.log.Head(ctx)
	if err != nil || head.Hash == "" {
		return err
	}
	if _, err := p.view(ctx, head); err != nil {
		return err
	}
	return p.checkStamps(ctx, head, p.startStamps(ctx))
}

// startStamps looks at the ledger's files while something else is done. The result
// waits for it.
func (p *Project) startStamps(ctx context.Context) func() (index.StampSums, error) {
	var wg sync.WaitGroup
	var err error
	now := index.StampSums{}
	wg.Go(func() {
		err = p.log.EachStamp(ctx, 0, func(name []byte, s filelog.Stamp) { now.Add(name, indexStamp(s)) })
	})
	return func() (index.StampSums, error) { wg.Wait(); return now, err }
}

// checkStamps does it for a ledger that the index follows up to head, with what
// startStamps sees. That every file is as it was when it was last verified, and
// that there is no other, is nearly always so. p.mu is held.
func (p *Project) checkStamps(ctx context.Context, head ledger.Pos, stamps func() (index.StampSums, error)) error {
	seen, err := stamps()
	if err != nil {
		return fmt.Errorf("look at the ledger's files: %w", err)
	}
	known, err := p.idx.StampSums(ctx)
	if err != nil || seen.Equal(known) {
		return err
	}
	old, err := p.idx.Stamps(ctx)
	if err != nil {
		return err
	}
	was := make(map[string]filelog.Stamp, len(old))
	for name, s := range old {
		was[name] = filelog.Stamp{Size: s.Size, MTime: s.MtimeNS, CTime: s.CtimeNS, Inode: s.Inode}
	}
	now, err := p.log.Stamps(ctx)
	if err != nil {
		return fmt.Errorf("look at the ledger's files: %w", err)
	}
	if changes := filelog.ChangedStamps(was, now); len(changes) > 0 {
		if err := p.checkChanged(ctx, changes); err != nil {
			p.noteDamage(err)
			return err
		}
	}
	return p.keepStamps(ctx, old, now, head)
}

func indexStamp(s filelog.Stamp) index.Stamp {
	return index.Stamp{Size: s.Size, MtimeNS: s.MTime, CtimeNS: s.CTime, Inode: s.Inode}
}

// checkChanged reads what stamps point at. A text that is gone must have been
// redacted.
func (p *Project) checkChanged(ctx context.Context, changes []filelog.Change) error {
	if err := p.log.CheckChanged(ctx, changes); err != nil {
		return err
	}
	var redacted map[int64]bool
	for _, c := range changes {
		from, to, ok := filelog.RevisionsOf(c.Name)
		if !ok {
			continue
		}
		for rev := from; rev <= to; rev++ {
			e, err := p.log.Entry(ctx, rev)
			if err != nil {
				return err
			}
			if e.BodyRaw != nil {
				continue
			}
			if redacted == nil {
				if redacted, err = p.redactedRevs(ctx); err != nil {
					return err
				}
			}
			if !redacted[rev] {
				return &filelog.DamageError{Kind: filelog.DamageChanged, Rev: rev, Path: p.Path(),
					Why: fmt.Sprintf("the text of revision %d is gone, and nothing says that it was redacted", rev)}
			}
		}
	}
	return nil
}

// redactedRevs are those that a redact entry names, whoever sealed it: one that
// isn't believed here erases nothing here, and its text may be gone elsewhere.
func (p *Project) redactedRevs(ctx context.Context) (map[int64]bool, error) {
	out := map[int64]bool{}
	for e, err := range p.log.Entries(ctx, ledger.Pos{}) {
		if err != nil {
			return nil, err
		}
		if e.Type == ledger.TypeRedact && !e.Void() {
			for _, rev := range e.Revisions {
				out[rev] = true
			}
		}
	}
	return out, nil
}

// keepStamps remembers what was seen of files that the index has read.
func (p *Project) keepStamps(ctx context.Context, old map[string]index.Stamp, now map[string]filelog.Stamp, head ledger.Pos) error {
	set, removed := map[string]index.Stamp{}, []string{}
	for name, s := range now {
		is := indexStamp(s)
		if _, to, ok := filelog.RevisionsOf(name); ok && to <= head.Rev && old[name] != is {
			set[name] = is
		}
	}
	for name := range old {
		if _, there := now[name]; !there {
			removed = append(removed, name)
		}
	}
	if len(set)+len(removed) == 0 {
		return nil
	}
	if err := p.idx.SetStamps(ctx, set, removed); err != nil && !errors.Is(err, index.ErrNotKept) {
		return fmt.Errorf("keep stamps: %w", err)
	}
	return nil
}

// stampSaved remembers what was saved since it was last called, once the index
// has read it.
func (p *Project) stampSaved(ctx context.Context) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	from, head := p.unstamped, ledger.Pos{}
	if from == 0 || p.idx == nil {
		return nil
	}
	p.unstamped = 0
	if head = p.idx.Base(); head.Rev < from {
		return nil
	}
	now, err := p.log.StampsFrom(ctx, from)
	if err != nil {
		return fmt.Errorf("look at the ledger's files: %w", err)
	}
	return p.keepStamps(ctx, nil, now, head)
}
