package surface

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"slices"
	"sync"
)

// maxEntries is how many entries a folder that is looked at as a whole may have.
const maxEntries = 200_000

// tree is a folder with everything below it.
type tree struct {
	digest string
	stamp  string
	files  int // entries that are not folders
	list   []*found
}

// tree looks at everything below dir but git's and Holdfast's folders. Links
// are not followed. It is looked at again while its folders change.
//
// The digest is the SHA-256 over one line for each entry, sorted by path as
// bytes: type (f, d, l or o), a space, permission bits as four octal digits (-
// for a link, or where they are ignored), a space, the SHA-256 of a file or of
// a link's target (- otherwise), a space, the slash path below the folder, and
// a NUL. Times and owners don't count, nor do the folder's own bits.
func (v *visit) tree(dir *handle, open func() (*handle, error)) (tree, error) {
	for range tries {
		w := &treeWalk{v: v}
		w.folder(dir, "")
		if w.err == nil {
			return w.result(), nil
		}
		if w.err != errChanging {
			return tree{}, w.err
		}
		again, err := open()
		if err != nil {
			return tree{}, err
		}
		defer again.close()
		dir = again
	}
	return tree{}, errChanging
}

// treeWalk collects what is below a folder.
type treeWalk struct {
	v *visit

	mu     sync.Mutex
	chunks [][]found
	count  int
	err    error
}

// add takes entries in; false: there is no point in going on.
func (w *treeWalk) add(list []found, err error) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.chunks, w.count = append(w.chunks, list), w.count+len(list)
	for i := range list {
		if w.err == nil {
			w.err = list[i].err
		}
	}
	if w.err == nil {
		w.err = err
	}
	if w.err == nil && w.count > maxEntries {
		w.err = errTooMany
	}
	if w.err == nil {
		w.err = w.v.ctx.Err()
	}
	return w.err == nil
}

// folder looks at the entries of one folder and what is below them. at is its
// path with a slash behind it, empty for the top.
func (w *treeWalk) folder(dir *handle, at string) {
	before, err := dir.self()
	if err != nil {
		w.add(nil, err)
		return
	}
	names, err := dir.names()
	if err != nil && err != io.EOF {
		w.add(nil, err)
		return
	}
	if len(names) > maxEntries {
		w.add(nil, errTooMany)
		return
	}
	g := w.v.group()
	for chunk := range slices.Chunk(names, 128) {
		g.do(func() { w.entries(dir, at, chunk) })
	}
	g.wait()
	if after, err := dir.self(); err != nil || !before.unchanged(&after) {
		w.add(nil, errChanging)
	}
}

func (w *treeWalk) entries(dir *handle, at string, names []string) {
	out := make([]found, 0, len(names))
	for _, name := range names {
		if reservedName(name) {
			continue
		}
		st, err := dir.stat(name)
		if err != nil {
			if absent(err) { // gone since it was listed
				err = errChanging
			}
			w.add(out, err)
			return
		}
		if w.v.o.denied(&st) {
			continue
		}
		out = append(out, w.v.entry(dir, name, at+name, st))
		if st.mode.IsDir() && !w.below(dir, name, at+name+"/") {
			return
		}
	}
	w.add(out, nil)
}

func (w *treeWalk) below(dir *handle, name, at string) bool {
	sub, err := dir.sub(name)
	if err != nil {
		return w.add(nil, err)
	}
	defer sub.close()
	w.folder(sub, at)
	return w.add(nil, nil)
}

func (w *treeWalk) result() tree {
	t := tree{list: make([]*found, 0, w.count)}
	for _, c := range w.chunks {
		for i := range c {
			t.list = append(t.list, &c[i])
		}
	}
	slices.SortFunc(t.list, func(a, b *found) int { return cmp.Compare(a.path, b.path) })
	bits := !w.v.ignores("mode")
	lines, stamps := sha256.New(), sha256.New()
	var b []byte
	for _, e := range t.list {
		b = e.line(b[:0], bits)
		lines.Write(b)
		b = append(append(e.st.stamp(b[:0]), e.path...), 0)
		stamps.Write(b)
		if e.typ != "dir" {
			t.files++
		}
	}
	t.digest, t.stamp = hex.EncodeToString(lines.Sum(nil)), hex.EncodeToString(stamps.Sum(nil))
	return t
}

// line is the entry's line in the digest of a folder.
func (e *found) line(b []byte, bits bool) []byte {
	b = append(b, e.typ[0], ' ')
	if bits && e.typ != "link" {
		b = append(b, mode(e.st.mode)...)
	} else {
		b = append(b, '-')
	}
	b = append(b, ' ')
	switch e.typ {
	case "file":
		b = hex.AppendEncode(b, e.sum[:])
	case "link":
		sum := sha256.Sum256([]byte(e.link))
		b = hex.AppendEncode(b, sum[:])
	default:
		b = append(b, '-')
	}
	b = append(b, ' ')
	return append(append(b, e.path...), 0)
}
