package ledger_test

import (
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"holdfast/internal/ledger"
	"holdfast/internal/ledger/ledgertest"
)

func TestValidID(t *testing.T) {
	for id, want := range map[string]bool{
		"a": true, "A": true, "0": true, "n-1": true, "a.b_c-d": true, "9.": true, strings.Repeat("x", 80): true,
		"": false, strings.Repeat("x", 81): false, "-a": false, ".a": false, "_a": false, "a b": false, "a/b": false, "a\n": false,
		"é": false, "aé": false, "a\x00": false, "a:b": false, "a@b": false, "a[b": false, "a`b": false, "a{b": false, "../a": false, "🙂": false,
	} {
		if got := ledger.ValidID(id); got != want {
			t.Errorf("id %q is valid: %v", id, got)
		}
	}
}

func TestValidKind(t *testing.T) {
	for _, k := range []string{"goal", "question", "answer", "decision", "next", "note"} {
		if !ledger.ValidKind(k) || !slices.Contains(ledger.Kinds[:], k) {
			t.Errorf("%q is no kind", k)
		}
	}
	for _, k := range []string{"", "Goal", "goals", "memory"} {
		if ledger.ValidKind(k) {
			t.Errorf("%q is a kind", k)
		}
	}
}

func TestValidPath(t *testing.T) {
	for p, want := range map[string]bool{
		"a": true, "a/b.go": true, "docs/a b.md": true, ".github/x.yml": true, ".gitignore": true, "a/.gitattributes": true, "日本語/é.txt": true,
		"..a": true, "a/..b": true, "...": true, "a:b": false, "doc/12:30.md": true, "CON": true, "src/aux.c": true, "nul.txt": true, // reserved on Windows alone: opening decides
		strings.Repeat("x", ledger.MaxPath): true, strings.Repeat("x", ledger.MaxPath+1): false,

		"": false, ".": false, "..": false, "/": false, "/a": false, "//a": false, "a/": false, "./a": false, "a/.": false, "a//b": false,
		"../a": false, "a/..": false, "a/../b": false, "a/../../b": false,
		"a\x00b": false, "a\nb": false, "a\rb": false, "\xff": false,
		`a\b`: false, `..\a`: false, `\a`: false, `\\server\share\a`: false, `C:\x`: false, "C:/x": false, "c:x": false, "C:": false, `\\?\C:\x`: false,
		".git": false, ".git/config": false, "sub/.git/hooks/x": false, ".GIT/config": false, ".git./config": false, ".git /config": false, "a/.git": false,
		".holdfast": false, ".holdfast/FORMAT": false, "a/.Holdfast/b": false,
	} {
		if got := ledger.ValidPath(p); got != want {
			t.Errorf("path %.40q is valid: %v", p, got)
		}
	}
}

func TestCheckText(t *testing.T) {
	for _, c := range []struct {
		name, text string
		min, max   int
		ok         bool
	}{
		{"empty and optional", "", 0, 10, true},
		{"empty and required", "", 1, 10, false},
		{"blank and required", " \t\n\u00a0\u3000", 1, 10, false},
		{"blank and optional", "  ", 0, 10, true},
		{"at the limit in code points", strings.Repeat("🙂", 10), 1, 10, true},
		{"over the limit", strings.Repeat("x", 11), 1, 10, false},
		{"one code point over", strings.Repeat("é", 11), 1, 10, false},
		{"a combining mark counts", strings.Repeat("e\u0301", 5) + "x", 1, 10, false},
		{"NUL", "a\x00b", 1, 10, false},
		{"a lone surrogate", "a\xed\xa0\x80", 1, 10, false},
		{"cut UTF-8", "a\xf0\x9f\x99", 1, 10, false},
		{"controls", "\x01\x1b[31m", 1, 10, true},
	} {
		err := ledger.CheckText("text", c.text, c.min, c.max)
		if (err == nil) != c.ok {
			t.Errorf("%s: %v", c.name, err)
		}
		if err != nil && len(c.text) > 3 && strings.Contains(err.Error(), c.text) {
			t.Errorf("%s: the error holds the text: %v", c.name, err)
		}
	}
	var limit *ledger.LimitError
	if err := ledger.CheckText("why", strings.Repeat("é", 12), 0, 10); !errors.As(err, &limit) || *limit != (ledger.LimitError{What: "why", Limit: 10, Got: 12, Unit: "characters"}) {
		t.Errorf("error = %#v", err)
	}
}

// fieldOf is the field that an error of Validate names.
func fieldOf(t *testing.T, err error) string {
	t.Helper()
	var f *ledger.FieldError
	var l *ledger.LimitError
	switch {
	case err == nil:
		return ""
	case errors.As(err, &f):
		return f.Field
	case errors.As(err, &l):
		return l.What
	}
	t.Fatalf("error %T: %v", err, err)
	return ""
}

func TestValidateRecord(t *testing.T) {
	many := func(n int) string { return strings.Repeat("🙂", n) }
	type edit = func(r *ledger.Record)
	for _, c := range []struct {
		name, kind string
		edit       edit
		field      string // that is refused; empty: none
	}{
		{"a goal", ledger.KindGoal, nil, ""},
		{"a question", ledger.KindQuestion, nil, ""},
		{"an answer", ledger.KindAnswer, nil, ""},
		{"a decision", ledger.KindDecision, nil, ""},
		{"a next action", ledger.KindNext, nil, ""},
		{"a note", ledger.KindNote, nil, ""},
		{"no id", ledger.KindNote, func(r *ledger.Record) { r.ID = "" }, "id"},
		{"a bad id", ledger.KindNote, func(r *ledger.Record) { r.ID = "a b" }, "id"},
		{"no kind", "", nil, "kind"},
		{"an unknown kind", "memory", nil, "kind"},

		{"no text", ledger.KindNote, func(r *ledger.Record) { r.Text = "" }, "text"},
		{"a blank text", ledger.KindNote, func(r *ledger.Record) { r.Text = " \n" }, "text"},
		{"the longest text", ledger.KindNote, func(r *ledger.Record) { r.Text = many(2000) }, ""},
		{"a longer text", ledger.KindNote, func(r *ledger.Record) { r.Text = many(2001) }, "text"},
		{"a text with NUL", ledger.KindNote, func(r *ledger.Record) { r.Text = "a\x00" }, "text"},
		{"a text that isn't UTF-8", ledger.KindNote, func(r *ledger.Record) { r.Text = "a\xff" }, "text"},
		{"the longest answer", ledger.KindAnswer, func(r *ledger.Record) { r.Answer = many(2000) }, ""},
		{"a longer answer", ledger.KindAnswer, func(r *ledger.Record) { r.Answer = many(2001) }, "answer"},
		{"an answer without one", ledger.KindAnswer, func(r *ledger.Record) { r.Answer = "" }, "answer"},
		{"a note with an answer", ledger.KindNote, func(r *ledger.Record) { r.Answer = "x" }, "answer"},
		{"a question with an answer", ledger.KindQuestion, func(r *ledger.Record) { r.Answer = "x" }, "answer"},
		{"the longest why", ledger.KindNote, func(r *ledger.Record) { r.Why = many(2000) }, ""},
		{"a longer why", ledger.KindNote, func(r *ledger.Record) { r.Why = many(2001) }, "why"},
		{"the longest source", ledger.KindNote, func(r *ledger.Record) { r.Source = many(500) }, ""},
		{"a longer source", ledger.KindNote, func(r *ledger.Record) { r.Source = many(501) }, "source"},
		{"no source: the caller decides", ledger.KindNote, func(r *ledger.Record) { r.Source = "" }, ""},
		{"a source that isn't UTF-8", ledger.KindNote, func(r *ledger.Record) { r.Source = "\xff" }, "source"},
		{"the longest revisit_when", ledger.KindDecision, func(r *ledger.Record) { r.RevisitWhen = many(2000) }, ""},
		{"a longer revisit_when", ledger.KindDecision, func(r *ledger.Record) { r.RevisitWhen = many(2001) }, "revisit_when"},
		{"revisit_when of a note", ledger.KindNote, func(r *ledger.Record) { r.RevisitWhen = "x" }, "revisit_when"},
		{"the longest without_evidence", ledger.KindNext, func(r *ledger.Record) { r.WithoutEvidence = many(500) }, ""},
		{"a longer without_evidence", ledger.KindNext, func(r *ledger.Record) { r.WithoutEvidence = many(501) }, "without_evidence"},

		{"ten rejected options", ledger.KindDecision, func(r *ledger.Record) { r.Rejected = rejected(10, many(500), many(2000)) }, ""},
		{"eleven", ledger.KindDecision, func(r *ledger.Record) { r.Rejected = rejected(11, "x", "") }, "rejected"},
		{"a rejected option without a name", ledger.KindDecision, func(r *ledger.Record) { r.Rejected = rejected(1, " ", "x") }, "rejected.option"},
		{"one with a longer name", ledger.KindDecision, func(r *ledger.Record) { r.Rejected = rejected(1, many(501), "x") }, "rejected.option"},
		{"one with a longer why", ledger.KindDecision, func(r *ledger.Record) { r.Rejected = rejected(1, "x", many(2001)) }, "rejected.why"},
		{"one with NUL", ledger.KindDecision, func(r *ledger.Record) { r.Rejected = rejected(1, "x\x00", "") }, "rejected.option"},
		{"rejected options of a goal", ledger.KindGoal, func(r *ledger.Record) { r.Rejected = rejected(1, "x", "") }, "rejected"},

		{"supersedes", ledger.KindGoal, func(r *ledger.Record) { r.Supersedes = "other" }, ""},
		{"supersedes itself", ledger.KindGoal, func(r *ledger.Record) { r.Supersedes = r.ID }, "supersedes"},
		{"supersedes nonsense", ledger.KindGoal, func(r *ledger.Record) { r.Supersedes = "a b" }, "supersedes"},

		{"an open goal", ledger.KindGoal, func(r *ledger.Record) { r.Status = ledger.StatusOpen }, ""},
		{"a done goal", ledger.KindGoal, func(r *ledger.Record) { r.Status = ledger.StatusDone }, ""},
		{"a dropped action", ledger.KindNext, func(r *ledger.Record) { r.Status = ledger.StatusDropped }, ""},
		{"an open note", ledger.KindNote, func(r *ledger.Record) { r.Status = ledger.StatusOpen }, ""},
		{"a done note", ledger.KindNote, func(r *ledger.Record) { r.Status = ledger.StatusDone }, "status"},
		{"a dropped question", ledger.KindQuestion, func(r *ledger.Record) { r.Status = ledger.StatusDropped }, "status"},
		{"an unknown status", ledger.KindGoal, func(r *ledger.Record) { r.Status = "closed" }, "status"},

		{"twenty cites", ledger.KindNote, func(r *ledger.Record) { r.Cites = cites(20, "a/b.go") }, ""},
		{"twenty-one", ledger.KindNote, func(r *ledger.Record) { r.Cites = cites(21, "a/b.go") }, "cites"},
		{"a cite outside", ledger.KindNote, func(r *ledger.Record) { r.Cites = cites(1, "../a") }, "cites"},
		{"a cite inside git", ledger.KindNote, func(r *ledger.Record) { r.Cites = cites(1, ".git/config") }, "cites"},

		{"done_when", ledger.KindNext, func(r *ledger.Record) { r.DoneWhen = "unit" }, ""},
		{"done_when of a goal", ledger.KindGoal, func(r *ledger.Record) { r.DoneWhen = "unit" }, "done_when"},
		{"done_when of nonsense", ledger.KindNext, func(r *ledger.Record) { r.DoneWhen = "go test" }, "done_when"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := ledgertest.Record("r-1", c.kind, "Text")
			if c.edit != nil {
				c.edit(&r)
			}
			if got := fieldOf(t, r.Validate("")); got != c.field {
				t.Errorf("refused for %q, want %q", got, c.field)
			}
			want := c.field
			if want != "" {
				want = "records[2]." + want
			}
			if got := fieldOf(t, r.Validate("records[2]")); got != want {
				t.Errorf("refused for %q, want %q", got, want)
			}
		})
	}
}

func rejected(n int, option, why string) []ledger.Rejected {
	return slices.Repeat([]ledger.Rejected{{Option: option, Why: why}}, n)
}

func cites(n int, path string) []ledger.Cite { return slices.Repeat([]ledger.Cite{{Path: path}}, n) }

// Texts yields every text that a record can hold: a field that is added to
// Record, or to what it holds, must be screened, or be named here as not text
// from outside.
func TestTextsYieldsEveryField(t *testing.T) {
	own := []string{"Cites.SHA256"} // computed by the tool
	var r ledger.Record
	var want []string
	fill(reflect.ValueOf(&r).Elem(), "", func(path string) string {
		if slices.Contains(own, path) {
			return "hash"
		}
		want = append(want, "text of "+path)
		return "text of " + path
	})
	if len(want) < 14 {
		t.Fatalf("only %d fields were found: %v", len(want), want)
	}
	var got, names []string
	r.Texts("records[0]", func(name, text string) {
		names = append(names, name)
		got = append(got, text)
	})
	slices.Sort(want)
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("texts for the screening:\n%s", diff)
	}
	for _, n := range names {
		if !strings.HasPrefix(n, "records[0].") {
			t.Errorf("name %q", n)
		}
	}
	r.Texts("", func(name, _ string) {
		if strings.HasPrefix(name, ".") || name == "" {
			t.Errorf("name %q", name)
		}
	})
}

// fill puts a text into every string that v holds; lists get one element.
func fill(v reflect.Value, path string, text func(path string) string) {
	switch v.Kind() {
	case reflect.String:
		v.SetString(text(path))
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0), path, text)
	case reflect.Struct:
		for i := range v.NumField() {
			name := v.Type().Field(i).Name
			if path != "" {
				name = path + "." + name
			}
			fill(v.Field(i), name, text)
		}
	case reflect.Map, reflect.Pointer, reflect.Interface:
		panic("a kind of field that this test can't fill: " + path)
	}
}

// A record at all its limits fits an entry, in letters of four bytes too.
func TestLargestRecordFits(t *testing.T) {
	long := func(n int) string { return strings.Repeat("🙂", n) }
	r := ledgertest.Record(strings.Repeat("x", ledger.MaxID), ledger.KindDecision, long(ledger.MaxText))
	r.Why, r.RevisitWhen, r.Source = r.Text, r.Text, long(ledger.MaxSource)
	r.Rejected = rejected(ledger.MaxRejected, r.Source, r.Text)
	for range ledger.MaxCites {
		r.Cites = append(r.Cites, ledger.Cite{Path: strings.Repeat("x", ledger.MaxPath), SHA256: sum("x")})
	}
	if err := r.Validate(""); err != nil {
		t.Fatal(err)
	}
	if _, err := ledger.Encode(ledger.Pos{}, ledgertest.Save(r), make([]byte, 16), ledgertest.Key()); err != nil {
		t.Error(err)
	}
}
