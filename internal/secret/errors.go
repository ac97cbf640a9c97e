package secret

import (
	"fmt"
	"strings"
)

// FoundError says that a text was refused because it holds secrets.
type FoundError struct{ Findings []Finding }

// shown is how many findings an error message names.
const shown = 3

// Error names rule, field and place of the first findings, never a value.
func (e *FoundError) Error() string {
	var b strings.Builder
	b.WriteString("secret found")
	for i, f := range e.Findings {
		if i == shown {
			fmt.Fprintf(&b, "; and %d more", len(e.Findings)-shown)
			break
		}
		sep := "; "
		if i == 0 {
			sep = ": "
		}
		b.WriteString(sep + f.String())
	}
	return b.String()
}

// String names the finding in words, such as
// "github-pat in records[0].text, characters 12-52 (split)".
func (f Finding) String() string {
	from, to := f.CharStart, f.CharEnd
	if from == 0 { // not made by Check
		from, to = f.Start, f.End
	}
	s := fmt.Sprintf("%s in %s, characters %d-%d", f.Rule, f.Field, from, to)
	if f.Form != "" {
		s += " (" + f.Form + ")"
	}
	return s
}
