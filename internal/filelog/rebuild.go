package filelog

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"slices"
	"time"

	"holdfast/internal/durable"
	"holdfast/internal/ledger"
)

// A recovery replaces a generation in these steps, each of which can be the last
// before a crash: Seal, SealRevision, Build, Install, Settle. The caller holds the
// ledger's lock all along.

// seal is the content of SEALED.
type seal struct {
	Fingerprint string `json:"fingerprint"`
	Successor   string `json:"successor"`
}

// GenerationName is the folder's name of a generation by its number.
func GenerationName(n int) string { return genFolder(n) }

// Seal marks a generation as about to be replaced. One that is marked already
// stays as it is.
func (l *Log) Seal(name, fingerprint, successor string) error {
	b, err := json.Marshal(seal{fingerprint, successor})
	if err != nil {
		return fmt.Errorf("seal generation: %w", err)
	}
	return l.inGenerations(func(gens *durable.Dir) error {
		g, err := gens.Sub(name)
		if err != nil {
			return fmt.Errorf("seal generation: %w", err)
		}
		defer g.Close()
		if _, err := g.Publish(nil, sealedName, append(b, '\n'), sealedMode); err != nil && !errors.Is(err, durable.ErrExists) {
			return fmt.Errorf("seal generation: %w", err)
		}
		return g.Sync()
	})
}

// SealRevision closes a sealed generation with a last revision, where its end can
// be found: then a writer that was under way can tell that its save isn't in.
// durable.ErrExists: a writer was first.
func (l *Log) SealRevision(name, fingerprint, successor string, at time.Time) error {
	n, _ := parseGen(name)
	return l.inGenerations(func(gens *durable.Dir) error {
		v, err := openGeneration(gens, name, n)
		if err != nil {
			return nil // it has no end that can be found
		}
		defer v.close()
		if v.d != nil || v.s.head < 0 {
			return nil
		}
		last, err := v.entry(v.s.head)
		if err != nil || last.Type == ledger.TypeSealed || last.Newer {
			return nil
		}
		v.head = last.Pos()
		e, err := l.Encode(v.head, ledger.Draft{Type: ledger.TypeSealed, At: at, Recovery: last.Recovery,
			HeadFields: ledger.HeadFields{Successor: successor, Fingerprint: fingerprint}, Body: ledger.Body{Actor: ledger.Actor{Kind: ledger.Tool, Via: ledger.ViaCLI}}})
		if err != nil {
			return fmt.Errorf("seal generation: %w", err)
		}
		tmp, err := v.f.tmp()
		if err != nil {
			return err
		}
		defer tmp.Close()
		if _, err := v.f.rev.Publish(tmp, revFile(e.Rev), e.Raw, sealedMode); err != nil {
			return fmt.Errorf("seal generation: %w", err)
		}
		return nil
	})
}

// sealingKey is this machine's key; it is made where none is.
func (l *Log) sealingKey() (ledger.Key, error) {
	k, err := l.m.Key()
	if errors.Is(err, fs.ErrNotExist) {
		var notice []string
		k, err = l.m.makeKey(&notice)
	}
	if err != nil {
		return nil, &UnsealedError{Err: err}
	}
	return k, nil
}

// Encode makes the entry behind after, sealed with this machine's key. Without a
// key it is an *UnsealedError: what a recovery says must be sealed.
func (l *Log) Encode(after ledger.Pos, d ledger.Draft) (ledger.Entry, error) {
	k, err := l.sealingKey()
	if err != nil {
		return ledger.Entry{}, err
	}
	salt := make([]byte, 16)
	if _, err := io.ReadFull(l.m.Rand, salt); err != nil {
		return ledger.Entry{}, fmt.Errorf("make salt: %w", err)
	}
	return ledger.Encode(after, d, salt, k)
}

// Prepare makes what a ledger's folder needs beside its generations: the folder,
// FORMAT with the id, the folder of generations.
func (l *Log) Prepare(id string) error {
	var notice []string
	top, err := l.makeFolder(&notice)
	if err != nil {
		return err
	}
	defer top.Close()
	if err := l.RestoreFormat(id); err != nil {
		return err
	}
	gens, err := top.MakeSub(genName, folderMode)
	if err != nil {
		return fmt.Errorf("make generations: %w", err)
	}
	defer gens.Close()
	return top.Sync()
}

// Build writes entries, a chain from revision 0, into a generation in the making,
// flushes every file and folder of it, and reads it back. It gives its name and
// its head. A failure removes nothing: Sweep and Discard do.
func (l *Log) Build(ctx context.Context, count int64, entries iter.Seq2[ledger.Entry, error]) (name string, head ledger.Pos, err error) {
	var r [8]byte
	if _, err := io.ReadFull(l.m.Rand, r[:]); err != nil {
		return "", head, fmt.Errorf("build generation: %w", err)
	}
	name = buildPrefix + hex.EncodeToString(r[:])
	err = l.inGenerations(func(gens *durable.Dir) error {
		g, err := gens.MakeSub(name, folderMode)
		if err != nil {
			return err
		}
		defer g.Close()
		b := &builder{g: g, count: count}
		defer b.close()
		if head, err = b.all(ctx, entries); err != nil {
			return err
		}
		if err := g.Sync(); err != nil {
			return err
		}
		return verifyBuilt(ctx, gens, name, head)
	})
	if err != nil {
		return name, head, fmt.Errorf("build generation: %w", err)
	}
	return name, head, nil
}

type builder struct {
	g, rev, pack, tmp *durable.Dir
	count             int64 // how many entries there will be
	lines             []byte
}

func (b *builder) close() {
	for _, d := range []*durable.Dir{b.rev, b.pack, b.tmp} {
		if d != nil {
			d.Close()
		}
	}
}

// all packs as far as a ledger of that size is packed, and leaves the rest loose.
func (b *builder) all(ctx context.Context, entries iter.Seq2[ledger.Entry, error]) (head ledger.Pos, err error) {
	if b.rev, err = b.g.MakeSub(revName, folderMode); err != nil {
		return head, err
	}
	if b.tmp, err = b.g.MakeSub(tmpName, folderMode); err != nil {
		return head, err
	}
	packed := max(0, (b.count-1-PackSize)/PackSize*PackSize)
	if packed > 0 {
		if b.pack, err = b.g.MakeSub(packName, folderMode); err != nil {
			return head, err
		}
	}
	c := ledger.Checker{}
	for e, err := range entries {
		if err == nil {
			err = ctx.Err()
		}
		if err == nil {
			err = c.Add(head, &e)
		}
		if err == nil {
			err = b.add(&e, packed)
		}
		if err != nil {
			return head, err
		}
		head = e.Pos()
	}
	if err := c.End(); err != nil {
		return head, err
	}
	if head.Next() != b.count {
		return head, &ledger.ChainError{Rev: head.Next(), Why: "it ends early"}
	}
	return head, nil
}

func (b *builder) add(e *ledger.Entry, packed int64) error {
	if e.Rev == 0 || e.Rev > packed {
		_, err := b.rev.Publish(b.tmp, revFile(e.Rev), e.Raw, sealedMode)
		return err
	}
	b.lines = append(b.lines, e.Raw...)
	p := packOf(e.Rev)
	if e.Rev < p.to {
		return nil
	}
	_, err := b.pack.Publish(b.tmp, p.name(), b.lines, sealedMode)
	b.lines = b.lines[:0]
	return err
}

func verifyBuilt(ctx context.Context, gens *durable.Dir, name string, head ledger.Pos) error {
	v, err := openGeneration(gens, name, 2) // its number doesn't matter
	if err != nil {
		return err
	}
	defer v.close()
	if v.d != nil {
		return v.d
	}
	p, c := ledger.Pos{}, ledger.Checker{}
	_, err = v.walk(ctx, 0, func(e ledger.Entry) error {
		if err := c.Add(p, &e); err != nil {
			return err
		}
		p = e.Pos()
		return nil
	})
	if err == nil {
		err = c.End()
	}
	if err == nil && p != head {
		err = &ledger.ChainError{Rev: p.Rev, Why: "it does not read back as it was written"}
	}
	return err
}

// Install gives a built generation its number, which must be free, and flushes.
// From then on it is the ledger. durable.ErrExists: another recovery was first.
func (l *Log) Install(build string, n int) error {
	return l.inGenerations(func(gens *durable.Dir) error {
		if err := gens.Rename(build, gens, genFolder(n)); err != nil {
			return fmt.Errorf("install generation: %w", err)
		}
		return gens.Sync()
	})
}

// Discard removes generations in the making. The caller holds the lock, so nobody
// is making one.
func (l *Log) Discard(ctx context.Context) error {
	return l.inGenerations(func(gens *durable.Dir) error {
		names, err := gens.Names()
		if err != nil {
			return err
		}
		var problem error
		for _, name := range names {
			if len(name) > len(buildPrefix) && name[:len(buildPrefix)] == buildPrefix {
				problem = errors.Join(problem, removeTree(ctx, gens, name, 3))
			}
		}
		return problem
	})
}

// removeTree removes a folder of ours and what is in it, no deeper than depth.
func removeTree(ctx context.Context, d *durable.Dir, name string, depth int) error {
	info, err := d.Lstat(name)
	if notThere(err) {
		return nil
	}
	if err == nil && info.IsDir() && depth > 0 {
		if info.Mode().Perm()&0o200 == 0 {
			if err := d.Chmod(name, folderMode); err != nil {
				return err
			}
		}
		sub, serr := d.Sub(name)
		if serr != nil {
			return serr
		}
		names, nerr := sub.Names()
		for _, n := range names {
			if nerr == nil {
				nerr = ctx.Err()
			}
			if nerr == nil {
				nerr = removeTree(ctx, sub, n, depth-1)
			}
		}
		sub.Close()
		err = nerr
	}
	if err != nil {
		return err
	}
	return d.Remove(name)
}

// Retire makes a replaced generation read-only. Where that can't be done nothing is lost.
func (l *Log) Retire(name string) error {
	return l.inGenerations(func(gens *durable.Dir) error {
		g, err := gens.Sub(name)
		if err != nil {
			return err
		}
		defer g.Close()
		for _, part := range []string{revName, packName} {
			if err := g.Chmod(part, 0o500); err != nil && !notThere(err) {
				return fmt.Errorf("make generation read-only: %w", err)
			}
		}
		return nil
	})
}

// PutQuarantine publishes a file in the folder of quarantine. One that is there
// already with this name stays.
func (l *Log) PutQuarantine(name string, data []byte) error {
	if err := l.putInto(QuarantineName, name, data); err != nil {
		return fmt.Errorf("quarantine: %w", err)
	}
	return nil
}

// Settle does what follows the installation of a generation, and can be done at
// any later time as well: noted damage is cleared, this path noted, the mirror
// brought up to the head.
func (l *Log) Settle(ctx context.Context, id string) error {
	l.mu.Lock()
	l.seen = seen{}
	l.mu.Unlock()
	err := l.ClearDamage(id)
	if n, known := l.noted(); !known || n.Ledger != id {
		note := Note{Ledger: id, Path: realPath(l.p.Dir), Folder: folderIdentity(l.p.Dir), FirstCommit: l.firstCommit(), At: l.m.Now().UTC().Format(ledger.TimeLayout)}
		err = errors.Join(err, l.m.replaceNote(note))
	}
	// Whoever recovers a ledger vouches for it: its mirror here makes it known.
	m := *l.m
	m.Adopted = append(slices.Clone(m.Adopted), id)
	return errors.Join(err, New(&m, l.p).Secure(ctx))
}

// LockFolder takes the ledger's lock though the ledger may be damaged or gone; the
// folder is made if it is missing.
func (l *Log) LockFolder(ctx context.Context) (func() error, error) {
	var notice []string
	top, err := l.makeFolder(&notice)
	if err != nil {
		return nil, err
	}
	top.Close()
	return l.lock(ctx)
}
