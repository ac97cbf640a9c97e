package index_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"holdfast/internal/index"
	"holdfast/internal/ledger"
	"holdfast/internal/ledger/ledgertest"
)

func decision(id, text, why string) ledger.Record {
	r := ledgertest.Record(id, ledger.KindDecision, text)
	r.Why = why
	return r
}

func corrected(r ledger.Record, text string, replaces int64) ledger.Record {
	r.Text, r.Replaces = text, replaces
	return r
}

// library is a ledger to be searched. The number is the revision.
func library() []ledger.Draft {
	store := decision("store-format", "Keep revisions in files, one per save", "A database is malformed when two kernels write it")
	store.Rejected = []ledger.Rejected{{Option: "One SQLite database", Why: "locks are not shared"}}
	check := ledgertest.Check("unit-tests", ledger.Passed)
	check.Body.Receipt.Title = "The whole test suite"
	later := ledgertest.Check("unit-tests", ledger.Failed)
	later.Body.Receipt.Title = "The whole test suite"
	retracted := ledgertest.Record("wrong", ledger.KindNote, "Flushing is optional in files")
	replaced := ledgertest.Record("new-plan", ledger.KindDecision, "Plan the importer anew")
	replaced.Supersedes = "old-plan"
	return []ledger.Draft{
		0: ledgertest.First(),
		1: ledgertest.Save(store),
		2: ledgertest.Save(ledgertest.Record("cafe", ledger.KindNote, "The naïve CAFÉ answers in Ünïcode, 日本語 too")),
		3: ledgertest.Save(corrected(store, "Keep revisions in files of their own", 1)),
		4: check,
		5: ledgertest.Save(retracted),
		6: ledgertest.Retract("wrong", 5),
		7: ledgertest.Save(ledgertest.Record("old-plan", ledger.KindDecision, "Plan the importer by hand")),
		8: ledgertest.Save(replaced),
		9: later,
		10: ledgertest.On(ledgertest.Save(ledgertest.Record("elsewhere", ledger.KindNote, "Files on another branch")),
			ledger.Git{Branch: "feature", Commit: ledgertest.ID(7), Base: ledgertest.ID(1)}),
		11: ledgertest.Status("cafe", 2, ledger.StatusDone),
		12: ledgertest.Confirm(ledger.Ref{ID: "old-plan", Rev: 7}),
	}
}

func mainOnly() *ledger.Scope {
	return ledger.NewScope(ledger.Place{Git: ledger.Git{Branch: "main"}, Default: "main"}, nil, nil, nil)
}

func found(r index.SearchResult) []string {
	out := []string{}
	for _, m := range r.Matches {
		s := fmt.Sprintf("%s@%d", m.ID, m.Revision)
		if !m.Current {
			s += " old"
		}
		out = append(out, s)
	}
	slices.Sort(out)
	return out
}

// at gives a view with everything in the file, in the tail, and half and half.
func everyView(t *testing.T, es []ledger.Entry, fn func(t *testing.T, v *index.View)) {
	for name, n := range map[string]int{"file": len(es), "tail": 0, "both": len(es) / 2} {
		t.Run(name, func(t *testing.T) {
			x := open(t, index.Options{Dir: t.TempDir()})
			follow(t, x, es[:n])
			fn(t, view(t, x, es[n:]))
		})
	}
}

func TestSearch(t *testing.T) {
	es := ledgertest.Entries(ledgertest.Key(), library()...)
	all := index.SearchQuery{}
	history := index.SearchQuery{History: true}
	for _, c := range []struct {
		text string
		q    index.SearchQuery
		want []string
	}{
		{"files", all, []string{"elsewhere@10", "store-format@3"}},
		{"FILES", all, []string{"elsewhere@10", "store-format@3"}},
		{"file", all, nil},
		{"file*", all, []string{"elsewhere@10", "store-format@3"}},
		{"fil* branch", all, []string{"elsewhere@10"}},
		{"files save", all, nil},
		{"files save", history, []string{"store-format@1 old"}},
		{"files", history, []string{"elsewhere@10", "store-format@1 old", "store-format@3"}},
		{"files", index.SearchQuery{Retracted: true}, []string{"elsewhere@10", "store-format@3", "wrong@5"}},
		{"files", index.SearchQuery{Kinds: []string{ledger.KindDecision}}, []string{"store-format@3"}},
		{"files", index.SearchQuery{Scope: mainOnly()}, []string{"store-format@3"}},
		{"files", index.SearchQuery{Scope: mainOnly(), AllBranches: true}, []string{"elsewhere@10", "store-format@3"}},
		{`"in files"`, all, []string{"store-format@3"}},
		{`"files in"`, all, nil},
		{`"revisions in fil"*`, all, []string{"store-format@3"}},
		{"store-format", all, []string{"store-format@3"}},
		{"format-store", all, nil},
		{"store", all, []string{"store-format@3"}},
		{"kernels", all, []string{"store-format@3"}},
		{"sqlite locks", all, []string{"store-format@3"}},
		{"naive cafe", all, []string{"cafe@2"}},
		{"NAÏVE café unicode", all, []string{"cafe@2"}},
		{"日本*", all, []string{"cafe@2"}},
		{"importer", all, []string{"new-plan@8", "old-plan@7"}},
		{"suite", all, []string{"unit-tests@9"}},
		{"suite", history, []string{"unit-tests@4 old", "unit-tests@9"}},
		{"suite", index.SearchQuery{Kinds: []string{"check"}, History: true}, []string{"unit-tests@4 old", "unit-tests@9"}},
		{"suite", index.SearchQuery{Kinds: []string{ledger.KindNote}}, nil},
		{"suite", index.SearchQuery{Scope: mainOnly()}, []string{"unit-tests@9"}},
		{`go test`, all, []string{"unit-tests@9"}},
		{"said nowhere", all, nil},
		{"", all, []string{"cafe@2", "elsewhere@10", "new-plan@8", "old-plan@7", "store-format@3", "unit-tests@9"}},
		{" -- * \" ", index.SearchQuery{Kinds: []string{ledger.KindNote}}, []string{"cafe@2", "elsewhere@10"}},
	} {
		t.Run(c.text+fmt.Sprint(c.q.Kinds, c.q.History, c.q.Retracted, c.q.AllBranches), func(t *testing.T) {
			everyView(t, es, func(t *testing.T, v *index.View) {
				c.q.Text = c.text
				r, err := v.Search(t.Context(), c.q)
				if err != nil {
					t.Fatal(err)
				}
				want := append([]string{}, c.want...)
				if diff := cmp.Diff(want, found(r)); diff != "" {
					t.Errorf("search %q: -want +got\n%s", c.text, diff)
				}
				if r.Total != len(want) || r.TotalIsAtLeast || r.Cursor != "" {
					t.Errorf("total %d (at least: %v), cursor %q; want %d", r.Total, r.TotalIsAtLeast, r.Cursor, len(want))
				}
			})
		})
	}
}

func one(t *testing.T, v *index.View, q index.SearchQuery) index.Match {
	t.Helper()
	r, err := v.Search(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Matches) != 1 {
		t.Fatalf("search %q found %v, want one match", q.Text, found(r))
	}
	return r.Matches[0]
}

func marked(m index.Match) []string {
	var out []string
	for _, x := range m.Marks {
		out = append(out, m.Passage[x[0]:x[1]])
	}
	return out
}

func TestMatch(t *testing.T) {
	es := ledgertest.Entries(ledgertest.Key(), library()...)
	everyView(t, es, func(t *testing.T, v *index.View) {
		got := one(t, v, index.SearchQuery{Text: "cafe answers"})
		want := index.Match{
			ID: "cafe", Kind: ledger.KindNote, Revision: 2, At: ledgertest.At(2).Format(ledger.TimeLayout), Actor: ledgertest.Agent(),
			Status: ledger.StatusDone, Current: true, CurrentRevision: 11,
			Field: "text", Passage: "The naïve CAFÉ answers in Ünïcode, 日本語 too", Marks: [][2]int{{11, 16}, {17, 24}},
			Rank: got.Rank,
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("-want +got\n%s", diff)
		}
		if diff := cmp.Diff([]string{"CAFÉ", "answers"}, marked(got)); diff != "" {
			t.Error(diff)
		}
		old := one(t, v, index.SearchQuery{Text: "hand"})
		if !old.Superseded || !old.Confirmed || !old.Current {
			t.Errorf("superseded and confirmed record: %+v", old)
		}
		if m := one(t, v, index.SearchQuery{Text: "optional", Retracted: true}); !m.Retracted || m.CurrentRevision != 6 {
			t.Errorf("retracted record: %+v", m)
		}
		if m := one(t, v, index.SearchQuery{Text: "shared"}); m.Field != "rejected" || m.Passage != "locks are not shared" {
			t.Errorf("match in a rejected option: %+v", m)
		}
		if m := one(t, v, index.SearchQuery{Text: "branch"}); m.Branch != "feature" {
			t.Errorf("branch %q, want feature", m.Branch)
		}
		m := one(t, v, index.SearchQuery{Text: "suite"})
		if !m.Check || m.Kind != "check" || m.Status != ledger.Failed || m.Field != "title" || m.Actor != ledgertest.Agent() {
			t.Errorf("check: %+v", m)
		}
	})
}

// A record of one line is shown whole, a long one around its first match.
func TestPassageOfLongText(t *testing.T) {
	long := strings.Repeat("filler words before ", 40) + "the needle stands here " + strings.Repeat("äöü and after ", 40)
	es := ledgertest.Entries(ledgertest.Key(), ledgertest.First(), ledgertest.Save(ledgertest.Record("long", ledger.KindNote, long)))
	everyView(t, es, func(t *testing.T, v *index.View) {
		m := one(t, v, index.SearchQuery{Text: `"needle stands"`})
		if len(m.Passage) > 300 || !strings.Contains(long, m.Passage) || !slices.Equal(marked(m), []string{"needle stands"}) {
			t.Errorf("passage %q with marks %v", m.Passage, marked(m))
		}
		m = one(t, v, index.SearchQuery{Text: "long"})
		if m.Field != "id" || m.Passage != "long" {
			t.Errorf("found by id: %+v", m)
		}
	})
}

// A word in the id weighs more than one in the text, that more than one in the
// reasons, and a short text more than a long one.
func TestRanking(t *testing.T) {
	filler := strings.Repeat("other words ", 30)
	es := ledgertest.Entries(ledgertest.Key(), ledgertest.First(),
		ledgertest.Save(ledgertest.Record("locking", ledger.KindNote, "Waits at most five seconds")),
		ledgertest.Save(ledgertest.Record("a", ledger.KindNote, "About locking")),
		ledgertest.Save(ledgertest.Record("b", ledger.KindNote, "About locking "+filler)),
		ledgertest.Save(decision("c", "About waiting", "locking "+filler)),
	)
	everyView(t, es, func(t *testing.T, v *index.View) {
		r, err := v.Search(t.Context(), index.SearchQuery{Text: "locking"})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, m := range r.Matches {
			got = append(got, m.ID)
		}
		if diff := cmp.Diff([]string{"locking", "a", "b", "c"}, got); diff != "" {
			t.Errorf("-want +got\n%s", diff)
		}
	})
}

func TestSearchLimit(t *testing.T) {
	x := open(t, index.Options{})
	_, err := view(t, x, nil).Search(t.Context(), index.SearchQuery{Text: strings.Repeat("word ", 40)})
	var limit *ledger.LimitError
	if !errors.As(err, &limit) {
		t.Errorf("search of 40 words: %v, want a LimitError", err)
	}
}

func many(n int) []ledger.Draft {
	ds := []ledger.Draft{ledgertest.First()}
	for i := 1; i <= n; i++ {
		ds = append(ds, ledgertest.Save(ledgertest.Record(fmt.Sprintf("r-%d", i), ledger.KindNote, "needle"+strings.Repeat(" hay", i*7%13))))
	}
	return ds
}

// Page by page every match comes once, the best first, while others save
// records that match as well.
func TestCursorWhileOthersWrite(t *testing.T) {
	const n = 250
	es := ledgertest.Entries(nil, many(n+60)...)
	for _, text := range []string{"needle", "need*", ""} {
		t.Run(text, func(t *testing.T) {
			x := open(t, index.Options{Dir: t.TempDir()})
			q := index.SearchQuery{Text: text, Limit: 30}
			times := map[string]int{}
			var last int64 = -1 << 60
			for page := 0; ; page++ {
				upTo := n + 1 + page*3
				follow(t, x, es[:upTo])
				r, err := view(t, x, es[upTo:upTo+2]).Search(t.Context(), q)
				if err != nil {
					t.Fatal(err)
				}
				for _, m := range r.Matches {
					times[m.ID]++
					if m.Rank < last {
						t.Errorf("%s has rank %d behind %d", m.ID, m.Rank, last)
					}
					last = m.Rank
				}
				if q.Cursor = r.Cursor; q.Cursor == "" {
					break
				}
			}
			for i := 1; i <= n; i++ {
				if id := fmt.Sprintf("r-%d", i); times[id] != 1 {
					t.Errorf("%s came %d times", id, times[id])
				}
			}
			if len(times) > n+2 {
				t.Errorf("%d records, want those there were at first", len(times))
			}
		})
	}
}

// Beyond the newest thousand matches the total is a lower bound, and the pages
// go on to the older ones.
func TestRankedWithinTheNewest(t *testing.T) {
	const n = 2300
	es := ledgertest.Entries(nil, many(n)...)
	x := open(t, index.Options{Dir: t.TempDir()})
	follow(t, x, es)
	v := view(t, x, nil)
	q := index.SearchQuery{Text: "needle", Limit: 100}
	seen := map[string]bool{}
	for first := true; ; first = false {
		r, err := v.Search(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		if first && (r.Total != index.RankedWithin || !r.TotalIsAtLeast || r.RankedWithin != index.RankedWithin) {
			t.Errorf("total %d, at least: %v, ranked within %d", r.Total, r.TotalIsAtLeast, r.RankedWithin)
		}
		for _, m := range r.Matches {
			if seen[m.ID] {
				t.Errorf("%s came twice", m.ID)
			}
			seen[m.ID] = true
			if len(seen) <= index.RankedWithin && m.Revision <= n-index.RankedWithin {
				t.Errorf("%s is not among the newest, and came as number %d", m.ID, len(seen))
			}
		}
		if q.Cursor = r.Cursor; q.Cursor == "" {
			if r.Total != n || r.TotalIsAtLeast {
				t.Errorf("total at the end %d, at least: %v; want %d", r.Total, r.TotalIsAtLeast, n)
			}
			break
		}
	}
	if len(seen) != n {
		t.Errorf("%d matches, want %d", len(seen), n)
	}
}

func TestForeignCursor(t *testing.T) {
	es := ledgertest.Entries(nil, many(50)...)
	x := open(t, index.Options{})
	follow(t, x, es)
	v := view(t, x, nil)
	r, err := v.Search(t.Context(), index.SearchQuery{Text: "needle"})
	if err != nil || r.Cursor == "" {
		t.Fatal(r.Cursor, err)
	}
	for name, q := range map[string]index.SearchQuery{
		"another text":  {Text: "hay", Cursor: r.Cursor},
		"other kinds":   {Text: "needle", Kinds: []string{ledger.KindGoal}, Cursor: r.Cursor},
		"no cursor":     {Text: "needle", Cursor: "%"},
		"cut short":     {Text: "needle", Cursor: r.Cursor[:len(r.Cursor)-2]},
		"from a longer": {Text: "needle", Cursor: r.Cursor + "AA"},
	} {
		if _, err := v.Search(t.Context(), q); !errors.Is(err, index.ErrCursor) {
			t.Errorf("%s: %v, want ErrCursor", name, err)
		}
	}
}

// What a recovery took back is not found, not even in the history.
func TestSearchAfterRecover(t *testing.T) {
	r := ledgertest.Record("a", ledger.KindNote, "needle before")
	es := ledgertest.Entries(ledgertest.Key(), ledgertest.First(), ledgertest.Save(r), ledgertest.Save(corrected(r, "needle after", 1)),
		ledgertest.Save(ledgertest.Record("b", ledger.KindNote, "needle of another")), ledgertest.Check("needle", ledger.Passed), ledgertest.Recover("g", 1))
	everyView(t, es, func(t *testing.T, v *index.View) {
		for _, history := range []bool{false, true} {
			res, err := v.Search(t.Context(), index.SearchQuery{Text: "needle", History: history})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff([]string{"a@1"}, found(res)); diff != "" {
				t.Errorf("history %v: -want +got\n%s", history, diff)
			}
		}
	})
}
