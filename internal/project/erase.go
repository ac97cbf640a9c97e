package project

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"holdfast/internal/filelog"
	"holdfast/internal/index"
	"holdfast/internal/ledger"
)

// unerased is the index's note that some copy of a text that a redact entry names
// could not be erased, whether the ledger still has it or a mirror does.
const unerased = "unerased"

// briefTurn is how long a reader waits for the ledger's lock to finish a
// redaction that somebody else began.
const briefTurn = 50 * time.Millisecond

// finishRedaction erases whatever redact entries name, under the lock, and says
// which files it rewrote or removed. The revisions in want must be among it.
func (p *Project) finishRedaction(ctx context.Context, want []int64) (files []string, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.openIndex(ctx); err != nil {
		return nil, err
	}
	open, all, err := p.openRedactions(ctx)
	for _, rev := range want { // somebody may have finished it by now
		if err == nil && !slices.ContainsFunc(all, func(r filelog.Redaction) bool { return r.Rev == rev }) {
			err = fmt.Errorf("erase revision %d: %w", rev, filelog.ErrNotRedacted)
		}
	}
	if err != nil {
		return nil, errors.Join(err, p.noteUnerased(ctx))
	}
	if files, err = p.erase(ctx, p.log, open); err != nil {
		err = errors.Join(err, p.noteUnerased(ctx))
	}
	return files, err
}

// noteUnerased lets the next one who reads go on with a redaction: the ledger
// itself may have lost the text while a mirror still has it.
func (p *Project) noteUnerased(ctx context.Context) error {
	head, err := p.log.Head(ctx)
	if err == nil {
		err = p.catchUp(ctx, head)
	}
	if err == nil {
		err = p.idx.SetMeta(ctx, unerased, "yes")
	}
	if err != nil {
		return fmt.Errorf("note redaction: %w", err)
	}
	return nil
}

// openRedactions are the bodies that a redact entry of a person of this machine
// names and that the ledger still has; all has those that are gone, too.
func (p *Project) openRedactions(ctx context.Context) (open, all []filelog.Redaction, err error) {
	if all, err = p.log.Redactions(ctx); err != nil {
		return nil, nil, fmt.Errorf("list redactions: %w", err)
	}
	for _, r := range all {
		if !r.Erased {
			open = append(open, r)
		}
	}
	return open, all, nil
}

// meetRedactions settles what a crash, a full disk or somebody without the right
// to write left of a redaction: whoever meets a body that a redact entry names
// erases it, and where it can't be erased it isn't shown. p.mu is held.
func (p *Project) meetRedactions(ctx context.Context, head ledger.Pos) error {
	pending, err := p.idx.Pending(ctx)
	if err != nil {
		return err
	}
	left, err := p.idx.Meta(ctx, unerased)
	if err != nil {
		return err
	}
	inTail := int64(0)
	for i := range p.tail {
		if e := &p.tail[i]; e.Type == ledger.TypeRedact && !e.Void() {
			inTail = e.Rev
		}
	}
	met := fmt.Sprint(pending, left, inTail)
	if len(pending) == 0 && left == "" && inTail == 0 {
		p.clean = head
		return nil
	}
	if met == p.met {
		return nil
	}
	open, _, err := p.openRedactions(ctx)
	if err != nil {
		return err
	}
	p.met, p.hidden = met, nil
	value := ""
	if len(open) > 0 || left != "" {
		if err := p.eraseBriefly(ctx, open); err != nil {
			value, p.hidden = "yes", map[string]bool{}
			for _, r := range open {
				p.hidden[r.Hash] = true
			}
		}
	}
	if len(open) > 0 {
		if err := p.idx.Discard(ctx); err != nil {
			return fmt.Errorf("rebuild index: %w", err)
		}
		left = "" // with the rest
	}
	p.tail = nil // it may hold the texts
	if err := p.catchUp(ctx, head); err != nil {
		return err
	}
	if value != left {
		if err := p.idx.SetMeta(ctx, unerased, value); err != nil && !errors.Is(err, index.ErrNotKept) {
			return fmt.Errorf("note redaction: %w", err)
		}
	}
	p.met = fmt.Sprint([]int64(nil), value, inTail)
	return nil
}

// eraseBriefly erases without holding up a reader for long. Under the lock it
// takes the time it takes.
func (p *Project) eraseBriefly(ctx context.Context, open []filelog.Redaction) error {
	log := p.log
	if !p.locked {
		m := *p.m
		m.LockWait = min(m.LockWait, briefTurn)
		log = filelog.New(&m, p.loc.place)
	}
	_, err := p.erase(context.WithoutCancel(ctx), log, open)
	return err
}

// erase goes from what is derived to the original, so that whatever stops it
// the next one finds that it isn't done. p.mu is held.
func (p *Project) erase(ctx context.Context, log *filelog.Log, open []filelog.Redaction) (files []string, err error) {
	if !p.locked {
		unlock, err := log.Lock(ctx)
		if err != nil {
			return nil, located(err, p.Path())
		}
		defer func() { err = errors.Join(err, unlock()) }()
	}
	scrub, err := p.scrubber(ctx, open)
	if err == nil {
		err = scrub.quarantine()
	}
	if err != nil {
		return scrub.files, err // without the ledger's texts nobody could go on with it
	}
	problem := errors.Join(p.dropHandoff(), p.dropIndexes(ctx))
	done, err := log.Redact(ctx, nil)
	for _, r := range open {
		if err == nil && !slices.ContainsFunc(done.Redactions, func(d filelog.Redaction) bool { return d.Pos == r.Pos }) {
			err = fmt.Errorf("erase revision %d: %w", r.Rev, filelog.ErrNotRedacted)
		}
	}
	return append(scrub.files, done.Files...), errors.Join(problem, err)
}

// dropHandoff removes HANDOFF.md, which is made anew from what is left.
func (p *Project) dropHandoff() error {
	dir, err := p.w.Layer.OpenDir(p.Path())
	if err != nil {
		return fmt.Errorf("remove handoff: %w", err)
	}
	defer dir.Close()
	if err := dir.RemoveSync(filelog.HandoffName); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove handoff: %w", err)
	}
	p.dirty = true
	return nil
}

// dropIndexes empties the ledger's index in each place where one can be.
func (p *Project) dropIndexes(ctx context.Context) error {
	id := p.log.ID()
	p.tail = nil
	problem := p.idx.Discard(ctx)
	var places []index.Options
	for _, c := range p.w.folders("XDG_CACHE_HOME", ".cache") {
		places = append(places, index.Options{Dir: filepath.Join(c, id), Ledger: id})
	}
	places = append(places, index.Options{TempDir: p.w.Temp, Ledger: id})
	for _, o := range places {
		if o.Dir != "" {
			if _, err := os.Lstat(filepath.Join(o.Dir, index.FileName)); errors.Is(err, fs.ErrNotExist) {
				continue
			}
		}
		x, err := index.Open(ctx, o)
		if err != nil {
			problem = errors.Join(problem, err)
			continue
		}
		if o.Dir != "" && x.Where() != index.InCache {
			problem = errors.Join(problem, fmt.Errorf("%s can't be written", filepath.Join(o.Dir, index.FileName)))
		}
		problem = errors.Join(problem, x.Discard(ctx), x.Close())
	}
	if problem != nil {
		return fmt.Errorf("remove index: %w", problem)
	}
	return nil
}
