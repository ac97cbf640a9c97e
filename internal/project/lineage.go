package project

import (
	"context"
	"errors"
	"fmt"

	"holdfast/internal/git"
	"holdfast/internal/ledger"
)

// where tells on which branch and commit the caller stands. Git facts that
// can't be had are left out; the location's notices say why.
func (p *Project) where(ctx context.Context) (ledger.Place, error) {
	if p.loc.repo == nil {
		return ledger.Place{NoGit: true}, nil
	}
	h, err := p.loc.repo.Head(ctx)
	if errors.Is(err, git.ErrUnavailable) || errors.Is(err, git.ErrNoWorktree) {
		return ledger.Place{NoGit: true}, nil
	}
	if err != nil {
		return ledger.Place{}, fmt.Errorf("read branch: %w", err)
	}
	g := ledger.Git{Branch: h.Branch, Commit: h.Commit, Detached: h.Detached}
	if h.Detached && h.Returning != "" { // a rebase or bisect goes back to that branch
		g.Branch, g.Detached = h.Returning, false
	}
	place := ledger.Place{Git: g}
	def, err := p.loc.repo.DefaultBranch(ctx)
	if err != nil && !errors.Is(err, git.ErrUnavailable) {
		return place, fmt.Errorf("find default branch: %w", err)
	}
	place.Default = def
	return place, nil
}

// withBase completes a place for writing: the merge-base with the default
// branch as it is now, which git is asked for once per pair of commits. p.mu is
// held.
func (p *Project) withBase(ctx context.Context, place ledger.Place) ledger.Git {
	g := place.Git
	if place.NoGit || g.Commit == "" || place.Default == "" {
		return g
	}
	if g.Branch == place.Default {
		g.Base = g.Commit
		return g
	}
	tip := p.defaultTip(ctx, place.Default)
	if tip == "" {
		return g
	}
	if tip == g.Commit {
		g.Base = g.Commit
		return g
	}
	key := [2]string{g.Commit, tip}
	if p.base.key != key {
		base, err := p.loc.repo.MergeBase(ctx, g.Commit, tip)
		if err != nil {
			return g
		}
		p.base.key, p.base.commit = key, base
	}
	g.Base = p.base.commit
	return g
}

// defaultTip is the default branch's tip: the local branch's, else what was
// fetched of it.
func (p *Project) defaultTip(ctx context.Context, branch string) string {
	for _, ref := range []string{"refs/heads/", "refs/remotes/origin/"} {
		if tip, err := p.loc.repo.Ref(ctx, ref+branch); err == nil && tip != "" {
			return tip
		}
	}
	return ""
}

// scope applies the lineage rules for a reader at place.
func (p *Project) scope(ctx context.Context, view ledger.Reader, place ledger.Place) (*ledger.Scope, error) {
	if place.NoGit {
		return ledger.All(), nil
	}
	if p.plain.at(view.Head(), place.Git) {
		return p.plain.scope, nil
	}
	uses, err := view.Commits(ctx)
	if err != nil {
		return nil, err
	}
	carries, err := view.Carries(ctx)
	if err != nil {
		return nil, err
	}
	if place.Default == "" {
		place.Default = firstBranch(uses)
	}
	code, err := p.code(ctx, place, uses)
	if err != nil {
		return nil, err
	}
	s := ledger.NewScope(place, uses, carries, code)
	newer, err := view.Newer(ctx)
	if err != nil {
		return nil, err
	}
	if len(carries) == 0 && len(newer) == 0 && allOn(uses, place.Git) {
		p.plain = plain{head: view.Head(), branch: place.Git.Branch, scope: s}
	}
	return s, nil
}

// plain remembers that at head a ledger was of the usual kind: every entry was
// made on one branch, nothing was carried, nothing is newer than this build.
// What is in force for a reader on that branch doesn't depend on the code's
// history then, and one save after the other need not ask for it again.
type plain struct {
	head   ledger.Pos
	branch string
	scope  *ledger.Scope
}

func (c *plain) at(head ledger.Pos, g ledger.Git) bool {
	return c.scope != nil && c.head == head && head.Hash != "" && !g.Detached && g.Branch == c.branch
}

// follow moves on to our own save, which was made on that branch.
func (c *plain) follow(before, after ledger.Pos, kind string, g ledger.Git) {
	switch kind {
	case ledger.TypeRecord, ledger.TypeStatus, ledger.TypeRetract, ledger.TypeRestore, ledger.TypeConfirm, ledger.TypeCheck:
		if c.at(before, g) {
			c.head = after
			return
		}
	}
	*c = plain{}
}

func allOn(uses []ledger.CommitUse, g ledger.Git) bool {
	for _, u := range uses {
		if g.Detached || u.Detached || u.Branch != g.Branch {
			return false
		}
	}
	return true
}

// firstBranch is the branch of the first entry: the default where git names
// none.
func firstBranch(uses []ledger.CommitUse) string {
	for _, u := range uses {
		if u.Branch != "" {
			return u.Branch
		}
	}
	return ""
}

// history answers the lineage rules' questions from facts gathered at once.
type history struct {
	head      string
	tips      map[string]string
	ancestors map[string]bool            // of the reader's commit
	reaches   map[string]map[string]bool // by branch: commits that its tip reaches
}

func (h *history) Ancestor(c string) bool { return c == h.head || h.ancestors[c] }
func (h *history) Tip(b string) string    { return h.tips[b] }
func (h *history) Reaches(c, b string) bool {
	return h.tips[b] != "" && (c == h.tips[b] || h.reaches[b][c])
}

// code gathers what the rules will ask, with as few runs of git as can be: none
// where every entry was made on the reader's own branch.
func (p *Project) code(ctx context.Context, place ledger.Place, uses []ledger.CommitUse) (ledger.Code, error) {
	h := &history{head: place.Git.Commit, reaches: map[string]map[string]bool{}}
	var ask []string
	byBranch := map[string][]string{}
	for _, u := range uses {
		if u.Commit == "" || u.Branch == place.Git.Branch && !u.Detached && !place.Git.Detached {
			continue
		}
		ask = append(ask, u.Commit)
		if !u.Detached {
			byBranch[u.Branch] = append(byBranch[u.Branch], u.Commit)
		}
	}
	if len(ask) == 0 {
		return h, nil
	}
	var err error
	if h.tips, err = p.loc.repo.RefTips(ctx); err != nil {
		return nil, fmt.Errorf("read branches: %w", err)
	}
	for b := range byBranch {
		if t := h.tips[b]; t != "" {
			ask = append(ask, t)
		}
	}
	if h.head != "" {
		if h.ancestors, err = p.loc.repo.Ancestors(ctx, h.head, ask); err != nil {
			return nil, fmt.Errorf("follow history: %w", err)
		}
	}
	for b, commits := range byBranch {
		if t := h.tips[b]; t != "" {
			if h.reaches[b], err = p.loc.repo.Ancestors(ctx, t, commits); err != nil {
				return nil, fmt.Errorf("follow history: %w", err)
			}
		}
	}
	return h, nil
}
