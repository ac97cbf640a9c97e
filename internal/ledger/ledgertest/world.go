package ledgertest

import (
	"context"
	"fmt"
	"slices"

	"holdfast/internal/ledger"
)

// World is the history of some code: commits in a graph and branches that name
// them. Commits are numbered in the order in which they were made, so parents
// come first. The zero World has no branches and no default.
type World struct {
	Default  string
	parents  [][]int
	branches map[string]int // its tip; -1: unborn
	names    []string       // every branch there ever was, in order
}

// NewWorld is a repository in which the default branch has one commit.
func NewWorld(def string) *World {
	w := &World{Default: def, branches: map[string]int{}}
	w.Unborn(def)
	w.Commit(def)
	return w
}

// ID is the object id of the n-th commit.
func ID(n int) string { return fmt.Sprintf("%040x", n+1) }

// Unborn makes a branch without a commit.
func (w *World) Unborn(branch string) { w.set(branch, -1) }

func (w *World) set(branch string, tip int) {
	if !slices.Contains(w.names, branch) {
		w.names = append(w.names, branch)
	}
	w.branches[branch] = tip
}

// Commit adds a commit to a branch and gives its id.
func (w *World) Commit(branch string) string {
	var parents []int
	if tip := w.branches[branch]; tip >= 0 {
		parents = []int{tip}
	}
	return w.add(branch, parents)
}

func (w *World) add(branch string, parents []int) string {
	w.parents = append(w.parents, parents)
	w.set(branch, len(w.parents)-1)
	return ID(len(w.parents) - 1)
}

// Fork starts a branch, or moves it, to where another one is.
func (w *World) Fork(branch, from string) { w.set(branch, w.branches[from]) }

// Merge adds a commit to into whose second parent is the tip of from.
func (w *World) Merge(into, from string) string {
	a, b := w.branches[into], w.branches[from]
	if a < 0 || b < 0 || w.reaches(b, a) {
		return ""
	}
	return w.add(into, []int{a, b})
}

// FastForward moves into to the tip of from, if that is ahead of it.
func (w *World) FastForward(into, from string) {
	if b := w.branches[from]; b >= 0 && w.reaches(w.branches[into], b) {
		w.branches[into] = b
	}
}

// Rewrite takes the last commit off a branch and puts another in its place.
func (w *World) Rewrite(branch string) string {
	tip := w.branches[branch]
	if tip < 0 {
		return ""
	}
	return w.add(branch, slices.Clone(w.parents[tip]))
}

// Delete removes a branch's ref. Its commits stay.
func (w *World) Delete(branch string) { delete(w.branches, branch) }

// Branches lists the branches that there are, in the order they appeared.
func (w *World) Branches() []string {
	return slices.DeleteFunc(slices.Clone(w.names), func(b string) bool { _, ok := w.branches[b]; return !ok })
}

// Commits is how many commits there are.
func (w *World) Commits() int { return len(w.parents) }

// Git is what an entry made at the tip of branch stores.
func (w *World) Git(branch string) ledger.Git {
	g := ledger.Git{Branch: branch}
	if tip, ok := w.branches[branch]; ok && tip >= 0 {
		g.Commit, g.Base = ID(tip), w.base(tip)
	}
	return g
}

// GitDetached is what an entry made with HEAD at the n-th commit stores.
func (w *World) GitDetached(n int) ledger.Git {
	return ledger.Git{Commit: ID(n), Base: w.base(n), Detached: true}
}

// base is the merge-base with the default branch: the newest common ancestor.
func (w *World) base(commit int) string {
	tip, ok := w.branches[w.Default]
	if !ok {
		return ""
	}
	for n := min(commit, tip); n >= 0; n-- {
		if w.reaches(n, commit) && w.reaches(n, tip) {
			return ID(n)
		}
	}
	return ""
}

// reaches reports whether ancestor is to, or one of its ancestors. Everything
// descends from the state before the first commit, -1.
func (w *World) reaches(ancestor, to int) bool {
	if ancestor < 0 || to < 0 {
		return ancestor < 0 && to >= 0
	}
	seen := make([]bool, to+1)
	seen[to] = true
	for n := to; n > ancestor; n-- {
		if seen[n] {
			for _, p := range w.parents[n] {
				seen[p] = true
			}
		}
	}
	return ancestor <= to && seen[ancestor]
}

// On is a reader whose HEAD names branch.
func (w *World) On(branch string) (ledger.Place, ledger.Code) {
	tip, ok := w.branches[branch]
	if !ok {
		tip = -1
	}
	return ledger.Place{Git: w.Git(branch), Default: w.Default}, view{w, tip}
}

// Detached is a reader whose HEAD is the n-th commit and names no branch.
func (w *World) Detached(n int) (ledger.Place, ledger.Code) {
	return ledger.Place{Git: w.GitDetached(n), Default: w.Default}, view{w, n}
}

// Scope makes a reader's scope from what r knows.
func Scope(ctx context.Context, r ledger.Reader, p ledger.Place, c ledger.Code) (*ledger.Scope, error) {
	uses, err := r.Commits(ctx)
	if err != nil {
		return nil, err
	}
	carries, err := r.Carries(ctx)
	if err != nil {
		return nil, err
	}
	return ledger.NewScope(p, uses, carries, c), nil
}

// view answers for a reader at one commit; -1 has no history.
type view struct {
	w  *World
	at int
}

func (v view) number(id string) int {
	for n := range v.w.parents {
		if ID(n) == id {
			return n
		}
	}
	return -1
}

func (v view) Ancestor(id string) bool {
	n := v.number(id)
	return n >= 0 && v.w.reaches(n, v.at)
}

func (v view) Tip(branch string) string {
	if tip, ok := v.w.branches[branch]; ok && tip >= 0 {
		return ID(tip)
	}
	return ""
}

func (v view) Reaches(id, branch string) bool {
	n := v.number(id)
	tip, ok := v.w.branches[branch]
	return ok && n >= 0 && v.w.reaches(n, tip)
}
