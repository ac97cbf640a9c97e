package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// newMan prints man pages, for packaging. It is hidden from the list of
// commands; the pages of a release are made with it.
func newMan(a *app) *cobra.Command {
	list := false
	cmd := &cobra.Command{
		Use: "man [COMMAND]", Short: "Print a man page", Hidden: true, ValidArgsFunction: cobra.NoFileCompletions,
		Long:    "Print the man page of holdfast, or of one of its commands, as man(7) has it." + exitStatus(0, 2, 6),
		Example: "  holdfast man resume | man -l -",
	}
	cmd.RunE = a.run(func(_ ctxT, args []string) error {
		if list {
			names := ""
			for _, c := range documented(cmd.Root()) {
				names += c.CommandPath() + "\n"
			}
			return a.print([]byte(names))
		}
		about, rest, err := cmd.Root().Find(args)
		if err != nil || len(rest) > 0 {
			return unknownCommand(cmd.Root(), args[0])
		}
		return a.print([]byte(manPage(about)))
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

// page is a man page in the making: lines of man(7).
type page struct{ strings.Builder }

// manPage is a command's page. It depends on nothing but the command: no date,
// so that the same source gives the same bytes.
func manPage(c *cobra.Command) string {
	c.InitDefaultHelpFlag()
	name := manName(c)
	about, exits, _ := strings.Cut(c.Long, "\n\nEXIT STATUS\n")
	p := &page{}
	p.macro("TH", strings.ToUpper(name), "1", "", "Holdfast", "Holdfast")
	p.section("NAME")
	p.text(name + " - " + c.Short)
	p.section("SYNOPSIS")
	p.text(c.UseLine())
	p.section("DESCRIPTION")
	p.paragraphs(about)
	p.commands(c)
	p.options("OPTIONS", c.NonInheritedFlags())
	p.options("GLOBAL OPTIONS", c.InheritedFlags())
	p.section("EXIT STATUS")
	for _, l := range strings.Split(exits, "\n") {
		code, meaning, _ := strings.Cut(strings.TrimSpace(l), "  ")
		p.item(code, meaning)
	}
	p.section("EXAMPLES")
	p.verbatim(c.Example)
	p.seeAlso(c)
	return p.String()
}

func manName(c *cobra.Command) string { return strings.ReplaceAll(c.CommandPath(), " ", "-") }

func (p *page) macro(name string, args ...string) {
	p.WriteString("." + name)
	for _, a := range args {
		p.WriteString(` "` + strings.ReplaceAll(manText.Replace(a), `"`, `\(dq`) + `"`)
	}
	p.WriteString("\n")
}

func (p *page) section(title string) { p.macro("SH", title) }

// text writes lines that are nothing but text.
func (p *page) text(s string) {
	for _, l := range strings.Split(s, "\n") {
		if strings.HasPrefix(l, ".") || strings.HasPrefix(l, "'") {
			l = `\&` + l
		}
		p.WriteString(manText.Replace(l) + "\n")
	}
}

// manText escapes what man(7) reads as its own. A hyphen that can be copied is
// written \-.
var manText = strings.NewReplacer(`\&`, `\&`, `\`, `\e`, "-", `\-`)

func (p *page) paragraphs(s string) {
	for i, par := range strings.Split(s, "\n\n") {
		if i > 0 {
			p.macro("PP")
		}
		p.text(par)
	}
}

func (p *page) verbatim(s string) {
	p.WriteString(".nf\n")
	p.text(s)
	p.WriteString(".fi\n")
}

func (p *page) item(term, meaning string) {
	p.macro("TP")
	p.macro("B", term)
	p.text(meaning)
}

func (p *page) commands(c *cobra.Command) {
	if !c.HasAvailableSubCommands() {
		return
	}
	p.section("COMMANDS")
	for _, sub := range documented(c)[1:] {
		p.item(sub.UseLine(), sub.Short+".")
	}
}

func (p *page) options(title string, flags *pflag.FlagSet) {
	if !flags.HasAvailableFlags() {
		return
	}
	p.section(title)
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Hidden {
			return
		}
		value, usage := pflag.UnquoteUsage(f)
		term := "--" + f.Name
		if f.Shorthand != "" {
			term = "-" + f.Shorthand + ", " + term
		}
		if value != "" {
			term += " " + value
		}
		p.item(term, usage)
	})
}

func (p *page) seeAlso(c *cobra.Command) {
	var names []string
	if c.HasParent() {
		names = append(names, manName(c.Parent()))
	} else {
		for _, sub := range documented(c)[1:] {
			names = append(names, manName(sub))
		}
	}
	p.section("SEE ALSO")
	for i, n := range names {
		end := ","
		if i == len(names)-1 {
			end = ""
		}
		p.macro("BR", n, fmt.Sprintf("(1)%s", end))
	}
}
