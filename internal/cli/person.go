package cli

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"holdfast/internal/ledger"
	"holdfast/internal/project"
)

// Commands that are a person's decision: adopt and allow.

func newAdopt(a *app) *cobra.Command {
	thisCopy := false
	cmd := &cobra.Command{
		Use: "adopt", Short: "Look at a foreign ledger, and take it over", Annotations: saving, Args: noArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
		Long: `Show what the ledger here holds, in numbers and without its text, and at a
terminal ask whether to take it over. A ledger that came with a clone or from
another machine shows nothing to any agent before a person adopts it.

Of two folders with one ledger on a machine, the one that was there first goes on.
--this-copy makes the other a ledger of its own, with the whole history.` + exitStatus(saveExits...),
		Example: "  holdfast adopt\n  holdfast adopt --this-copy",
		RunE: a.run(func(ctx ctxT, _ []string) error {
			return a.with(ctx, func(p *project.Project) error {
				if thisCopy {
					return a.adoptCopy(ctx, p)
				}
				f, err := p.Describe(ctx)
				if err != nil {
					return err
				}
				if f.Known || a.json || !a.w.Terminal {
					return a.answer(&f, func(w *printer) { w.foreign(&f) })
				}
				if err := a.answer(&f, func(w *printer) { w.foreign(&f) }); err != nil {
					return err
				}
				if typed, err := a.ask("adopt it? type the first 8 digits of its id: ", true); err != nil || typed != f.Ledger[:8] {
					return errors.Join(&usageError{msg: "not adopted: the digits don't fit"}, err)
				}
				if f, err = p.Adopt(ctx); err != nil {
					return err
				}
				return a.saved("adopted:", f.Saved)
			})
		}),
	}
	cmd.Flags().BoolVar(&thisCopy, "this-copy", false, "make the copy here a ledger of its own")
	return cmd
}

func (p *printer) foreign(f *project.Foreign) {
	whose := "not made on this machine"
	if f.Known {
		whose = "this machine's"
	}
	fmt.Fprintf(p, "ledger %s at %s: %s\n", f.Ledger, project.Visible(f.Path, false), whose)
	fmt.Fprintf(p, "  %d entries, from %s to %s\n", f.Entries, project.Visible(f.First, false), project.Visible(f.Last, false))
	for _, k := range ledger.Kinds {
		if n := f.Records[k]; n > 0 {
			fmt.Fprintf(p, "  %d × %s\n", n, k)
		}
	}
	clients := slices.Clone(f.Clients)
	slices.Sort(clients)
	fmt.Fprintf(p, "  it says it was written by: %s\n", project.Visible(strings.Join(clients, ", "), false))
	if !f.Valid {
		fmt.Fprintln(p, "  its chain does not verify, so it can't be adopted")
	}
}

func newAllow(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "allow", Short: "Let one exact value pass the screening for secrets", Annotations: saving, Args: noArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
		Long: `Let one exact value pass that the screening takes for a secret, such as an example
from a manual. The value is read from the terminal without showing it; only a
salted hash of it is kept.` + exitStatus(saveExits...),
		Example: "  holdfast allow",
		RunE: a.run(func(ctx ctxT, _ []string) error {
			return a.with(ctx, func(p *project.Project) error {
				if project.CLICaller(a.w).Kind != ledger.Person {
					return project.ErrPersonOnly
				}
				value, err := a.ask("the value to allow: ", false)
				if err != nil {
					return err
				}
				s, err := p.Allow(ctx, value)
				if err != nil {
					return err
				}
				return a.saved("allowed, by a hash of it:", &s)
			})
		}),
	}
}

// ask reads one line from a person, shown while it is typed or not.
func (a *app) ask(prompt string, shown bool) (string, error) {
	if _, err := io.WriteString(a.Err, prompt); err != nil {
		return "", fmt.Errorf("ask: %w", err)
	}
	if f, ok := a.In.(*os.File); ok && !shown && term.IsTerminal(int(f.Fd())) {
		line, err := term.ReadPassword(int(f.Fd()))
		fmt.Fprintln(a.Err)
		if err != nil {
			return "", fmt.Errorf("read answer: %w", err)
		}
		return string(line), nil
	}
	line, err := bufio.NewReader(io.LimitReader(a.In, 64<<10)).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return "", fmt.Errorf("read answer: %w", err)
	}
	return strings.TrimRight(line, "\r\n"), nil
}

func newCarry(a *app) *cobra.Command {
	dry := false
	cmd := &cobra.Command{
		Use: "carry BRANCH", Short: "Bring another branch's records here", Annotations: saving,
		Long: `Bring the records of another branch here. A true merge does that by itself; after
a squash or a rebase git can't see it.` + exitStatus(saveExits...),
		Example: "  holdfast carry feature/queue --dry-run\n  holdfast carry feature/queue",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return &usageError{msg: "carry needs one BRANCH"}
			}
			return nil
		},
		ValidArgsFunction: cobra.NoFileCompletions,
	}
	cmd.RunE = a.run(func(ctx ctxT, args []string) error {
		return a.with(ctx, func(p *project.Project) error {
			c, err := p.Carry(ctx, project.CarryRequest{Branch: args[0], DryRun: dry, ExpectedRecovery: a.recovery})
			if err != nil {
				return err
			}
			return a.answer(&c, func(w *printer) { w.carried(&c) })
		})
	})
	cmd.Flags().BoolVar(&dry, "dry-run", false, "only show what would come")
	return cmd
}

func (p *printer) carried(c *project.Carried) {
	verb := "carried"
	if c.DryRun {
		verb = "would carry"
	}
	fmt.Fprintf(p, "%s %s: %d records come into force here\n", verb, project.Visible(strings.Join(c.Branches, ", "), false), len(c.IDs))
	for _, id := range c.IDs {
		fmt.Fprintf(p, "  %s\n", id)
	}
}
