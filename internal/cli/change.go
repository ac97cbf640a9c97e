package cli

import (
	"context"

	"github.com/spf13/cobra"

	"holdfast/internal/ledger"
	"holdfast/internal/project"
)

// change describes a command that changes the state of one record.
type change struct {
	name, short, long, example string
	suggest                    []string
	verb                       string
	evidence                   bool // has --without-evidence
	category                   bool // has --category
	wants                      func(*project.Item) bool
	call                       func(*project.Project, context.Context, project.ChangeRequest) (project.Saved, error)
}

func open(it *project.Item) bool {
	return !it.Retracted && (it.Kind == ledger.KindNext || it.Kind == ledger.KindGoal) && it.Status == ledger.StatusOpen
}

const guardHelp = `

--expect-revision guards the change: it is the revision that you saw, and a
record that changed since is left alone. A person at a terminal may leave it out.`

func newDone(a *app) *cobra.Command {
	return newChange(a, change{
		name: "done", short: "Mark a next action or a goal as done", verb: "done:", evidence: true, wants: open, call: (*project.Project).Done,
		suggest: []string{"finish", "complete", "close"},
		long:    "Mark a next action or a goal as done." + guardHelp + "\n\nAn action that names a check (done_when) is done when the check has passed and is\nfresh, or when --without-evidence says why not.",
		example: "  holdfast done tests-green --expect-revision 41\n  holdfast done tests-green --expect-revision 41 --without-evidence \"the runner is down, tested by hand\"",
	})
}

func newDrop(a *app) *cobra.Command {
	return newChange(a, change{
		name: "drop", short: "Give a next action or a goal up", verb: "dropped:", evidence: true, wants: open, call: (*project.Project).Drop,
		suggest: []string{"abandon", "cancel"},
		long:    "Give a next action or a goal up. It leaves the list of what is open and stays in\nthe history." + guardHelp,
		example: "  holdfast drop windows-port --expect-revision 12",
	})
}

func newRetract(a *app) *cobra.Command {
	return newChange(a, change{
		name: "retract", short: "Hide a record that should not have been made", verb: "retracted:", category: true, call: (*project.Project).Retract,
		suggest: []string{"delete", "remove", "rm", "hide"}, wants: func(it *project.Item) bool { return !it.Retracted },
		long:    "Hide a record. Nothing is deleted: its text stays in the history, and restore\nbrings it back. --expect-revision is needed: the revision that you saw.",
		example: "  holdfast retract note-3 --expect-revision 17",
	})
}

func newRestore(a *app) *cobra.Command {
	return newChange(a, change{
		name: "restore", short: "Bring a retracted record back", verb: "restored:", category: true, call: (*project.Project).Restore,
		suggest: []string{"unretract", "undelete", "undo"}, wants: func(it *project.Item) bool { return it.Retracted },
		long:    "Bring a retracted record back. --expect-revision is needed: the revision by which\nit was retracted.",
		example: "  holdfast restore note-3 --expect-revision 18",
	})
}

func newChange(a *app, c change) *cobra.Command {
	var q project.ChangeRequest
	cmd := &cobra.Command{
		Use: c.name + " ID", Short: c.short, Long: c.long + exitStatus(saveExits...), Example: c.example,
		Annotations: saving, SuggestFor: c.suggest, Args: oneID, ValidArgsFunction: a.completeIDs(1, c.wants),
	}
	cmd.RunE = a.run(func(ctx ctxT, args []string) error {
		q.ID, q.ExpectedRecovery = args[0], a.recovery
		return a.with(ctx, func(p *project.Project) error {
			s, err := c.call(p, ctx, q)
			if err != nil {
				return err
			}
			return a.saved(c.verb, &s)
		})
	})
	fs := cmd.Flags()
	revisionFlag(fs, &q.ExpectedRevision, "expect-revision", "the revision that this changes")
	if c.evidence {
		fs.Var(once{&q.WithoutEvidence, "reason"}, "without-evidence", "why it is closed though its check has not passed")
	}
	if c.category {
		fs.Var(category{&q.Category}, "category", "record or check: what the ID names")
	}
	fs.Var(once{&q.Key, "key"}, "key", "repeating a change with the same key changes once")
	return cmd
}

func oneID(cmd *cobra.Command, args []string) error {
	if len(args) != 1 {
		return &usageError{msg: cmd.Name() + " needs one ID"}
	}
	return nil
}

func newConfirm(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use: "confirm ID...", Short: "Vouch for what an agent recorded", Annotations: saving,
		Long:       "Vouch for records that an agent made. Only a person at a terminal can. An agent's\nclaim that you said so is a claim until you confirm it." + exitStatus(saveExits...),
		Example:    "  holdfast confirm db-choice ship-1",
		SuggestFor: []string{"approve", "accept", "vouch"},
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return &usageError{msg: "confirm needs at least one ID"}
			}
			return nil
		},
		ValidArgsFunction: a.completeIDs(100, func(it *project.Item) bool { return !it.Retracted && !it.Confirmed }),
	}
	cmd.RunE = a.run(func(ctx ctxT, args []string) error {
		return a.with(ctx, func(p *project.Project) error {
			s, err := p.Confirm(ctx, project.ConfirmRequest{IDs: args, ExpectedRecovery: a.recovery})
			if err != nil {
				return err
			}
			return a.saved("confirmed:", &s)
		})
	})
	return cmd
}
