package cli

import (
	"github.com/spf13/cobra"

	"holdfast/internal/project"
)

const importLong = `Bring records over from elsewhere. Without --apply it shows what would be added, what
stands here already and what is left out, and changes nothing; --apply --expect
FINGERPRINT does exactly what was shown. What is added is unconfirmed and says where
it came from. Importing twice adds nothing, and one that was cut short goes on when it
is repeated. The source is never changed.`

func newImport(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use: "import", Short: "Bring records over from another tool or another copy",
		Long: importLong + exitStatus(saveExits...), Args: noArgs, ValidArgsFunction: cobra.NoFileCompletions,
		Example: "  holdfast import memoir .memoir/work.json\n  holdfast import ledger other.age",
		RunE:    a.run(func(ctxT, []string) error { return &usageError{msg: "say what to import: memoir or ledger"} }),
	}
	cmd.AddCommand(
		a.importCommand("memoir PATH", "Bring a project over from memoir's handoff",
			"Read memoir's project handoff: .memoir/work.json, one of its snapshots\n(work-backups/r<revision>-<sha256>.json) or one of its encrypted exports.",
			"  holdfast import memoir .memoir/work.json\n  holdfast import memoir handoff.bin --apply --expect 9f2c41aa...", (*app).fromMemoir),
		a.importCommand("ledger FILE", "Bring another copy's records over",
			"Read another copy of a ledger: an encrypted export, a mirror, or a .holdfast folder.\nRecords that were changed on both sides are shown as diverged.",
			"  holdfast import ledger other.age\n  holdfast import ledger ../other/.holdfast", (*app).fromLedger))
	return cmd
}

func (a *app) importCommand(use, short, long, example string, from func(*app, ctxT, *project.Project, project.ImportRequest, *unlockFlags) (project.Import, error)) *cobra.Command {
	var q project.ImportRequest
	var u unlockFlags
	apply := false
	cmd := &cobra.Command{
		Use: use, Short: short, Annotations: saving, Long: long + "\n\n" + importLong + exitStatus(saveExits...), Example: example,
		Args: func(_ *cobra.Command, args []string) error {
			switch {
			case len(args) != 1:
				return &usageError{msg: "import needs one file"}
			case apply != (q.Expect != ""):
				return &usageError{msg: "--apply and --expect belong together"}
			}
			return nil
		},
	}
	cmd.RunE = a.run(func(ctx ctxT, args []string) error {
		q.Path, q.ExpectedRecovery = args[0], a.recovery
		return a.with(ctx, func(p *project.Project) error {
			d, err := from(a, ctx, p, q, &u)
			if err != nil {
				return err
			}
			for _, w := range d.Warnings {
				a.warn(w)
			}
			return a.answer(&d, func(w *printer) { w.imported(&d) })
		})
	})
	fs := cmd.Flags()
	fs.BoolVar(&apply, "apply", false, "do what the preview with this fingerprint showed")
	fs.Var(once{&q.Expect, "fingerprint"}, "expect", "fingerprint of the preview")
	fs.Var(once{&q.Identity, "file"}, "identity", "file with the private key of an encrypted source, age or SSH")
	u.add(fs)
	return cmd
}

func (a *app) fromMemoir(ctx ctxT, p *project.Project, q project.ImportRequest, u *unlockFlags) (project.Import, error) {
	encrypted, err := p.MemoirNeedsPassphrase(q.Path)
	if err == nil && encrypted {
		q.Passphrase, err = a.passphrase(p, u, false)
	}
	if err != nil {
		return project.Import{}, err
	}
	return p.ImportMemoir(ctx, q)
}

func (a *app) fromLedger(ctx ctxT, p *project.Project, q project.ImportRequest, u *unlockFlags) (project.Import, error) {
	r := project.RecoverRequest{From: q.Path, Identity: q.Identity}
	if !p.IsFolder(q.Path) {
		if err := a.unlock(p, &r, u); err != nil {
			return project.Import{}, err
		}
	}
	q.Passphrase = r.Passphrase
	return p.ImportLedger(ctx, q)
}

func (p *printer) imported(d *project.Import) {
	verb := "would add"
	if d.Applied {
		verb = "added"
	}
	p.printf("%s %d from %s\n", verb, len(d.Add), project.Visible(d.Source, false))
	for _, it := range d.Add {
		p.printf("  %s %s, revision %d there%s\n", it.What, project.Visible(it.ID, false), it.Revision, because(it.Why))
	}
	if d.Present > 0 {
		p.printf("%d stand here already\n", d.Present)
	}
	for _, it := range d.LeftOut {
		p.printf("left out: %s %s, revision %d there%s\n", it.What, project.Visible(it.ID, false), it.Revision, because(it.Why))
	}
	if !d.Applied && len(d.Add) > 0 {
		p.printf("fingerprint %s\n", d.Fingerprint)
	}
}

func because(why string) string {
	if why == "" {
		return ""
	}
	return ": " + project.Visible(why, false)
}
