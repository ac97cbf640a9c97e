package cli

import (
	"github.com/spf13/cobra"

	"holdfast/internal/project"
)

func newShow(a *app) *cobra.Command {
	history := false
	cmd := &cobra.Command{
		Use: "show ID", Short: "One record, with its history if asked for",
		Long:       "Show a record as it stands here. With --history, show all its versions, oldest\nfirst: what each said, who made it, on which branch, and whether it is in force." + exitStatus(readExits...),
		Example:    "  holdfast show db-choice\n  holdfast show db-choice --history",
		SuggestFor: []string{"get", "view", "cat", "inspect", "history"},
		Args:       oneID, ValidArgsFunction: a.completeIDs(1, nil),
	}
	cmd.RunE = a.run(func(ctx ctxT, args []string) error {
		return a.with(ctx, func(p *project.Project) error {
			s, err := p.Show(ctx, args[0], history)
			return a.answerRead(err, &s, func(w *printer) { w.WriteString(s.Render()) })
		})
	})
	cmd.Flags().BoolVar(&history, "history", false, "all versions, oldest first")
	return cmd
}
