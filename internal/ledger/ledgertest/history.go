package ledgertest

import (
	"fmt"
	"slices"

	"pgregory.net/rapid"

	"holdfast/internal/ledger"
)

// History is a random ledger and the code that it grew with. Draft n becomes
// revision n.
type History struct {
	Drafts   []ledger.Draft
	Unsealed []int64 // revisions to be left without a seal: void, if their type needs one
	Erased   []int64 // revisions whose bodies a redact entry names
	World    *World
}

// Entries encodes the history: sealed with s but for the unsealed ones, and
// with the bodies erased that were redacted.
func (h History) Entries(s ledger.Sealer) []ledger.Entry {
	var es []ledger.Entry
	for n, d := range h.Drafts {
		seal := s
		if slices.Contains(h.Unsealed, int64(n)) {
			seal = nil
		}
		es = Extend(es, seal, d)
	}
	for i := range es {
		if slices.Contains(h.Erased, es[i].Rev) {
			es[i] = es[i].Erase()
		}
	}
	return es
}

// Readers lists places to read from: each branch, the branches that are gone,
// a few commits without a branch, and outside any repository.
func (h History) Readers() []Reader {
	var out []Reader
	for _, b := range h.World.names {
		p, c := h.World.On(b)
		out = append(out, Reader{"on " + b, p, c})
	}
	for n := 0; n < h.World.Commits(); n += 3 {
		p, c := h.World.Detached(n)
		out = append(out, Reader{fmt.Sprintf("detached at commit %d", n), p, c})
	}
	return append(out, Reader{"outside", ledger.Place{NoGit: true}, nil})
}

// Reader is a place with the code around it.
type Reader struct {
	Name  string
	Place ledger.Place
	Code  ledger.Code
}

// Drafts generates drafts that make sense one after another: corrections of
// records that exist, recoveries of revisions that exist. Draft n is meant for
// revision n.
func Drafts() *rapid.Generator[[]ledger.Draft] {
	return rapid.Map(Histories(), func(h History) []ledger.Draft { return h.Drafts })
}

// Histories generates ledgers of up to 40 entries over a few records and
// branches, so that they meet.
func Histories() *rapid.Generator[History] {
	return rapid.Custom(func(t *rapid.T) History {
		g := &growth{t: t, w: NewWorld("main"), h: History{}}
		g.h.World = g.w
		g.push(First())
		for range rapid.IntRange(0, 39).Draw(t, "entries") {
			for range rapid.IntRange(0, 2).Draw(t, "changes of the code") {
				g.code()
			}
			g.entry()
		}
		return g.h
	})
}

// growth is a history in the making. It folds what it makes, so that what
// comes next can build on what stands.
type growth struct {
	t       *rapid.T
	w       *World
	h       History
	chain   []ledger.Entry
	state   ledger.State
	records int
}

func (g *growth) push(d ledger.Draft) {
	n := int64(len(g.h.Drafts))
	var seal ledger.Sealer = Key()
	if n > 0 && d.Type != ledger.TypeRedact && g.oneIn(8) {
		seal = nil
		g.h.Unsealed = append(g.h.Unsealed, n)
	}
	if g.oneIn(10) { // a clock that was wrong
		d.At = At(int(n) + rapid.SampledFrom([]int{-100000, -3, 5, 150000000}).Draw(g.t, "clock"))
	}
	g.h.Drafts = append(g.h.Drafts, d)
	g.chain = Extend(g.chain, seal, d)
	if err := g.state.Apply(g.chain[n]); err != nil {
		g.t.Fatalf("apply revision %d: %v", n, err)
	}
}

func (g *growth) oneIn(n int) bool { return rapid.IntRange(1, n).Draw(g.t, "one in") == 1 }

func (g *growth) branch() string { return rapid.SampledFrom(g.w.Branches()).Draw(g.t, "branch") }

// code changes the repository. The default branch is never deleted.
func (g *growth) code() {
	a, b := g.branch(), g.branch()
	switch rapid.IntRange(0, 9).Draw(g.t, "code") {
	case 0, 1, 2, 3:
		g.w.Commit(a)
	case 4, 5:
		g.w.Fork(rapid.SampledFrom([]string{"feature/x", "feature/y", "fix", "main-2"}).Draw(g.t, "new branch"), a)
	case 6:
		g.w.Merge(a, b)
	case 7:
		g.w.FastForward(a, b)
	case 8:
		g.w.Rewrite(a)
	case 9:
		if a != g.w.Default {
			g.w.Delete(a)
		}
	}
}

// place is where the next entry is made, and what its maker sees.
func (g *growth) place() (ledger.Git, *ledger.Scope) {
	p, c := g.w.On(g.branch())
	switch rapid.IntRange(0, 19).Draw(g.t, "place") {
	case 0:
		p, c = ledger.Place{NoGit: true}, nil
	case 1:
		p, c = g.w.Detached(rapid.IntRange(0, g.w.Commits()-1).Draw(g.t, "commit"))
	case 2:
		p, c = g.w.On("unborn")
	}
	s, err := Scope(g.t.Context(), &g.state, p, c)
	if err != nil {
		g.t.Fatal(err)
	}
	return p.Git, s
}

func (g *growth) entry() {
	git, scope := g.place()
	d := g.draft(scope)
	if g.oneIn(4) {
		d = WithKey(d, fmt.Sprintf("key-%d", rapid.IntRange(0, 3).Draw(g.t, "key")))
	}
	if d.Body.Actor.Kind == ledger.Agent && g.oneIn(3) {
		d.Body.Actor = Person()
	}
	d.Recovery = g.recovery(d)
	g.push(On(d, git))
}

func (g *growth) recovery(d ledger.Draft) string {
	if d.Type == ledger.TypeRecover {
		return d.Recovery
	}
	return g.state.Recovery()
}

func (g *growth) draft(scope *ledger.Scope) ledger.Draft {
	head := g.state.Head().Rev
	switch n := rapid.IntRange(0, 29).Draw(g.t, "entry"); n {
	case 0, 1:
		return Carry(g.branch())
	case 2, 3:
		return Recover(fmt.Sprintf("generation-%d", head+1), rapid.Int64Range(0, head).Draw(g.t, "base"))
	case 4:
		return Allow(fmt.Sprintf("value-%d", head))
	case 5:
		if g.oneIn(4) {
			return Adopt(fmt.Sprintf("%032x", head))
		}
		return Check("unit", ledger.Passed)
	case 6:
		return TxnBegin(fmt.Sprintf("t-%d", head))
	case 7:
		if g.oneIn(3) {
			return Future()
		}
		return Check("lint", ledger.Failed)
	case 8, 9, 10, 11:
		return g.create()
	default:
		return g.change(n, scope)
	}
}

// change builds on a record that the maker sees.
func (g *growth) change(n int, scope *ledger.Scope) ledger.Draft {
	page, err := g.state.Find(g.t.Context(), ledger.Query{Scope: scope, State: ledger.FindAny})
	if err != nil {
		g.t.Fatal(err)
	}
	if len(page.Items) == 0 {
		return g.create()
	}
	cur := rapid.SampledFrom(page.Items).Draw(g.t, "record")
	d := g.changeOf(n, &cur)
	if c := d.Body.Change; c != nil {
		c.Settles = settled(&cur)
	}
	return d
}

func settled(cur *ledger.Current) []int64 {
	var out []int64
	for _, v := range cur.Diverged {
		out = append(out, v.Rev)
	}
	return out
}

func (g *growth) changeOf(n int, cur *ledger.Current) ledger.Draft {
	ref := ledger.Ref{ID: cur.ID, Rev: cur.Rev}
	switch n {
	case 12, 13:
		return Confirm(ref)
	case 14:
		return Confirm(ref, ledger.Ref{ID: cur.ID, Rev: cur.ContentRev})
	case 15, 16:
		if g.redactable(cur.ContentRev) {
			ref.Rev = cur.ContentRev
			g.h.Erased = append(g.h.Erased, ref.Rev)
			return Redact(ref)
		}
	case 17, 18, 19:
		return Retract(cur.ID, cur.Rev)
	case 20, 21:
		return Restore(cur.ID, cur.Rev)
	case 22, 23, 24:
		s := rapid.SampledFrom([]string{ledger.StatusDone, ledger.StatusDropped, ledger.StatusOpen}).Draw(g.t, "status")
		return Status(cur.ID, cur.Rev, s)
	}
	return g.correct(cur)
}

// redactable: the body is there, and is that of a record.
func (g *growth) redactable(rev int64) bool {
	return g.h.Drafts[rev].Type == ledger.TypeRecord && !slices.Contains(g.h.Erased, rev)
}

func (g *growth) correct(cur *ledger.Current) ledger.Draft {
	r := cur.Record
	r.Text = g.text()
	if r.Kind == "" { // it was redacted
		r = Record(cur.ID, ledger.KindNote, r.Text)
	}
	if r.Kind == ledger.KindQuestion && g.oneIn(2) {
		r.Kind, r.Answer = ledger.KindAnswer, g.text()
	}
	r.Replaces, r.Settles, r.WithoutEvidence = cur.Rev, settled(cur), ""
	return Save(r)
}

func (g *growth) create() ledger.Draft {
	var rs []ledger.Record
	for range rapid.IntRange(1, 3).Draw(g.t, "records") {
		g.records++
		r := Record(fmt.Sprintf("r-%d", g.records), rapid.SampledFrom(ledger.Kinds[:]).Draw(g.t, "kind"), g.text())
		if g.records > 1 && g.oneIn(5) {
			r.Supersedes = fmt.Sprintf("r-%d", rapid.IntRange(1, g.records-1).Draw(g.t, "superseded"))
		}
		if r.Kind == ledger.KindDecision && g.oneIn(2) {
			r.Rejected = []ledger.Rejected{{Option: g.text(), Why: g.text()}}
			r.RevisitWhen = g.text()
		}
		if g.oneIn(4) {
			r.Cites = []ledger.Cite{{Path: "docs/a.md", SHA256: digest(r.Text)}}
		}
		rs = append(rs, r)
	}
	d := Save(rs...)
	if g.oneIn(10) {
		d.Type = ledger.TypeMerge
		d.Body.Origin = &ledger.Origin{Ledger: LedgerID, Rev: 7}
	}
	return d
}

func (g *growth) text() string {
	return rapid.SampledFrom([]string{
		"Ship the importer", "Use one writer, not two", "Why is the build slow?", "naïve café 日本語 🙂",
		"line\u2028separator", "<b>&\"quoted\"</b>", "The lock is never removed", strings20,
	}).Draw(g.t, "text")
}

const strings20 = "twenty words of text that is long enough to be cut in a table and to be found again by a search for words"
