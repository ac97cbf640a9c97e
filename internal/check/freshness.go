package check

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"holdfast/internal/ledger"
)

// Whether a receipt holds, when asked.
const (
	Fresh    = "fresh"
	Stale    = "stale"
	Expired  = "expired"  // older than it was declared to be valid
	External = "external" // it depends on something that isn't here
	Unknown  = "unknown"  // it could not be looked at
)

// maxNamed bounds the changes that are named; the rest is counted.
const maxNamed = 20

// Changes names what differs between the inputs then and now, both sorted by
// path: "changed: a.go", "added: b.go", "removed: c.go".
func Changes(then, now []ledger.InputFile) []string {
	var out []string
	for i, j := 0, 0; i < len(then) || j < len(now); {
		switch {
		case j == len(now) || i < len(then) && then[i].Path < now[j].Path:
			out = append(out, "removed: "+then[i].Path)
			i++
		case i == len(then) || now[j].Path < then[i].Path:
			out = append(out, "added: "+now[j].Path)
			j++
		default:
			if then[i].SHA256 != now[j].SHA256 {
				out = append(out, "changed: "+now[j].Path)
			}
			i++
			j++
		}
	}
	return out
}

// Named shortens a list of changes to what a reader needs.
func Named(changes []string) []string {
	if len(changes) <= maxNamed {
		return changes
	}
	return append(slices.Clone(changes[:maxNamed]), fmt.Sprintf("and %d more", len(changes)-maxNamed))
}

// RuntimeChanges names how the programs and the platform differ.
func RuntimeChanges(then, now *ledger.Runtime) []string {
	var out []string
	if then.OS != now.OS || then.Arch != now.Arch {
		out = append(out, "platform: "+now.OS+"/"+now.Arch+", was "+then.OS+"/"+then.Arch)
	}
	if then.Program != now.Program || then.SHA256 != now.SHA256 || then.Size != now.Size {
		out = append(out, "program: "+cmp.Or(now.Program, "gone")+", was "+cmp.Or(then.Program, "none"))
	}
	for _, p := range then.Through {
		if !slices.Contains(now.Through, p) {
			out = append(out, "program: "+p.Path)
		}
	}
	return out
}

// Quote writes a command as a POSIX shell reads it.
func Quote(argv []string) string {
	words := make([]string, len(argv))
	for i, a := range argv {
		words[i] = a
		if a == "" || strings.ContainsFunc(a, func(r rune) bool {
			return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("@%+=:,./-_", r))
		}) {
			words[i] = "'" + strings.ReplaceAll(a, "'", `'\''`) + "'"
		}
	}
	return strings.Join(words, " ")
}
