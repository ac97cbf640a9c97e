package web

import (
	"errors"
	"net/http"
	"net/url"
	"strconv"

	"holdfast/internal/ledger"
	"holdfast/internal/project"
)

type recoveryPage struct {
	frame
	Past    []project.LogEntry // recoveries there were
	At      string             // revision that was asked for; empty: the newest
	Looked  bool               // Plan is a preview
	Plan    project.Recovery
	Problem *project.Problem
	Done    bool
}

// recovery shows the way back; asked, what it would change. The whole ledger
// and its copies are read only then.
func (s *Server) recovery(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	p := recoveryPage{frame: s.frame(r, "recovery", "Recovery"), At: q.Get("at"), Looked: q.Has("at"), Done: q.Get("did") == "recover"}
	// What is wrong with the ledger is what this page is for: it is told and the
	// page goes on.
	var err error
	if p.Pulse, err = s.p.Pulse(r.Context()); err != nil {
		p.trouble(err)
	} else if p.Past, _, err = s.p.Log(r.Context(), project.LogRequest{Kind: ledger.TypeRecover, Limit: 20}); err != nil {
		p.trouble(err)
	}
	status := http.StatusOK
	if p.Looked {
		at, ok := revisionAt(p.At)
		if !ok {
			p.Problem = &project.Problem{Message: "a revision is a whole number", Next: "choose one with the slider"}
		} else if p.Plan, err = s.p.Recover(r.Context(), project.RecoverRequest{At: at}); err != nil {
			e := project.Explain(err)
			p.Problem, status = &e, statusOf(&e)
		}
	}
	s.render(w, status, "recovery", p)
}

func (p *recoveryPage) trouble(err error) {
	e := project.Explain(err)
	p.Trouble = &e
}

// revisionAt reads a revision; empty is the newest.
func revisionAt(text string) (*int64, bool) {
	if text == "" {
		return nil, true
	}
	n, err := strconv.ParseInt(text, 10, 64)
	return &n, err == nil && n >= 0
}

// recover does what the preview showed: its fingerprint is part of the form.
func (s *Server) recover(w http.ResponseWriter, r *http.Request) {
	v := r.PostForm
	p := recoveryPage{frame: s.frame(r, "recovery", "Not recovered"), At: v.Get("at")}
	at, ok := revisionAt(p.At)
	recovery, expect := v.Get("recovery"), v.Get("expect")
	if !ok || expect == "" {
		s.refuse(w, http.StatusBadRequest, "The form is not one of these pages; nothing was changed.")
		return
	}
	err := project.ErrPersonOnly
	if s.p.ByPerson() {
		_, err = s.p.Recover(r.Context(), project.RecoverRequest{At: at, Expect: expect, ExpectedRecovery: &recovery})
	}
	if err == nil {
		http.Redirect(w, r, s.gate.prefix+"recovery?"+url.Values{"did": {"recover"}}.Encode(), http.StatusSeeOther)
		return
	}
	e := project.Explain(err)
	p.Problem = &e
	if p.Pulse, err = s.p.Pulse(r.Context()); err != nil && !errors.Is(err, r.Context().Err()) {
		p.trouble(err)
	}
	s.render(w, statusOf(&e), "recovery", p)
}
