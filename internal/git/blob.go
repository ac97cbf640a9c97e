package git

import (
	"bytes"
	"context"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"io"
	"path"
	"slices"
	"strconv"
	"strings"
)

// Blob is a file as a commit has it.
type Blob struct {
	OID  string
	Mode string // "100644", "100755", or "120000" for a link
	Size int64  // bytes
}

// argsBytes bounds the paths of one command line; the tightest system allows 32 KiB.
const argsBytes = 24 << 10

// HeadBlobs looks files up in HEAD's tree, by slash paths from Top. Those that
// aren't there are absent from the answer, all of them on an unborn branch.
func (r *Repo) HeadBlobs(ctx context.Context, paths []string) (map[string]Blob, error) {
	blobs := map[string]Blob{}
	h, err := r.Head(ctx)
	if err != nil || h.Unborn {
		return blobs, wrap("look up files in HEAD", err)
	}
	paths = slices.DeleteFunc(slices.Clone(paths), func(p string) bool { return !below(p) })
	for len(paths) > 0 {
		n, size := 0, 0
		for n < len(paths) && (n == 0 || size+len(paths[n]) < argsBytes) {
			size += len(paths[n]) + 3
			n++
		}
		if err := r.treeEntries(ctx, h.Commit, paths[:n], blobs); err != nil {
			return nil, wrap("look up files in HEAD", err)
		}
		paths = paths[n:]
	}
	return blobs, nil
}

// below reports a clean slash path that stays below the top.
func below(p string) bool {
	return p != "" && p != "." && path.Clean(p) == p && !path.IsAbs(p) && p != ".." && !strings.HasPrefix(p, "../")
}

func (r *Repo) treeEntries(ctx context.Context, commit string, paths []string, blobs map[string]Blob) error {
	asked := make(map[string]bool, len(paths))
	for _, p := range paths {
		asked[p] = true
	}
	args := append([]string{"ls-tree", "-z", "-l", "--full-tree", commit, "--"}, paths...)
	err := r.records(ctx, call{args: args}, 0, func(rec string) error {
		b, path, err := parseTreeEntry(rec)
		if err == nil && b.OID != "" && asked[path] {
			blobs[path] = b
		}
		return err
	})
	if exitCode(err) == 128 {
		err = lacking(err)
	}
	return err
}

// parseTreeEntry reads "MODE TYPE OID SIZE<tab>PATH" of `git ls-tree -l -z`; a
// zero Blob for what isn't a file.
func parseTreeEntry(rec string) (Blob, string, error) {
	meta, path, ok := strings.Cut(rec, "\t")
	f := strings.Fields(meta)
	if !ok || len(f) != 4 || !validOID(f[2]) {
		return Blob{}, "", ErrMalformed
	}
	if f[1] != "blob" {
		return Blob{}, path, nil
	}
	size, err := strconv.ParseInt(f[3], 10, 64)
	if err != nil || size < 0 {
		return Blob{}, "", ErrMalformed
	}
	return Blob{OID: f[2], Mode: f[0], Size: size}, path, nil
}

// ReadBlob returns a blob's bytes as they are stored, without any conversion;
// ErrTooMuch where there are more than max, ErrMissing where it isn't here.
func (r *Repo) ReadBlob(ctx context.Context, oid string, max int64) ([]byte, error) {
	if !validOID(oid) {
		return nil, wrap("read blob", ErrMalformed)
	}
	var b bytes.Buffer
	err := r.run(ctx, call{args: []string{"cat-file", "blob", oid}}, &capped{buf: &b, max: max})
	if exitCode(err) == 128 {
		err = lacking(err)
	}
	if err != nil {
		return nil, wrap("read blob", err)
	}
	return b.Bytes(), nil
}

// capped is a buffer that refuses more than max bytes.
type capped struct {
	buf *bytes.Buffer
	max int64
}

func (c *capped) Write(p []byte) (int, error) {
	if int64(c.buf.Len()+len(p)) > c.max {
		return 0, ErrTooMuch
	}
	return c.buf.Write(p)
}

// HashBlob computes the object id that git would give size bytes of content,
// stored as they are. hexLen, 40 or 64, is the length of the repository's ids.
func HashBlob(content io.Reader, size int64, hexLen int) (string, error) {
	var h hash.Hash
	switch hexLen {
	case 40:
		h = sha1.New() // what the repository uses, no choice of ours
	case 64:
		h = sha256.New()
	default:
		return "", fmt.Errorf("hash blob: %w", ErrMalformed)
	}
	fmt.Fprintf(h, "blob %d\x00", size)
	n, err := io.Copy(h, io.LimitReader(content, size+1))
	if err == nil && n != size {
		err = io.ErrUnexpectedEOF
	}
	return hex.EncodeToString(h.Sum(nil)), wrap("hash blob", err)
}
