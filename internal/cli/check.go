package cli

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"holdfast/internal/project"
)

const checkLong = `Run a command and record what was seen: its status, what its inputs were, and
the counts that a known test runner printed. Output passes through unchanged and
is not kept. The exit status is the command's own; 124 time-out, 126 not
executable, 127 not found, 128+n ended by signal n.

Without a command, what the newest receipt declares is run again.`

type checkFlags struct {
	title                            string
	inputs, env                      []string
	external, tty, keepTail, ifStale bool
	timeout, validFor                time.Duration
}

func newCheck(a *app) *cobra.Command {
	var f checkFlags
	cmd := &cobra.Command{
		Use: "check ID [flags] [-- COMMAND ARGS...]", Short: "Run a command and record a receipt of what was seen", Args: someArgs, ValidArgsFunction: cobra.NoFileCompletions,
		Long:       checkLong + exitStatus(project.ExitOK, project.ExitUsage, project.ExitConflict, project.ExitDamaged, project.ExitBusy, project.ExitRefused),
		Example:    "  holdfast check unit --title \"Unit tests\" --input 'internal/**' -- go test ./...\n  holdfast check unit\n  holdfast check unit --if-stale",
		SuggestFor: []string{"test", "verify"},
	}
	cmd.RunE = a.run(func(ctx ctxT, args []string) error {
		if cmd.ArgsLenAtDash() == 0 || len(args) > 1 && cmd.ArgsLenAtDash() != 1 {
			return &usageError{msg: "a check is named first, and its command stands behind --", next: "such as: holdfast check unit -- go test ./..."}
		}
		if len(args) == 1 && (f.given(cmd)) {
			return &usageError{msg: "--input, --env, --external, --tty, --keep-tail, --timeout and --valid-for go with a command", next: "give the command behind --"}
		}
		return a.with(ctx, func(p *project.Project) error { return a.check(ctx, p, f.request(a, args)) })
	})
	fs := cmd.Flags()
	fs.StringVar(&f.title, "title", "", "what is checked, in words")
	fs.StringArrayVar(&f.inputs, "input", nil, "a file, folder or glob that the result rests on (repeatable; default: every tracked and unignored file)")
	fs.StringArrayVar(&f.env, "env", nil, "a variable that the result rests on (repeatable; its value is not kept)")
	fs.BoolVar(&f.external, "external", false, "it depends on something outside of this machine")
	fs.BoolVar(&f.tty, "tty", false, "give the command a pseudo-terminal")
	fs.BoolVar(&f.keepTail, "keep-tail", false, "keep the last 4 KiB of output, screened")
	fs.BoolVar(&f.ifStale, "if-stale", false, "run only when the receipt no longer holds")
	fs.DurationVar(&f.timeout, "timeout", 0, "end it after this time, such as 10m")
	fs.DurationVar(&f.validFor, "valid-for", 0, "how long the result counts, such as 24h")
	return cmd
}

// someArgs leaves the count to the command: what stands behind -- is another's.
func someArgs(_ *cobra.Command, args []string) error {
	if len(args) == 0 {
		return errors.New("name the check")
	}
	return nil
}

func (f *checkFlags) given(cmd *cobra.Command) bool {
	for _, name := range []string{"input", "env", "external", "tty", "keep-tail", "timeout", "valid-for"} {
		if cmd.Flags().Changed(name) {
			return true
		}
	}
	return false
}

func (f *checkFlags) request(a *app, args []string) project.CheckRequest {
	q := project.CheckRequest{
		ID: args[0], Title: f.title, Inputs: f.inputs, Argv: args[1:], Env: f.env, External: f.external, TTY: f.tty, KeepTail: f.keepTail,
		IfStale: f.ifStale, Timeout: f.timeout, ValidFor: f.validFor, ExpectedRecovery: a.recovery, Out: a.Out, Err: a.Err,
	}
	if in, ok := a.In.(*os.File); ok {
		q.In = in
	}
	if a.json { // standard output is for the one object
		q.Out = a.Err
	}
	return q
}

// check runs it. The exit status is the command's own, unless it passed and its
// receipt could not be saved.
func (a *app) check(ctx ctxT, p *project.Project, q project.CheckRequest) error {
	a.calm() // the output belongs to the command
	run, err := p.RunCheck(ctx, q)
	if err != nil {
		return err
	}
	for _, w := range run.Warnings {
		a.warn(w)
	}
	if a.json {
		if err := a.printJSON(&run); err != nil {
			return err
		}
	} else if !a.quiet && (a.ErrTTY || run.Noteworthy()) {
		fmt.Fprint(a.Err, "holdfast: "+run.Text())
	}
	if run.Unsaved != nil {
		a.say("error", "the receipt was not saved: "+explain(run.Unsaved).Message)
	}
	if code := run.Exit(); code != project.ExitOK {
		return &statusError{code: code}
	}
	return nil
}

// statusError is an exit status that needs no more words.
type statusError struct{ code int }

func (e *statusError) Error() string { return "exit status " + strconv.Itoa(e.code) }

func newChecks(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use: "checks [ID]", Short: "List the checks: their newest receipts, and whether they still hold", Args: cobra.MaximumNArgs(1), ValidArgsFunction: cobra.NoFileCompletions,
		Long:    "List every check with its newest receipt and whether that still holds. Nothing is run." + exitStatus(project.ExitOK, project.ExitUsage, project.ExitDamaged, project.ExitBusy),
		Example: "  holdfast checks\n  holdfast checks unit --json",
	}
	cmd.RunE = a.run(func(ctx ctxT, args []string) error {
		id := ""
		if len(args) == 1 {
			id = args[0]
		}
		return a.with(ctx, func(p *project.Project) error {
			list, err := p.Checks(ctx, id)
			if err != nil && !list.Incomplete {
				return err
			}
			if perr := a.answer(&list, func(b *printer) { b.WriteString(list.Text(p.Fence())) }); perr != nil {
				return perr
			}
			return err
		})
	})
	return cmd
}
