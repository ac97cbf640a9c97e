package web

import (
	"context"
	"net/http"
	"time"

	"holdfast/internal/ledger"
	"holdfast/internal/project"
)

// Receipts that the page looks at, and runs that a chart has.
const (
	mostReceipts = 200
	chartRuns    = 30
)

type checksPage struct {
	frame
	Checks []checkShown
	More   bool
}

// checkShown is one check with its chart.
type checkShown struct {
	project.CheckHistory
	Last   project.CheckRun
	Now    project.CheckItem // whether the newest receipt still holds; zero: not known
	Before *ledger.Counts    // of the run before the last that has counts
	Bars   []bar             // oldest first
	Width  int
	Failed int // runs on the chart that did not pass
}

// bar is one run on a chart: a passed one is tall, any other short and hollow,
// so that colour is not needed.
type bar struct {
	X, Y, H int
	Class   string
	Says    string
}

const (
	barWidth = 8
	barStep  = 11
	barTall  = 28
	barShort = 12
)

func (s *Server) checks(w http.ResponseWriter, r *http.Request) {
	p := checksPage{frame: s.frame(r, "checks", "Checks")}
	hs, more, err := s.p.CheckHistories(r.Context(), mostReceipts)
	if err = s.pulsed(r, &p.frame, err); err != nil {
		s.fail(w, r, "checks", err)
		return
	}
	p.More = more
	p.Checks = s.shown(r.Context(), hs)
	s.render(w, http.StatusOK, "checks", p)
}

// shown says of each check also whether its newest receipt still holds, as far as
// ctx leaves time to look. A damaged ledger's are shown without: the page says so
// already.
func (s *Server) shown(ctx context.Context, hs []project.CheckHistory) []checkShown {
	var out []checkShown
	if len(hs) == 0 {
		return out
	}
	now, _ := s.p.Checks(ctx, "")
	for _, h := range hs {
		c := showCheck(h)
		for i := range now.Checks {
			if now.Checks[i].ID == h.ID {
				c.Now = now.Checks[i]
			}
		}
		out = append(out, c)
	}
	return out
}

func showCheck(h project.CheckHistory) checkShown {
	c := checkShown{CheckHistory: h, Last: h.Runs[0]}
	for _, r := range h.Runs[1:] {
		if r.Counts != nil {
			c.Before = r.Counts
			break
		}
	}
	runs := h.Runs[:min(len(h.Runs), chartRuns)]
	c.Width = len(runs) * barStep
	for i := range runs {
		r := &runs[len(runs)-1-i]
		b := bar{X: i * barStep, H: barTall, Class: "bar-passed", Says: outcome(r.Outcome) + ", " + minute(r.StartedAt)}
		if r.Outcome != ledger.Passed {
			b.H, b.Class = barShort, "bar-failed"
			c.Failed++
		}
		b.Y = barTall - b.H + 1
		c.Bars = append(c.Bars, b)
	}
	return c
}

// outcome says in words how a check ended.
func outcome(o string) string {
	switch o {
	case ledger.Passed:
		return "passed"
	case ledger.Failed:
		return "failed"
	case ledger.TimedOut:
		return "ran out of time"
	case ledger.Killed:
		return "was ended"
	case ledger.NotFound:
		return "could not start"
	case ledger.NothingRan:
		return "ran nothing"
	case ledger.InputsChanged:
		return "its files changed while it ran"
	case ledger.NotAttributable:
		return "its status says nothing"
	}
	return project.Visible(o, false)
}

// holding says in words whether a receipt still holds. One that isn't of a pass holds
// nothing: there it only says that nothing changed.
func holding(freshness, outcome string) string {
	switch freshness {
	case "fresh":
		if outcome != ledger.Passed {
			return "nothing changed since"
		}
		return "still holds"
	case "stale":
		return "no longer holds"
	case "expired":
		return "too old to count"
	case "external":
		return ""
	}
	return "not known whether it still holds"
}

func took(ms int64) string {
	d := time.Duration(ms) * time.Millisecond
	if d > 10*time.Second {
		return d.Round(time.Second).String()
	}
	return d.Round(10 * time.Millisecond).String()
}
