package cli

import (
	"github.com/spf13/cobra"

	"holdfast/internal/mcpserver"
)

func newMCP(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use: "mcp", Short: "Serve the project to a coding tool over MCP",
		Long:    "Serve the project over standard input and output with the Model Context Protocol,\nfor a coding tool that starts it. It ends with its input; every save was durable\nbefore its answer." + exitStatus(0, 1, 2, 6),
		Example: "  holdfast mcp --project /path/to/project", Args: noArgs, ValidArgsFunction: cobra.NoFileCompletions,
	}
	cmd.RunE = a.run(func(ctx ctxT, _ []string) error {
		return mcpserver.Run(ctx, a.w, a.options(), mcpserver.Streams{In: a.In, Out: a.Out, Err: a.Err})
	})
	return cmd
}
