package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"holdfast/internal/project"
)

// saves marks, as an annotation, the commands that write to the ledger.
const saves = "saves"

var saving = map[string]string{saves: "yes"}

const rootLong = `Holdfast keeps what the next session of a coding agent, or you, must know about
this project: goals, next actions, open questions, answers and decisions with
their reasons, notes. Every save is durable before it is acknowledged, and stays
in the project.

Alone, the command shows how the project stands and what to do next.`

// newRoot builds the commands of one run.
func newRoot(a *app) *cobra.Command {
	version := false
	root := &cobra.Command{
		Use: "holdfast", Short: "A crash-safe handoff ledger for coding agents",
		Long:    rootLong + exitStatus(allExits...),
		Example: "  holdfast record goal ship-1 --text \"Ship the first release\"\n  holdfast resume\n  holdfast search \"release date\"",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return unknownCommand(cmd, args[0])
			}
			return nil
		},
		SilenceErrors: true, SilenceUsage: true,
	}
	root.RunE = a.run(func(ctx ctxT, _ []string) error {
		if version {
			return runVersion(a)
		}
		return runStatus(ctx, a)
	})
	root.Flags().BoolVar(&version, "version", false, "print the version")
	a.globalFlags(root.PersistentFlags())
	root.SetIn(a.In)
	root.SetOut(&stdout{a})
	root.SetErr(a.Err)
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return err })
	root.CompletionOptions.DisableDefaultCmd = true
	a.addCommands(root)
	return root
}

func (a *app) globalFlags(fs *pflag.FlagSet) {
	fs.Var(once{&a.dir, "dir"}, "project", "project's folder (default: HOLDFAST_PROJECT, else where you stand)")
	textFlag(fs, &a.recovery, "expect-recovery", "refuse to save unless the ledger's recovery generation is this `G`")
	fs.BoolVar(&a.json, "json", false, "answer with one JSON object")
	fs.BoolVar(&a.quiet, "quiet", false, "print no confirmations and no warnings")
	fs.BoolVar(&a.noColor, "no-color", false, "no colours (also NO_COLOR, TERM=dumb)")
}

func (a *app) addCommands(root *cobra.Command) {
	root.AddGroup(&cobra.Group{ID: "read", Title: "Reading"}, &cobra.Group{ID: "save", Title: "Saving"}, &cobra.Group{ID: "more", Title: "More"})
	add := func(group string, cmds ...*cobra.Command) {
		for _, c := range cmds {
			c.GroupID = group
			root.AddCommand(c)
		}
	}
	add("read", newResume(a), newList(a), newShow(a), newSearch(a), newLog(a), newChecks(a))
	add("save", newRecord(a), newCheck(a), newDone(a), newDrop(a), newConfirm(a), newRetract(a), newRestore(a), newCarry(a))
	add("more", newSetup(a), newHook(a), newExport(a), newImport(a), newAdopt(a), newAllow(a), newRedact(a), newTxn(a), newBackup(a), newRecover(a), newDoctor(a), newPrune(a), newForget(a), newView(a), newMCP(a), newCompletion(a), newVersion(a), newMan(a))
	root.SetHelpCommand(newHelp(a))
	root.SetHelpCommandGroupID("more")
}

// stdout passes cobra's own output on, so that its write errors count.
type stdout struct{ a *app }

func (o *stdout) Write(b []byte) (int, error) {
	if err := o.a.print(b); err != nil {
		o.a.outErr = err
		return 0, err
	}
	return len(b), nil
}

func newHelp(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use: "help [COMMAND]", Short: "Explain a command", GroupID: "more",
		ValidArgsFunction: cobra.NoFileCompletions,
	}
	cmd.RunE = a.run(func(_ ctxT, args []string) error {
		about, rest, err := cmd.Root().Find(args)
		if err != nil || len(rest) > 0 {
			return unknownCommand(about, rest[0])
		}
		return about.Help()
	})
	return cmd
}

var allExits = []int{
	project.ExitOK, project.ExitFindings, project.ExitUsage, project.ExitConflict,
	project.ExitBlocked, project.ExitDamaged, project.ExitBusy, project.ExitRefused,
}

// readExits and saveExits are those of a command that reads or saves.
var (
	readExits = []int{project.ExitOK, project.ExitUsage, project.ExitDamaged, project.ExitBusy}
	saveExits = []int{project.ExitOK, project.ExitUsage, project.ExitConflict, project.ExitDamaged, project.ExitBusy, project.ExitRefused}
)

// exitStatus is the section of a help text that lists exit statuses.
func exitStatus(codes ...int) string {
	var b strings.Builder
	b.WriteString("\n\nEXIT STATUS\n")
	for _, c := range codes {
		fmt.Fprintf(&b, "  %d  %s\n", c, exitMeaning(c))
	}
	return strings.TrimRight(b.String(), "\n")
}

func exitMeaning(code int) string {
	switch code {
	case project.ExitOK:
		return "done; a save is durable"
	case project.ExitFindings:
		return "findings, or an error that has no other status"
	case project.ExitUsage:
		return "the command line or the input is not well formed, or names nothing that is there"
	case project.ExitConflict:
		return "conflict: another revision, recovery generation, key or branch than expected"
	case project.ExitBlocked:
		return "blocked, or a refused attempt"
	case project.ExitDamaged:
		return "the ledger is damaged, foreign, newer, or could not be verified"
	case project.ExitBusy:
		return "busy, interrupted, not writable, or the outcome is unknown"
	}
	return "refused: a secret, a limit, missing trust or evidence"
}
