package cli

import (
	"errors"

	"github.com/spf13/cobra"

	"holdfast/internal/project"
)

func newDoctor(a *app) *cobra.Command {
	var repair bool
	var q project.DoctorRequest
	c := &cobra.Command{
		Use: "doctor", Short: "Read every copy of the ledger and say what is wrong", Args: noArgs,
		Long: `Read revisions, packs, older generations and mirrors, and say what is wrong with
each, whether saved data is at risk, and the next safe command. It also tells of the
ledger's folder, index, lock and clock, of open transactions, receipts and the
clients' configuration. It writes nothing, except with --probe, one scratch file, and
with --repair, which does only what loses nothing, and says what it did.` +
			exitStatus(project.ExitOK, project.ExitFindings, project.ExitUsage, project.ExitDamaged, project.ExitBusy),
		Example: "  holdfast doctor\n  holdfast doctor --json\n  holdfast doctor --repair", ValidArgsFunction: cobra.NoFileCompletions,
		RunE: a.run(func(ctx ctxT, _ []string) error {
			return a.with(ctx, func(p *project.Project) error {
				look := func(ctx ctxT) (project.Diagnosis, error) { return p.Doctor(ctx, q) }
				if repair {
					look = p.Repair
				}
				d, err := look(ctx)
				if err != nil {
					return err
				}
				if err := a.answer(&d, func(w *printer) { w.diagnosis(&d) }); err != nil || d.Healthy {
					return err
				}
				return &toldError{errDiagnosed}
			})
		}),
	}
	c.Flags().BoolVar(&repair, "repair", false, "complete the mirror, make the index anew, close files to others, sweep, clear noted damage of a whole ledger")
	c.Flags().BoolVar(&q.Probe, "probe", false, "take the lock, and write, flush and read back a scratch file")
	c.Flags().BoolVar(&q.Secrets, "secrets", false, "screen all that was ever saved by today's rules")
	c.MarkFlagsMutuallyExclusive("repair", "probe")
	c.MarkFlagsMutuallyExclusive("repair", "secrets")
	return c
}

var errDiagnosed = errors.New("there are findings")

func (p *printer) diagnosis(d *project.Diagnosis) {
	p.printf("%s, revision %d\n", d.State, d.Revision)
	for _, done := range d.Repaired {
		p.printf("repaired: %s\n", done)
	}
	for _, f := range d.Findings {
		p.printf("%s %s: %s\n  next: %s\n", f.Severity, f.Code, f.Evidence, f.Next)
	}
}
