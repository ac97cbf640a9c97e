package web

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"holdfast/internal/project"
)

// problemPage tells why an action was not done, and offers what can be.
type problemPage struct {
	frame
	Problem  project.Problem
	Latest   *project.Item // of the record that it concerned
	What     string        // the action on the latest version
	Word     string        // its button
	Evidence bool          // it can be done with a reason
}

var actionWords = map[string]string{"done": "Mark as done", "drop": "Give up", "retract": "Retract", "restore": "Restore", "confirm": "Confirm"}

// act does one of the actions that a page's buttons name: what, id and the
// revision that it was based on, joined by colons.
func (s *Server) act(w http.ResponseWriter, r *http.Request) {
	v := r.PostForm
	what := v.Get("what")
	parts := strings.Split(what, ":")
	key := actionKey(v.Get("key"), what)
	if len(parts) != 3 || key == "" {
		s.refuse(w, http.StatusBadRequest, "The form is not one of these pages; nothing was saved.")
		return
	}
	rev, err := strconv.ParseInt(parts[2], 10, 64)
	if err != nil || actionWords[parts[0]] == "" {
		s.refuse(w, http.StatusBadRequest, "The form is not one of these pages; nothing was saved.")
		return
	}
	recovery := v.Get("recovery")
	q := project.ChangeRequest{ID: parts[1], ExpectedRevision: &rev, ExpectedRecovery: &recovery, WithoutEvidence: strings.TrimSpace(v.Get("reason")), Key: key}
	if err := s.do(r.Context(), parts[0], q); err != nil {
		s.notDone(w, r, parts, err)
		return
	}
	http.Redirect(w, r, s.back(v.Get("back"), parts[1], parts[0]), http.StatusSeeOther)
}

func (s *Server) do(ctx context.Context, verb string, q project.ChangeRequest) (err error) {
	switch verb {
	case "done":
		_, err = s.p.Done(ctx, q)
	case "drop":
		_, err = s.p.Drop(ctx, q)
	case "retract":
		_, err = s.p.Retract(ctx, q)
	case "restore":
		_, err = s.p.Restore(ctx, q)
	case "confirm":
		_, err = s.p.Confirm(ctx, project.ConfirmRequest{IDs: []string{q.ID}, ExpectedRevision: q.ExpectedRevision, ExpectedRecovery: q.ExpectedRecovery, Key: q.Key})
	}
	return err
}

// back is where an action leads: to the page it was done on.
func (s *Server) back(page, id, did string) string {
	to := s.gate.prefix
	if page != "now" {
		to += "record/" + url.PathEscape(id)
	}
	return to + "?did=" + did
}

func (s *Server) notDone(w http.ResponseWriter, r *http.Request, parts []string, err error) {
	e := project.Explain(err)
	p := problemPage{frame: s.frame(r, "now", "Not done"), Problem: e, Word: actionWords[parts[0]]}
	p.Pulse, _ = s.p.Pulse(r.Context()) // what went wrong is being told already
	if cur, serr := s.p.Show(r.Context(), parts[1], false); read(&p.frame, serr) == nil {
		p.Latest = &cur.Item
		p.Evidence = e.Code == "evidence"
		if e.Code == "conflict" || e.Code == "recovered" || p.Evidence {
			p.What = parts[0] + ":" + cur.ID + ":" + strconv.FormatInt(cur.Revision, 10)
		}
	}
	s.render(w, statusOf(&e), "notdone", p)
}

type carryPage struct {
	frame
	Branch  string
	Carried project.Carried
}

// carry shows what a branch would bring here.
func (s *Server) carry(w http.ResponseWriter, r *http.Request) {
	p := carryPage{frame: s.frame(r, "now", "Bring a branch's records here"), Branch: r.URL.Query().Get("branch")}
	var err error
	p.Carried, err = s.p.Carry(r.Context(), project.CarryRequest{Branch: p.Branch, DryRun: true})
	if err = s.pulsed(r, &p.frame, err); err != nil {
		s.fail(w, r, "now", err)
		return
	}
	s.render(w, http.StatusOK, "carry", p)
}

func (s *Server) doCarry(w http.ResponseWriter, r *http.Request) {
	v := r.PostForm
	recovery := v.Get("recovery")
	_, err := s.p.Carry(r.Context(), project.CarryRequest{Branch: v.Get("branch"), ExpectedRecovery: &recovery, Key: actionKey(v.Get("key"), "carry:"+v.Get("branch"))})
	if err != nil {
		s.fail(w, r, "now", err)
		return
	}
	http.Redirect(w, r, s.gate.prefix+"?did=carry", http.StatusSeeOther)
}
