package surface

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"hash"
	"io/fs"
	"strconv"
	"strings"
	"sync"
)

// visit is one look at one want.
type visit struct {
	o        *Observer
	ctx      context.Context
	w        *Want
	statOnly bool
}

// found is one entry of a folder, or one path.
type found struct {
	path string // slash path below what is looked at
	typ  string // file, dir, link or other
	st   stat
	sum  [32]byte // SHA-256 of a file
	link string
	err  error
}

func (e *found) facts() map[string]string {
	switch e.typ {
	case "file":
		return map[string]string{
			"type": e.typ, "sha256": hex.EncodeToString(e.sum[:]),
			"size": strconv.FormatInt(e.st.now.size, 10), "mode": mode(e.st.mode),
		}
	case "link":
		return map[string]string{"type": e.typ, "link": e.link}
	}
	return map[string]string{"type": e.typ, "mode": mode(e.st.mode)}
}

func (e *found) stamp() string { return string(e.st.stamp(nil)) }

// entry looks at the entry called name in dir. Only a regular file is opened.
func (v *visit) entry(dir *handle, name, path string, st stat) found {
	e := found{path: path, st: st, typ: "other"}
	switch {
	case st.mode.IsRegular():
		e.typ = "file"
		if !v.statOnly {
			e.sum, e.err = v.sum(dir, name, &e.st)
		}
	case st.mode.IsDir():
		e.typ = "dir"
	case st.mode&fs.ModeSymlink != 0:
		e.typ = "link"
		if !v.statOnly {
			e.link, e.err = dir.readlink(name)
		}
	}
	if e.err != nil && absent(e.err) { // gone since it was listed
		e.err = errChanging
	}
	return e
}

// tries is how often something that changes under the look is looked at again.
const tries = 3

// sum is the SHA-256 of a regular file, from the cache where a stat may stand
// in for reading, else of one state of the file: it is read again while it
// changes. st becomes that state.
func (v *visit) sum(dir *handle, name string, st *stat) (sum [32]byte, err error) {
	pointers := v.pointers()
	for range tries {
		if len(pointers) == 0 {
			if sum, ok := v.o.cache.get(st); ok {
				return sum, nil
			}
		}
		started := v.o.now()
		sum, err = v.read(dir, name, st, pointers)
		if err == nil && len(pointers) == 0 {
			v.o.cache.put(st, started, sum)
		}
		if err != errChanging {
			return sum, err
		}
		if *st, err = dir.stat(name); err != nil || !st.mode.IsRegular() {
			break
		}
	}
	return sum, errChanging
}

// read reads a file once. It opens without waiting for anybody, and believes
// what it read only if the file was the one looked at and stayed as it was.
func (v *visit) read(dir *handle, name string, st *stat, pointers []string) (sum [32]byte, err error) {
	f, err := dir.file(name)
	if err != nil {
		return sum, err
	}
	defer f.close()
	opened, err := f.stat()
	if err != nil {
		return sum, err
	}
	if !opened.mode.IsRegular() || !st.same(&opened) {
		return sum, errChanging
	}
	h := hashers.Get().(*hasher)
	defer hashers.Put(h)
	if len(pointers) > 0 && opened.now.size <= maxJSON {
		sum, err = h.json(f, opened.now.size, pointers)
	} else {
		sum, err = h.content(v.ctx, f, opened.now.size)
	}
	if err != nil {
		return sum, err
	}
	if *st, err = f.stat(); err != nil {
		return sum, err
	}
	if !opened.unchanged(st) {
		return sum, errChanging
	}
	return sum, nil
}

// hasher is a hash with its buffer, used again and again: a folder of many
// small files would otherwise spend more on memory than on reading.
type hasher struct {
	sha hash.Hash
	buf [128 << 10]byte
}

var hashers = sync.Pool{New: func() any { return &hasher{sha: sha256.New()} }}

// content hashes a file of so many bytes. A file that got longer meanwhile is
// noticed by the stat that follows.
func (h *hasher) content(ctx context.Context, f file, size int64) (sum [32]byte, err error) {
	h.sha.Reset()
	for n, left := 0, size; left > 0; n++ {
		k, err := f.read(h.buf[:])
		if err != nil {
			return sum, err
		}
		if k == 0 {
			return sum, errChanging
		}
		h.sha.Write(h.buf[:k])
		left -= int64(k)
		if n%128 == 127 && ctx.Err() != nil {
			return sum, ctx.Err()
		}
	}
	h.sha.Sum(sum[:0])
	return sum, nil
}

func (h *hasher) json(f file, size int64, pointers []string) (sum [32]byte, err error) {
	b := make([]byte, 0, size)
	for int64(len(b)) < size {
		k, err := f.read(h.buf[:])
		if err != nil {
			return sum, err
		}
		if k == 0 {
			return sum, errChanging
		}
		b = append(b, h.buf[:k]...)
	}
	return sumJSON(b, pointers), nil
}

func sumHex(b []byte) string {
	s := sha256.Sum256(b)
	return hex.EncodeToString(s[:])
}

// pointers are the parts of JSON files that don't count.
func (v *visit) pointers() []string {
	var out []string
	for _, g := range v.w.Ignore {
		if p, ok := strings.CutPrefix(g, "json:"); ok {
			out = append(out, p)
		}
	}
	return out
}

// group runs work at the observer's helpers, and itself where none is free, so
// that work may start more work.
type group struct {
	gate chan struct{}
	wg   sync.WaitGroup
}

func (v *visit) group() *group { return &group{gate: v.o.gate} }

func (g *group) do(f func()) {
	select {
	case g.gate <- struct{}{}:
		g.wg.Go(func() {
			defer func() { <-g.gate }()
			f()
		})
	default:
		f()
	}
}

func (g *group) wait() { g.wg.Wait() }
