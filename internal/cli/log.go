package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"holdfast/internal/project"
)

// logAnswer is the answer of log.
type logAnswer struct {
	Ledger  string             `json:"ledger"`
	Entries []project.LogEntry `json:"entries"`
	Cursor  string             `json:"cursor,omitempty"`

	Incomplete bool `json:"incomplete,omitempty"` // of a damaged ledger
}

// logLimit is how many entries log shows unless told.
const logLimit = 50

func newLog(a *app) *cobra.Command {
	q := project.LogRequest{Limit: logLimit}
	var before *int64
	cmd := &cobra.Command{
		Use: "log", Short: "What was saved, newest first",
		Long:       "Show the entries of the ledger, newest first, on every branch. Order is the\nrevision; a time that contradicts it is marked as doubtful." + exitStatus(readExits...),
		Example:    "  holdfast log\n  holdfast log --since 118\n  holdfast log --kind decision --branch main --json",
		SuggestFor: []string{"timeline", "entries"}, Args: noArgs, ValidArgsFunction: cobra.NoFileCompletions,
	}
	cmd.RunE = a.run(func(ctx ctxT, _ []string) error {
		if before != nil {
			q.Before = *before
		}
		return a.with(ctx, func(p *project.Project) error {
			entries, cursor, err := p.Log(ctx, q)
			ans := logAnswer{Ledger: p.LedgerID(), Entries: entries, Cursor: cursor, Incomplete: project.Incomplete(err)}
			return a.answerRead(err, &ans, ans.text)
		})
	})
	fs := cmd.Flags()
	revisionFlag(fs, &q.Since, "since", "only above this revision")
	revisionFlag(fs, &before, "cursor", "go on where an earlier answer ended: only below this revision")
	fs.Var(once{&q.Branch, "branch"}, "branch", "only entries made on this branch")
	fs.Var(once{&q.Kind, "kind"}, "kind", "only this kind of record or type of entry")
	fs.Var(count{&q.Limit}, "limit", "at most so many entries")
	return cmd
}

func (l *logAnswer) text(p *printer) {
	if len(l.Entries) == 0 {
		p.printf("%s\n", nothing(l.Ledger, "no such entries"))
		return
	}
	rows := make([][]string, 0, len(l.Entries))
	for i := range l.Entries {
		e := &l.Entries[i]
		rows = append(rows, []string{fmt.Sprint(e.Revision), when(e.At), e.Type, who(e), project.Visible(e.Branch, false), what(e)})
	}
	p.table(rows, func(i int, c string) string {
		switch i {
		case 0:
			return p.style(bold, c)
		case 1, 4:
			return p.style(dim, c)
		}
		return c
	})
	if l.Cursor != "" {
		p.printf("older entries: holdfast log --cursor %s\n", l.Cursor)
	}
}

// when is an entry's time to the minute, in UTC.
func when(at string) string {
	at = project.Visible(at, false)
	if len(at) < len("2006-01-02T15:04") {
		return at
	}
	return strings.Replace(at[:len("2006-01-02T15:04")], "T", " ", 1) + "Z"
}

func who(e *project.LogEntry) string {
	if e.Actor.Client != "" && e.Actor.Kind != "person" {
		return project.Visible(e.Actor.Client, false)
	}
	return e.Actor.Kind
}

func what(e *project.LogEntry) string {
	var marks []string
	if e.Hidden {
		marks = append(marks, "hidden by a recovery")
	}
	if e.Doubtful {
		marks = append(marks, "time doubtful")
	}
	if !e.Sealed {
		marks = append(marks, "unsealed")
	}
	s := strings.Join(e.IDs, ", ")
	if e.Text != "" {
		s += ": " + project.Visible(e.Text, false)
	}
	if len(marks) > 0 {
		s = "[" + strings.Join(marks, ", ") + "] " + s
	}
	return s
}
