package check

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"hash"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"

	"holdfast/internal/ledger"
)

// Marks that stand where a file has no content of its own. They are no digests,
// so that no file can have one of them.
const (
	Unreadable = "unreadable" // there, but can't be read
	Special    = "special"    // a device, FIFO or socket
	Folder     = "folder"     // a repository inside, or a folder in a file's place
)

// Hasher hashes inputs, several at a time, for one look: it looks at each file
// once. It is not safe for concurrent use.
type Hasher struct {
	Top   string
	Key   []byte // this machine's, for inputs that look like secrets; nil: they count as unreadable
	CPUs  int
	Cache *Cache // nil: none

	seen looked // what this Hasher was asked before: each file is looked at once
}

// looked are digests and marks by file, sorted by name.
type looked struct{ files, sums []string }

// take fills in the sums that are known of files, both sorted, and lists the
// places of the others.
func (l *looked) take(files, sums []string) (missing []int) {
	at := 0
	for i, f := range files {
		if at < len(l.files) && l.files[at] < f {
			n, _ := slices.BinarySearch(l.files[at:], f)
			at += n
		}
		if at < len(l.files) && l.files[at] == f {
			sums[i] = l.sums[at]
			at++
		} else {
			missing = append(missing, i)
		}
	}
	return missing
}

// add merges in what is not among them yet.
func (l *looked) add(files, sums []string, missing []int) {
	n := len(l.files) + len(missing)
	all := looked{make([]string, 0, n), make([]string, 0, n)}
	at := 0
	for _, i := range missing {
		for ; at < len(l.files) && l.files[at] < files[i]; at++ {
			all.files, all.sums = append(all.files, l.files[at]), append(all.sums, l.sums[at])
		}
		all.files, all.sums = append(all.files, files[i]), append(all.sums, sums[i])
	}
	*l = looked{append(all.files, l.files[at:]...), append(all.sums, l.sums[at:]...)}
}

// Hash gives the digests of files, which are sorted, in their order. A file that
// isn't there is left out.
func (h *Hasher) Hash(ctx context.Context, files []string) ([]ledger.InputFile, error) {
	sums := make([]string, len(files))
	if missing := h.seen.take(files, sums); len(missing) > 0 {
		if err := h.look(ctx, files, sums, missing); err != nil {
			return nil, err
		}
		h.seen.add(files, sums, missing)
	}
	out := make([]ledger.InputFile, 0, len(files))
	for i, f := range files {
		if sums[i] != "" {
			out = append(out, ledger.InputFile{Path: f, SHA256: sums[i], Keyed: secretLooking(f)})
		}
	}
	return out, nil
}

// look hashes the files at some places.
func (h *Hasher) look(ctx context.Context, files, sums []string, places []int) error {
	var next atomic.Int64
	var wg sync.WaitGroup
	for range max(1, min(2*h.CPUs, len(places)/batch+1)) {
		wg.Go(func() {
			w := worker{h: h, buf: make([]byte, 128<<10)}
			defer w.folder.close()
			for {
				from := int(next.Add(batch)) - batch
				if from >= len(places) || ctx.Err() != nil {
					return
				}
				for _, i := range places[from:min(from+batch, len(places))] {
					sums[i] = w.sum(ctx, files[i])
				}
			}
		})
	}
	wg.Wait()
	return ctx.Err()
}

// batch is how many files a worker takes at a time.
const batch = 32

type worker struct {
	h    *Hasher
	buf  []byte
	dir  string // the folder looked at last, and whether links lead it outside
	bad  bool
	seen bool

	folder folder // that of the last file
	hint   int    // where the next one may be in the cache
}

// sum gives one file's digest or mark, "" for one that isn't there.
func (w *worker) sum(ctx context.Context, rel string) string {
	if id, ok := w.folder.identify(w.h.Top, rel); ok {
		if sum, ok := w.h.Cache.get(rel, id, &w.hint); ok {
			return sum
		}
	}
	full := filepath.Join(w.h.Top, filepath.FromSlash(rel))
	info, err := os.Lstat(full)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return ""
	case err != nil:
		if _, perr := os.Lstat(filepath.Dir(full)); perr != nil || notFolder(err) {
			return ""
		}
		return Unreadable
	case info.Mode()&fs.ModeSymlink != 0:
		return w.link(ctx, rel, full)
	case info.IsDir():
		return Folder
	case !info.Mode().IsRegular():
		return Special
	}
	id := identify(info)
	if sum, ok := w.h.Cache.get(rel, id, &w.hint); ok {
		return sum
	}
	if w.astray(filepath.Dir(full)) {
		return Unreadable
	}
	sum, now, err := w.content(ctx, full, info, rel)
	if err != nil {
		return Unreadable
	}
	w.h.Cache.put(rel, id, identify(now), sum)
	return sum
}

// astray reports whether a folder on the way was replaced by a link out of the
// worktree.
func (w *worker) astray(dir string) bool {
	if !w.seen || w.dir != dir {
		real, err := filepath.EvalSymlinks(dir)
		w.dir, w.seen, w.bad = dir, true, err != nil || !below(real, w.h.Top)
	}
	return w.bad
}

// link gives a link's digest: its text, and what it leads to where that is a
// file of the worktree.
func (w *worker) link(ctx context.Context, rel, full string) string {
	to, err := os.Readlink(full)
	if err != nil {
		return Unreadable
	}
	h := w.hash(rel)
	io.WriteString(h, "link\x00"+to+"\x00")
	if real, err := filepath.EvalSymlinks(full); err == nil && below(real, w.h.Top) {
		if info, err := os.Lstat(real); err == nil && info.Mode().IsRegular() {
			sum, _, err := w.content(ctx, real, info, rel)
			if err != nil {
				return Unreadable
			}
			io.WriteString(h, sum)
		}
	}
	return hex.EncodeToString(h.Sum(nil))
}

func (w *worker) hash(rel string) hash.Hash {
	if secretLooking(rel) {
		return hmac.New(sha256.New, inputKey(w.h.Key))
	}
	return sha256.New()
}

// inputKey is a key of its own, so that no digest of an input is a seal.
func inputKey(machine []byte) []byte {
	m := hmac.New(sha256.New, machine)
	io.WriteString(m, "holdfast check v1")
	return m.Sum(nil)
}

// KeyedHash is the keyed hash of a declared variable's value.
func KeyedHash(machine []byte, name, value string) string {
	m := hmac.New(sha256.New, inputKey(machine))
	io.WriteString(m, "env\x00"+name+"\x00"+value)
	return hex.EncodeToString(m.Sum(nil))
}

var errNoKey = errors.New("this machine's key is not to be had")

// content hashes a regular file, and gives how it looked after the reading.
func (w *worker) content(ctx context.Context, full string, info fs.FileInfo, rel string) (string, fs.FileInfo, error) {
	if secretLooking(rel) && len(w.h.Key) == 0 {
		return "", nil, errNoKey
	}
	f, err := openInput(full)
	if err != nil {
		return "", nil, err
	}
	defer f.Close()
	now, err := f.Stat()
	if err != nil {
		return "", nil, err
	}
	if !now.Mode().IsRegular() || !os.SameFile(now, info) {
		return "", nil, fs.ErrInvalid
	}
	h := w.hash(rel)
	for {
		n, err := f.Read(w.buf)
		h.Write(w.buf[:n])
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return "", nil, err
		}
		if ctx.Err() != nil {
			return "", nil, ctx.Err()
		}
	}
	now, err = f.Stat()
	return hex.EncodeToString(h.Sum(nil)), now, err
}

// Digest is that of a list of inputs, which is sorted by path: SHA-256 over
// path NUL digest LF.
func Digest(files []ledger.InputFile) string {
	h := sha256.New()
	buf := make([]byte, 0, 64<<10)
	for i := range files {
		buf = line(buf, &files[i])
		if len(buf) > 60<<10 {
			h.Write(buf)
			buf = buf[:0]
		}
	}
	h.Write(buf)
	return hex.EncodeToString(h.Sum(nil))
}

func line(b []byte, f *ledger.InputFile) []byte {
	b = append(append(b, f.Path...), 0)
	return append(append(b, f.SHA256...), '\n')
}

// HashProgram identifies a program by its real file.
func (h *Hasher) HashProgram(ctx context.Context, file string) (ledger.Program, error) {
	real, err := filepath.EvalSymlinks(file)
	if err != nil {
		return ledger.Program{}, err
	}
	info, err := os.Lstat(real)
	if err != nil || !info.Mode().IsRegular() {
		return ledger.Program{}, errors.Join(fs.ErrInvalid, err)
	}
	p := ledger.Program{Path: file, Size: info.Size()}
	id := identify(info)
	key := "\x00" + real
	var ok bool
	if p.SHA256, ok = h.Cache.get(key, id, new(int)); ok {
		return p, nil
	}
	w := worker{h: h, buf: make([]byte, 128<<10)}
	sum, now, err := w.content(ctx, real, info, "program")
	if err != nil {
		return p, err
	}
	h.Cache.put(key, id, identify(now), sum)
	p.SHA256 = sum
	return p, nil
}
