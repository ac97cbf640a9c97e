package project

import (
	"context"
	"fmt"
	"slices"

	"holdfast/internal/ledger"
	"holdfast/internal/secret"
)

// Carried says what carrying a branch brought, or would bring.
type Carried struct {
	Branches []string `json:"branches"`
	IDs      []string `json:"ids"` // records that come into force here
	DryRun   bool     `json:"dry_run,omitempty"`
	Saved    *Saved   `json:"saved,omitempty"`
}

// CarryRequest asks to carry a branch.
type CarryRequest struct {
	Branch           string
	DryRun           bool // only show what would come
	ExpectedRecovery *string
	Key              string
}

// Carry brings the records of a branch here, for merges that git can't see:
// squash and rebase. With it come the branches that were in force there.
func (p *Project) Carry(ctx context.Context, q CarryRequest) (Carried, error) {
	branch, dryRun := q.Branch, q.DryRun
	c := Carried{DryRun: dryRun, Branches: []string{}, IDs: []string{}}
	if p.loc.repo == nil {
		return c, &UsageError{Why: "without git there are no branches to carry"}
	}
	if err := ledger.CheckText("branch", branch, 1, ledger.MaxText); err != nil {
		return c, err
	}
	plan := func(ctx context.Context, r *reading) error {
		var err error
		c.Branches, c.IDs, err = p.carryPlan(ctx, r, branch)
		return err
	}
	if dryRun {
		return c, p.look(ctx, "", func(r *reading) error { return plan(ctx, r) })
	}
	out, err := p.mutate(ctx, mutation{kind: ledger.TypeCarry, recovery: q.ExpectedRecovery, key: q.Key, request: branch, fields: []secret.Field{{Name: "branch", Text: branch}},
		build: func(ctx context.Context, r *reading) (ledger.Draft, error) {
			if err := plan(ctx, r); err != nil {
				return ledger.Draft{}, err
			}
			return ledger.Draft{Body: ledger.Body{Carry: &ledger.Carry{Branches: c.Branches}}}, nil
		}})
	if err != nil {
		return c, err
	}
	s := p.saved(out)
	c.Saved = &s
	return c, nil
}

// carryPlan finds the branches to carry and the records that they bring.
func (p *Project) carryPlan(ctx context.Context, r *reading, branch string) (branches, ids []string, err error) {
	uses, err := r.view.Commits(ctx)
	if err != nil {
		return nil, nil, err
	}
	i := slices.IndexFunc(uses, func(u ledger.CommitUse) bool { return u.Branch == branch })
	switch {
	case i < 0:
		return nil, nil, &NotFoundError{What: "record on a branch", ID: branch}
	case branch == r.place.Git.Branch && !r.place.Git.Detached:
		return nil, nil, &UsageError{Why: "this is that branch"}
	}
	there := r.place
	there.Git = ledger.Git{Branch: branch, Commit: p.tipOf(ctx, branch, uses)}
	scope, err := p.scope(ctx, r.view, there)
	if err != nil {
		return nil, nil, err
	}
	branches = []string{branch}
	for _, b := range scope.Whole() {
		if b != branch && b != r.place.Git.Branch && b != there.Default {
			branches = append(branches, b)
		}
	}
	carries, err := r.view.Carries(ctx)
	if err != nil {
		return nil, nil, err
	}
	code, err := p.code(ctx, r.place, uses)
	if err != nil {
		return nil, nil, err
	}
	with := append(slices.Clone(carries), ledger.CarryUse{Rev: r.head.Rev + 1, Git: r.place.Git, Branches: branches})
	place := r.place
	if place.Default == "" {
		place.Default = firstBranch(uses)
	}
	ids, err = p.newHere(ctx, r, ledger.NewScope(place, uses, with, code))
	return branches, ids, err
}

// tipOf is a branch's tip, or where it was last written on when it is gone.
func (p *Project) tipOf(ctx context.Context, branch string, uses []ledger.CommitUse) string {
	if tip, err := p.loc.repo.Ref(ctx, "refs/heads/"+branch); err == nil {
		return tip
	}
	commit, newest := "", int64(-1)
	for _, u := range uses {
		if u.Branch == branch && u.LastRev > newest {
			commit, newest = u.Commit, u.LastRev
		}
	}
	return commit
}

// newHere lists the records whose version in force changes under the scope.
func (p *Project) newHere(ctx context.Context, r *reading, scope *ledger.Scope) ([]string, error) {
	page, err := r.view.Find(ctx, ledger.Query{Scope: scope, State: ledger.FindAny})
	if err != nil {
		return nil, fmt.Errorf("find records: %w", err)
	}
	ids := []string{}
	for i := range page.Items {
		c := &page.Items[i]
		if via, ok := r.scope.InForce(c.Git, c.Rev); !ok && via == "" {
			ids = append(ids, c.ID)
		}
	}
	slices.Sort(ids)
	return ids, nil
}
