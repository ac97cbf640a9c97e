package web

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"holdfast/internal/ledger"
	"holdfast/internal/project"
)

// draft is a record as a form has it.
type draft struct {
	ID, Kind, Text, Answer, Why, Rejected, RevisitWhen, Supersedes, Cites, DoneWhen, Source string
	WasCites, WasRejected                                                                   string // as the form was made: what wasn't touched isn't sent
	Recheck                                                                                 bool   // the cited files were looked at again
	Revision                                                                                int64  // that it was based on; 0: a new record
	Recovery                                                                                string // generation that it was based on
}

// source is what a record says when a person names none.
const source = "written in the browser view"

func draftOf(it *project.Item, recovery string) draft {
	d := draft{ID: it.ID, Kind: it.Kind, Text: it.Text, Answer: it.Answer, Why: it.Why, RevisitWhen: it.RevisitWhen, Supersedes: it.Supersedes,
		Cites: lines(it.Cites), DoneWhen: it.DoneWhen, Source: it.Source, Revision: it.Revision, Recovery: recovery}
	var rejected []string
	for _, x := range it.Rejected {
		rejected = append(rejected, rejectedLine(x.Option, x.Why))
	}
	d.Rejected = lines(rejected)
	d.WasCites, d.WasRejected = d.Cites, d.Rejected
	return d
}

func rejectedLine(option, why string) string {
	if why == "" {
		return option
	}
	return option + " :: " + strings.ReplaceAll(why, "\n", " ")
}

func readDraft(v url.Values) draft {
	get := func(name string) string { return strings.ReplaceAll(v.Get(name), "\r\n", "\n") }
	d := draft{ID: strings.TrimSpace(get("id")), Kind: get("kind"), Text: get("text"), Answer: get("answer"), Why: get("why"), Rejected: get("rejected"),
		RevisitWhen: get("revisit_when"), Supersedes: strings.TrimSpace(get("supersedes")), Cites: get("cites"), DoneWhen: strings.TrimSpace(get("done_when")),
		Source: get("source"), WasCites: get("was_cites"), WasRejected: get("was_rejected"), Recheck: get("recheck") != "", Recovery: get("recovery")}
	d.Revision, _ = strconv.ParseInt(get("revision"), 10, 64) // a wrong one is a conflict
	if get("reviewed") != "" {                                // the version that stands there was looked at
		d.Recovery = get("latest_recovery")
		d.Revision, _ = strconv.ParseInt(get("latest_revision"), 10, 64)
	}
	return d
}

// item is the draft as a record, to be compared with another.
func (d *draft) item() *project.Item {
	it := &project.Item{ID: d.ID, Kind: d.Kind, Text: d.Text, Answer: d.Answer, Why: d.Why, RevisitWhen: d.RevisitWhen, Supersedes: d.Supersedes,
		Cites: split(d.Cites), DoneWhen: d.DoneWhen, Source: d.Source, Rejected: d.rejected()}
	return it
}

func (d *draft) rejected() []ledger.Rejected {
	out := []ledger.Rejected{}
	for _, l := range split(d.Rejected) {
		option, why, _ := strings.Cut(l, " :: ")
		out = append(out, ledger.Rejected{Option: option, Why: why})
	}
	return out
}

func split(s string) []string {
	out := []string{}
	for _, l := range strings.Split(s, "\n") {
		if l = strings.TrimSpace(l); l != "" {
			out = append(out, l)
		}
	}
	return out
}

// request is the draft as the hub takes it. Lists that weren't touched are left
// alone, so that cited files aren't hashed again. It depends on the form only: a
// repeat is the same request.
func (d *draft) request(key string) project.RecordRequest {
	q := project.RecordRequest{ID: d.ID, Kind: d.Kind, Text: &d.Text, Answer: &d.Answer, Why: &d.Why, RevisitWhen: &d.RevisitWhen,
		Supersedes: &d.Supersedes, DoneWhen: &d.DoneWhen, Source: &d.Source, Key: key, ExpectedRecovery: &d.Recovery}
	if d.Rejected != d.WasRejected {
		rejected := d.rejected()
		q.Rejected = &rejected
	}
	if d.Recheck || d.Cites != d.WasCites {
		cites := split(d.Cites)
		q.Cites = &cites
	}
	if d.Revision != 0 {
		q.ExpectedRevision = &d.Revision
	}
	return q
}

// name gives a new record an id: its kind, the first words of its text, and
// four digits that the form's key fixes, so that a repeat makes the same one.
func (d *draft) name(key string) {
	if d.ID != "" || d.Revision != 0 {
		return
	}
	sum := sha256.Sum256([]byte(key))
	slug := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9':
			return r
		case r >= 'A' && r <= 'Z':
			return r + 'a' - 'A'
		}
		return ' '
	}, clip(d.Text, 200))
	words := strings.Fields(slug)
	if len(words) > 4 {
		words = words[:4]
	}
	d.ID = clipASCII(strings.Join(append([]string{d.Kind}, words...), "-"), 60) + "-" + hex.EncodeToString(sum[:2])
}

func clipASCII(s string, n int) string { return strings.TrimRight(s[:min(len(s), n)], "-") }

// actionKey is the idempotency key of one of the actions that a page offers.
func actionKey(key, what string) string {
	if key == "" {
		return ""
	}
	sum := sha256.Sum256([]byte(key + "\x00" + what))
	return "view-" + hex.EncodeToString(sum[:16])
}

type editPage struct {
	frame
	Draft   draft
	New     bool
	Changed []string // cited files that changed
	Problem *project.Problem
	Kinds   []string
	FormID  string // names the draft in the tab's storage
}

func (s *Server) edit(w http.ResponseWriter, r *http.Request) {
	p := editPage{frame: s.frame(r, "now", "New record"), Kinds: ledger.Kinds[:]}
	u, err := s.p.Pulse(r.Context())
	if read(&p.frame, err) != nil {
		s.fail(w, r, "now", err)
		return
	}
	p.Pulse = u
	id := r.PathValue("id")
	if id == "" {
		kind := r.URL.Query().Get("kind")
		if !ledger.ValidKind(kind) {
			kind = ledger.KindNext
		}
		p.New, p.Draft = true, draft{Kind: kind, Recovery: u.Recovery, Source: source}
		p.Title = "New " + strings.ToLower(kindWord(kind))
	} else {
		it, err := s.p.Show(r.Context(), id, false)
		if read(&p.frame, err) != nil {
			s.fail(w, r, "now", err)
			return
		}
		p.Draft, p.Changed, p.Title = draftOf(&it.Item, u.Recovery), it.CitesChanged, "Correct "+it.ID
		if r.URL.Query().Get("as") == ledger.KindAnswer && it.Kind == ledger.KindQuestion {
			p.Draft.Kind, p.Title = ledger.KindAnswer, "Answer "+it.ID
		}
	}
	p.FormID = formID(&p.Draft)
	s.render(w, http.StatusOK, "edit", p)
}

func formID(d *draft) string {
	if d.Revision == 0 {
		return "new:" + d.Kind
	}
	return "record:" + d.ID
}

// save takes a form of a record. Whatever stands in the way, the draft comes
// back with the answer.
func (s *Server) save(w http.ResponseWriter, r *http.Request) {
	d, key := readDraft(r.PostForm), r.PostForm.Get("key")
	fid := r.PostForm.Get("form")
	if key == "" {
		s.refuse(w, http.StatusBadRequest, "The form has no key; nothing was saved. Reload the page.")
		return
	}
	typed := d
	d.name(key)
	saved, err := s.p.Record(r.Context(), []project.RecordRequest{d.request(key)})
	if err == nil {
		http.Redirect(w, r, s.gate.prefix+"record/"+url.PathEscape(saved.ID)+"?did=saved", http.StatusSeeOther)
		return
	}
	e := project.Explain(err)
	if (e.Code == "conflict" || e.Code == "recovered") && s.conflict(w, r, d, fid, e) {
		return
	}
	p := editPage{frame: s.frame(r, "now", "Not saved"), Draft: typed, New: typed.Revision == 0, Problem: &e, Kinds: ledger.Kinds[:], FormID: fid}
	p.Pulse, _ = s.p.Pulse(r.Context()) // what went wrong is being told already
	s.render(w, statusOf(&e), "edit", p)
}

type conflictPage struct {
	frame
	Draft     draft
	Latest    project.Item
	Gone      bool // no version stands here
	Changes   []Change
	Recovered bool
	Problem   project.Problem
	FormID    string
}

// conflict shows the latest version beside the draft. It reports whether there
// is anything to show.
func (s *Server) conflict(w http.ResponseWriter, r *http.Request, d draft, fid string, e project.Problem) bool {
	p := conflictPage{frame: s.frame(r, "now", "Changed meanwhile"), Draft: d, Recovered: e.Code == "recovered", Problem: e, FormID: fid}
	var err error
	if p.Pulse, err = s.p.Pulse(r.Context()); read(&p.frame, err) != nil {
		return false
	}
	cur, err := s.p.Show(r.Context(), d.ID, false)
	if read(&p.frame, err) != nil {
		p.Gone = true
	} else {
		p.Latest = cur.Item
	}
	if p.Recovered {
		p.Title = "Recovered meanwhile"
	}
	if !p.Gone {
		mine := d.item()
		mine.Status, mine.WithoutEvidence = p.Latest.Status, p.Latest.WithoutEvidence // no form changes these
		p.Changes = changes(&p.Latest, mine)
	}
	s.render(w, http.StatusConflict, "conflict", p)
	return true
}
