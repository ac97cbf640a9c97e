package cli

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"holdfast/internal/ledger"
	"holdfast/internal/project"
)

const pruneLong = `Show what the ledger works without: generations that a recovery replaced, quarantined
originals, manifests that no receipt names. Nothing is removed by that. A person at a
terminal is asked; --apply --expect FINGERPRINT removes exactly what was shown.

What is the last copy of an entry stays, and so do the originals of a transaction
that is open and everything while the ledger is not whole.`

func newPrune(a *app) *cobra.Command {
	expect, apply := "", false
	cmd := &cobra.Command{
		Use: "prune", Short: "Remove old generations and quarantined files", Annotations: saving,
		Long:    pruneLong + exitStatus(saveExits...),
		Example: "  holdfast prune\n  holdfast prune --apply --expect 9f2c41aa...", ValidArgsFunction: cobra.NoFileCompletions,
		SuggestFor: []string{"gc", "clean", "cleanup"},
		Args: func(c *cobra.Command, args []string) error {
			if apply != (expect != "") {
				return &usageError{msg: "--apply and --expect belong together"}
			}
			return noArgs(c, args)
		},
	}
	cmd.RunE = a.run(func(ctx ctxT, _ []string) error {
		return a.with(ctx, func(p *project.Project) error {
			d, err := p.Prune(ctx, expect)
			if err != nil {
				return err
			}
			if err := a.answer(&d, func(w *printer) { w.pruning(&d) }); err != nil || d.Applied || len(d.Remove) == 0 || a.json || project.CLICaller(a.w).Kind != ledger.Person {
				return err
			}
			typed, err := a.ask("remove it for good? type the first 8 digits of the fingerprint: ", true)
			if err != nil || typed != d.Fingerprint[:8] {
				return errors.Join(&usageError{msg: "nothing was removed: the digits don't fit"}, err)
			}
			if d, err = p.Prune(ctx, d.Fingerprint); err != nil {
				return err
			}
			return a.answer(&d, func(w *printer) { w.pruning(&d) })
		})
	})
	fs := cmd.Flags()
	fs.BoolVar(&apply, "apply", false, "remove what the preview with this fingerprint showed")
	fs.Var(once{&expect, "fingerprint"}, "expect", "fingerprint of the preview")
	return cmd
}

func (p *printer) pruning(d *project.Pruning) {
	verb := "would remove"
	if d.Applied {
		verb = "removed"
	}
	if len(d.Remove) == 0 {
		p.printf("nothing to remove\n")
	}
	for _, it := range d.Remove {
		p.printf("%s %s %s: %d files, %s\n", verb, it.Kind, project.Visible(it.Path, false), it.Files, byteSize(it.Bytes))
	}
	for _, it := range d.Keep {
		p.printf("stays: %s %s: %s\n", it.Kind, project.Visible(it.Path, false), it.Why)
	}
	if !d.Applied && len(d.Remove) > 0 {
		p.printf("%s in all\nfingerprint %s\n", byteSize(d.Bytes), d.Fingerprint)
	}
}

// byteSize writes a number of bytes for people, in units of 1,000.
func byteSize(n int64) string {
	for _, u := range []struct {
		of   int64
		name string
	}{{1e9, "GB"}, {1e6, "MB"}, {1e3, "kB"}} {
		if n >= u.of {
			return fmt.Sprintf("%.1f %s", float64(n)/float64(u.of), u.name)
		}
	}
	return fmt.Sprintf("%d bytes", n)
}

const forgetLong = `Show everything that this machine has of the project's ledger: its folder, mirrors,
index and notes. A person at a terminal types the ledger's id to remove all of it.
Nothing is left then to recover from but an export that lies elsewhere.`

func newForget(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "forget", Short: "Remove the ledger with all its copies, for a person", Annotations: saving, Args: noArgs,
		Long:    forgetLong + exitStatus(saveExits...),
		Example: "  holdfast forget", ValidArgsFunction: cobra.NoFileCompletions,
		RunE: a.run(func(ctx ctxT, _ []string) error {
			return a.with(ctx, func(p *project.Project) error {
				f, err := p.Forget(ctx, "")
				if err != nil {
					return err
				}
				if err := a.answer(&f, func(w *printer) { w.forgetting(&f) }); err != nil || a.json || project.CLICaller(a.w).Kind != ledger.Person {
					return err
				}
				typed, err := a.ask("remove it for good? type the ledger's id: ", true)
				if err != nil || typed != f.Ledger {
					return errors.Join(&usageError{msg: "nothing was removed: the id doesn't fit"}, err)
				}
				if f, err = p.Forget(ctx, typed); err != nil {
					return err
				}
				return a.answer(&f, func(w *printer) { w.forgetting(&f) })
			})
		}),
	}
}

func (p *printer) forgetting(f *project.Forgetting) {
	verb := "would remove"
	if f.Forgot {
		verb = "removed"
	}
	p.printf("ledger %s, %d entries\n", f.Ledger, f.Entries)
	for _, path := range f.Paths {
		p.printf("  %s %s\n", verb, project.Visible(path, false))
	}
	for _, path := range f.Others {
		p.printf("  stays, with its mirror and index: the same ledger at %s\n", project.Visible(path, false))
	}
	if f.Setup && f.Forgot {
		p.printf("coding tools are still set up here: holdfast setup --remove\n")
	}
}
