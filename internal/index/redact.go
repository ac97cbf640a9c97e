package index

import (
	"context"

	"holdfast/internal/ledger"
)

// redacted deals with redact entries that were just applied. A file that holds
// the texts they name is made anew from the log. Where the log still has them
// even so (the redaction isn't finished, or isn't believed here), they are kept
// and noted: once the log has them no more, the file is made anew again.
func (x *Index) redacted(w *writer) error {
	held, err := x.held(w.redacted, w.b.pos.Rev)
	if err != nil || len(held) == 0 {
		return err
	}
	if !w.b.filling {
		return errRedacted
	}
	for _, rev := range held {
		if err := x.d.exec("INSERT OR IGNORE INTO pending VALUES (?)", rev); err != nil {
			return err
		}
	}
	return nil
}

// redactedSince looks whether bodies that the file still holds are gone from
// the log by now.
func (f *follower) redactedSince(ctx context.Context, b *base) error {
	type pending struct {
		rev    int64
		before ledger.Pos
	}
	var all []pending
	f.x.mu.Lock()
	err := f.x.d.each(func(scan func(...any) error) error {
		var p pending
		var hash any
		if err := scan(&p.rev, &hash); err != nil {
			return err
		}
		if p.rev > 0 {
			p.before = ledger.Pos{Rev: p.rev - 1, Hash: unpackHex(hash)}
		}
		all = append(all, p)
		return nil
	}, "SELECT p.rev, e.hash FROM pending p LEFT JOIN entries e ON e.rev = p.rev - 1")
	f.x.mu.Unlock()
	if err != nil {
		return &ioError{err}
	}
	for _, p := range all {
		for e, err := range f.log.Entries(ctx, p.before) {
			if err == nil && e.Rev == p.rev && e.BodyRaw == nil {
				return &ioError{errRedacted}
			}
			break // an error of the log shows again when it is followed
		}
	}
	return nil
}

// Pending lists revisions that a redact entry names and whose texts the file
// still holds, since the log had them when it was followed.
func (x *Index) Pending(ctx context.Context) ([]int64, error) {
	var revs []int64
	err := x.note(ctx, func() error {
		return x.d.each(func(scan func(...any) error) error {
			var rev int64
			if err := scan(&rev); err != nil {
				return err
			}
			revs = append(revs, rev)
			return nil
		}, "SELECT rev FROM pending ORDER BY rev")
	})
	return revs, err
}
