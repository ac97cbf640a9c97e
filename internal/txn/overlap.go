package txn

import (
	"maps"
	"path"
	"slices"
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

// areaOf is what p covers: with names, a folder covers these and itself alone.
func areaOf(p *Place, worktree string, names []string) area {
	f := p.family()
	return area{
		family: f, identity: strings.TrimPrefix(p.identity(), f.prefix), worktree: worktree,
		outside: p.Outside, fold: p.Fold, names: names, deep: f.path && len(names) == 0,
	}
}

func (w *building) area() area {
	if w.Whole {
		return areaOf(w.place, w.Worktree, nil)
	}
	return areaOf(w.place, w.Worktree, w.Names)
}

// reach is what the operation itself may touch: its source, its destination and
// what it wants to hold.
func (o *Operation) reach(worktree string) []area {
	names := map[string][]string{}
	whole := map[string]bool{}
	var places []*Place
	for i := range o.Posts {
		p := &o.Posts[i]
		places = append(places, &p.Place)
		names[p.identity()] = slices.AppendSeq(names[p.identity()], maps.Keys(p.Expect.Contains))
		whole[p.identity()] = whole[p.identity()] || p.Expect.Contains == nil
	}
	for _, p := range []*Place{o.Source, o.Destination} {
		if p != nil {
			places = append(places, p)
		}
	}
	var out []area
	for _, p := range places {
		list := names[p.identity()]
		if whole[p.identity()] {
			list = nil
		}
		out = append(out, areaOf(p, worktree, list))
	}
	return out
}

// unitArea is what one unit covers.
func (m *model) unitArea(u int) area {
	a := m.areas[m.units[u].want]
	switch name := m.units[u].name; {
	case name != "":
		a.identity, a.names, a.deep = path.Join(a.identity, name), nil, true
	case len(a.names) > 0:
		a.names = nil // the folder itself
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
	at := a.identity
	if !a.outside {
		top, ok := tops[a.worktree]
		if !ok {
			top = "worktree " + a.worktree + ":"
		}
		at = strings.TrimSuffix(top, "/")
		if a.identity != "." {
			at += "/" + a.identity
		}
	}
	list := []point{{at, a.deep}}
	for _, n := range a.names {
		list = append(list, point{at + "/" + n, true})
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
