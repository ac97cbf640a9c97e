package web

import (
	"net/http"

	"holdfast/internal/ledger"
	"holdfast/internal/project"
)

// entriesPage is a page made of the timeline's entries of some types.
type entriesPage struct {
	frame
	Entries []project.LogEntry
	Older   string
}

func (s *Server) entries(w http.ResponseWriter, r *http.Request, page, title, kind string) {
	p := entriesPage{frame: s.frame(r, page, title)}
	var err error
	p.Entries, p.Older, err = s.p.Log(r.Context(), project.LogRequest{Kind: kind, Before: int64(number(r, "before")), Limit: perTimeline})
	if err = read(&p.frame, err); err == nil {
		p.Pulse, err = s.p.Pulse(r.Context())
		err = read(&p.frame, err)
	}
	if err != nil {
		s.fail(w, r, page, err)
		return
	}
	s.render(w, http.StatusOK, page, p)
}

func (s *Server) recovery(w http.ResponseWriter, r *http.Request) {
	s.entries(w, r, "recovery", "Recovery", ledger.TypeRecover)
}
