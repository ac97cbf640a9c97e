package cli

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"holdfast/internal/project"
)

const setupLong = `Connect the coding tools that are used in this project: their entry for the MCP
server, a block of instructions, hooks and a skill. Only files of the project are
edited, and outside the inserted text no byte of them changes.

Every change is shown first, and made after a yes at a terminal or with --yes. A
file that can't be understood is left alone: what to put into it is printed, and
the others go on. Running it again is always safe.`

// setupFlags are the flags of one run.
type setupFlags struct {
	clients                                      string
	dryRun, check, remove, yes, absolute, remind bool
	newLedger                                    bool
}

func newSetup(a *app) *cobra.Command {
	var f setupFlags
	cmd := &cobra.Command{
		Use: "setup", Short: "Connect the coding tools used in this project", Args: noArgs, ValidArgsFunction: cobra.NoFileCompletions,
		Long:       setupLong + exitStatus(project.ExitOK, project.ExitFindings, project.ExitUsage, project.ExitConflict, project.ExitDamaged, project.ExitBusy, project.ExitRefused),
		Example:    "  holdfast setup\n  holdfast setup --client codex,claude --dry-run\n  holdfast setup --check\n  holdfast setup --remove",
		SuggestFor: []string{"init", "install", "connect", "uninstall"},
	}
	cmd.RunE = a.run(func(ctx ctxT, _ []string) error {
		q, err := f.request(cmd)
		if err != nil {
			return err
		}
		q.Recovery = a.recovery
		return a.with(ctx, func(p *project.Project) error {
			if f.newLedger {
				if err := a.newLedger(ctx, p, &f); err != nil {
					return err
				}
			}
			return a.setup(ctx, p, q, &f)
		})
	})
	fs := cmd.Flags()
	fs.Var(once{&f.clients, "list"}, "client", "these clients, separated by commas, or all: codex, cursor, claude, gemini, copilot, vscode, opencode")
	fs.BoolVar(&f.dryRun, "dry-run", false, "only show what would change")
	fs.BoolVar(&f.check, "check", false, "only tell whether everything is as setup writes it")
	fs.BoolVar(&f.remove, "remove", false, "take out what setup added; the ledger stays")
	fs.BoolVar(&f.yes, "yes", false, "make the changes without asking")
	fs.BoolVar(&f.absolute, "absolute", false, "let entries name this program by its path, even if it is on PATH")
	fs.BoolVar(&f.newLedger, "new-ledger", false, "a person: start over where a ledger is gone; the old one's mirror is kept")
	fs.BoolVar(&f.remind, "remind", false, "let the stop hook ask once when work changed and nothing was saved")
	return cmd
}

func (f *setupFlags) request(cmd *cobra.Command) (project.SetupRequest, error) {
	q := project.SetupRequest{Remove: f.remove, Check: f.check}
	if f.check && (f.remove || f.dryRun || f.yes || f.newLedger) {
		return q, &usageError{msg: "--check stands alone"}
	}
	if f.newLedger && (f.remove || f.dryRun) {
		return q, &usageError{msg: "--new-ledger excludes --remove and --dry-run"}
	}
	if cmd.Flags().Changed("absolute") {
		q.Absolute = &f.absolute
	}
	if cmd.Flags().Changed("remind") {
		q.Remind = &f.remind
	}
	if f.clients == "" {
		return q, nil
	}
	for _, c := range strings.Split(f.clients, ",") {
		if c = strings.TrimSpace(c); c == "all" {
			q.Clients = project.ClientNames()
			return q, nil
		} else if c != "" {
			q.Clients = append(q.Clients, c)
		}
	}
	if q.Clients == nil {
		return q, &usageError{msg: "--client names no client"}
	}
	return q, nil
}

// setup shows the plan, asks, and carries it out.
func (a *app) setup(ctx ctxT, p *project.Project, q project.SetupRequest, f *setupFlags) error {
	plan, err := p.PlanSetup(ctx, q)
	if err != nil {
		return err
	}
	ans := p.Planned(plan)
	if len(plan.Clients) == 0 && !f.check {
		return &usageError{msg: "no coding tool was found in this project or on PATH; nothing was changed",
			next: "name them, such as: holdfast setup --client codex,claude"}
	}
	if f.check || f.dryRun {
		return a.setupAnswer(&ans, f)
	}
	if !f.yes && (plan.Pending() || plan.Kept()) {
		if plan, err = a.agree(p, plan, f); err != nil {
			return err
		}
	} else if !a.json && !a.quiet {
		if err := a.print(a.diffText(ans.Diff)); err != nil {
			return err
		}
	}
	if ans, err = p.ApplySetup(ctx, plan); err != nil {
		return err
	}
	return a.setupAnswer(&ans, f)
}

// agree shows the diff and asks a person. Without one nothing is changed.
func (a *app) agree(p *project.Project, plan *project.SetupPlan, f *setupFlags) (*project.SetupPlan, error) {
	if !a.w.Terminal {
		ans := p.Planned(plan)
		if err := a.setupAnswer(&ans, f); err != nil {
			if _, told := errors.AsType[*toldError](err); !told {
				return nil, err
			}
		}
		err := &usageError{msg: "nothing was changed: nobody can be asked here", next: "make these changes with: holdfast setup --yes, and the same flags"}
		if a.json {
			return nil, &toldError{err}
		}
		return nil, err
	}
	if a.calm != nil {
		a.calm()
	}
	show := func(s *project.SetupPlan) { a.Err.Write(a.diffText(p.Diff(s))) }
	prompt := "make these changes? [y/N] "
	if plan.Pending() {
		show(plan)
	}
	forced := plan
	if plan.Kept() {
		forced = plan.Force()
		fmt.Fprintln(a.Err, "What differs from what setup writes is kept. To change that too would be:")
		show(forced)
		prompt = "make the changes? y: the first ones, r: those that change it too, anything else: none "
		if !plan.Pending() {
			prompt = "make the changes? r: yes, anything else: none "
		}
	}
	typed, err := a.ask(prompt, true)
	if err != nil {
		return nil, err
	}
	switch typed = strings.ToLower(strings.TrimSpace(typed)); {
	case typed == "r" && plan.Kept():
		return forced, nil
	case (typed == "y" || typed == "yes") || !plan.Pending():
		return plan, nil
	}
	return nil, &usageError{msg: "nothing was changed", next: "run it again when you want to"}
}

// setupAnswer prints the answer; what a person should look at makes the exit
// status 1.
func (a *app) setupAnswer(ans *project.SetupAnswer, f *setupFlags) error {
	err := a.answer(ans, func(w *printer) {
		if !f.check {
			w.Write(a.diffText(ans.Diff))
		}
		w.setup(ans)
	})
	if err == nil && ans.Findings() {
		return &toldError{errFindings}
	}
	return err
}

var errFindings = errors.New("something needs a look")

func (a *app) diffText(diff string) []byte {
	if !a.color() && !(a.ErrTTY && a.styled() && a.w.Terminal) {
		return []byte(diff)
	}
	lines := strings.SplitAfter(diff, "\n")
	for i, l := range lines {
		text := strings.TrimSuffix(l, "\n")
		switch {
		case strings.HasPrefix(l, "+++"), strings.HasPrefix(l, "---"):
			lines[i] = bold + text + reset + "\n"
		case strings.HasPrefix(l, "+"):
			lines[i] = green + text + reset + "\n"
		case strings.HasPrefix(l, "-"):
			lines[i] = red + text + reset + "\n"
		}
	}
	return []byte(strings.Join(lines, ""))
}

var changeWords = map[string]string{"create": "new", "edit": "edited", "delete": "removed", "refused": "not touched", "none": "as it is"}

func (p *printer) setup(ans *project.SetupAnswer) {
	for i := range ans.Clients {
		c := &ans.Clients[i]
		p.printf("%s: %s\n", p.style(bold, c.Name), c.State)
		for j := range c.Files {
			p.setupFile(&c.Files[j], ans.Applied)
		}
		if v := c.Verified; v != nil && v.OK {
			p.printf("  verified: started as %s starts it, handshake done, %d tools\n", c.Name, v.Tools)
		} else if v != nil {
			p.printf("  not verified: %s\n", project.Visible(v.Why, false))
		}
		for _, t := range c.Todo {
			p.printf("  you: %s\n", project.Visible(t, false))
		}
	}
	if len(ans.Clients) == 0 {
		p.printf("nothing of Holdfast is set up here\n")
	}
	for _, n := range ans.Notices {
		p.printf("%s\n", project.Visible(n, false))
	}
}

func (p *printer) setupFile(f *project.SetupFile, done bool) {
	word := changeWords[string(f.Change)]
	if !done && f.Change != "none" && f.Change != "refused" {
		word = "to be " + map[string]string{"create": "made", "edit": "edited", "delete": "removed"}[string(f.Change)]
	}
	if f.Change == "none" && !hasWords(f) {
		return
	}
	p.printf("  %s: %s", f.Path, word)
	if f.Why != "" {
		if f.Line > 0 {
			p.printf(", line %d, column %d", f.Line, f.Column)
		}
		p.printf(": %s", project.Visible(f.Why, false))
	}
	p.printf("\n")
	for _, it := range f.Items {
		if words := itemWords[string(it.State)]; words != "" {
			p.printf("    %s: %s\n", it.ID, words)
		}
	}
	if f.Snippet != "" {
		p.printf("    put this into it by hand:\n")
		for _, l := range strings.Split(strings.TrimSuffix(f.Snippet, "\n"), "\n") {
			p.printf("      %s\n", l)
		}
	}
}

// hasWords: an entry is not simply as it should be.
func hasWords(f *project.SetupFile) bool {
	for _, it := range f.Items {
		if itemWords[string(it.State)] != "" {
			return true
		}
	}
	return false
}

// itemWords says of an entry what a person should know.
var itemWords = map[string]string{
	"removed":  "somebody took it out since setup wrote it",
	"outdated": "written by an earlier setup",
	"changed":  "ours, edited by hand: kept",
	"foreign":  "not one that setup writes: kept",
}
