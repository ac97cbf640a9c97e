package project

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"path/filepath"
	"strings"
	"time"

	"holdfast/internal/durable"
	"holdfast/internal/filelog"
	"holdfast/internal/git"
	"holdfast/internal/surface"
	"holdfast/internal/txn"
)

// Limits of what one transaction preserves.
const (
	maxKeptFile  = 64 << 20
	maxKeptTotal = 256 << 20
	maxKeptFiles = 5000
)

const (
	keptInGit = "git:" // and the blob's object id
)

var errOriginalChanged = errors.New("it changed while it was read")

// keeper preserves the originals of one transaction.
type keeper struct {
	c     *txnCall
	dir   *durable.Dir
	kept  txn.Kept
	files int
	bytes int64
}

// keep copies what a transaction could destroy to the quarantine, flushed, and
// lists what could not be kept.
func (c *txnCall) keep(ctx context.Context, wants []txn.Want) (*txn.Kept, error) {
	dir, err := c.p.quarantineOf(c.call.ID)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	k := keeper{c: c, dir: dir}
	for _, w := range wants {
		list, err := c.obs.Originals(ctx, surface.Want(w))
		if err != nil {
			k.kept.List = append(k.kept.List, txn.Preserved{Surface: w.Surface, Why: err.Error()})
			continue
		}
		blobs := c.p.headBlobs(ctx, w, list)
		for i := range list {
			p, err := k.one(&list[i], blobs[gitPath(&list[i])])
			if err != nil {
				return nil, err
			}
			k.kept.List = append(k.kept.List, p)
		}
	}
	manifest, err := json.MarshalIndent(k.kept.List, "", " ")
	if err != nil {
		return nil, fmt.Errorf("list originals: %w", err)
	}
	name := manifestName(manifest)
	if _, err := dir.Publish(nil, name, manifest, 0o600); err != nil && !errors.Is(err, durable.ErrExists) {
		return nil, fmt.Errorf("list originals: %w", err)
	}
	k.kept.Manifest = path.Join(filelog.QuarantineName, c.call.ID, name)
	return &k.kept, nil
}

// quarantineOf makes the folder for the originals of a transaction.
func (p *Project) quarantineOf(id string) (*durable.Dir, error) {
	q, err := p.makeQuarantine()
	if err != nil {
		return nil, err
	}
	defer q.Close()
	dir, err := q.MakeSub(id, 0o700)
	if err != nil {
		return nil, fmt.Errorf("make quarantine: %w", err)
	}
	return dir, nil
}

// makeQuarantine opens the folder of quarantine, and makes it where it is missing.
func (p *Project) makeQuarantine() (*durable.Dir, error) {
	top, err := p.w.Layer.OpenDir(p.Path())
	if err != nil {
		return nil, fmt.Errorf("open ledger folder: %w", err)
	}
	defer top.Close()
	q, err := top.MakeSub(filelog.QuarantineName, 0o700)
	if err != nil {
		return nil, fmt.Errorf("make quarantine: %w", err)
	}
	return q, nil
}

func (k *keeper) one(o *surface.Original, blob git.Blob) (txn.Preserved, error) {
	p := txn.Preserved{Surface: o.Surface, Name: o.Name, SHA256: o.SHA256, Seen: o.Seen, Link: o.Link, Mode: o.Mode, Size: o.Size}
	switch {
	case o.Link != "":
		p.Kept = true
		return p, nil
	case blob.OID != "" && blob.Size == o.Size && k.isBlob(o, blob.OID):
		p.Kept, p.Where = true, keptInGit+blob.OID
		return p, nil
	case o.Size > maxKeptFile:
		p.Why = "it is larger than 64 MiB"
	case k.files >= maxKeptFiles:
		p.Why = "more than 5,000 files would have to be kept"
	case k.bytes+o.Size > maxKeptTotal:
		p.Why = "more than 256 MiB would have to be kept"
	}
	if p.Why != "" {
		return p, nil
	}
	switch err := k.copy(o); {
	case durable.DiskFull(err) || durable.NotWritable(err):
		return p, fmt.Errorf("keep original: %w", err)
	case err != nil:
		p.Why = "it could not be read whole, or changed meanwhile"
		return p, nil
	}
	k.files, k.bytes = k.files+1, k.bytes+o.Size
	p.Kept, p.Where = true, path.Join(filelog.QuarantineName, k.c.call.ID, o.SHA256)
	return p, nil
}

// copy publishes the content of an original under its SHA-256.
func (k *keeper) copy(o *surface.Original) error {
	from, err := k.c.obs.Open(o)
	if err != nil {
		return err
	}
	defer from.Close()
	return keepContent(k.dir, o.SHA256, io.LimitReader(from, maxKeptFile+1))
}

// keepContent publishes content under its SHA-256. What is there already is the
// same.
func keepContent(dir *durable.Dir, sum string, from io.Reader) error {
	_, err := dir.PublishFrom(sum, 0o600, func(w io.Writer) error { return copyWhole(w, from, sum) }, nil)
	if errors.Is(err, durable.ErrExists) {
		return nil
	}
	return err
}

// copyWhole copies content whose SHA-256 is sum; of any other the error is
// errOriginalChanged.
func copyWhole(w io.Writer, from io.Reader, sum string) error {
	h := sha256.New()
	if _, err := io.Copy(io.MultiWriter(w, h), from); err != nil {
		return err
	}
	if hex.EncodeToString(h.Sum(nil)) != sum {
		return errOriginalChanged
	}
	return nil
}

// isBlob reports whether an original is the content of a blob.
func (k *keeper) isBlob(o *surface.Original, oid string) bool {
	from, err := k.c.obs.Open(o)
	if err != nil {
		return false
	}
	defer from.Close()
	got, err := git.HashBlob(from, o.Size, len(oid))
	return err == nil && got == oid
}

// headBlobs finds originals in git's HEAD; without git, or on trouble, none are.
func (p *Project) headBlobs(ctx context.Context, w txn.Want, list []surface.Original) map[string]git.Blob {
	if p.loc.repo == nil || w.Outside || w.Worktree != p.loc.worktree {
		return nil
	}
	var paths []string
	for i := range list {
		paths = append(paths, gitPath(&list[i]))
	}
	blobs, err := p.loc.repo.HeadBlobs(ctx, paths)
	if err != nil {
		return nil
	}
	return blobs
}

// gitPath is an original's slash path in its worktree.
func gitPath(o *surface.Original) string {
	_, name, _ := strings.Cut(o.Surface, ":")
	return path.Clean(path.Join(filepath.ToSlash(name), o.Name))
}

// refusedKept is how long the originals of a transaction that was never saved stay:
// a begin that is under way has put them aside, and not saved yet.
const refusedKept = 24 * time.Hour

// sweepKept drops from quarantine the originals of transactions that are complete
// and begun more than 30 days ago, and of begins that were refused. Nearly always
// there is nothing old enough to ask the ledger about.
func (p *Project) sweepKept(ctx context.Context) error {
	q, err := p.w.Layer.OpenDir(p.quarantine())
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("open quarantine: %w", err)
	}
	defer q.Close()
	names, err := q.Names()
	if err != nil {
		return err
	}
	var old []string // folders: each is a transaction's
	for _, n := range names {
		info, err := q.Lstat(n)
		if err == nil && info.IsDir() && p.w.Now().Sub(info.ModTime()) > refusedKept {
			old = append(old, n)
		}
	}
	if len(old) == 0 {
		return nil
	}
	list, err := p.TxnList(ctx, true)
	if err != nil {
		return err
	}
	known := map[string]*txn.Brief{}
	for i := range list.Transactions {
		known[list.Transactions[i].Transaction] = &list.Transactions[i]
	}
	for _, n := range old {
		if b := known[n]; b == nil || b.State == txn.StateComplete && age(p.w.Now(), b.At) > originalsKept {
			err = errors.Join(err, q.RemoveTree(n))
		}
	}
	return err
}
