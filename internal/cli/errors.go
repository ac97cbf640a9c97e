package cli

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"holdfast/internal/project"
)

// usageError: the command line is not well formed.
type usageError struct{ msg, next string }

func (e *usageError) Error() string { return e.msg }

// outputError: the answer could not be written to standard output.
type outputError struct {
	err   error
	saved int64 // revision that was saved nevertheless; 0: none
}

func (e *outputError) Error() string { return "write answer: " + e.err.Error() }
func (e *outputError) Unwrap() error { return e.err }

func (e *outputError) message() string {
	msg := "the answer could not be written: " + project.Visible(e.err.Error(), false)
	if e.saved > 0 {
		msg += fmt.Sprintf("; the save stands as revision %d", e.saved)
	}
	return msg
}

// toldError: what went wrong is part of the answer that was printed.
type toldError struct{ err error }

func (e *toldError) Error() string { return e.err.Error() }
func (e *toldError) Unwrap() error { return e.err }

// explain turns an error into words, the command line's own ones included.
func explain(err error) project.Problem {
	if u, ok := errors.AsType[*usageError](err); ok {
		return project.Problem{Code: "usage", Message: u.msg, Next: u.next, Exit: project.ExitUsage}
	}
	return project.Explain(err)
}

// usageOf makes cobra's and pflag's errors our own. None repeats a value.
func usageOf(cmd *cobra.Command, err error) error {
	if u, ok := errors.AsType[*usageError](err); ok {
		return u.about(cmd)
	}
	u := &usageError{}
	if e, ok := errors.AsType[*pflag.NotExistError](err); ok {
		u.msg, u.next = unknownFlag(cmd, e)
	} else if e, ok := errors.AsType[*pflag.ValueRequiredError](err); ok {
		u.msg = "--" + e.GetFlag().Name + " needs a value"
	} else if e, ok := errors.AsType[*pflag.InvalidValueError](err); ok {
		u.msg = "--" + e.GetFlag().Name + " " + invalid(e)
	} else {
		u.msg = "the command line can't be read"
	}
	return u.about(cmd)
}

// about completes a usage error with what the command was to do.
func (e *usageError) about(cmd *cobra.Command) error {
	x := *e
	if cmd.Annotations[saves] != "" {
		x.msg += "; nothing was saved"
	}
	if x.next == "" {
		x.next = "see: " + cmd.CommandPath() + " --help"
	}
	return &x
}

func invalid(e *pflag.InvalidValueError) string {
	if v, ok := errors.AsType[*valueError](e); ok {
		return v.why
	}
	if e.GetFlag().Value.Type() == "bool" {
		return "is given without a value"
	}
	return "needs a whole number"
}

// valueError says what is wrong with a flag's value.
type valueError struct{ why string }

func (e *valueError) Error() string { return e.why }

func unknownFlag(cmd *cobra.Command, e *pflag.NotExistError) (msg, next string) {
	if short := e.GetSpecifiedShortnames(); short != "" {
		return "unknown flag -" + printable(short), ""
	}
	name := e.GetSpecifiedName()
	var known []string
	add := func(f *pflag.Flag) {
		if !f.Hidden {
			known = append(known, f.Name)
		}
	}
	cmd.Flags().VisitAll(add)
	cmd.InheritedFlags().VisitAll(add)
	msg = "unknown flag --" + printable(name)
	if near := nearest(name, known); near != "" {
		return msg, fmt.Sprintf("did you mean --%s? See: %s --help", near, cmd.CommandPath())
	}
	return msg, ""
}

func unknownCommand(cmd *cobra.Command, word string) error {
	u := &usageError{msg: "unknown command " + printable(word)}
	if cmd.HasParent() {
		u.msg += " for " + cmd.CommandPath()
	}
	cmd.SuggestionsMinimumDistance = min(2, len(word)/2)
	names := cmd.SuggestionsFor(word)
	if len(names) == 0 {
		u.next = "see what there is: " + cmd.CommandPath() + " --help"
		return u
	}
	u.next = "did you mean: " + cmd.CommandPath() + " " + strings.Join(names, ", or "+cmd.CommandPath()+" ")
	return u
}

// printable repeats a word of the command line only if it looks like a name: a
// mistyped word is shown, a secret that was pasted in its place is not.
func printable(word string) string {
	digits := 0
	for _, r := range word {
		switch {
		case r >= '0' && r <= '9':
			digits++
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r == '-', r == '_', r == '.':
		default:
			return "(not shown: not a name)"
		}
	}
	if word == "" || len(word) > 32 || digits > 4 {
		return "(not shown: not a name)"
	}
	return word
}

// nearest is the candidate that a mistyped word most likely means, or nothing.
func nearest(word string, candidates []string) string {
	best, least := "", 3
	for _, c := range candidates {
		d := distance(word, c)
		if strings.HasPrefix(c, word) && len(word) > 2 {
			d = 1
		}
		if d < least {
			best, least = c, d
		}
	}
	return best
}

// distance is Levenshtein's: how many letters to change, add or drop.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}

// forFlags puts the names of the command line in the place of the fields'.
func forFlags(s string) string {
	return strings.NewReplacer("expected_revision", "--expect-revision", "expected_recovery", "--expect-recovery",
		"without_evidence", "--without-evidence").Replace(s)
}

// sayCurrent shows the version that stands in a conflict's way.
func (a *app) sayCurrent(err error) {
	e, ok := errors.AsType[*project.ConflictError](err)
	if !ok || e.Current == nil {
		return
	}
	v := &e.Current.Version
	who := v.Author.Client
	if who == "" {
		who = v.Author.Kind
	}
	a.say("current", fmt.Sprintf("revision %d, %s by %s: %s", v.Rev, v.Kind, project.Visible(who, false), project.Visible(v.Text, false)))
}
