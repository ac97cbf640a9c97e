package cli

import (
	"bytes"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
)

// newMan prints man pages in troff, for packaging. It is hidden from the list
// of commands; docs/man is made with it.
func newMan(a *app) *cobra.Command {
	list := false
	cmd := &cobra.Command{
		Use: "man [COMMAND]", Short: "Print a man page", Hidden: true, ValidArgsFunction: cobra.NoFileCompletions,
		Long:    "Print the man page of holdfast, or of one of its commands, in troff." + exitStatus(0, 2, 6),
		Example: "  holdfast man resume | man -l -",
	}
	cmd.RunE = a.run(func(_ ctxT, args []string) error {
		if list {
			var b bytes.Buffer
			for _, c := range documented(cmd.Root()) {
				fmt.Fprintln(&b, c.CommandPath())
			}
			return a.print(b.Bytes())
		}
		about, rest, err := cmd.Root().Find(args)
		if err != nil || len(rest) > 0 {
			return unknownCommand(cmd.Root(), args[0])
		}
		page, err := manPage(about)
		if err != nil {
			return err
		}
		return a.print(page)
	})
	cmd.Flags().BoolVar(&list, "list", false, "list the commands that have a page")
	return cmd
}

// documented are the commands that have a man page: root first.
func documented(root *cobra.Command) []*cobra.Command {
	out := []*cobra.Command{root}
	for _, c := range root.Commands() {
		if c.IsAvailableCommand() && c.Name() != "help" {
			out = append(out, c)
		}
	}
	return out
}

// manPage is a command's page. It depends on nothing but the command: no date,
// so that the same source gives the same bytes.
func manPage(c *cobra.Command) ([]byte, error) {
	c.InitDefaultHelpFlag()
	c.Root().DisableAutoGenTag = true
	c.DisableAutoGenTag = true
	var b bytes.Buffer
	h := &doc.GenManHeader{Title: strings.ToUpper(strings.ReplaceAll(c.CommandPath(), " ", "-")), Section: "1", Source: "Holdfast", Manual: "Holdfast", Date: &time.Time{}}
	if err := doc.GenMan(c, h, &b); err != nil {
		return nil, fmt.Errorf("make man page: %w", err)
	}
	return bytes.Replace(b.Bytes(), []byte(`"Jan 0001"`), []byte(`""`), 1), nil
}
