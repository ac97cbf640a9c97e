package cli

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"holdfast/internal/ledger"
	"holdfast/internal/project"
)

// shells are what a completion script can be made for.
func shells() []string { return []string{"bash", "zsh", "fish", "powershell"} }

func newCompletion(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use: "completion SHELL", Short: "Print a completion script for a shell", ValidArgs: shells(),
		Long:    "Print the script that completes commands, flags, kinds and ids of records in a\nshell: bash, zsh, fish or powershell." + exitStatus(0, 2, 6),
		Example: "  source <(holdfast completion bash)\n  holdfast completion fish > ~/.config/fish/completions/holdfast.fish",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 || !slices.Contains(shells(), args[0]) {
				return &usageError{msg: "completion needs one SHELL: " + strings.Join(shells(), ", ")}
			}
			return nil
		},
	}
	cmd.RunE = a.run(func(_ ctxT, args []string) error {
		var b bytes.Buffer
		err := map[string]func() error{
			"bash":       func() error { return cmd.Root().GenBashCompletionV2(&b, true) },
			"zsh":        func() error { return cmd.Root().GenZshCompletion(&b) },
			"fish":       func() error { return cmd.Root().GenFishCompletion(&b, true) },
			"powershell": func() error { return cmd.Root().GenPowerShellCompletionWithDesc(&b) },
		}[args[0]]()
		if err != nil {
			return fmt.Errorf("make completion script: %w", err)
		}
		return a.print(b.Bytes())
	})
	return cmd
}

// completeIDs completes ids of records, with their texts as descriptions, for
// up to most arguments. It never says why it can't: a shell is completing.
func (a *app) completeIDs(most int, wants func(*project.Item) bool) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, start string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if len(args) >= most {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return a.ids(cmd.Context(), start, func(it *project.Item) bool {
			for _, given := range args {
				if given == it.ID {
					return false
				}
			}
			return wants == nil || wants(it)
		}), cobra.ShellCompDirectiveNoFileComp
	}
}

// completeRecord completes a kind, then the ids of that kind: for corrections.
func (a *app) completeRecord(cmd *cobra.Command, args []string, start string) ([]cobra.Completion, cobra.ShellCompDirective) {
	switch len(args) {
	case 0:
		return ledger.Kinds[:], cobra.ShellCompDirectiveNoFileComp
	case 1:
		return a.ids(cmd.Context(), start, func(it *project.Item) bool {
			return it.Kind == args[0] || args[0] == ledger.KindAnswer && it.Kind == ledger.KindQuestion
		}), cobra.ShellCompDirectiveNoFileComp
	}
	return nil, cobra.ShellCompDirectiveNoFileComp
}

func (a *app) ids(ctx ctxT, start string, wants func(*project.Item) bool) []cobra.Completion {
	p, err := a.open(ctx)
	if err != nil {
		return nil
	}
	items, _, err := p.List(ctx, project.ListRequest{All: true})
	if cerr := p.Close(ctx); err != nil || cerr != nil {
		return nil
	}
	var out []cobra.Completion
	for i := range items {
		if it := &items[i]; strings.HasPrefix(it.ID, start) && wants(it) {
			out = append(out, cobra.CompletionWithDesc(it.ID, cut(project.Visible(it.Text, false), 60)))
		}
	}
	return out
}
