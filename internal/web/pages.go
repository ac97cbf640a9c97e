package web

import (
	"context"
	"html/template"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"holdfast/internal/ledger"
	"holdfast/internal/project"
)

// Records of each section on the first page, and of a page of a list.
const (
	perSection = 8
	// overviewReceipts are the newest receipts, whose checks the first page shows.
	overviewReceipts = 30
	perPage          = 50
	deepest          = 1000 // records that a list can be paged through
)

// overview is the page Now.
func (s *Server) overview(w http.ResponseWriter, r *http.Request) {
	f := s.frame(r, "now", "Now")
	o, err := s.p.Overview(r.Context(), perSection)
	if err = read(&f, err); err != nil {
		s.fail(w, r, "now", err)
		return
	}
	f.Pulse = o.Pulse
	hs, _, err := s.p.CheckHistories(r.Context(), overviewReceipts)
	if err = read(&f, err); err != nil {
		s.fail(w, r, "now", err)
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), s.lookTime)
	defer cancel()
	s.render(w, http.StatusOK, "now", struct {
		frame
		O      project.Overview
		Fresh  bool
		Checks []checkShown
	}{f, o, o.Ledger == "", s.shown(ctx, hs)})
}

// groups are the lists that the sections lead to.
var groups = map[string]struct {
	title string
	kinds []string
	state ledger.FindState
}{
	"goals":                       {"Goals", []string{ledger.KindGoal}, ledger.FindOpen},
	"next actions":                {"Next actions", []string{ledger.KindNext}, ledger.FindOpen},
	"open questions":              {"Open questions", []string{ledger.KindQuestion}, ledger.FindOpen},
	"answers and decisions":       {"Answers and decisions", []string{ledger.KindAnswer, ledger.KindDecision}, ledger.FindOpen},
	"notes":                       {"Notes", []string{ledger.KindNote}, ledger.FindOpen},
	"finished in the last 7 days": {"Finished", nil, ledger.FindFinished},
	"retracted":                   {"Retracted", nil, ledger.FindRetracted},
}

type listPage struct {
	frame
	Name       string
	Items      []project.Item
	Total      int
	From, To   int
	Prev, Next int // pages; 0: none
	TooDeep    bool
}

func (s *Server) list(w http.ResponseWriter, r *http.Request) {
	name := r.URL.Query().Get("section")
	g, ok := groups[name]
	if !ok {
		s.refuse(w, http.StatusNotFound, "There is no such list.")
		return
	}
	page := max(1, number(r, "page"))
	at := min(page-1, deepest/perPage-1) * perPage
	p := listPage{frame: s.frame(r, "now", g.title), Name: name}
	var err error
	p.Items, p.Total, p.Pulse, err = s.p.Page(r.Context(), project.PageRequest{Kinds: g.kinds, State: g.state, Offset: at, Limit: perPage})
	if err = read(&p.frame, err); err != nil {
		s.fail(w, r, "now", err)
		return
	}
	p.From, p.To = at+1, at+len(p.Items)
	if at > 0 {
		p.Prev = at / perPage
	}
	if p.To < p.Total && at+perPage < deepest {
		p.Next = at/perPage + 2
	}
	p.TooDeep = p.To < p.Total && p.Next == 0
	s.render(w, http.StatusOK, "list", p)
}

// number is a whole number of the query, 0 for none.
func number(r *http.Request, name string) int {
	n, err := strconv.Atoi(r.URL.Query().Get(name))
	if err != nil || n < 0 || n > 1<<40 {
		return 0
	}
	return n
}

// Versions of a record on one page.
const perRecord = 20

type version struct {
	project.Historic
	Changes []Change
	First   bool
}

type recordPage struct {
	frame
	Item     project.Item
	Versions []version // newest first
	Total    int
	Older    int64 // revision before which there are more; 0: none
	Here     bool  // some version is in force here
}

func (s *Server) record(w http.ResponseWriter, r *http.Request) {
	f := s.frame(r, "record", "")
	shown, err := s.p.Show(r.Context(), r.PathValue("id"), true)
	if err = s.pulsed(r, &f, err); err != nil {
		s.fail(w, r, "now", err)
		return
	}
	p := recordPage{frame: f, Item: shown.Item, Total: len(shown.History)}
	p.Title = kindWord(p.Item.Kind) + " " + p.Item.ID
	before := int64(number(r, "before"))
	h := shown.History
	for i := len(h) - 1; i >= 0; i-- {
		p.Here = p.Here || h[i].InForce
		if before > 0 && h[i].Revision >= before {
			continue
		}
		if len(p.Versions) == perRecord {
			p.Older = h[i].Revision + 1
			break
		}
		v := version{Historic: h[i], First: i == 0}
		switch {
		case len(h) == 1: // it stands above
		case i == 0:
			v.Changes = changes(nil, &h[i].Item)
		default:
			v.Changes = differing(changes(&previous(h, i).Item, &h[i].Item))
		}
		p.Versions = append(p.Versions, v)
	}
	s.render(w, http.StatusOK, "record", p)
}

// previous is the version that the i-th replaced, else the one before it.
func previous(h []project.Historic, i int) *project.Historic {
	for j := i - 1; j >= 0; j-- {
		if h[j].Revision == h[i].Replaces {
			return &h[j]
		}
	}
	return &h[i-1]
}

func differing(cs []Change) []Change {
	var out []Change
	for _, c := range cs {
		if !c.Same {
			out = append(out, c)
		}
	}
	return out
}

// Entries of a page of the timeline.
const perTimeline = 50

type timelinePage struct {
	frame
	Entries             []project.LogEntry
	Kind, Branch, Actor string
	Before              int64
	Older               string       // cursor
	Query               template.URL // the filters, for links
	OlderQuery          template.URL
	Branches, Actors    []string // seen on this page
	Kinds               []string
}

func (s *Server) timeline(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	p := timelinePage{frame: s.frame(r, "timeline", "Timeline"), Kind: q.Get("kind"), Branch: q.Get("branch"), Actor: q.Get("actor"), Before: int64(number(r, "before"))}
	p.Kinds = append(append([]string{}, ledger.Kinds[:]...), ledger.TypeCheck, ledger.TypeConfirm, ledger.TypeRetract, ledger.TypeRestore, ledger.TypeRecover, ledger.TypeCarry)
	var err error
	p.Entries, p.Older, err = s.p.Timeline(r.Context(), project.TimelineRequest{Actor: p.Actor,
		LogRequest: project.LogRequest{Kind: p.Kind, Branch: p.Branch, Before: p.Before, Limit: perTimeline}})
	if err = s.pulsed(r, &p.frame, err); err != nil {
		s.fail(w, r, "timeline", err)
		return
	}
	p.links()
	s.render(w, http.StatusOK, "timeline", p)
}

// links makes the addresses that keep the filters, and what they can be set to.
func (p *timelinePage) links() {
	v := url.Values{}
	for name, value := range map[string]string{"kind": p.Kind, "branch": p.Branch, "actor": p.Actor} {
		if value != "" {
			v.Set(name, value)
		}
	}
	p.Query = template.URL(v.Encode()) // escaped by Encode
	v.Set("before", p.Older)
	p.OlderQuery = template.URL(v.Encode())
	p.Actors = []string{"person", "agent"}
	for i := range p.Entries {
		e := &p.Entries[i]
		if e.Branch != "" && !slices.Contains(p.Branches, e.Branch) {
			p.Branches = append(p.Branches, e.Branch)
		}
		if e.Actor.Client != "" && !slices.Contains(p.Actors, e.Actor.Client) {
			p.Actors = append(p.Actors, e.Actor.Client)
		}
	}
}

type searchPage struct {
	frame
	Q, Kind string
	All     bool
	History bool
	Hidden  bool // also what was retracted
	Found   project.Found
	Asked   bool
	Kinds   []string
	Problem string
}

// unfinished lets the last word of a query that is still being typed go on.
func unfinished(q string) string {
	last := strings.LastIndexFunc(q, unicode.IsSpace) + 1
	word := q[last:]
	for _, r := range word {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			return q
		}
	}
	if utf8.RuneCountInString(word) < 3 || strings.Count(q, `"`)%2 == 1 {
		return q
	}
	return q + "*"
}

func (s *Server) search(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	p := searchPage{frame: s.frame(r, "search", "Search"), Q: clip(q.Get("q"), 500), Kind: q.Get("kind"), All: q.Get("all") != "", History: q.Get("history") != "",
		Hidden: q.Get("retracted") != "", Kinds: append(append([]string{}, ledger.Kinds[:]...), ledger.CategoryCheck)}
	p.Asked = p.Q != ""
	var err error
	if p.Asked {
		query := p.Q
		if q.Get("typing") != "" {
			query = unfinished(query)
		}
		sr := project.SearchRequest{Query: query, AllBranches: p.All, History: p.History, Retracted: p.Hidden, Limit: 20, Cursor: q.Get("cursor")}
		if p.Kind != "" {
			sr.Kinds = []string{p.Kind}
		}
		p.Found, err = s.p.Search(r.Context(), sr)
		if err != nil {
			if e := project.Explain(err); e.Exit == project.ExitUsage {
				p.Problem, err = e.Message, nil
			}
		}
	}
	if err = s.pulsed(r, &p.frame, err); err != nil {
		s.fail(w, r, "search", err)
		return
	}
	s.render(w, http.StatusOK, "search", p)
}
