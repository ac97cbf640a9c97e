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

	Rank  int64 `json:"-"` // the lower, the better
	Check bool  `json:"-"`
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
	gits   map[int64]ledger.Git // by place, as they come
	ranker ranker

	hits   []hit // wanted ones, newest first
	cut    bool  // there may be more, older than low
	low    int64 // number of the last one looked at
	rows   map[string]*row
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
	rank    int64
	current bool // it is what its record shows, or a check's newest receipt
	shown   int  // how the record of the stored table stands that shows it; -1: none does
	behind  bool // behind the file
}

func (v *View) searcher(q *SearchQuery, ps []phrase) (*searcher, error) {
	s := &searcher{v: v, q: q, ps: ps, ranker: ranker{ps: ps}, rows: map[string]*row{}, gits: map[int64]ledger.Git{}, newest: map[string]int64{}}
	top := v.seen.vn
	if v.over != nil {
		top = v.over.vn
	}
	var err error
	if s.cur, err = readCursor(q.Cursor, q, top); err != nil {
		return nil, err
	}
	s.st, err = v.stand(q.Scope)
	return s, err
}

func (s *searcher) run() (SearchResult, error) {
	err := s.inTail()
	if err == nil {
		err = s.inFile()
	}
	if err != nil {
		return SearchResult{}, err
	}
	res := SearchResult{Total: int(s.cur.before) + len(s.hits), TotalIsAtLeast: s.cut || s.cur.low > 0, RankedWithin: RankedWithin}
	slices.SortFunc(s.hits, func(a, b hit) int { return a.compare(b.rank, b.vn) })
	page := s.hits
	if s.cur.vn > 0 {
		i, found := slices.BinarySearchFunc(page, s.cur, func(h hit, c cursor) int { return h.compare(c.rank, c.vn) })
		if found {
			i++
		}
		page = page[i:]
	}
	next := s.cur
	if s.cut {
		next.low = s.low
	}
	if len(page) > s.q.Limit {
		page = page[:s.q.Limit]
		next.rank, next.vn = page[len(page)-1].rank, page[len(page)-1].vn
		res.Cursor = next.encode(s.q)
	} else if next.low > 1 { // on to the older ones
		older := cursor{top: next.low - 1, before: int64(res.Total)}
		res.Cursor = older.encode(s.q)
	}
	res.Matches, err = s.matches(page)
	return res, err
}

// compare puts the best first, and the newest first among equals.
func (h *hit) compare(rank, vn int64) int {
	return cmp.Or(cmp.Compare(h.rank, rank), cmp.Compare(vn, h.vn))
}

// consider adds a match if it is wanted, and reports whether there are enough.
func (s *searcher) consider(h hit, d *doc) (bool, error) {
	s.low = h.vn
	ok, err := s.wants(&h)
	if err != nil {
		return false, err
	}
	if ok {
		h.rank = s.ranker.rank(d)
		s.hits = append(s.hits, h)
	}
	s.cut = s.cut || len(s.hits) >= RankedWithin
	return s.cut, nil
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
	if !in {
		return false, nil
	}
	h.via = via
	state := h.shown
	if _, changed := s.st.now[h.id]; changed || !s.st.stored() || h.shown < 0 && s.q.History {
		r, err := s.stands(h.id)
		if err != nil || r == nil {
			return false, err
		}
		h.current, state = r.content == h.vn, r.state
	} else {
		h.current = h.shown >= 0
	}
	if state == stateElsewhere || state == stateRetracted && !s.q.Retracted {
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
