package cli

import (
	"errors"

	"holdfast/internal/project"
)

// statusAnswer is the answer of the bare command.
type statusAnswer struct {
	project.Status
	Next []string `json:"next"`

	Incomplete bool `json:"incomplete,omitempty"` // of a damaged ledger
}

// runStatus is what the command does alone: how the project stands and what to
// do next. That there is no project here is no error.
func runStatus(ctx ctxT, a *app) error {
	err := a.with(ctx, func(p *project.Project) error {
		s, err := p.Status(ctx)
		ans := statusAnswer{Status: s, Next: nextSteps(&s), Incomplete: project.Incomplete(err)}
		return a.answerRead(err, &ans, ans.text)
	})
	none, ok := errors.AsType[*project.NoPlaceError](err)
	if !ok {
		return err
	}
	ans := statusAnswer{Status: project.Status{Counts: []project.Count{}, Notices: []string{"no project here: " + none.Why}},
		Next: []string{"stand in a project's folder, or name one with --project DIR", "holdfast help"}}
	return a.answer(&ans, ans.text)
}

func nextSteps(s *project.Status) []string {
	total := 0
	for _, c := range s.Counts {
		total += c.Records
	}
	if total == 0 {
		return []string{"holdfast setup", `holdfast record goal ID --text "..." --source "..."`, "holdfast help"}
	}
	return []string{"holdfast resume", "holdfast help"}
}

func (s *statusAnswer) text(p *printer) {
	if s.Path != "" {
		s.heading(p)
	}
	open := false
	for _, c := range s.Counts {
		if c.Records > 0 {
			open = true
			p.printf("  %-22s %d\n", c.Section+":", c.Records)
		}
	}
	if s.Ledger != "" && !open {
		p.printf("  nothing is open\n")
	}
	if l := s.LastSave; l != nil {
		by := l.Actor.Client
		if l.Actor.Kind == "person" || by == "" {
			by = "a " + l.Actor.Kind
		}
		p.printf("  last save %s, by %s\n", l.Age, project.Visible(by, false))
	}
	for _, n := range s.Notices {
		p.printf("  %s\n", project.Visible(n, false))
	}
	p.printf("next:\n")
	for _, n := range s.Next {
		p.printf("  %s\n", n)
	}
}

func (s *statusAnswer) heading(p *printer) {
	if s.Ledger == "" {
		p.printf("%s\n  no ledger here yet: the first save makes %s\n", p.style(bold, "Holdfast"), project.Visible(s.Path, false))
		return
	}
	p.printf("%s  revision %d", p.style(bold, "Holdfast"), s.Revision)
	if s.Branch != "" {
		p.printf(", branch %s", project.Visible(s.Branch, false))
	}
	if s.Dirty != nil && *s.Dirty {
		p.printf(", with uncommitted changes")
	}
	p.printf("\n  %s\n", project.Visible(s.Path, false))
}
