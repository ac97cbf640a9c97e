package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"holdfast/internal/project"
)

const recoverLong = `Bring the ledger back: from its own revisions, the mirror, older generations or an
encrypted export. Without --apply it shows what would happen and changes nothing.
--apply --expect FINGERPRINT does exactly what was shown; anything that changed
since then is refused, and a fingerprint works once.

The old revisions are never changed or moved. Going back to an earlier revision of
a whole ledger adds an entry to it; anything else makes a new generation beside the
old one.`

func newRecover(a *app) *cobra.Command {
	var q project.RecoverRequest
	var u unlockFlags
	apply, list, diff := false, false, false
	cmd := &cobra.Command{
		Use: "recover", Short: "Bring back an earlier state, or a damaged or lost ledger", Annotations: saving,
		Long:       recoverLong + exitStatus(saveExits...),
		Example:    "  holdfast recover\n  holdfast recover --at 118 --diff\n  holdfast recover --from ledger.age\n  holdfast recover --apply --expect 9f2c41aa...",
		SuggestFor: []string{"rollback", "undo", "repair", "restore-backup"}, ValidArgsFunction: cobra.NoFileCompletions,
	}
	cmd.Args = func(c *cobra.Command, args []string) error {
		if apply != (q.Expect != "") {
			return &usageError{msg: "--apply and --expect belong together"}
		}
		if apply && list {
			return &usageError{msg: "--list changes nothing, and --apply does"}
		}
		return noArgs(c, args)
	}
	cmd.RunE = a.run(func(ctx ctxT, _ []string) error {
		q.ExpectedRecovery = a.recovery
		return a.with(ctx, func(p *project.Project) error {
			if err := a.unlock(p, &q, &u); err != nil {
				return err
			}
			r, err := p.Recover(ctx, q)
			if err != nil {
				return err
			}
			for _, w := range r.Warnings {
				a.warn(w)
			}
			return a.answer(&r, func(w *printer) { w.recovery(&r, list, diff) })
		})
	})
	fs := cmd.Flags()
	revisionFlag(fs, &q.At, "at", "the state as of this revision")
	fs.Var(once{&q.From, "file"}, "from", "an encrypted export, or a source that --list shows")
	fs.Var(once{&q.Identity, "file"}, "identity", "file with the private key of the export, age or SSH")
	fs.BoolVar(&q.KeepHits, "keep-hits", false, "keep what the screening takes for a secret in an export")
	fs.BoolVar(&list, "list", false, "show the sources and their heads")
	fs.BoolVar(&diff, "diff", false, "show what is lost or hidden, one by one")
	fs.BoolVar(&apply, "apply", false, "do what the preview with this fingerprint showed")
	fs.Var(once{&q.Expect, "fingerprint"}, "expect", "fingerprint of the preview")
	u.add(fs)
	return cmd
}

// unlock finds what opens the export, if there is one.
func (a *app) unlock(p *project.Project, q *project.RecoverRequest, u *unlockFlags) error {
	if q.From == "" || q.Identity != "" {
		return nil
	}
	export, passphrase, err := p.ExportNeeds(q.From)
	if err != nil || !export {
		return err
	}
	if !passphrase {
		return &usageError{msg: "the export is for a recipient: give the private key's file with --identity"}
	}
	q.Passphrase, err = a.passphrase(p, u, false)
	return err
}

func (p *printer) recovery(r *project.Recovery, list, diff bool) {
	p.printf("ledger %s: %s\n", r.Ledger, r.State)
	if r.Why != "" {
		p.printf("  %s\n", r.Why)
	}
	if list {
		for _, s := range r.Sources {
			p.source(&s)
		}
		return
	}
	if r.Applied {
		p.printf("recovered the state as of revision %d; the ledger goes on as revision %d, recovery %s\n", r.Restored, r.NewRevision, r.Generation)
		if r.Preserved != "" {
			p.printf("  the generation %s was kept as it was\n", r.Preserved)
		}
		p.printf("  resume again: saves that name another recovery are refused\n")
		return
	}
	if r.By == "nothing" {
		p.printf("  nothing to recover: it is whole, and nothing here is newer (revision %d)\n", r.Current)
		return
	}
	p.printf("from %s %s\n", r.Source.Kind, project.Visible(r.Source.Path, false))
	p.printf("  its head is revision %d, %s\n  verified: %s\n", r.Source.Revision, r.Head, r.Verified)
	what := "adds an entry to the ledger"
	if r.By == "generation" {
		what = "makes a new generation, and keeps the old one as it is"
	}
	p.printf("would bring back the state as of revision %d, %s\n", r.Revision, what)
	p.printf("  current: revision %d; lost: %d entries; hidden: %d entries; going along: %d\n", r.Current, len(r.Lost)+r.MoreLost, len(r.Hidden)+r.MoreHidden, r.Joined)
	if n := len(r.Erased); n > 0 {
		p.printf("  without text, redacted before: %d revisions\n", n)
	}
	if n := len(r.Hits); n > 0 {
		p.printf("  without text, the screening found secrets: revisions %s\n", strings.Trim(fmt.Sprint(r.Hits), "[]"))
	}
	if diff {
		p.changes("lost", r)
		p.changes("hidden", r)
	}
	p.printf("fingerprint %s\n", r.Fingerprint)
}

func (p *printer) source(s *project.RecoverySource) {
	p.printf("  %s %s\n", s.Kind, project.Visible(s.Path, false))
	if s.Revision < 0 {
		p.printf("    nothing in it verifies\n")
		return
	}
	p.printf("    revision %d, %s; %d entries, %d bad lines\n", s.Revision, s.Head, s.Entries, s.Bad)
}

func (p *printer) changes(what string, r *project.Recovery) {
	list, more := r.Lost, r.MoreLost
	if what == "hidden" {
		list, more = r.Hidden, r.MoreHidden
	}
	for _, c := range list {
		p.printf("  %s: revision %d, %s %s\n", what, c.Revision, c.Type, project.Visible(strings.Join(c.IDs, ", "), false))
	}
	if more > 0 {
		p.printf("  %s: %d more\n", what, more)
	}
}
