package cli

import (
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"holdfast/internal/ledger"
)

// optional is a flag that can be left out, which differs from an empty value.
// It can be given once.
type optional[T any] struct {
	to    **T
	parse func(string) (T, error)
	name  string
}

func (o optional[T]) String() string { return "" }
func (o optional[T]) Type() string   { return o.name }

func (o optional[T]) Set(s string) error {
	if *o.to != nil {
		return &valueError{"is given twice"}
	}
	v, err := o.parse(s)
	if err != nil {
		return err
	}
	*o.to = &v
	return nil
}

func textFlag(fs *pflag.FlagSet, to **string, name, usage string) {
	fs.Var(optional[string]{to, func(s string) (string, error) { return s, nil }, "text"}, name, usage)
}

func revisionFlag(fs *pflag.FlagSet, to **int64, name, usage string) {
	fs.Var(optional[int64]{to, parseRevision, "revision"}, name, usage)
}

func parseRevision(s string) (int64, error) {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n < 0 {
		return 0, &valueError{"needs a revision: a whole number, 0 or more"}
	}
	return n, nil
}

// once is a text that is given at most once and then not empty.
type once struct {
	to   *string
	name string
}

func (o once) String() string { return "" }
func (o once) Type() string   { return o.name }

func (o once) Set(s string) error {
	switch {
	case *o.to != "":
		return &valueError{"is given twice"}
	case s == "":
		return &valueError{"is given but empty"}
	}
	*o.to = s
	return nil
}

// repeated is a list with one item a flag; one empty flag alone clears it.
type repeated struct{ to **[]string }

func (r repeated) String() string { return "" }
func (r repeated) Type() string   { return "file" }
func (r repeated) Set(s string) error {
	return appendItem(r.to, s, func(s string) string { return s })
}

// rejectedFlag takes "option: why".
type rejectedFlag struct{ to **[]ledger.Rejected }

func (r rejectedFlag) String() string { return "" }
func (r rejectedFlag) Type() string   { return "option: why" }

func (r rejectedFlag) Set(s string) error {
	return appendItem(r.to, s, func(s string) ledger.Rejected {
		option, why, _ := strings.Cut(s, ": ")
		return ledger.Rejected{Option: strings.TrimSpace(option), Why: strings.TrimSpace(why)}
	})
}

func appendItem[T any](to **[]T, s string, item func(string) T) error {
	first := *to == nil
	if first {
		*to = &[]T{}
	}
	if s == "" {
		if !first {
			return &valueError{"is empty; alone, an empty one clears the list"}
		}
		return nil
	}
	**to = append(**to, item(s))
	return nil
}

// count is a whole number that is at least one.
type count struct{ to *int }

func (c count) String() string {
	if c.to == nil || *c.to == 0 {
		return ""
	}
	return strconv.Itoa(*c.to)
}
func (c count) Type() string { return "n" }

func (c count) Set(s string) error {
	n, err := strconv.Atoi(s)
	if err != nil || n < 1 {
		return &valueError{"needs a whole number, 1 or more"}
	}
	*c.to = n
	return nil
}

// category is what an ID names.
type category struct{ to *string }

func (c category) String() string { return "" }
func (c category) Type() string   { return "what" }

func (c category) Set(s string) error {
	switch s {
	case "record":
		*c.to = ""
	case ledger.CategoryCheck:
		*c.to = s
	default:
		return &valueError{"is record or check"}
	}
	return nil
}
