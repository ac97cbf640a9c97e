package cli

import (
	"bytes"

	"github.com/spf13/cobra"

	"holdfast/internal/project"
)

func newExport(a *app) *cobra.Command {
	format, output := project.ExportJSON, ""
	cmd := &cobra.Command{
		Use: "export", Short: "All records and their history, readable",
		Long:       "Write all records with their history as JSON or Markdown: readable, unencrypted,\nand screened once more for secrets. With --output a new file is made; an existing\none is never replaced." + exitStatus(readExits...),
		Example:    "  holdfast export > records.json\n  holdfast export --format md --output handoff.md\n  holdfast export --format memoir --output work.json",
		SuggestFor: []string{"dump"}, Args: noArgs, ValidArgsFunction: cobra.NoFileCompletions,
	}
	cmd.RunE = a.run(func(ctx ctxT, _ []string) error {
		return a.with(ctx, func(p *project.Project) error {
			if output != "" {
				return a.exportFile(ctx, p, format, output)
			}
			var b bytes.Buffer
			lost, err := p.Export(ctx, format, &b)
			if err != nil {
				return err
			}
			for _, w := range lost {
				a.warn(w)
			}
			return a.print(b.Bytes())
		})
	})
	fs := cmd.Flags()
	fs.StringVar(&format, "format", format, "json, md, or memoir: the ledger that memoir reads")
	fs.Var(once{&output, "file"}, "output", "write a new file")
	_ = cmd.RegisterFlagCompletionFunc("format", cobra.FixedCompletions([]string{project.ExportJSON, project.ExportMarkdown, project.ExportMemoir}, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

func (a *app) exportFile(ctx ctxT, p *project.Project, format, output string) error {
	x, err := p.ExportFile(ctx, format, output)
	if err != nil {
		return err
	}
	for _, w := range x.Warnings {
		a.warn(w)
	}
	if a.quiet && !a.json {
		return nil
	}
	return a.answer(&x, func(w *printer) {
		w.printf("exported %d records, revision %d, to %s\n", x.Records, x.Revision, project.Visible(x.Output, false))
	})
}
