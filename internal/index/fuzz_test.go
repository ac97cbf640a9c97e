package index_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"holdfast/internal/index"
	"holdfast/internal/ledger"
	"holdfast/internal/ledger/ledgertest"
)

// Whatever is typed is a search: no error but that it is too long, and marks
// that lie in their passage.
func FuzzSearch(f *testing.F) {
	for _, s := range []string{
		"", " ", "files", `"in files"`, `"`, `""`, `"""`, `" "`, `"a`, `a"b`, "a*", "*", "**", `"a b"*`, `"*"*`, "-a", "+a", "a AND b", "AND", "OR NOT", "NEAR(a b, 2)", "NEAR", "id:store", "{id text}: x",
		"^files", "a:b", "(", ")", "a(b", "'; DROP TABLE fts; --", `\`, "a\x00b", "\x00", "\xff\xfe", "日本*", "naïve", "e\u0301", "\u0301", "\u200b", "🙂", "\ue000", "ﬁ", "ß", "İ", "K", "a\u00adb", "fts", "rank", "%", "_", "?1", "$a", "@a", "#", "~1", "１２", "x\u0f3eb", "\u0903",
		strings.Repeat("a ", 32), strings.Repeat("a ", 33), strings.Repeat("x", 5000), strings.Repeat(`"`, 99),
	} {
		f.Add(s, true)
		f.Add(s, false)
	}
	es := ledgertest.Entries(ledgertest.Key(), library()...)
	x := open(f, index.Options{})
	follow(f, x, es[:6])
	views := map[bool]*index.View{}
	for _, tail := range []bool{true, false} {
		y := open(f, index.Options{})
		upTo := len(es)
		if tail {
			upTo = 4
		}
		follow(f, y, es[:upTo])
		views[tail] = view(f, y, es[upTo:])
	}
	f.Fuzz(func(t *testing.T, s string, tail bool) {
		r, err := views[tail].Search(t.Context(), index.SearchQuery{Text: s, History: true, Retracted: true})
		var limit *ledger.LimitError
		if errors.As(err, &limit) {
			return
		}
		if err != nil {
			t.Fatalf("search %q: %v", s, err)
		}
		for _, m := range r.Matches {
			last := 0
			for _, mark := range m.Marks {
				if mark[0] < last || mark[1] <= mark[0] || mark[1] > len(m.Passage) {
					t.Fatalf("search %q: marks %v in a passage of %d bytes", s, m.Marks, len(m.Passage))
				}
				last = mark[1]
				if !utf8.ValidString(m.Passage[mark[0]:mark[1]]) {
					t.Fatalf("search %q: a mark cuts a character", s)
				}
			}
			if !utf8.ValidString(m.Passage) || m.Passage == "" {
				t.Fatalf("search %q: passage %q", s, m.Passage)
			}
		}
	})
}

// Whatever is given as a cursor is one of this search, or refused.
func FuzzCursor(f *testing.F) {
	es := ledgertest.Entries(nil, many(60)...)
	x := open(f, index.Options{})
	follow(f, x, es)
	v := view(f, x, nil)
	first, err := v.Search(f.Context(), index.SearchQuery{Text: "needle"})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(first.Cursor)
	f.Add("")
	f.Add("AAAAAAAAAAAA")
	f.Add(first.Cursor[:9] + "________________________")
	f.Fuzz(func(t *testing.T, s string) {
		r, err := v.Search(t.Context(), index.SearchQuery{Text: "needle", Cursor: s})
		if err != nil && !errors.Is(err, index.ErrCursor) {
			t.Fatal(err)
		}
		if len(r.Matches) > 20 {
			t.Fatalf("%d matches", len(r.Matches))
		}
	})
}

// naive finds the words of a text that is plain or has the accents of the
// histories' texts.
func naive(s string) []string {
	s = strings.NewReplacer("ï", "i", "é", "e", "\u2028", " ").Replace(strings.ToLower(s))
	return strings.FieldsFunc(s, func(r rune) bool { return strings.ContainsRune(" ,?.<>&\"/-", r) || r == '🙂' })
}

func contains(text string, q []string) bool {
	ws := naive(text)
	return !slices.ContainsFunc(q, func(w string) bool {
		return !slices.ContainsFunc(ws, func(x string) bool {
			p, prefix := strings.CutSuffix(w, "*")
			return x == w || prefix && strings.HasPrefix(x, p)
		})
	})
}

// What is found is what a plain look through all versions finds, wherever they
// lie, for every reader.
func TestSearchAgainstPlainLook(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := ledgertest.Histories().Draw(t, "history")
		es := h.Entries(ledgertest.Key())
		x := openIn(t, index.Options{})
		defer x.Close()
		x.Limits(rapid.SampledFrom([]int64{0, 500}).Draw(t, "small"), 0, 3, 100, 100)
		upTo := grow(t, x, es)
		v := viewIn(t, x, es[upTo:])
		state := &ledger.State{}
		for _, e := range es {
			if err := state.Apply(e); err != nil {
				t.Fatal(err)
			}
		}
		words := rapid.SliceOfN(rapid.SampledFrom([]string{"the", "importer", "use", "writer", "naive", "cafe", "日本語", "日*", "twen*", "quoted", "a", "search", "test", "answer"}), 0, 2).Draw(t, "words")
		q := index.SearchQuery{
			Text: strings.Join(words, " "), Limit: 100, History: rapid.Bool().Draw(t, "history too"), Retracted: rapid.Bool().Draw(t, "retracted too"),
			Kinds: rapid.SampledFrom([][]string{nil, {ledger.KindNote, ledger.KindDecision}}).Draw(t, "kinds"),
		}
		for _, r := range h.Readers() {
			scope := ledger.All()
			if r.Code != nil {
				var err error
				if scope, err = ledgertest.Scope(t.Context(), state, r.Place, r.Code); err != nil {
					t.Fatal(err)
				}
			}
			q.Scope = scope
			res, err := v.Search(t.Context(), q)
			if err != nil {
				t.Fatal(err)
			}
			got := []string{}
			for _, s := range found(res) {
				if !strings.HasPrefix(s, "unit@") && !strings.HasPrefix(s, "lint@") {
					got = append(got, s)
				}
			}
			if want := look(t, h, state, &q, words); !slices.Equal(want, got) {
				t.Fatalf("%s: search %q found %v, want %v", r.Name, q.Text, got, want)
			}
		}
	})
}

func look(t *rapid.T, h ledgertest.History, s *ledger.State, q *index.SearchQuery, words []string) []string {
	ids := map[string]bool{}
	for _, d := range h.Drafts {
		for _, r := range d.Body.Records {
			ids[r.ID] = true
		}
	}
	out := []string{}
	for id := range ids {
		vs, err := s.Versions(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		cur, ok := ledger.CurrentOf(vs, q.Scope)
		if !ok || cur.Retracted && !q.Retracted {
			continue
		}
		for _, v := range vs {
			_, in := q.Scope.InForce(v.Git, v.Rev)
			if v.ContentRev != v.Rev || !in || q.Kinds != nil && !slices.Contains(q.Kinds, v.Kind) {
				continue
			}
			text := strings.Join([]string{v.ID, v.Text, v.Answer, v.Why, v.RevisitWhen, v.Source}, " ")
			for _, x := range v.Rejected {
				text += " " + x.Option + " " + x.Why
			}
			current := cur.ContentRev == v.Rev && !cur.Redacted
			if !contains(text, words) || !current && !q.History {
				continue
			}
			name := index.Match{ID: id, Revision: v.Rev, Current: current}
			out = append(out, found(index.SearchResult{Matches: []index.Match{name}})...)
		}
	}
	slices.Sort(out)
	return out
}
