package web

import (
	"net/http"
	"net/url"
	"strings"

	"holdfast/internal/project"
)

// Transactions on one page.
const perTransactions = 100

type transactionsPage struct {
	frame
	List  project.TxnList
	All   bool
	More  int // that are not shown
	Shown *project.TxnShown
	Typed string // what was typed to confirm
	Said  string // the reason that was given

	// Restore is what putting the originals back would do, where that was asked.
	Restore *project.TxnRestored

	Problem *project.Problem
}

// transactions lists them, unfinished ones first, or shows one.
func (s *Server) transactions(w http.ResponseWriter, r *http.Request) {
	p := transactionsPage{frame: s.frame(r, "transactions", "Transactions"), All: r.URL.Query().Get("all") != ""}
	var err error
	p.List, err = s.p.TxnList(r.Context(), p.All)
	if err = s.pulsed(r, &p.frame, err); err != nil {
		s.fail(w, r, "transactions", err)
		return
	}
	if n := len(p.List.Transactions); n > perTransactions {
		p.More, p.List.Transactions = n-perTransactions, p.List.Transactions[:perTransactions]
	}
	s.render(w, http.StatusOK, "transactions", p)
}

func (s *Server) transaction(w http.ResponseWriter, r *http.Request) {
	s.showTransaction(w, r, r.PathValue("id"), transactionsPage{})
}

// showTransaction shows one with a fresh look, and what stood in the way of a
// decision about it.
func (s *Server) showTransaction(w http.ResponseWriter, r *http.Request, id string, p transactionsPage) {
	p.frame = s.frame(r, "transactions", "Transaction "+id)
	shown, err := s.p.TxnShow(r.Context(), id)
	if err = s.pulsed(r, &p.frame, err); err != nil {
		s.fail(w, r, "transactions", err)
		return
	}
	p.Shown = &shown
	if r.URL.Query().Has("restore") || r.PostFormValue("do") == "restore" {
		preview, err := s.p.TxnRestore(r.Context(), project.TxnRestoreRequest{Transaction: id})
		if err != nil {
			s.fail(w, r, "transactions", err)
			return
		}
		p.Restore = &preview
	}
	status := http.StatusOK
	if p.Problem != nil {
		status = statusOf(p.Problem)
	}
	s.render(w, status, "transaction", p)
}

// decide reopens a blocked transaction, or gives one up. The person types its
// id.
func (s *Server) decide(w http.ResponseWriter, r *http.Request) {
	v, id := r.PostForm, r.PathValue("id")
	p := transactionsPage{Typed: strings.TrimSpace(v.Get("typed")), Said: strings.TrimSpace(v.Get("reason"))}
	if p.Typed != id {
		p.Problem = &project.Problem{Code: "usage", Message: "the name that was typed is not that of this transaction; nothing was changed", Next: "type its name as it stands at the top", Exit: project.ExitUsage}
		s.showTransaction(w, r, id, p)
		return
	}
	err := project.ErrPersonOnly
	next := id
	if s.p.ByPerson() {
		if v.Get("do") == "restore" && v.Get("expect") == "" { // that would only be a preview
			s.refuse(w, http.StatusBadRequest, "The form is not one of these pages; nothing was changed.")
			return
		}
		switch v.Get("do") {
		case "reopen":
			answer, rerr := s.p.TxnReopen(r.Context(), id, p.Said)
			next, err = answer.Transaction, rerr
		case "restore":
			_, err = s.p.TxnRestore(r.Context(), project.TxnRestoreRequest{Transaction: id, Reason: p.Said, Expect: v.Get("expect")})
		case "abandon":
			_, err = s.p.TxnAbandon(r.Context(), id, p.Said)
		default:
			s.refuse(w, http.StatusBadRequest, "The form is not one of these pages; nothing was changed.")
			return
		}
	}
	if err != nil {
		e := project.Explain(err)
		p.Problem = &e
		s.showTransaction(w, r, id, p)
		return
	}
	http.Redirect(w, r, s.gate.prefix+"transactions/"+url.PathEscape(next)+"?did=txn-"+v.Get("do"), http.StatusSeeOther)
}
