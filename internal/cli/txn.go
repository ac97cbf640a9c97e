package cli

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"holdfast/internal/project"
)

var txnExits = []int{0, project.ExitUsage, project.ExitConflict, project.ExitBlocked, project.ExitDamaged, project.ExitBusy, project.ExitRefused}

func newTxn(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use: "txn", Short: "Bounded recovery of persistent work",
		Long: `A transaction names a target state. Before every change ask leave with attempt, and
after it say with report how it went: the tool looks at the disk itself. One automatic
recovery per operation and two per transaction; each must shrink what is wrong. Anything
else ends as BLOCKED / NOT COMPLETE, and only a person reopens it.` + exitStatus(txnExits...),
		Example: "  holdfast txn observe t-0123456789ab\n  holdfast txn list",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return unknownCommand(cmd, args[0])
			}
			return nil
		},
	}
	cmd.RunE = a.run(func(ctx ctxT, _ []string) error { return a.txnList(ctx, false) })
	cmd.AddCommand(newTxnBegin(a), newTxnObserve(a), newTxnAttempt(a), newTxnReport(a), newTxnList(a), newTxnShow(a),
		newTxnReopen(a), newTxnRestore(a), newTxnAbandon(a), newTxnAllow(a), newTxnRun(a))
	return cmd
}

// txnCommand is one command about transactions that takes exactly its words.
func txnCommand(a *app, use, short, example string, run func(ctx ctxT, args []string) error) *cobra.Command {
	words := len(strings.Fields(use)) - 1
	return &cobra.Command{
		Use: use, Short: short, Long: short + "." + exitStatus(txnExits...), Example: "  holdfast txn " + example, Annotations: saving,
		ValidArgsFunction: cobra.NoFileCompletions,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != words {
				return &usageError{msg: "the command needs: holdfast txn " + use}
			}
			return nil
		},
		RunE: a.run(run),
	}
}

func newTxnBegin(a *app) *cobra.Command {
	file := ""
	var roots []string
	cmd := txnCommand(a, "begin", "Begin a transaction from a JSON file", "begin --file begin.json", func(ctx ctxT, _ []string) error {
		if file == "" {
			return &usageError{msg: "begin needs --file; nothing was saved"}
		}
		a.fields = true
		data, err := a.readInput(ctx, file)
		if err != nil {
			return err
		}
		for i := range roots {
			if !filepath.IsAbs(roots[i]) {
				roots[i] = filepath.Join(a.w.Dir, roots[i])
			}
		}
		return a.with(ctx, func(p *project.Project) error {
			b, err := p.TxnBegin(ctx, data, roots)
			if err != nil {
				return err
			}
			return a.answer(&b, func(w *printer) { w.begun(&b) })
		})
	})
	cmd.Flags().Var(once{&file, "file"}, "file", "the request as JSON, - for standard input")
	cmd.Flags().StringArrayVar(&roots, "allow-root", nil, "let surfaces lie in this folder outside of the project (repeatable)")
	return cmd
}

// reportedFlag adds --reported, and gives what reads it into a request.
func (a *app) reportedFlag(cmd *cobra.Command) func(ctx ctxT, fields map[string]any) ([]byte, error) {
	file := ""
	cmd.Flags().Var(once{&file, "file"}, "reported", "what you state of reported:NAME, as JSON in a file, - for standard input")
	return func(ctx ctxT, fields map[string]any) ([]byte, error) {
		if file != "" {
			data, err := a.readInput(ctx, file)
			if err != nil {
				return nil, err
			}
			if _, err := project.TxnReported(data); err != nil {
				return nil, err
			}
			fields["reported"] = json.RawMessage(data)
		}
		return project.TxnRequest(fields)
	}
}

func newTxnObserve(a *app) *cobra.Command {
	var request func(ctxT, map[string]any) ([]byte, error)
	cmd := txnCommand(a, "observe ID", "Look whether the target holds, and close an attempt whose owner is gone", "observe t-0123456789ab", func(ctx ctxT, args []string) error {
		data, err := request(ctx, map[string]any{"transaction": args[0]})
		if err != nil {
			return err
		}
		return a.with(ctx, func(p *project.Project) error {
			o, err := p.TxnObserve(ctx, data)
			return a.observed(&o, err)
		})
	})
	request = a.reportedFlag(cmd)
	return cmd
}

func (a *app) observed(o *project.TxnObserved, err error) error {
	if err == nil {
		err = a.answer(o, func(w *printer) { w.observed(o) })
	}
	if err == nil && o.State == project.TxnBlocked {
		return &toldError{project.ErrTxnNotDone}
	}
	return err
}

func newTxnAttempt(a *app) *cobra.Command {
	var request func(ctxT, map[string]any) ([]byte, error)
	cmd := txnCommand(a, "attempt ID OP", "Ask leave for one change, by the operation's index or label", "attempt t-0123456789ab 0", func(ctx ctxT, args []string) error {
		return a.with(ctx, func(p *project.Project) error {
			op, err := p.TxnOperation(ctx, args[0], args[1])
			if err != nil {
				return err
			}
			data, err := request(ctx, map[string]any{"transaction": args[0], "operation": op})
			if err != nil {
				return err
			}
			g, err := p.TxnAttempt(ctx, data)
			if err != nil {
				return err
			}
			if err := a.answer(&g, func(w *printer) { w.asked(&g) }); err != nil || g.Granted {
				return err
			}
			return &toldError{project.ErrTxnNotDone}
		})
	})
	request = a.reportedFlag(cmd)
	return cmd
}

func newTxnReport(a *app) *cobra.Command {
	detail := ""
	var request func(ctxT, map[string]any) ([]byte, error)
	cmd := txnCommand(a, "report ID ATTEMPT OUTCOME", "Say how a granted change went: succeeded, failed, timed_out, interrupted or unknown", "report t-0123456789ab a-0123456789ab timed_out", func(ctx ctxT, args []string) error {
		fields := map[string]any{"transaction": args[0], "attempt": args[1], "outcome": args[2]}
		if detail != "" {
			fields["detail"] = detail
		}
		data, err := request(ctx, fields)
		if err != nil {
			return err
		}
		return a.with(ctx, func(p *project.Project) error {
			o, err := p.TxnReport(ctx, data)
			return a.observed(&o, err)
		})
	})
	cmd.Flags().Var(once{&detail, "text"}, "detail", "what was seen, such as the error message")
	request = a.reportedFlag(cmd)
	return cmd
}

func newTxnList(a *app) *cobra.Command {
	all := false
	cmd := txnCommand(a, "list", "List the transactions that are not over", "list --all", func(ctx ctxT, _ []string) error { return a.txnList(ctx, all) })
	cmd.Flags().BoolVar(&all, "all", false, "also those that are over")
	return cmd
}

func (a *app) txnList(ctx ctxT, all bool) error {
	return a.with(ctx, func(p *project.Project) error {
		l, err := p.TxnList(ctx, all)
		if err != nil {
			return err
		}
		return a.answer(&l, func(w *printer) {
			for i := range l.Transactions {
				b := &l.Transactions[i]
				w.printf("%s  %s  %s\n", b.Transaction, b.State, project.Visible(b.Intent, false))
			}
			if len(l.Transactions) == 0 {
				w.printf("no transactions\n")
			}
		})
	})
}

func newTxnShow(a *app) *cobra.Command {
	return txnCommand(a, "show ID", "Show everything about a transaction, with a fresh look; writes nothing", "show t-0123456789ab", func(ctx ctxT, args []string) error {
		return a.with(ctx, func(p *project.Project) error {
			s, err := p.TxnShow(ctx, args[0])
			if err != nil {
				return err
			}
			return a.answer(&s, func(w *printer) { w.transaction(&s) })
		})
	})
}

func (p *printer) begun(b *project.TxnBegun) {
	p.printf("%s  %s\n", b.Transaction, b.State)
	for _, o := range b.Operations {
		p.printf("  operation %d %s\n", o.Index, project.Visible(o.Label, false))
	}
	p.mismatches(b.Mismatches)
	for _, o := range b.Preserved {
		what := "kept: " + o.Where
		if !o.Kept {
			what = "NOT KEPT: " + o.Why
		}
		p.printf("  original %s %s  %s\n", project.Visible(o.Surface, false), project.Visible(o.Name, false), what)
	}
	p.printf("next: %s\n", b.Next)
}

func (p *printer) mismatches(list []project.TxnMismatch) {
	for i := range list {
		m := &list[i]
		p.printf("  not as it should be (%d): %s: %s, should be %s\n", m.Severity, project.Visible(m.Surface, false),
			project.Visible(facts(m.Observed), false), project.Visible(facts(m.Expected), false))
	}
}

func facts(m map[string]string) string { return strings.TrimPrefix(fmt.Sprint(m), "map") }

func (p *printer) observed(o *project.TxnObserved) {
	state := o.State
	if state == project.TxnBlocked {
		state = "BLOCKED / NOT COMPLETE"
	}
	p.printf("%s  %s\n", o.Transaction, state)
	if o.Classification != "" {
		p.printf("  last attempt: %s\n", o.Classification)
	}
	if o.Reason != "" {
		p.printf("  reason: %s\n", o.Reason)
	}
	p.mismatches(o.Mismatches)
	for _, s := range o.AlsoChanged {
		p.printf("  also changed: %s\n", project.Visible(s, false))
	}
	p.printf("next: %s\n", o.Next)
}

func (p *printer) asked(g *project.TxnAsked) {
	if g.Granted {
		p.printf("granted  %s  %s\n", g.Attempt, g.Role)
	} else {
		p.printf("refused  %s: %s\n", g.Code, g.Reason)
	}
	p.mismatches(g.Mismatches)
	p.printf("next: %s\n", g.Next)
}

func (p *printer) transaction(s *project.TxnShown) {
	p.printf("%s  %s  %s\n", s.Transaction, s.State, project.Visible(s.Intent, false))
	if s.Reason != "" {
		p.printf("  reason: %s\n", project.Visible(s.Reason, false))
	}
	for i := range s.Attempts {
		t := &s.Attempts[i]
		p.printf("  attempt %s of operation %d (%s): reported %s, found %s\n", t.ID, t.Operation, t.Role, project.Visible(t.Outcome, false), t.Classification)
	}
	p.mismatches(s.Mismatches)
	for _, o := range s.Preserved {
		p.printf("  original %s %s  kept: %t %s\n", project.Visible(o.Surface, false), project.Visible(o.Name, false), o.Kept, o.Where)
	}
	p.printf("next: %s\n", s.Next)
}
