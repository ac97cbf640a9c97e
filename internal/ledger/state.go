package ledger

import (
	"cmp"
	"context"
	"slices"
	"time"
)

// Reader is what can be asked of a state, whoever holds it. State is the
// definition; a cache must give the same answers.
type Reader interface {
	Head() Pos
	LedgerID() string
	Recovery() string // recovery generation, empty before the first recovery

	// Versions gives the versions of one record that count, oldest first.
	Versions(ctx context.Context, id string) ([]Version, error)
	// KeyUse finds the save that an idempotency key (by its hash) was used for:
	// the first that isn't void and that no recovery took back.
	KeyUse(ctx context.Context, keySHA256 string) (KeyUse, bool, error)
	// Commits lists where entries of any type were made, each place once. Void
	// entries and those made without a repository are left out.
	Commits(ctx context.Context) ([]CommitUse, error)
	Carries(ctx context.Context) ([]CarryUse, error)
	Allows(ctx context.Context) ([]Allow, error)
	// Find lists records as they stand in a scope.
	Find(ctx context.Context, q Query) (Page, error)
	// Elsewhere counts, by branch, the records that have no version in force
	// in the scope.
	Elsewhere(ctx context.Context, s *Scope) (map[string]int, error)
	// Events lists what happened, newest first.
	Events(ctx context.Context, q EventQuery) ([]Event, error)
	// Newer lists revisions that this build doesn't understand.
	Newer(ctx context.Context) ([]int64, error)
}

// Query selects records as they stand in a scope. Superseded records are left
// out of Open and Finished.
type Query struct {
	Scope *Scope
	Kinds []string // empty: all
	State FindState
	Since string // only versions at or after this time (TimeLayout); empty: all
	Limit int    // 0: no limit; Total counts on
}

// FindState is which records a Query wants.
type FindState int

// What a Query can ask for.
const (
	FindOpen      FindState = iota // in force, not done, dropped, retracted or superseded
	FindFinished                   // done or dropped
	FindRetracted                  // retracted
	FindAny                        // whatever its state
)

// Page is an answer to a Query: vouched records first, then newest first.
type Page struct {
	Items []Current
	Total int
}

// Event is one entry as a timeline shows it.
type Event struct {
	Rev      int64
	Hash     string
	Type     string
	At       string
	Actor    Actor
	Git      Git
	IDs      []string // records or checks that it concerns
	Kind     string   // kind of the first record
	Text     string   // text of the first record
	SealKey  string
	Live     bool // false: a recovery went back behind it
	Doubtful bool // its time contradicts the order, or can't be read
}

// EventQuery selects events.
type EventQuery struct {
	Since  int64 // only revisions above; -1: all
	Before int64 // only revisions below; 0: all
	Branch string
	Kind   string
	Limit  int
}

// State is what a sequence of entries means. The zero State is that of an empty
// log. It is not safe for concurrent use while Apply runs.
type State struct {
	head     Pos
	id       string
	recovery string
	spans    Spans
	versions map[string][]Version
	ids      []string // in order of appearance
	confirms []confirm
	keys     map[string][]keyUse
	commits  map[Git]int64
	carries  []CarryUse
	allows   []Allow
	events   []Event
	newer    []int64
	lastAt   string
}

type confirm struct {
	Ref
	by int64
}

type keyUse struct {
	KeyUse
	stands bool // even if a recovery went back behind it
}

// Apply folds the next entry into the state. It is pure: the same entries give
// the same state. It doesn't verify; see Verify.
func (s *State) Apply(e Entry) error {
	d, err := ReadDelta(&e)
	if err != nil {
		return err
	}
	if s.versions == nil {
		s.versions, s.keys, s.commits = map[string][]Version{}, map[string][]keyUse{}, map[Git]int64{}
	}
	s.head = d.Pos
	if d.Newer {
		s.newer = append(s.newer, d.Rev)
		return nil
	}
	vs := d.Resolve(s.lookup)
	if !d.Void {
		s.apply(&d, vs)
	}
	s.events = append(s.events, NewEvent(&d, vs, s.lastAt))
	s.lastAt = max(s.lastAt, d.At)
	return nil
}

func (s *State) apply(d *Delta, vs []Version) {
	for _, v := range vs {
		if len(s.versions[v.ID]) == 0 {
			s.ids = append(s.ids, v.ID)
		}
		s.versions[v.ID] = append(s.versions[v.ID], v)
	}
	if d.KeySHA256 != "" {
		s.keys[d.KeySHA256] = append(s.keys[d.KeySHA256], keyUse{KeyUse{d.Rev, d.Body.Request}, !GoesBack(d.Type)})
	}
	if d.Body.Git != (Git{}) {
		s.commits[d.Body.Git] = d.Rev
	}
	s.applyType(d)
}

func (s *State) applyType(d *Delta) {
	switch d.Type {
	case TypeLedger:
		s.id = d.Ledger
	case TypeAdopt:
		if d.ID != "" {
			s.id = d.ID
		}
	case TypeRecover:
		s.recovery = d.Recovery
		if d.Base != nil {
			s.spans.Recover(d.Rev, *d.Base)
		}
	case TypeCarry:
		if c := d.Body.Carry; c != nil {
			s.carries = append(s.carries, CarryUse{d.Rev, d.Body.Git, c.Branches})
		}
	case TypeConfirm:
		for _, r := range d.Body.Confirms {
			s.confirms = append(s.confirms, confirm{r, d.Rev})
		}
	case TypeAllow:
		if d.Body.Allow != nil {
			s.allows = append(s.allows, *d.Body.Allow)
		}
	}
}

// NewEvent describes an entry for a timeline. lastAt is the latest time of the
// entries before it.
func NewEvent(d *Delta, vs []Version, lastAt string) Event {
	_, err := time.Parse(TimeLayout, d.At)
	e := Event{
		Rev: d.Rev, Hash: d.Pos.Hash, Type: d.Type, At: d.At, Actor: d.Body.Actor, Git: d.Body.Git,
		SealKey: d.SealKey, Live: true, Doubtful: err != nil || d.At < lastAt,
	}
	for i, v := range vs {
		if i == 0 {
			e.Kind, e.Text = v.Kind, v.Text
		}
		e.IDs = append(e.IDs, v.ID)
	}
	for _, r := range d.Body.Confirms {
		e.IDs = append(e.IDs, r.ID)
	}
	if d.Body.Receipt != nil {
		e.IDs, e.Text = append(e.IDs, d.Body.Receipt.ID), d.Body.Receipt.Outcome
	}
	if c := d.Body.Change; c != nil && c.Category != "" {
		e.IDs = append(e.IDs, c.ID)
	}
	return e
}

func (s *State) lookup(id string, rev int64) (Version, bool) {
	for _, v := range s.versions[id] {
		if v.Rev == rev {
			return v, true
		}
	}
	return Version{}, false
}

// Head is the position of the last entry applied.
func (s *State) Head() Pos { return s.head }

// LedgerID is the ledger's id.
func (s *State) LedgerID() string { return s.id }

// Recovery is the recovery generation.
func (s *State) Recovery() string { return s.recovery }

// Live reports whether the entry at rev counts.
func (s *State) Live(rev int64) bool { return s.spans.Live(rev) }

// Newer lists revisions that this build doesn't understand.
func (s *State) Newer(context.Context) ([]int64, error) { return slices.Clone(s.newer), nil }

// Versions implements Reader.
func (s *State) Versions(_ context.Context, id string) ([]Version, error) {
	var out []Version
	for _, v := range s.versions[id] {
		if !s.spans.Live(v.Rev) {
			continue
		}
		v.Confirmed = 0
		for _, c := range s.confirms {
			if c.ID == id && (c.Rev == v.Rev || c.Rev == v.ContentRev) && s.spans.Live(c.by) {
				v.Confirmed = c.by
			}
		}
		out = append(out, v)
	}
	return out, nil
}

// KeyUse implements Reader.
func (s *State) KeyUse(_ context.Context, key string) (KeyUse, bool, error) {
	for _, u := range s.keys[key] {
		if u.stands || s.spans.Live(u.Rev) {
			return u.KeyUse, true, nil
		}
	}
	return KeyUse{}, false, nil
}

// Commits implements Reader.
func (s *State) Commits(context.Context) ([]CommitUse, error) {
	var out []CommitUse
	for g, rev := range s.commits {
		out = append(out, CommitUse{g, rev})
	}
	slices.SortFunc(out, func(a, b CommitUse) int {
		return cmp.Or(cmp.Compare(a.LastRev, b.LastRev), cmp.Compare(a.Commit, b.Commit))
	})
	return out, nil
}

// Carries implements Reader.
func (s *State) Carries(context.Context) ([]CarryUse, error) {
	return slices.DeleteFunc(slices.Clone(s.carries), func(c CarryUse) bool { return !s.spans.Live(c.Rev) }), nil
}

// Allows implements Reader.
func (s *State) Allows(context.Context) ([]Allow, error) { return slices.Clone(s.allows), nil }

// Find implements Reader.
func (s *State) Find(ctx context.Context, q Query) (Page, error) {
	superseded, err := s.superseded(ctx, q.Scope)
	if err != nil {
		return Page{}, err
	}
	var p Page
	for _, id := range s.ids {
		vs, err := s.Versions(ctx, id)
		if err != nil {
			return Page{}, err
		}
		cur, ok := CurrentOf(vs, q.Scope)
		if ok && q.Wants(&cur, superseded[id]) {
			p.Items = append(p.Items, cur)
		}
	}
	p.Total = len(p.Items)
	slices.SortFunc(p.Items, Compare)
	if q.Limit > 0 && len(p.Items) > q.Limit {
		p.Items = p.Items[:q.Limit]
	}
	return p, nil
}

// Wants reports whether q asks for cur.
func (q *Query) Wants(cur *Current, superseded bool) bool {
	if len(q.Kinds) > 0 && !slices.Contains(q.Kinds, cur.Kind) || cur.At < q.Since {
		return false
	}
	switch q.State {
	case FindOpen:
		return !cur.Retracted && !superseded && !cur.Closed() && cur.Kind != ""
	case FindFinished:
		return !cur.Retracted && !superseded && cur.Closed()
	case FindRetracted:
		return cur.Retracted
	}
	return true
}

// Compare orders records as a briefing does: vouched first, then newest.
func Compare(a, b Current) int {
	if a.Vouched() != b.Vouched() {
		if a.Vouched() {
			return -1
		}
		return 1
	}
	return cmp.Or(cmp.Compare(b.Rev, a.Rev), cmp.Compare(a.ID, b.ID))
}

// superseded collects the ids whose place another record in force takes.
func (s *State) superseded(ctx context.Context, scope *Scope) (map[string]bool, error) {
	out := map[string]bool{}
	for _, id := range s.ids {
		vs, err := s.Versions(ctx, id)
		if err != nil {
			return nil, err
		}
		if cur, ok := CurrentOf(vs, scope); ok && !cur.Retracted && cur.Supersedes != "" {
			out[cur.Supersedes] = true
		}
	}
	return out, nil
}

// Elsewhere implements Reader.
func (s *State) Elsewhere(ctx context.Context, scope *Scope) (map[string]int, error) {
	out := map[string]int{}
	for _, id := range s.ids {
		vs, err := s.Versions(ctx, id)
		if err != nil {
			return nil, err
		}
		if _, ok := CurrentOf(vs, scope); !ok && len(vs) > 0 {
			out[vs[len(vs)-1].Git.Branch]++
		}
	}
	return out, nil
}

// Events implements Reader.
func (s *State) Events(_ context.Context, q EventQuery) ([]Event, error) {
	var out []Event
	for i := len(s.events) - 1; i >= 0; i-- {
		e := s.events[i]
		if e.Rev <= q.Since || q.Before > 0 && e.Rev >= q.Before ||
			q.Branch != "" && e.Git.Branch != q.Branch || q.Kind != "" && e.Kind != q.Kind && e.Type != q.Kind {
			continue
		}
		if q.Limit > 0 && len(out) == q.Limit {
			break
		}
		e.Live = !GoesBack(e.Type) || s.spans.Live(e.Rev)
		out = append(out, e)
	}
	return out, nil
}
