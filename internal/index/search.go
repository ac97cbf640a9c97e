package index

import (
	"cmp"
	"context"
	"slices"

	"holdfast/internal/ledger"
)

// SearchQuery asks the full-text search. All of its words must be found; see
// parseQuery. Without any, the newest come first.
type SearchQuery struct {
	Text        string
	Kinds       []string // kinds of record, or check; empty: all
	Scope       *ledger.Scope
	AllBranches bool // whatever the scope
	History     bool // also texts that were replaced, and older receipts
	Retracted   bool // also retracted records
	Limit       int  // 0: 20; at most 100
	Cursor      string
}

// SearchResult is one page of matches, the best first.
type SearchResult struct {
	Matches        []Match `json:"matches"`
	Total          int     `json:"total"`
	TotalIsAtLeast bool    `json:"total_is_at_least,omitempty"` // older ones were not counted
	RankedWithin   int     `json:"ranked_within"`               // so many of the newest were ranked
	Cursor         string  `json:"cursor,omitempty"`            // of the next page
}

// Match is a text that was found: of a record, or of a check's receipt.
type Match struct {
	ID       string       `json:"id"`
	Kind     string       `json:"kind"` // check for a receipt
	Revision int64        `json:"revision"`
	At       string       `json:"at"`
	Actor    ledger.Actor `json:"actor"`
	Branch   string       `json:"branch,omitempty"`
	Via      string       `json:"via,omitempty"`
	Status   string       `json:"status,omitempty"` // for a check: its outcome

	Current         bool  `json:"current"`                    // the text is what stands now
	CurrentRevision int64 `json:"current_revision,omitempty"` // version in force here
	Confirmed       bool  `json:"confirmed"`                  // a person wrote or confirmed the text
	Retracted       bool  `json:"retracted,omitempty"`
	Superseded      bool  `json:"superseded,omitempty"`

	Field   string   `json:"field"` // where the passage is from
	Passage string   `json:"passage"`
	Marks   [][2]int `json:"marks,omitempty"` // what matched in it, as byte offsets

	Rank  float64 `json:"-"` // the lower, the better
	Check bool    `json:"-"`
}

// Bounds of a search.
const (
	RankedWithin = 1000
	examined     = 5000 // matches that are looked at for that many that are wanted
	defaultLimit = 20
	maxLimit     = 100
)

// Search finds texts. The error is ErrCursor, a *ledger.LimitError, or one of
// the file.
func (v *View) Search(ctx context.Context, q SearchQuery) (SearchResult, error) {
	if q.AllBranches || q.Scope == nil {
		q.Scope = ledger.All()
	}
	if q.Limit <= 0 {
		q.Limit = defaultLimit
	}
	q.Limit = min(q.Limit, maxLimit)
	ps, err := parseQuery(q.Text)
	if err != nil {
		return SearchResult{}, err
	}
	v.prepare(ctx, q.Scope)
	var res SearchResult
	err = v.do(ctx, func() error {
		s, err := v.searcher(&q, ps)
		if err == nil {
			res, err = s.run()
		}
		return err
	})
	return res, err
}

// searcher is one search in progress.
type searcher struct {
	v      *View
	q      *SearchQuery
	ps     []phrase
	st     *standing
	cur    cursor
	places places

	hits   []hit // wanted ones, newest first
	cut    bool  // there may be more, older than low
	low    int64 // number of the last one looked at
	newest map[string]int64
}

// hit is a text that matches.
type hit struct {
	vn, rev int64
	id      string
	kind    string
	check   bool
	git     ledger.Git
	via     string
	rank    float64
	current bool
	row     *row // how the record stands; nil: not at all
	behind  bool // behind the file
}

func (v *View) searcher(q *SearchQuery, ps []phrase) (*searcher, error) {
	s := &searcher{v: v, q: q, ps: ps, newest: map[string]int64{}}
	top := v.seen.vn
	if v.over != nil {
		top = v.over.vn
	}
	var err error
	if s.cur, err = readCursor(q.Cursor, q, top); err != nil {
		return nil, err
	}
	if s.st, err = v.stand(q.Scope); err != nil {
		return nil, err
	}
	s.places, err = v.places()
	return s, err
}

func (s *searcher) run() (SearchResult, error) {
	if err := s.collect(); err != nil {
		return SearchResult{}, err
	}
	res := SearchResult{Matches: []Match{}, Total: s.cur.before + len(s.hits), TotalIsAtLeast: s.cut, RankedWithin: RankedWithin}
	rest := slices.DeleteFunc(slices.Clone(s.hits), func(h hit) bool {
		_, seen := slices.BinarySearch(s.cur.seen, h.vn)
		return seen
	})
	slices.SortStableFunc(rest, func(a, b hit) int { return cmp.Or(cmp.Compare(a.rank, b.rank), cmp.Compare(b.vn, a.vn)) })
	page := rest[:min(len(rest), s.q.Limit)]
	switch {
	case len(page) < len(rest):
		next := s.cur
		for i := range page {
			next.seen = append(next.seen, page[i].vn)
		}
		slices.Sort(next.seen)
		res.Cursor = next.encode(s.q)
	case s.cut && s.low > 0:
		next := cursor{top: s.low - 1, before: res.Total}
		res.Cursor = next.encode(s.q)
	}
	var err error
	res.Matches, err = s.matches(page)
	return res, err
}

// collect finds the newest matches that are wanted.
func (s *searcher) collect() error {
	if err := s.inTail(); err != nil {
		return err
	}
	if err := s.inFile(); err != nil {
		return err
	}
	s.rankTail()
	return nil
}

// consider adds a match if it is wanted, and reports whether it was the last.
func (s *searcher) consider(h hit) (bool, error) {
	s.low = h.vn
	ok, err := s.wants(&h)
	if err != nil {
		return false, err
	}
	if ok {
		s.hits = append(s.hits, h)
	}
	return len(s.hits) >= RankedWithin, nil
}

func (s *searcher) wants(h *hit) (bool, error) {
	if len(s.q.Kinds) > 0 && !slices.Contains(s.q.Kinds, h.kind) || !s.v.spans.Live(h.rev) {
		return false, nil
	}
	if h.check {
		last, err := s.lastReceipt(h.id)
		h.current = last == h.vn
		return h.current || s.q.History, err
	}
	via, in := s.q.Scope.InForce(h.git, h.rev)
	if !in || h.row == nil || h.row.state == stateElsewhere {
		return false, nil
	}
	h.via, h.current = via, h.row.content == h.vn
	if h.row.state == stateRetracted && !s.q.Retracted {
		return false, nil
	}
	return h.current || s.q.History, nil
}

// lastReceipt is the number of a check's newest receipt that counts.
func (s *searcher) lastReceipt(id string) (int64, error) {
	if n, ok := s.newest[id]; ok {
		return n, nil
	}
	var last int64
	if s.v.over != nil {
		for _, r := range s.v.over.receipts {
			if r.id == id && s.v.spans.Live(r.rev) {
				last = r.vn
			}
		}
	}
	if last == 0 {
		err := s.v.x.d.each(func(scan func(...any) error) error {
			var vn, rev int64
			if err := scan(&vn, &rev); err != nil {
				return err
			}
			if !s.v.spans.Live(rev) {
				return nil
			}
			last = vn
			return errEnough
		}, "SELECT vn, rev FROM receipts WHERE id = ? AND rev <= ? ORDER BY vn DESC", id, s.v.upTo)
		if err := ignore(err, errEnough); err != nil {
			return 0, err
		}
	}
	s.newest[id] = last
	return last, nil
}
