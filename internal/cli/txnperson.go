package cli

import (
	"context"
	"errors"
	"os/exec"

	"github.com/spf13/cobra"

	"holdfast/internal/ledger"
	"holdfast/internal/project"
)

// typedID lets only a person at a terminal pass, who types the transaction's id.
func (a *app) typedID(id string) error {
	if project.CLICaller(a.w).Kind != ledger.Person {
		return project.ErrPersonOnly
	}
	typed, err := a.ask("type the transaction's id to decide this: ", true)
	if err == nil && typed != id {
		err = &usageError{msg: "the id doesn't fit; nothing was saved"}
	}
	return err
}

func newTxnReopen(a *app) *cobra.Command {
	reason := ""
	cmd := txnCommand(a, "reopen ID", "Begin a new transaction that follows a blocked one, for a person", `reopen t-0123456789ab --reason "the disk has space again"`, func(ctx ctxT, args []string) error {
		if err := a.typedID(args[0]); err != nil {
			return err
		}
		return a.with(ctx, func(p *project.Project) error {
			b, err := p.TxnReopen(ctx, args[0], reason)
			if err != nil {
				return err
			}
			return a.answer(&b, func(w *printer) { w.begun(&b) })
		})
	})
	cmd.Flags().Var(once{&reason, "text"}, "reason", "why it may be tried again")
	return cmd
}

func newTxnAbandon(a *app) *cobra.Command {
	reason := ""
	cmd := txnCommand(a, "abandon ID", "Give a transaction up, for a person", `abandon t-0123456789ab --reason "not wanted any more"`, func(ctx ctxT, args []string) error {
		return a.decideTxn(ctx, args[0], func(p *project.Project) (project.TxnShown, error) { return p.TxnAbandon(ctx, args[0], reason) })
	})
	cmd.Flags().Var(once{&reason, "text"}, "reason", "why it is given up")
	return cmd
}

func newTxnAllow(a *app) *cobra.Command {
	reason := ""
	cmd := txnCommand(a, "allow ID OP", "Let an operation destroy content that is not kept, for a person", "allow t-0123456789ab 0", func(ctx ctxT, args []string) error {
		return a.decideTxn(ctx, args[0], func(p *project.Project) (project.TxnShown, error) {
			op, err := p.TxnOperation(ctx, args[0], args[1])
			if err != nil {
				return project.TxnShown{}, err
			}
			return p.TxnAllow(ctx, args[0], op, reason)
		})
	})
	cmd.Flags().Var(once{&reason, "text"}, "reason", "why it may be destroyed")
	return cmd
}

func (a *app) decideTxn(ctx ctxT, id string, do func(*project.Project) (project.TxnShown, error)) error {
	if err := a.typedID(id); err != nil {
		return err
	}
	return a.with(ctx, func(p *project.Project) error {
		s, err := do(p)
		if err != nil {
			return err
		}
		return a.answer(&s, func(w *printer) { w.transaction(&s) })
	})
}

func newTxnRun(a *app) *cobra.Command {
	var q project.TxnRunRequest
	cmd := &cobra.Command{
		Use: "run --intent TEXT --expect SURFACE=EXPECTATION -- CMD ARGS...", Short: "Do the whole life of a transaction around one command", Annotations: saving,
		Long: `Run a command once if its target doesn't hold yet, and look what came of it. With
--recover it runs once more at most, where it had no effect or only a part of it.
What the command prints goes on; with --json it goes to standard error.` + exitStatus(txnExits...),
		Example:           `  holdfast txn run --intent "Build the site" --expect dir:public=present --recover -- make site`,
		ValidArgsFunction: cobra.NoFileCompletions,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return &usageError{msg: "run needs a command behind --"}
			}
			return nil
		},
	}
	cmd.RunE = a.run(func(ctx ctxT, args []string) error {
		q.Command = func(ctx context.Context) string { return a.execute(ctx, args) }
		return a.with(ctx, func(p *project.Project) error {
			r, err := p.TxnRunCommand(ctx, q)
			if err != nil {
				return err
			}
			err = a.answer(&r, func(w *printer) { w.observed(&r.ObserveAnswer) })
			if err == nil && !project.TxnComplete(r.State) {
				return &toldError{project.ErrTxnNotDone}
			}
			return err
		})
	})
	cmd.Flags().Var(once{&q.Intent, "text"}, "intent", "the target state, in a sentence")
	cmd.Flags().StringArrayVar(&q.Expect, "expect", nil, "what must hold, such as file:out.txt=present (repeatable)")
	cmd.Flags().BoolVar(&q.Recover, "recover", false, "run it once more where it had no effect or only a part of it")
	return cmd
}

// execute runs a command and says how it went, as a report does.
func (a *app) execute(ctx context.Context, args []string) string {
	if a.calm != nil {
		a.calm()
	}
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Dir, cmd.Env, cmd.Stdin, cmd.Stdout, cmd.Stderr = a.w.Dir, a.w.Env, a.In, a.Out, a.Err
	if a.json {
		cmd.Stdout = a.Err
	}
	err := cmd.Run()
	var exit *exec.ExitError
	switch {
	case err == nil:
		return "succeeded"
	case ctx.Err() != nil || errors.As(err, &exit) && exit.ExitCode() < 0:
		return "interrupted"
	}
	return "failed"
}
