package surface

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// lookPath looks at a file or a folder.
func (o *Observer) lookPath(ctx context.Context, w *Want, k kind, name string, statOnly bool) Look {
	dir, base, why := o.open(w, name)
	if why != "" {
		return unknown(why)
	}
	if dir == nil {
		return Look{State: Absent, Stamp: Absent}
	}
	defer dir.close()
	v := &visit{o: o, ctx: ctx, w: w, statOnly: statOnly}
	actual, st, err := v.find(dir, base)
	switch {
	case absent(err):
		return Look{State: Absent, Stamp: Absent}
	case err != nil:
		return unknown(reason(err))
	case st.mode.IsDir() && k == kindDir:
		return v.folder(dir, actual, st)
	}
	e := v.entry(dir, actual, actual, st)
	if e.err != nil {
		return unknown(reason(e.err))
	}
	return Look{State: Present, Facts: e.facts(), Stamp: e.stamp()}
}

// open opens the folder that a want's path lies in, below the worktree's top or
// an allowed folder, which it can't leave. Without a folder and a reason there
// is no such folder.
func (o *Observer) open(w *Want, name string) (dir *handle, base, why string) {
	top, rel := o.tops[w.Worktree], name
	switch {
	case w.Outside && !o.outside:
		return nil, "", "it lies outside of the project, which is looked at only from the command line"
	case w.Outside:
		root, ok := rootOf(filepath.FromSlash(name), w.Roots)
		if !ok {
			return nil, "", "it lies in no folder that was allowed"
		}
		top = root
		rel, _ = below(filepath.FromSlash(name), root)
	case top == "":
		return nil, "", "its worktree can't be reached from here"
	}
	rel = path.Clean(rel)
	if reserved(rel) || !filepath.IsLocal(filepath.FromSlash(rel)) {
		return nil, "", "it is never looked at"
	}
	root, err := os.OpenRoot(top)
	if err != nil {
		return nil, "", reason(err)
	}
	defer root.Close()
	dir, err = openFolder(root, filepath.FromSlash(path.Dir(rel)))
	switch {
	case err == nil:
		return dir, path.Base(rel), ""
	case absent(err):
		return nil, "", ""
	}
	return nil, "", reason(err)
}

// Errors of reading that are no system's.
var (
	errChanging = errors.New("it changes while it is looked at")
	errTooMany  = fmt.Errorf("it has more than %d entries", maxEntries)
)

// reason puts an error into a fixed phrase: a look never holds a path or
// content.
func reason(err error) string {
	switch {
	case errors.Is(err, errChanging), errors.Is(err, errTooMany), errors.Is(err, errAmbiguous):
		for _, known := range []error{errChanging, errTooMany, errAmbiguous} {
			if errors.Is(err, known) {
				return known.Error()
			}
		}
	case errors.Is(err, fs.ErrPermission):
		return "permission denied"
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return "the look was cut short"
	case isLoop(err):
		return "its links go round in a circle"
	case strings.Contains(err.Error(), "escapes"): // os.Root has no error of its own for it
		return "its path leads out of the folder that may be looked at"
	}
	return "it could not be read"
}

// find looks for name in dir under the form that it has there.
func (v *visit) find(dir *handle, name string) (string, stat, error) {
	return findEntry(name, dir.stat, func() []string {
		if !v.o.folds("") {
			return nil
		}
		all, err := dir.sub(".")
		if err != nil {
			return nil
		}
		defer all.close()
		names, _ := all.names()
		return names
	})
}

// folder looks at a folder: named entries, everything, or both.
func (v *visit) folder(parent *handle, name string, st stat) Look {
	dir, err := parent.sub(name)
	if err != nil {
		return unknown(reason(err))
	}
	defer dir.close()
	l := Look{State: Present, Facts: map[string]string{"type": "dir", "mode": mode(st.mode)}}
	stamps := [][]byte{st.stamp(nil)}
	if v.w.Whole {
		t, err := v.tree(dir, func() (*handle, error) { return parent.sub(name) })
		if err != nil {
			return unknown(reason(err))
		}
		l.Facts["tree"], l.Facts["files"] = t.digest, strconv.Itoa(t.files)
		stamps = append(stamps, []byte(t.stamp))
	}
	if len(v.w.Names) > 0 {
		l.Names = map[string]map[string]string{}
		for i, e := range v.named(dir) {
			if e == nil {
				stamps = append(stamps, []byte(Absent))
				continue
			}
			stamps = append(stamps, e.st.stamp(nil))
			if e.err != nil {
				l.Names[v.w.Names[i]] = map[string]string{"state": Unknown, "why": reason(e.err)}
			} else {
				l.Names[v.w.Names[i]] = e.facts()
			}
		}
	}
	l.Stamp = sumHex(bytes.Join(stamps, []byte("\n")))
	return l
}

// named looks at the entries asked for; nil for one that isn't there. Links on
// the way to one are not followed: what lies behind them is not below the folder.
func (v *visit) named(dir *handle) []*found {
	out := make([]*found, len(v.w.Names))
	g := v.group()
	for i, name := range v.w.Names {
		g.do(func() { out[i] = v.namedEntry(dir, name) })
	}
	g.wait()
	return out
}

func (v *visit) namedEntry(dir *handle, name string) *found {
	if reserved(name) || !filepath.IsLocal(filepath.FromSlash(name)) {
		return nil
	}
	here := dir
	steps := strings.Split(name, "/")
	for i, step := range steps {
		actual, st, err := v.find(here, step)
		switch {
		case absent(err):
			return nil
		case err != nil:
			return &found{err: err}
		case i == len(steps)-1:
			e := v.entry(here, actual, name, st)
			return &e
		case !st.mode.IsDir() || v.o.denied(&st):
			return nil
		}
		sub, err := here.sub(actual)
		if err != nil {
			return &found{err: err}
		}
		defer sub.close()
		here = sub
	}
	return nil
}

// ignores reports whether the want leaves permission bits out.
func (v *visit) ignores(what string) bool { return slices.Contains(v.w.Ignore, what) }

// mode writes permission bits as chmod takes them.
func mode(m fs.FileMode) string {
	bits := uint64(m.Perm())
	for _, b := range []struct {
		set fs.FileMode
		bit uint64
	}{{fs.ModeSetuid, 0o4000}, {fs.ModeSetgid, 0o2000}, {fs.ModeSticky, 0o1000}} {
		if m&b.set != 0 {
			bits |= b.bit
		}
	}
	s := strconv.FormatUint(bits, 8)
	return strings.Repeat("0", max(0, 4-len(s))) + s
}
