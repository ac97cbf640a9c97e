package ledger

import (
	"math"
	"slices"
)

// Place is where in the code a reader or writer stands.
type Place struct {
	Git     Git    // branch, commit and base
	Default string // the default branch; empty when there is none or no git
	NoGit   bool   // no repository: everything is in force
}

// Code answers what the rules of lineage ask about the code's history.
type Code interface {
	Ancestor(commit string) bool        // is it an ancestor of, or the reader's commit itself?
	Tip(branch string) string           // the branch's tip, empty when it is gone
	Reaches(commit, branch string) bool // is commit an ancestor of, or the branch's tip itself?
}

// Scope says which versions are in force for one reader. It is made by
// NewScope, or All for everything.
type Scope struct {
	all      bool
	own      string
	branches map[string]bound
	def      string
	commits  map[string]string // commit on the default branch, or a detached one → via
	detached map[string]bool
}

type bound struct {
	upTo int64
	via  string
}

// Ways in which a version came to be in force.
const (
	ViaOwn       = ""          // made on this branch
	ViaDefault   = "default"   // made on the default branch, at an ancestor
	ViaRewritten = "rewritten" // made on the default branch at a commit that it no longer has
	ViaMerged    = "merged"    // its branch was merged
	ViaCarried   = "carried"   // its branch was carried here
	ViaDetached  = "detached"  // made at an ancestor while HEAD named no branch
)

// All is the scope in which everything is in force.
func All() *Scope { return &Scope{all: true} }

// NewScope applies the rules of docs/LEDGER-FORMAT.md, "Branches", for a reader
// at p: 1 its own branch, 2 carried branches, 3 the default branch at ancestors
// of its commit, 4 branches that were truly merged.
func NewScope(p Place, uses []CommitUse, carries []CarryUse, code Code) *Scope {
	if p.NoGit {
		return All()
	}
	s := &Scope{own: p.Git.Branch, def: p.Default, branches: map[string]bound{}, commits: map[string]string{}, detached: map[string]bool{}}
	if !p.Git.Detached {
		s.branches[p.Git.Branch] = bound{math.MaxInt64, ViaOwn}
	}
	byBranch := map[string][]CommitUse{}
	for _, u := range uses {
		switch {
		case u.Detached:
			s.detached[u.Commit] = s.detached[u.Commit] || code.Ancestor(u.Commit)
		case u.Branch == p.Default:
			s.commits[u.Commit] = defaultVia(u, code)
		default:
			byBranch[u.Branch] = append(byBranch[u.Branch], u)
		}
	}
	for branch, us := range byBranch {
		if _, own := s.branches[branch]; !own && merged(branch, us, code) {
			s.branches[branch] = bound{math.MaxInt64, ViaMerged}
		}
	}
	s.addCarried(carries)
	return s
}

func defaultVia(u CommitUse, code Code) string {
	switch {
	case u.Commit == "" || code.Ancestor(u.Commit):
		return ViaDefault
	case !code.Reaches(u.Commit, u.Branch):
		return ViaRewritten
	}
	return "no"
}

// merged is rule 4: the branch made commits of its own, and its tip is part of
// the reader's history.
func merged(branch string, uses []CommitUse, code Code) bool {
	tip, newest := "", int64(-1)
	ref := code.Tip(branch)
	for _, u := range uses {
		if u.Commit == "" || u.Commit == u.Base {
			continue
		}
		if u.LastRev > newest {
			tip, newest = u.Commit, u.LastRev
		}
	}
	if newest < 0 {
		return false
	}
	if ref != "" && slices.ContainsFunc(uses, func(u CommitUse) bool {
		return u.Commit != "" && u.Commit != u.Base && code.Reaches(u.Commit, branch)
	}) {
		tip = ref
	}
	return code.Ancestor(tip)
}

// addCarried follows carry entries that are in force themselves, until no
// further one comes into force by them.
func (s *Scope) addCarried(carries []CarryUse) {
	for changed := true; changed; {
		changed = false
		for _, c := range carries {
			if _, ok := s.InForce(c.Git, c.Rev); !ok {
				continue
			}
			for _, b := range c.Branches {
				if have, ok := s.branches[b]; !ok || have.upTo < c.Rev {
					s.branches[b] = bound{c.Rev, ViaCarried}
					changed = true
				}
			}
		}
	}
}

// InForce reports whether a version made at g by entry rev is in force, and by
// which way.
func (s *Scope) InForce(g Git, rev int64) (via string, ok bool) {
	switch {
	case s.all, g.Branch == "" && !g.Detached:
		return ViaOwn, true
	case g.Detached:
		return ViaDetached, s.detached[g.Commit]
	}
	if b, ok := s.branches[g.Branch]; ok && rev <= b.upTo {
		return b.via, true
	}
	if g.Branch == s.def {
		if via := s.commits[g.Commit]; via != "no" && via != "" {
			return via, true
		}
	}
	return "", false
}

// Everything reports whether the scope has no limits.
func (s *Scope) Everything() bool { return s.all }

// Whole lists the branches all of whose versions are in force, for a store that
// selects by branch. Versions elsewhere may still be in force one by one.
func (s *Scope) Whole() []string {
	var out []string
	for b, x := range s.branches {
		if x.upTo == math.MaxInt64 {
			out = append(out, b)
		}
	}
	slices.Sort(out)
	return out
}

// Current is a record as it stands for one reader.
type Current struct {
	Version
	Via      string    `json:"via,omitempty"`
	Diverged []Version `json:"diverged,omitempty"` // other versions in force that nothing replaced
}

// CurrentOf picks, from all versions of one record that count, oldest first, the
// one that is in force in s, the highest. ok is false when none is in force
// there. A version is replaced also by way of one that isn't in force: whoever
// made the last of them had seen the first.
func CurrentOf(versions []Version, s *Scope) (cur Current, ok bool) {
	covered := map[int64]bool{}
	for _, v := range slices.Backward(versions) {
		via, in := s.InForce(v.Git, v.Rev)
		if !in && !covered[v.Rev] {
			continue
		}
		if in && !ok {
			cur.Version, cur.Via, ok = v, via, true
		} else if in && !covered[v.Rev] {
			cur.Diverged = append(cur.Diverged, v)
		}
		if v.Replaces > 0 {
			covered[v.Replaces] = true
		}
		for _, r := range v.Settles {
			covered[r] = true
		}
	}
	slices.Reverse(cur.Diverged)
	return cur, ok
}
