package filelog

import (
	"context"
	"fmt"
)

// Secure makes sure that everything up to the head survives a power cut and is
// mirrored, for an answer that rests on an entry that somebody else may have
// left unflushed.
func (l *Log) Secure(ctx context.Context) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	t := l.knownTail()
	f, err := l.look()
	if err != nil {
		return err
	}
	defer f.close()
	head, err := l.checkHead(f, t)
	if err != nil {
		return err
	}
	if err := f.rev.Sync(); err != nil {
		return fmt.Errorf("flush revisions: %w", err)
	}
	if f.pack != nil {
		if err := f.pack.Sync(); err != nil {
			return fmt.Errorf("flush packs: %w", err)
		}
	}
	if err := l.extendMirror(context.WithoutCancel(ctx), f, l.seen.listing, &head); err != nil {
		return err
	}
	return l.flushMirror(f.id)
}

// flushMirror flushes a mirror that another process may have written.
func (l *Log) flushMirror(id string) error {
	d, err := l.mirrorDir(id)
	if err != nil {
		return err
	}
	defer d.Close()
	if err := d.Append(mirrorName, nil, fileMode); err != nil {
		return fmt.Errorf("flush mirror: %w", err)
	}
	return nil
}
