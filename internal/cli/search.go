package cli

import (
	"strings"

	"github.com/spf13/cobra"

	"holdfast/internal/project"
)

func newSearch(a *app) *cobra.Command {
	var q project.SearchRequest
	cmd := &cobra.Command{
		Use: "search QUERY", Short: "Find records by their text",
		Long:       "Search records and checks, ranked, with the matching passage. Words are looked for\nin any order; \"a phrase\" as it stands; a word with * at its end as a beginning." + exitStatus(readExits...),
		Example:    "  holdfast search release date\n  holdfast search '\"exactly this\"' --kind decision\n  holdfast search 'migrat*' --all --history",
		SuggestFor: []string{"find", "grep", "query"}, ValidArgsFunction: cobra.NoFileCompletions,
		Args: func(_ *cobra.Command, args []string) error {
			if strings.TrimSpace(strings.Join(args, " ")) == "" {
				return &usageError{msg: "search needs a QUERY"}
			}
			return nil
		},
	}
	cmd.RunE = a.run(func(ctx ctxT, args []string) error {
		q.Query = strings.Join(args, " ")
		return a.with(ctx, func(p *project.Project) error {
			f, err := p.Search(ctx, q)
			return a.answerRead(err, &f, func(w *printer) {
				if len(f.Matches) == 0 {
					w.printf("%s\n", nothing(p.LedgerID(), "nothing matches"))
					return
				}
				w.WriteString(w.briefing(f.Text(p.Fence())))
			})
		})
	})
	fs := cmd.Flags()
	fs.StringArrayVar(&q.Kinds, "kind", nil, "only this `kind`; repeatable")
	fs.Var(once{&q.Branch, "branch"}, "branch", "as seen from the tip of this branch")
	fs.BoolVar(&q.AllBranches, "all", false, "records of every branch")
	fs.BoolVar(&q.Retracted, "retracted", false, "also what was retracted")
	fs.BoolVar(&q.History, "history", false, "also earlier versions")
	fs.Var(count{&q.Limit}, "limit", "at most so many matches (default 20)")
	fs.Var(once{&q.Cursor, "cursor"}, "cursor", "go on where an earlier answer ended")
	return cmd
}
