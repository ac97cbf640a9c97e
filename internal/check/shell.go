package check

import (
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// Attributable reports whether the exit status of argv is that of the command
// that it names. A program called directly is; a shell text is when it is one
// simple command, an && chain, or a pipe under pipefail; an echo of a test
// runner's name is not. why says what stands in the way.
func Attributable(argv, env []string) (ok bool, why string) {
	for i, arg := range argv {
		if text, opts, found := shellText(argv[i:]); found && isShell(arg) {
			return attributableText(text, opts, env)
		}
	}
	words := argv
	if len(words) > 0 && idle(path.Base(words[0])) && names(strings.Join(words[1:], " ")) {
		return false, "it names a test runner and doesn't run it"
	}
	if len(words) > 0 && masksErrors(words) {
		return false, "it is told to go on after errors"
	}
	return true, ""
}

var shells = []string{"sh", "bash", "dash", "zsh", "ksh", "mksh", "ash", "busybox"}

func isShell(arg string) bool {
	base := strings.TrimSuffix(path.Base(strings.ReplaceAll(arg, `\`, "/")), ".exe")
	return slices.Contains(shells, base)
}

// options of a shell's command line.
type options struct{ pipefail, interactive bool }

// shellText finds the text after -c in "sh -euo pipefail -c TEXT".
func shellText(argv []string) (text string, o options, ok bool) {
	for i := 1; i < len(argv); i++ {
		a := argv[i]
		switch {
		case a == "sh" && i == 1: // busybox sh
		case a == "--" || !strings.HasPrefix(a, "-") && !strings.HasPrefix(a, "+"):
			return "", o, false
		case strings.HasPrefix(a, "--"):
			if a == "--rcfile" || a == "--init-file" {
				i++
				o.interactive = true
			}
		default:
			o.interactive = o.interactive || strings.Contains(a, "i")
			takesOption := strings.HasSuffix(a, "o") || strings.HasSuffix(a, "O")
			if takesOption && i+1 < len(argv) {
				i++
				o.pipefail = o.pipefail && !(argv[i] == "pipefail" && a[0] == '+') || argv[i] == "pipefail" && a[0] == '-'
			}
			if a[0] == '-' && strings.Contains(a, "c") {
				// Options may follow -c; the text is the first word that is none.
				for i++; i < len(argv); i++ {
					if argv[i] != "--" && !strings.HasPrefix(argv[i], "-") {
						return argv[i], o, true
					}
					if argv[i] == "-o" && i+1 < len(argv) {
						i++
						o.pipefail = o.pipefail || argv[i] == "pipefail"
					}
				}
				return "", o, false
			}
		}
	}
	return "", o, false
}

func attributableText(text string, o options, env []string) (bool, string) {
	if o.interactive {
		return false, "an interactive shell knows aliases"
	}
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(text), "")
	if err != nil {
		return false, "the shell text can't be parsed"
	}
	j := &judge{pipefail: o.pipefail, env: env}
	stmts := file.Stmts
	for len(stmts) > 1 && j.setting(stmts[0]) {
		stmts = stmts[1:]
	}
	switch {
	case len(stmts) == 0:
		return !names(text), "it runs nothing"
	case len(stmts) > 1:
		return false, "a list of commands has the status of its last"
	}
	if why := j.stmt(stmts[0]); why != "" {
		return false, why
	}
	if !j.worked && names(text) {
		return false, "it names a test runner and doesn't run it"
	}
	return true, ""
}

// judge walks one statement of a shell text.
type judge struct {
	pipefail bool
	env      []string
	worked   bool // a program was seen that does something
}

// setting reads "set -euo pipefail" before the statement that counts.
func (j *judge) setting(s *syntax.Stmt) bool {
	call, ok := s.Cmd.(*syntax.CallExpr)
	if !ok || s.Negated || s.Background || s.Coprocess || len(call.Args) < 2 || call.Args[0].Lit() != "set" || len(call.Assigns) > 0 {
		return false
	}
	for i, w := range call.Args[1:] {
		a := w.Lit()
		switch {
		case a == "":
			return false
		case a == "pipefail" && i > 0:
			sign := call.Args[i].Lit()
			j.pipefail = strings.HasPrefix(sign, "-")
		case !strings.HasPrefix(a, "-") && !strings.HasPrefix(a, "+"):
			return false
		}
	}
	return true
}

// stmt says why a statement's status is not that of its commands, or nothing.
func (j *judge) stmt(s *syntax.Stmt) string {
	switch {
	case s.Negated:
		return "its status is inverted"
	case s.Background || s.Coprocess || s.Disown:
		return "it runs in the background"
	}
	switch c := s.Cmd.(type) {
	case *syntax.CallExpr:
		return j.call(c)
	case *syntax.BinaryCmd:
		return j.binary(c)
	case *syntax.TimeClause:
		if c.Stmt == nil {
			return "it runs nothing"
		}
		return j.stmt(c.Stmt)
	case nil:
		return "it runs nothing"
	}
	return "the shell may mask its status"
}

func (j *judge) binary(c *syntax.BinaryCmd) string {
	switch {
	case c.Op == syntax.AndStmt:
		if j.setting(c.X) {
			return j.stmt(c.Y)
		}
	case (c.Op == syntax.Pipe || c.Op == syntax.PipeAll) && j.pipefail:
	case c.Op == syntax.Pipe || c.Op == syntax.PipeAll:
		return "a pipe has the status of its last command, without pipefail"
	default:
		return "a failure is swallowed by ||"
	}
	if why := j.stmt(c.X); why != "" {
		return why
	}
	return j.stmt(c.Y)
}

// shadowing can make another word or status out of what follows.
var shadowing = []string{"alias", "unalias", "trap", "eval", "source", ".", "exit", "return", "hash", "enable", "builtin", "set", "shopt", "unset", "coproc", "wait", "jobs", "bg", "fg", "disown"}

func (j *judge) call(c *syntax.CallExpr) string {
	if len(c.Args) == 0 {
		return "an assignment runs nothing by name"
	}
	if masked(c) {
		return "the status inside a substitution is lost"
	}
	name, known := literal(c.Args[0])
	if !known {
		j.worked = true // a name that only the shell knows, but its status counts
		return ""
	}
	if slices.Contains(shadowing, name) {
		return "the shell's " + name + " can change what the words mean"
	}
	for _, e := range j.env {
		if strings.HasPrefix(e, "BASH_FUNC_"+name+"%%=") || strings.HasPrefix(e, "BASH_FUNC_"+name+"()=") {
			return "a function of that name is in the environment"
		}
	}
	var words []string
	for _, a := range c.Args {
		w, _ := literal(a)
		words = append(words, w)
	}
	if idle(path.Base(name)) || name == "cd" || name == "export" {
		return ""
	}
	j.worked = true
	if ok, why := Attributable(words, j.env); !ok {
		return why
	}
	return ""
}

// masked reports whether a test runner runs inside a substitution of c.
func masked(c *syntax.CallExpr) bool {
	found := false
	var text strings.Builder
	p := syntax.NewPrinter()
	syntax.Walk(c, func(n syntax.Node) bool {
		var stmts []*syntax.Stmt
		switch x := n.(type) {
		case *syntax.CmdSubst:
			stmts = x.Stmts
		case *syntax.ProcSubst:
			stmts = x.Stmts
		default:
			return true
		}
		for _, s := range stmts {
			text.Reset()
			if p.Print(&text, s) != nil || names(text.String()) {
				found = true
			}
		}
		return true
	})
	return found
}

// literal is a word without expansions, quotes taken off. For another one it
// gives what is literal in it.
func literal(w *syntax.Word) (string, bool) {
	var b strings.Builder
	whole := true
	var add func(parts []syntax.WordPart)
	add = func(parts []syntax.WordPart) {
		for _, p := range parts {
			switch x := p.(type) {
			case *syntax.Lit:
				b.WriteString(x.Value)
			case *syntax.SglQuoted:
				b.WriteString(x.Value)
			case *syntax.DblQuoted:
				add(x.Parts)
			default:
				whole = false
			}
		}
	}
	add(w.Parts)
	return b.String(), whole
}

// idle programs succeed whatever they are given.
func idle(name string) bool {
	return slices.Contains([]string{"echo", "printf", "true", ":", "test", "[", "yes", "sleep", "cat"}, strings.TrimSuffix(name, ".exe"))
}

// masksErrors knows the options that make a builder succeed after errors.
func masksErrors(argv []string) bool {
	switch path.Base(argv[0]) {
	case "make", "gmake":
		for _, a := range argv[1:] {
			if a == "--ignore-errors" || a == "--dry-run" || a == "--just-print" || a == "--touch" || a == "--question" ||
				strings.HasPrefix(a, "-") && !strings.HasPrefix(a, "--") && strings.ContainsAny(strings.TrimLeft(a, "-"), "int") && !strings.ContainsAny(a[1:2], "CfIjlWo") {
				return true
			}
		}
	case "mvn", "mvnw":
		return slices.ContainsFunc(argv[1:], func(a string) bool {
			return a == "-fn" || a == "--fail-never" || a == "-Dmaven.test.failure.ignore" || a == "-Dmaven.test.failure.ignore=true"
		})
	}
	return false
}

// runners are words that run tests, and what must stand behind them (empty:
// anything).
var runners = map[string][]string{
	"go": {"test", "vet", "build", "run"}, "pytest": nil, "py.test": nil, "jest": nil, "vitest": nil, "mocha": nil,
	"cargo": {"test", "nextest", "check", "build", "clippy", "t"}, "npm": {"test", "t", "run", "run-script"}, "pnpm": {"test", "run", "t"}, "yarn": nil, "npx": nil,
	"bun": {"test", "run"}, "deno": {"test", "task"}, "node": {"--test"}, "python": {"-m"}, "python3": {"-m"}, "mvn": nil, "mvnw": nil, "gradle": nil, "gradlew": nil,
	"rspec": nil, "phpunit": nil, "dotnet": {"test", "build"}, "make": nil, "tox": nil, "nox": nil, "ctest": nil, "rake": nil, "mix": {"test"},
	"swift": {"test", "build"}, "golangci-lint": nil, "eslint": nil, "tsc": nil, "ruff": nil, "mypy": nil, "gotestsum": nil, "unittest": nil, "ava": nil, "tap": nil, "playwright": nil,
}

// names reports whether a text has the words of a known test runner in it.
func names(text string) bool {
	words := strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(" \t\n\r'\"`$();&|<>{}#,", r) })
	for i, w := range words {
		after, known := runners[path.Base(w)]
		if !known {
			continue
		}
		if after == nil || i+1 < len(words) && slices.ContainsFunc(words[i+1:min(i+4, len(words))], func(x string) bool { return slices.Contains(after, x) }) {
			return true
		}
	}
	return false
}
