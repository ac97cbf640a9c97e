package recovery

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"holdfast/internal/filelog"
	"holdfast/internal/ledger"
)

// How a plan is applied.
const (
	ByNothing    = "nothing"    // the ledger is whole, and nothing is newer than it
	ByEntry      = "entry"      // a recover entry in the ledger as it is
	ByGeneration = "generation" // a new generation beside the old ones
)

// ErrNothing: no source holds a chain of entries that verifies.
var ErrNothing = errors.New("no source holds a beginning of the ledger that verifies")

// NoRevisionError: the revision is not in the chain that would be recovered.
type NoRevisionError struct{ Rev, Head int64 }

func (e *NoRevisionError) Error() string {
	return fmt.Sprintf("there is no revision %d: the newest that verifies is %d", e.Rev, e.Head)
}

// NoSourceError: --from names nothing that is a source.
type NoSourceError struct{ Path string }

func (e *NoSourceError) Error() string { return "it is no source of this ledger: " + e.Path }

// OtherLedgerError: the export is of another ledger than the one here.
type OtherLedgerError struct{ Here, There string }

func (e *OtherLedgerError) Error() string {
	return "the export is of ledger " + e.There + ", and ledger " + e.Here + " is here"
}

// UsedError: a recovery with this fingerprint was applied.
type UsedError struct{ Rev int64 }

func (e *UsedError) Error() string {
	return fmt.Sprintf("the recovery with this fingerprint was applied, as revision %d", e.Rev)
}

// Want is what a recovery is asked for.
type Want struct {
	At   *int64 // the state as of a revision; nil: the newest
	From string // path of a source; empty: the best of all
	// KeepHits keeps what the screening finds in an export.
	KeepHits bool
	Heads    []ledger.Pos // further heads that somebody here saw, such as the index
	// Rejoin turns a transaction's entry that only the current ledger has into a
	// draft that says the same.
	Rejoin func(*ledger.Entry) (ledger.Draft, bool)
	// Hits tells whether the screening finds a secret in an entry.
	Hits func(*ledger.Entry) bool
}

// Change is one entry that a recovery takes out of force.
type Change struct {
	Revision int64    `json:"revision"`
	Type     string   `json:"type"`
	At       string   `json:"at"`
	IDs      []string `json:"ids"`
}

// maxChanges is how many lost or hidden entries are listed one by one.
const maxChanges = 1000

// Plan is a recovery as it would be applied.
type Plan struct {
	By          string
	Ledger      string
	Source      *Source
	Target      ledger.Pos // head of what is brought back
	Base        int64      // the state goes back to it
	Sealed      bool       // an unfinished recovery goes on
	Replaces    []ledger.Pos
	Joined      int // entries of the current ledger alone that go along
	Erased      []int64
	Hits        []int64 // revisions of an export that come without their text
	Lost        []Change
	Hidden      []Change
	MoreLost    int
	MoreHidden  int
	Fingerprint string
	Recovery    string // id of the recovery generation it makes

	s      *Survey
	chain  []int32
	joined []int32
	erase  map[int32]bool
	redact []int64 // revisions that a new redact entry must name
	want   Want
}

// Plan works out the recovery that is asked for. It changes nothing.
func (s *Survey) Plan(ctx context.Context, w Want) (*Plan, error) {
	p := &Plan{s: s, want: w, Ledger: s.Ledger, By: ByGeneration}
	if s.export != nil && s.Ledger != "" && s.export.Ledger != s.Ledger {
		return nil, &OtherLedgerError{Here: s.Ledger, There: s.export.Ledger}
	}
	if s.Ledger == "" && s.export != nil {
		p.Ledger = s.export.Ledger
	}
	end, err := p.choose()
	if err != nil {
		return nil, err
	}
	p.chain = s.g.chain(end)
	p.Target, p.Base = s.pos(end), s.g.nodes[end].rev
	if at := p.want.At; at != nil { // an export may have set it
		if *at > p.Base || *at < 0 {
			return nil, &NoRevisionError{Rev: *at, Head: p.Base}
		}
		p.Base = *at
	}
	p.how(end)
	for _, gen := range s.Gens {
		p.Sealed = p.Sealed || gen.Name == s.current && gen.Sealed
	}
	if p.By == ByGeneration {
		p.replaces()
		if err := p.join(ctx); err != nil {
			return nil, err
		}
	}
	if err := p.changes(ctx); err != nil {
		return nil, err
	}
	return p, p.sign()
}

// choose finds the end of the chain that is brought back.
func (p *Plan) choose() (int32, error) {
	s := p.s
	if s.export != nil {
		end := s.g.find(s.export.Head.Hash)
		p.Source = s.Sources[len(s.Sources)-1]
		if end < 0 || !s.g.nodes[end].is(chained) {
			return -1, ErrNothing
		}
		// One that the ledger here goes on from is a revision of its chain.
		if s.Healthy() {
			if cur := s.g.find(s.Head.Hash); cur >= 0 && slices.Contains(s.g.chain(cur), end) {
				if p.want.At == nil {
					p.want.At = &s.g.nodes[end].rev
				}
				return cur, nil
			}
		}
		return end, nil
	}
	if p.want.From != "" {
		for _, src := range s.Sources {
			if src.Path == p.want.From && src.Head.Hash != "" {
				p.Source = src
				return s.g.find(src.Head.Hash), nil
			}
		}
		return -1, &NoSourceError{Path: p.want.From}
	}
	end := s.g.best()
	if end < 0 {
		return -1, ErrNothing
	}
	for _, src := range s.Sources {
		if src.Head.Hash != "" && idOf(src.Head.Hash) == s.g.nodes[end].hash {
			p.Source = src
			break
		}
	}
	if p.Source == nil { // it is put together from several
		p.Source = &Source{Kind: "several", Ledger: p.Ledger, Head: s.pos(end)}
	}
	return end, nil
}

// how decides whether an entry will do.
func (p *Plan) how(end int32) {
	if !p.s.Healthy() || idOf(p.s.Head.Hash) != p.s.g.nodes[end].hash {
		return
	}
	p.By = ByEntry
	if p.want.At == nil || p.Base == p.s.Head.Rev {
		p.By = ByNothing
	}
}

// replaces lists the heads that give way: of the current generation, of every
// mirror, and what else was seen here.
func (p *Plan) replaces() {
	in := map[string]bool{}
	add := func(pos ledger.Pos) {
		i := p.s.g.find(pos.Hash)
		if pos.Hash == "" || in[pos.Hash] || i >= 0 && pos.Rev < int64(len(p.chain)) && p.chain[pos.Rev] == i {
			return
		}
		in[pos.Hash] = true
		p.Replaces = append(p.Replaces, pos)
	}
	add(p.s.Head)
	last := int32(-1)
	for i := range p.s.g.nodes {
		n := &p.s.g.nodes[i]
		if n.is(inCurrent) && !n.is(isSealed) && (last < 0 || n.rev > p.s.g.nodes[last].rev) {
			last = int32(i)
		}
	}
	if last >= 0 {
		add(p.s.pos(last))
	}
	for _, src := range p.s.Sources {
		if src.Kind == SourceMirror {
			add(src.last)
		}
	}
	for _, pos := range p.want.Heads {
		add(pos)
	}
	slices.SortFunc(p.Replaces, func(a, b ledger.Pos) int { return int(a.Rev - b.Rev) })
}

// join finds what the current ledger alone says about the world or of a person's
// decisions, and what must lose its body.
func (p *Plan) join(ctx context.Context) error {
	g := p.s.g
	has := map[int32]bool{}
	for _, i := range p.chain {
		has[i] = true
	}
	x := p.s.log.Fetch()
	defer x.Close()
	for _, i := range g.order {
		n := &g.nodes[i]
		if has[i] || n.is(goesBack|isSealed|isRecover|isVoid|erased) || !n.is(inCurrent) || n.file < 0 || n.rev == 0 {
			continue
		}
		e, err := x.Entry(g.spot(i))
		if err != nil {
			return err
		}
		if _, ok := p.draft(&e); ok {
			p.joined = append(p.joined, i)
		}
	}
	p.Joined = len(p.joined)
	p.erase = map[int32]bool{}
	for i, by := range g.erasures() {
		if !has[i] {
			continue
		}
		p.erase[i] = true
		p.Erased = append(p.Erased, g.nodes[i].rev)
		if !has[by] {
			p.redact = append(p.redact, g.nodes[i].rev)
		}
	}
	if err := p.screen(ctx); err != nil {
		return err
	}
	slices.Sort(p.Erased)
	slices.Sort(p.redact)
	return nil
}

// draft is an entry of the current ledger alone, said anew.
func (p *Plan) draft(e *ledger.Entry) (ledger.Draft, bool) {
	if e.Txn != nil {
		if p.want.Rejoin == nil {
			return ledger.Draft{}, false
		}
		return p.want.Rejoin(e)
	}
	switch e.Type {
	case ledger.TypeAllow, ledger.TypeOpBegin, ledger.TypeOpEnd, ledger.TypeAdopt:
	default:
		return ledger.Draft{}, false // a redact entry is said anew for what it names here
	}
	b, there, err := e.Body()
	if err != nil || !there {
		return ledger.Draft{}, false
	}
	return ledger.Draft{Type: e.Type, At: e.Time(), HeadFields: e.HeadFields, Body: b}, true
}

// screen finds secrets in what only an export brings.
func (p *Plan) screen(ctx context.Context) error {
	if p.s.export == nil || p.want.Hits == nil || p.want.KeepHits {
		return nil
	}
	for e, err := range p.s.export.Lines(ctx) {
		if err != nil {
			return err
		}
		i := p.s.g.find(e.Hash)
		if e.BodyRaw == nil || p.erase[i] || p.s.g.nodes[i].file >= 0 || !p.want.Hits(&e) {
			continue
		}
		p.erase[i] = true
		p.Hits = append(p.Hits, e.Rev)
		p.redact = append(p.redact, e.Rev)
	}
	return nil
}

// changes lists what the recovery takes out of force: what the current generation
// alone has, and what lies behind the base.
func (p *Plan) changes(ctx context.Context) error {
	g := p.s.g
	x := p.s.log.Fetch()
	defer x.Close()
	has := map[int32]bool{}
	for _, i := range p.chain {
		has[i] = true
	}
	for _, i := range g.order {
		n := &g.nodes[i]
		if ctx.Err() != nil {
			return ctx.Err()
		}
		switch {
		case p.By == ByGeneration && n.is(inCurrent) && !has[i] && !n.is(isSealed) && !slices.Contains(p.joined, i):
			p.note(x, i, &p.Lost, &p.MoreLost)
		case has[i] && n.rev > p.Base && n.is(goesBack):
			p.note(x, i, &p.Hidden, &p.MoreHidden)
		}
	}
	return nil
}

func (p *Plan) note(x *filelog.Fetcher, i int32, list *[]Change, more *int) {
	if len(*list) == maxChanges {
		*more++
		return
	}
	c := Change{Revision: p.s.g.nodes[i].rev, IDs: []string{}}
	if spot := p.s.g.spot(i); spot.Path != "" {
		if e, err := x.Entry(spot); err == nil {
			c.Type, c.At, c.IDs = e.Type, e.At, idsOf(&e)
		}
	}
	*list = append(*list, c)
}

func idsOf(e *ledger.Entry) []string {
	b, there, err := e.Body()
	if err != nil || !there {
		return []string{}
	}
	return b.IDs()
}
