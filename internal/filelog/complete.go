package filelog

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"holdfast/internal/durable"
	"holdfast/internal/ledger"
)

// sum16 is a hash by its first half, which is enough to tell entries apart.
type sum16 [16]byte

func halfOf(hash string) (s sum16) {
	if len(hash) >= 32 {
		_, _ = hex.Decode(s[:], []byte(hash[:32])) // one that is no hash equals no entry's
	}
	return s
}

// Completed tells about one mirror.
type Completed struct {
	Path    string
	Lacked  int64 // revisions that it had not
	Rebuilt bool  // lines were missing before its end: it was written anew
}

// CompleteMirrors makes every mirror hold every revision of the ledger, whose
// chain the caller has just verified. What lacks only an end gets it;
// where more is wanting the mirror is written anew, with every line kept that is
// not the ledger's. It takes the ledger's lock, unless Lock gave it out.
func (l *Log) CompleteMirrors(ctx context.Context) (done []Completed, err error) {
	unlock, err := l.underLock(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, unlock()) }()
	if err := l.Secure(ctx); err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	v, err := l.checked(ctx)
	if err != nil {
		return nil, err
	}
	defer v.close()
	chain, err := v.sums(ctx)
	if err != nil {
		return nil, err
	}
	for _, s := range v.st {
		if s.dir == nil {
			continue
		}
		if _, err := s.dir.Lstat(mirrorName); errors.Is(err, fs.ErrNotExist) {
			continue
		}
		c, err := l.completeIn(ctx, v, s, chain)
		if err != nil {
			return done, err
		}
		done = append(done, c)
	}
	return done, nil
}

// sums are the hashes of the view's chain, in order.
func (v *view) sums(ctx context.Context) ([]sum16, error) {
	out := make([]sum16, 0, v.s.head+1)
	_, err := v.walk(ctx, 0, func(e ledger.Entry) error { out = append(out, halfOf(e.Hash)); return nil })
	return out, err
}

func (l *Log) completeIn(ctx context.Context, v *view, s *state, chain []sum16) (Completed, error) {
	c := Completed{Path: place(s.dir.Path(), mirrorName)}
	lock, err := s.dir.Lock(ctx, mirrorLockName, l.m.LockWait, l.m.Owner)
	if err != nil && !errors.Is(err, durable.ErrLockUnsupported) {
		return c, fmt.Errorf("lock mirror: %w", err)
	}
	defer lock.Unlock()
	has := make([]bool, len(chain))
	for e, err := range l.entriesOf(ctx, s.root, v.f.id) {
		if err != nil {
			return c, fmt.Errorf("read mirror: %w", err)
		}
		if e.Rev < int64(len(chain)) && chain[e.Rev] == halfOf(e.Hash) {
			has[e.Rev] = true
		}
	}
	for _, ok := range has {
		if !ok {
			c.Lacked++
		}
	}
	if c.Lacked == 0 {
		return c, nil
	}
	c.Rebuilt = true
	err = s.dir.ReplaceFrom(s.dir, mirrorName, fileMode, func(w io.Writer) error { return v.mirrorAnew(ctx, s.dir, chain, w) })
	if err != nil {
		return c, fmt.Errorf("rebuild mirror: %w", err)
	}
	delete(l.seen.tails, s.root)
	return c, nil
}

// mirrorAnew writes what the mirror has beside the ledger's chain, and then the
// chain.
func (v *view) mirrorAnew(ctx context.Context, dir *durable.Dir, chain []sum16, w io.Writer) error {
	ls := lines{put: func(b []byte) error { _, err := w.Write(b); return err }}
	f, err := dir.Open(mirrorName)
	if err != nil {
		return err
	}
	defer f.Close()
	for r := (&lineReader{r: f}); ; {
		line, err := r.next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		if e, perr := ledger.Parse(line); perr == nil && e.Rev < int64(len(chain)) && chain[e.Rev] == halfOf(e.Hash) {
			continue
		}
		if !bytes.HasSuffix(line, []byte{'\n'}) {
			line = append(bytes.Clone(line), '\n')
		}
		if err := ls.add(line); err != nil {
			return err
		}
	}
	if _, err := v.walk(ctx, 0, func(e ledger.Entry) error { return ls.add(e.Raw) }); err != nil {
		return err
	}
	return ls.flush()
}
