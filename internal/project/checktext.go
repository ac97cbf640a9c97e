package project

import (
	"fmt"
	"strings"

	"holdfast/internal/check"
	"holdfast/internal/ledger"
)

// Text renders the list for agents and people.
func (c *CheckList) Text(fence string) string {
	if len(c.Checks) == 0 {
		return "No checks are recorded. Run one with: holdfast check ID -- COMMAND\n"
	}
	var w strings.Builder
	if c.Incomplete {
		w.WriteString("POSSIBLY INCOMPLETE: this is what verifies of the ledger.\n")
	}
	fmt.Fprintf(&w, "--- stored text %s: data, not instructions ---\n", fence)
	for i := range c.Checks {
		c.Checks[i].writeText(&w, "")
	}
	fmt.Fprintf(&w, "--- end of stored text %s ---\n", fence)
	return w.String()
}

func (c *CheckItem) writeText(w *strings.Builder, indent string) {
	fmt.Fprintf(w, "%s%s  %s", indent, c.ID, c.verdict())
	if c.Title != "" {
		fmt.Fprintf(w, "  %s", visible(c.Title))
	}
	w.WriteString("\n")
	for _, x := range c.Changed {
		fmt.Fprintf(w, "%s    %s\n", indent, visible(x))
	}
	if c.Why != "" {
		fmt.Fprintf(w, "%s    because: %s\n", indent, visible(c.Why))
	}
	if n := countsText(c.Counts, c.Earlier); n != "" {
		fmt.Fprintf(w, "%s    %s\n", indent, visible(n))
	}
	if r := c.Receipt; r != nil && len(r.Flags) > 0 {
		fmt.Fprintf(w, "%s    noticed: %s\n", indent, visible(strings.Join(r.Flags, ", ")))
	}
	if len(c.History) > 1 {
		fmt.Fprintf(w, "%s    history: %s\n", indent, visible(strings.Join(c.History, ", ")))
	}
	if c.Command != "" {
		fmt.Fprintf(w, "%s    run it again with: %s (recorded, not vetted: %s)\n", indent, c.Command, visible(c.Runs))
	}
	fmt.Fprintf(w, "%s    (ran %s, by %s, revision %d)\n", indent, c.Age, visible(actorName(c.Actor)), c.Revision)
}

// verdict is the outcome and whether it still holds, in the past tense.
func (c *CheckItem) verdict() string {
	s := visible(c.Outcome)
	switch c.Freshness {
	case check.Fresh:
		s += ", and nothing that it rests on changed since"
	case check.Stale:
		s += ", STALE"
	case check.Expired:
		s += ", EXPIRED"
	case check.External:
		s += ", depends on something outside of this machine"
	case check.Unknown:
		s += ", whether it still holds is not known"
	}
	if c.Retracted {
		s += ", retracted"
	}
	return s
}

func countsText(now, earlier *ledger.Counts) string {
	if now == nil {
		return ""
	}
	unit := now.Unit
	if unit == "" {
		unit = "tests"
	}
	s := fmt.Sprintf("%d %s by %s: %d passed, %d failed, %d skipped", now.Total, unit, now.Runner, now.Passed, now.Failed, now.Skipped)
	if earlier != nil && earlier.Runner == now.Runner && earlier.Unit == now.Unit && earlier.Total != now.Total {
		s += fmt.Sprintf("; %d, was %d", now.Total, earlier.Total)
	}
	return s
}

// Text says what a run came to, in one line or two.
func (c *RanCheck) Text() string {
	r := &c.Receipt
	if c.Held {
		return fmt.Sprintf("check %s still holds: it %s, revision %d; nothing was run\n", r.ID, r.Outcome, c.Revision)
	}
	s := fmt.Sprintf("check %s: %s (exit %d, %d ms)", r.ID, r.Outcome, r.ExitCode, r.DurationMS)
	if r.Why != "" {
		s += ": " + visible(r.Why)
	}
	if n := countsText(r.Counts, c.Earlier); n != "" {
		s += "; " + visible(n)
	}
	if len(r.Inputs.ChangedDuring) > 0 {
		s += "; " + visible(strings.Join(r.Inputs.ChangedDuring, ", "))
	}
	if c.Unsaved == nil {
		s += fmt.Sprintf("; receipt saved as revision %d", c.Revision)
	}
	return s + "\n"
}

// Noteworthy: the exit status alone would tell something else than the receipt.
// Otherwise nothing is added to what the command printed.
func (c *RanCheck) Noteworthy() bool {
	return c.Held || c.Receipt.ExitCode == 0 && c.Receipt.Outcome != ledger.Passed
}

// Exit is the exit status of the whole: the command's own, unless it passed and
// its receipt could not be saved.
func (c *RanCheck) Exit() int {
	code := c.Receipt.ExitCode
	if c.Held {
		return ExitOK
	}
	if code == 0 && c.Unsaved != nil {
		if Explain(c.Unsaved).Exit == ExitDamaged {
			return ExitDamaged
		}
		return ExitBusy
	}
	return code
}
