package cli

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"holdfast/internal/ledger"
	"holdfast/internal/project"
)

const redactLong = `Erase the texts of a record, or of whole revisions, because a secret leaked into
them. Without --apply it shows what would go and changes nothing; at a terminal it
then asks for the first 8 digits of the preview's fingerprint. --apply --expect
FINGERPRINT applies exactly what was shown.

First a redact entry is saved, then the texts go from revisions, packs, older
generations, mirrors, index, HANDOFF.md and quarantine. The chain of hashes stays
whole. What lies elsewhere, such as an export, is listed: nothing here can reach
it. Change a leaked secret where it is used, too. A revision holds everything that
was saved together, and all of it goes.`

func newRedact(a *app) *cobra.Command {
	var q project.RedactRequest
	var revs revisions
	apply := false
	cmd := &cobra.Command{
		Use: "redact [ID...] [--revision N...]", Short: "Erase the text of a record that holds a leaked secret", Annotations: saving,
		Long:              redactLong + exitStatus(saveExits...),
		Example:           "  holdfast redact deploy-note --why \"a token was pasted\"\n  holdfast redact --revision 41 --apply --expect 9f2c41aa...",
		SuggestFor:        []string{"erase", "purge", "scrub"},
		ValidArgsFunction: a.completeIDs(100, func(*project.Item) bool { return true }),
		Args: func(_ *cobra.Command, args []string) error {
			switch {
			case len(args)+len(revs) == 0:
				return &usageError{msg: "redact needs an ID or --revision"}
			case apply != (q.Expect != ""):
				return &usageError{msg: "--apply and --expect belong together"}
			}
			return nil
		},
	}
	cmd.RunE = a.run(func(ctx ctxT, args []string) error {
		q.IDs, q.Revisions, q.ExpectedRecovery = args, revs, a.recovery
		return a.with(ctx, func(p *project.Project) error { return a.redact(ctx, p, q) })
	})
	fs := cmd.Flags()
	fs.Var(&revs, "revision", "this revision (repeatable)")
	fs.Var(once{&q.Why, "text"}, "why", "the reason, which is kept")
	fs.BoolVar(&apply, "apply", false, "erase what the preview with this fingerprint showed")
	fs.Var(once{&q.Expect, "fingerprint"}, "expect", "fingerprint of the preview")
	return cmd
}

// redact previews, asks where a person can be asked, and applies.
func (a *app) redact(ctx ctxT, p *project.Project, q project.RedactRequest) error {
	d, err := p.Redact(ctx, q)
	if err == nil && !d.Applied {
		if err := a.answer(&d, func(w *printer) { w.redaction(&d) }); err != nil || a.json || project.CLICaller(a.w).Kind != ledger.Person {
			return err
		}
		typed, err := a.ask("erase it for good? type the first 8 digits of the fingerprint: ", true)
		if err != nil || typed != d.Fingerprint[:8] {
			return errors.Join(&usageError{msg: "nothing was redacted: the digits don't fit"}, err)
		}
		q.Expect = d.Fingerprint
		d, err = p.Redact(ctx, q)
		return a.redacted(&d, err)
	}
	return a.redacted(&d, err)
}

func (a *app) redacted(d *project.Redaction, err error) error {
	if !d.Applied {
		return err
	}
	perr := a.answer(d, func(w *printer) { w.redaction(d) })
	if !a.json {
		for _, w := range d.Warnings {
			a.warn(w)
		}
	}
	if err != nil {
		return a.incomplete(err)
	}
	return perr
}

func (p *printer) redaction(d *project.Redaction) {
	verb := "would erase"
	if d.Applied {
		verb = fmt.Sprintf("redacted, as revision %d:", d.Revision)
	}
	fmt.Fprintf(p, "%s the text of %d revisions\n", verb, len(d.Revisions))
	for _, r := range d.Revisions {
		who := r.Actor.Client
		if who == "" {
			who = r.Actor.Kind
		}
		fmt.Fprintf(p, "  revision %d, %s of %s by %s: %s\n", r.Revision, r.Type, project.Visible(r.At, false),
			project.Visible(who, false), project.Visible(strings.Join(r.IDs, ", "), false))
	}
	for _, f := range d.Erased {
		fmt.Fprintf(p, "  erased in %s\n", project.Visible(f, false))
	}
	fmt.Fprintln(p, "it can't reach:")
	for _, u := range d.Unreachable {
		fmt.Fprintf(p, "  %s\n", u)
	}
	if !d.Applied {
		fmt.Fprintf(p, "fingerprint %s\n", d.Fingerprint)
	}
}

// revisions is a list of revisions, one a flag.
type revisions []int64

func (r *revisions) String() string { return "" }
func (r *revisions) Type() string   { return "revision" }

func (r *revisions) Set(s string) error {
	n, err := parseRevision(s)
	if err == nil {
		*r = append(*r, n)
	}
	return err
}
