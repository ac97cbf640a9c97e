package index

import (
	"context"
	"fmt"
)

// Notes are kept beside the state for who reads the log. They are lost with the
// file, and so must be no source of anything either.

// Meta gives a value that SetMeta kept, or the empty string.
func (x *Index) Meta(ctx context.Context, key string) (string, error) {
	var value string
	err := x.note(ctx, func() error {
		_, err := x.d.one("SELECT value FROM meta WHERE key = ?", []any{key}, &value)
		return err
	})
	return value, err
}

// SetMeta keeps a value; the empty one removes it. The error is ErrNotKept
// where the file can't be written.
func (x *Index) SetMeta(ctx context.Context, key, value string) error {
	return x.keep(ctx, func() error {
		if value == "" {
			return x.d.exec("DELETE FROM meta WHERE key = ?", key)
		}
		return x.d.exec("INSERT OR REPLACE INTO meta VALUES (?, ?)", key, value)
	})
}

// maxHeads is of how many commits the ancestors are remembered.
const maxHeads = 20

// Ancestry gives what SetAncestry kept for head: of commits, whether each is an
// ancestor. It is nil for nothing.
func (x *Index) Ancestry(ctx context.Context, head string) (map[string]bool, error) {
	var facts map[string]bool
	err := x.note(ctx, func() (err error) {
		var data string
		ok, err := x.d.one("SELECT data FROM ancestry WHERE head = ?", []any{head}, &data)
		if ok && err == nil {
			facts, err = readFacts(data)
		}
		return err
	})
	return facts, err
}

// SetAncestry remembers facts about a head, in place of those known before. The
// oldest of many heads is forgotten. The error is ErrNotKept where the file
// can't be written.
func (x *Index) SetAncestry(ctx context.Context, head string, facts map[string]bool) error {
	return x.keep(ctx, func() error {
		err := x.d.exec("DELETE FROM ancestry WHERE head = ?", head)
		if err == nil {
			err = x.d.exec("INSERT INTO ancestry (head, data) VALUES (?, ?)", head, writeFacts(facts))
		}
		if err == nil {
			err = x.d.exec("DELETE FROM ancestry WHERE n <= (SELECT max(n) FROM ancestry) - ?", maxHeads)
		}
		return err
	})
}

// note reads. What can't be read was never kept.
func (x *Index) note(ctx context.Context, fn func() error) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := fn(); err != nil && !busy(err) {
		return x.replaced(ctx, err)
	}
	return nil
}

// keep writes.
func (x *Index) keep(ctx context.Context, fn func() error) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return err
	}
	err := x.write(fn)
	if err == nil || err == ErrNotKept {
		return err
	}
	if damaged(err) {
		return x.replaced(ctx, err)
	}
	return fmt.Errorf("%w: %w", ErrNotKept, err)
}

// replaced empties a damaged file, and tells.
func (x *Index) replaced(ctx context.Context, err error) error {
	if !damaged(err) {
		return fmt.Errorf("read index: %w", err)
	}
	if derr := x.discard(context.WithoutCancel(ctx)); derr != nil {
		return derr
	}
	return &DamagedError{err}
}
