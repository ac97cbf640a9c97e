package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"holdfast/internal/ledger"
	"holdfast/internal/project"
)

// listAnswer is the answer of list.
type listAnswer struct {
	Ledger  string         `json:"ledger"`
	Path    string         `json:"path"`
	Records []project.Item `json:"records"`
	Total   int            `json:"total"`

	Incomplete bool `json:"incomplete,omitempty"` // of a damaged ledger
}

func newList(a *app) *cobra.Command {
	var q project.ListRequest
	cmd := &cobra.Command{
		Use: "list [KIND]", Short: "Records, one line each",
		Long:       "List what is open and in force here, one line a record: confirmed or made by a\nperson first, then newest first. A star marks what no person has confirmed.\nKIND is goal, next, question, answer, decision or note." + exitStatus(readExits...),
		Example:    "  holdfast list\n  holdfast list decision\n  holdfast list --all --json",
		SuggestFor: []string{"ls", "records", "all"}, ValidArgs: ledger.Kinds[:],
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 1 {
				return &usageError{msg: "list takes at most one KIND"}
			}
			return nil
		},
	}
	cmd.RunE = a.run(func(ctx ctxT, args []string) error {
		if len(args) == 1 {
			q.Kind = args[0]
		}
		return a.with(ctx, func(p *project.Project) error {
			items, total, err := p.List(ctx, q)
			ans := listAnswer{Ledger: p.LedgerID(), Path: p.Path(), Records: items, Total: total, Incomplete: project.Incomplete(err)}
			return a.answerRead(err, &ans, ans.text)
		})
	})
	fs := cmd.Flags()
	fs.BoolVar(&q.All, "all", false, "also what is done, dropped, retracted or superseded")
	fs.Var(once{&q.Branch, "branch"}, "branch", "as seen from the tip of this branch")
	fs.Var(count{&q.Limit}, "limit", "at most so many")
	return cmd
}

func (l *listAnswer) text(p *printer) {
	if len(l.Records) == 0 {
		p.printf("%s\n", nothing(l.Ledger, "nothing to list"))
		return
	}
	rows := make([][]string, 0, len(l.Records))
	for i := range l.Records {
		it := &l.Records[i]
		mark := " "
		if !it.Confirmed {
			mark = "*"
		}
		rows = append(rows, []string{it.Kind, it.ID + mark, fmt.Sprint(it.Revision), it.Age, stateOf(it) + project.Visible(it.Text, false)})
	}
	p.table(rows, func(i int, c string) string {
		switch i {
		case 1:
			return p.style(bold, c)
		case 2, 3:
			return p.style(dim, c)
		}
		return c
	})
	if l.Total > len(l.Records) {
		p.printf("%d of %d\n", len(l.Records), l.Total)
	}
}

// stateOf names a record's state where it isn't simply open.
func stateOf(it *project.Item) string {
	var s []string
	if it.Status == ledger.StatusDone || it.Status == ledger.StatusDropped {
		s = append(s, it.Status)
	}
	if it.Retracted {
		s = append(s, "retracted")
	}
	if it.Redacted {
		s = append(s, "redacted")
	}
	if len(s) == 0 {
		return ""
	}
	return "[" + strings.Join(s, ", ") + "] "
}

// nothing says that an answer is empty, and why.
func nothing(ledgerID, what string) string {
	if ledgerID == "" {
		return "no ledger here yet: the first save makes one"
	}
	return what
}
