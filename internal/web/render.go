package web

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"html/template"
	"net/http"

	"holdfast/internal/project"
)

//go:embed templates static
var assets embed.FS

// pages are the parsed templates, each page with the layout.
type pages struct{ byName map[string]*template.Template }

var pageNames = []string{"now", "list", "record", "edit", "conflict", "timeline", "checks", "transactions", "transaction", "recovery", "map", "search", "carry", "problem", "notdone"}

func parsePages() (*pages, error) {
	base, err := template.New("base").Funcs(functions).ParseFS(assets, "templates/layout.html", "templates/parts.html")
	if err != nil {
		return nil, fmt.Errorf("parse templates: %w", err)
	}
	p := &pages{map[string]*template.Template{}}
	add := func(name string, from *template.Template) error {
		t, err := from.Clone()
		if err == nil {
			t, err = t.ParseFS(assets, "templates/"+name+".html")
		}
		if err != nil {
			return fmt.Errorf("parse template %s: %w", name, err)
		}
		p.byName[name] = t
		return nil
	}
	for _, name := range pageNames {
		if err := add(name, base); err != nil {
			return nil, err
		}
	}
	for _, name := range []string{"login", "refused"} {
		if err := add(name, template.New("bare").Funcs(functions)); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// render writes a page in one piece: a template that fails leaves no half page.
func (s *Server) render(w http.ResponseWriter, status int, name string, data any) {
	root := "layout"
	if name == "login" || name == "refused" {
		root = "page"
	}
	var b bytes.Buffer
	if err := s.pages.byName[name].ExecuteTemplate(&b, root, data); err != nil {
		http.Error(w, "This page could not be shown.", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Content-Length", fmt.Sprint(b.Len()))
	w.WriteHeader(status)
	_, _ = w.Write(b.Bytes()) // a browser that left wants nothing more
}

// frame is what every page has around its own content.
type frame struct {
	Base    string // prefix of all paths
	Page    string // name of the page in the navigation
	Title   string
	Project string
	Token   string
	Key     string // idempotency key for the forms of this page
	Agent   string // the agent that started the view; empty: a person did
	Pulse   project.Pulse
	Trouble *project.Problem // the page shows only what verifies
	Note    string           // what was just done
}

func (s *Server) frame(r *http.Request, page, title string) frame {
	key, err := s.gate.secret()
	if err != nil {
		key = "" // a save without a key is refused by the form's check
	}
	f := frame{Base: s.gate.prefix, Page: page, Title: title, Project: s.p.Name(), Token: s.gate.token, Key: key}
	if !s.p.ByPerson() {
		f.Agent = s.p.CallerName()
	}
	f.Note = notes[r.URL.Query().Get("did")]
	return f
}

// notes are what a page can say was just done.
var notes = map[string]string{
	"saved": "Saved.", "done": "Marked as done.", "drop": "Given up.", "retract": "Retracted. It is hidden, not deleted, and can be restored.",
	"restore": "Restored.", "confirm": "Confirmed: you vouch for it.", "carry": "Brought here.", "txn-restore": "Put back. What was there before was kept first.", "txn-reopen": "A new transaction follows the blocked one, with a fresh look and a fresh budget.", "txn-abandon": "Given up. It counts for nothing from here on.", "recover": "Recovered. What you see is the state that was brought back; nothing was erased.",
}

// fail shows a problem in a page of its own.
func (s *Server) fail(w http.ResponseWriter, r *http.Request, page string, err error) {
	e := project.Explain(err)
	f := s.frame(r, page, "That did not work")
	f.Pulse, _ = s.p.Pulse(r.Context()) // what went wrong is being told already
	s.render(w, statusOf(&e), "problem", struct {
		frame
		Problem project.Problem
	}{f, e})
}

// statusOf is the HTTP status that goes with a problem.
func statusOf(e *project.Problem) int {
	switch {
	case e.Code == "not_found":
		return http.StatusNotFound
	case e.Exit == project.ExitConflict:
		return http.StatusConflict
	case e.Exit == project.ExitUsage, e.Exit == project.ExitRefused, e.Exit == project.ExitBlocked:
		return http.StatusUnprocessableEntity
	case e.Exit == project.ExitDamaged, e.Exit == project.ExitBusy:
		return http.StatusServiceUnavailable
	}
	return http.StatusInternalServerError
}

// read splits an error of reading: one that came with an answer is shown above
// it, any other ends the page.
func read(f *frame, err error) error {
	if project.Incomplete(err) {
		e := project.Explain(err)
		f.Trouble = &e
		return nil
	}
	return err
}

// pulsed completes a page whose content came with err by the ledger's pulse, and
// gives what ends the page.
func (s *Server) pulsed(r *http.Request, f *frame, err error) error {
	if err = read(f, err); err != nil {
		return err
	}
	f.Pulse, err = s.p.Pulse(r.Context())
	return read(f, err)
}

func tooLarge(err error) bool {
	_, ok := errors.AsType[*http.MaxBytesError](err)
	return ok
}
