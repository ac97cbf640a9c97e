package cli

import (
	"errors"
	"fmt"

	"holdfast/internal/ledger"
	"holdfast/internal/project"
)

// adoptCopy shows which folder holds the same ledger, asks, and makes the copy
// here one of its own.
func (a *app) adoptCopy(ctx ctxT, p *project.Project) error {
	c, err := p.DescribeCopy(ctx)
	if err != nil {
		return err
	}
	if err := a.answer(&c, func(w *printer) { w.copied(&c) }); err != nil || a.json || project.CLICaller(a.w).Kind != ledger.Person {
		return err
	}
	if typed, err := a.ask("make it a ledger of its own? type the first 8 digits of its id: ", true); err != nil || typed != c.Ledger[:8] {
		return errors.Join(&usageError{msg: "not adopted: the digits don't fit"}, err)
	}
	if c, err = p.AdoptCopy(ctx); err != nil {
		return err
	}
	return a.saved(fmt.Sprintf("a ledger of its own, %s:", c.Ledger), c.Saved)
}

func (p *printer) copied(c *project.CopiedLedger) {
	fmt.Fprintf(p, "ledger %s at %s, revision %d,\n  is a copy of the one at %s, which goes on under this id\n",
		c.Ledger, project.Visible(c.Path, false), c.Revision, project.Visible(c.Original, false))
}

// newLedger starts over, once a person agreed.
func (a *app) newLedger(ctx ctxT, p *project.Project, f *setupFlags) error {
	if project.CLICaller(a.w).Kind != ledger.Person {
		return project.ErrPersonOnly
	}
	if !f.yes {
		typed, err := a.ask("start over with a new, empty ledger here? type new: ", true)
		if err != nil || typed != "new" {
			return errors.Join(&usageError{msg: "nothing was changed"}, err)
		}
	}
	r, err := p.NewLedger(ctx)
	if err != nil {
		return err
	}
	if !a.quiet {
		fmt.Fprintf(a.Err, "holdfast: new ledger %s at %s\n", r.Ledger, project.Visible(r.Path, false))
	}
	return nil
}
