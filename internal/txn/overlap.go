package txn

import (
	"strings"

	"golang.org/x/text/unicode/norm"
)

// area is what a surface covers. Two surfaces overlap when they are the same,
// or when one's path lies in what the other covers.
type area struct {
	family   family
	identity string // behind the prefix
	worktree string
	outside  bool
	fold     bool
	names    []string // a folder asked by names alone: these and itself
	deep     bool     // everything below it
}

func (w *building) area() area {
	f, _ := familyOf(w.Surface)
	a := area{family: f, worktree: w.Worktree, outside: w.Outside, fold: w.fold}
	a.identity = strings.TrimPrefix(w.identity, f.prefix)
	if f.name == "dir" && !w.Whole {
		a.names = w.Names
	} else {
		a.deep = f.path
	}
	return a
}

// overlaps reports whether a and b have something in common. tops are the
// worktrees' folders by name, so that one inside another is noticed.
func (a *area) overlaps(b *area, tops map[string]string) bool {
	if !a.family.path || !b.family.path {
		same := a.family.shared && !ownRef(a.identity) || a.worktree == b.worktree
		return same && a.family.name == b.family.name && a.identity == b.identity
	}
	fold := a.fold || b.fold
	for _, p := range a.points(tops, fold) {
		for _, q := range b.points(tops, fold) {
			if p.path == q.path || p.deep && q.inside(p.path) || q.deep && p.inside(q.path) {
				return true
			}
		}
	}
	return false
}

// ownRef reports whether each worktree has the ref for itself
// (git-worktree(1), REFS).
func ownRef(name string) bool {
	for _, p := range []string{"refs/bisect/", "refs/worktree/", "refs/rewritten/"} {
		if strings.HasPrefix(name, p) {
			return true
		}
	}
	return name == "HEAD"
}

// point is one path that an area covers.
type point struct {
	path string
	deep bool // with everything below it
}

func (p point) inside(dir string) bool {
	dir = strings.TrimSuffix(dir, "/")
	return len(p.path) > len(dir) && p.path[len(dir)] == '/' && strings.HasPrefix(p.path, dir)
}

func (a *area) points(tops map[string]string, fold bool) []point {
	path := a.identity
	if !a.outside {
		top, ok := tops[a.worktree]
		if !ok {
			top = "worktree " + a.worktree + ":"
		}
		path = strings.TrimSuffix(top, "/")
		if a.identity != "." {
			path += "/" + a.identity
		}
	}
	list := []point{{path, a.deep}}
	for _, n := range a.names {
		list = append(list, point{path + "/" + n, true})
	}
	for i := range list {
		list[i].path = canonicalName(list[i].path, fold)
	}
	return list
}

// canonicalName gives a name the form that its spellings share: composed, and
// in lower case where the file system doesn't tell case apart.
func canonicalName(name string, fold bool) string {
	if fold {
		name = strings.ToLower(norm.NFC.String(name))
	}
	return norm.NFC.String(name)
}
