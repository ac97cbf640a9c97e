package check

import (
	"maps"
	"slices"

	"holdfast/internal/ledger"
)

// Told is what a command's output says of itself.
type Told struct {
	Counts  *ledger.Counts // nil: no form that is known
	Nothing bool           // a runner says that it ran nothing, and none that it ran something
	Failed  bool           // a closing line tells of failures
	Flags   []string
}

// Read sums up what the streams of one command told.
func Read(streams ...*Closing) Told {
	var t Told
	flags := map[string]bool{}
	ran, nothing, gone := false, false, false
	for _, c := range streams {
		c.close()
		maps.Copy(flags, c.flags)
		ran, nothing = ran || c.ran, nothing || c.nothing != ""
		if c.counts != nil && (t.Counts == nil || c.counts.Total > t.Counts.Total) {
			t.Counts = c.counts
		}
		g := &c.gotest
		if n := g.counts(); n != nil {
			t.Counts = n
			ran = ran || n.Passed+n.Failed > 0
			nothing = nothing || n.Passed+n.Failed == 0
			// A test's own output may hold lines of other runs; a package's line is go's.
			gone, t.Failed = true, t.Failed || g.failed > 0
			if g.cached > 0 {
				flags[FlagCached] = true
			}
			if g.empty > 0 {
				flags[FlagNoTestFiles] = true
			}
		}
	}
	t.Nothing = nothing && !ran
	t.Failed = t.Failed || !gone && t.Counts != nil && t.Counts.Failed > 0
	if t.Nothing {
		flags[FlagNothingRan] = true
	}
	t.Flags = slices.Sorted(maps.Keys(flags))
	return t
}

// Outcome is the one word for a run.
func Outcome(r *Run, attributable, stable bool, t Told) string {
	switch {
	case r.NotFound:
		return ledger.NotFound
	case r.TimedOut:
		return ledger.TimedOut
	case r.Signal != "" || r.Interrupted:
		return ledger.Killed
	case !attributable:
		return ledger.NotAttributable
	case r.ExitCode == 127 && r.Shell:
		return ledger.NotFound
	case r.ExitCode == 5 && t.Nothing: // pytest's status for no tests
		return ledger.NothingRan
	case r.ExitCode != 0:
		if t.Nothing && !t.Failed && t.Counts == nil {
			return ledger.NothingRan // jest and vitest fail when they find nothing
		}
		return ledger.Failed
	case t.Nothing:
		return ledger.NothingRan
	case t.Failed || slices.Contains(t.Flags, FlagErrors) || slices.Contains(t.Flags, FlagIgnored):
		return ledger.NotAttributable // the output tells of failures that the status doesn't
	case !stable:
		return ledger.InputsChanged
	}
	return ledger.Passed
}
