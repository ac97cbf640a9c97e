package cli

import (
	"github.com/spf13/cobra"

	"holdfast/internal/project"
)

func newTxnRestore(a *app) *cobra.Command {
	var q project.TxnRestoreRequest
	cmd := txnCommand(a, "restore ID", "Show what putting a transaction's originals back would do; with --expect do it, for a person", "restore t-0123456789ab --expect 9f2c41aa...", func(ctx ctxT, args []string) error {
		q.Transaction = args[0]
		if q.Expect != "" {
			if err := a.typedID(args[0]); err != nil {
				return err
			}
		}
		return a.with(ctx, func(p *project.Project) error {
			r, err := p.TxnRestore(ctx, q)
			if err != nil {
				return err
			}
			return a.answer(&r, func(w *printer) { w.restoredTxn(&r) })
		})
	})
	cmd.Flags().Var(once{&q.Expect, "fingerprint"}, "expect", "fingerprint of the preview: put back exactly what it showed")
	cmd.Flags().Var(once{&q.Reason, "text"}, "reason", "why, which is kept")
	return cmd
}

func (p *printer) restoredTxn(r *project.TxnRestored) {
	for i := range r.Files {
		f := &r.Files[i]
		p.printf("  %s  %s %s  %s\n", f.Change, project.Visible(f.Surface, false), project.Visible(f.Name, false), project.Visible(f.Why, false))
	}
	if len(r.Files) == 0 {
		p.printf("no originals were kept\n")
	}
	if r.Applied {
		p.printf("put back, as revision %d; what was there is kept in the transaction's quarantine\n", r.Revision)
		return
	}
	p.printf("fingerprint: %s\n", r.Fingerprint)
	p.printf("nothing was changed; a person puts them back with: holdfast txn restore %s --expect %s\n", r.Transaction, r.Fingerprint)
}
