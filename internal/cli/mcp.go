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
	addr := cmd.Flags().String("http", "", "serve over HTTP at this address of the machine instead, for conformance tests")
	if err := cmd.Flags().MarkHidden("http"); err != nil {
		panic(err) // the flag is defined in the line above
	}
	cmd.RunE = a.run(func(ctx ctxT, _ []string) error {
		if *addr != "" {
			return mcpserver.ServeHTTP(ctx, a.w, a.options(), *addr, a.Err)
		}
		return mcpserver.Run(ctx, a.w, a.options(), mcpserver.Streams{In: a.In, Out: a.Out, Err: a.Err})
	})
	return cmd
}
