package ledger_test

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"holdfast/internal/ledger"
	"holdfast/internal/ledger/ledgertest"
)

// headOf is a head as version 1 writes it, but for what edits replace.
func headOf(edits ...string) string {
	h := `{"v":1,"rev":7,"type":"record","at":"2026-11-30T20:00:00.000Z","prev":"` + sum("prev") + `","recovery":"","key_sha256":"","body_sha256":"` + sum("body") + `","seal_key":""}`
	r := strings.NewReplacer(edits...)
	return r.Replace(h)
}

func TestParseHead(t *testing.T) {
	deep := strings.Repeat(`{"a":`, 5000) + "1" + strings.Repeat("}", 5000)
	deeper := strings.Repeat("[", 20000) + strings.Repeat("]", 20000)
	for _, c := range []struct {
		name, head string
		want       string // ok, newer or refused
	}{
		{"as written", headOf(), "ok"},
		{"revision 0", headOf(`"rev":7`, `"rev":0`), "ok"},
		{"the largest revision", headOf(`"rev":7`, `"rev":9223372036854775807`), "ok"},
		{"an empty type", headOf(`"type":"record"`, `"type":""`), "newer"},
		{"fields of a type", headOf(`"seal_key":""`, `"seal_key":"","base":3,"replaces":[{"rev":4,"hash":"x"}]`), "ok"},
		{"a transaction", headOf(`"seal_key":""`, `"seal_key":"","txn":{"transaction":"t-1","operation":0}`), "ok"},

		{"a newer version", headOf(`"v":1`, `"v":2`), "newer"},
		{"a newer version with fields of other types", headOf(`"v":1`, `"v":2`, `"type":"record"`, `"type":{"a":1}`), "newer"},
		{"a newer version in another order", `{"rev":7,"v":3}`, "newer"},
		{"an unknown type", headOf("record", "future"), "newer"},
		{"an unknown type with an escape", headOf("record", `\u0066uture`), "refused"},
		{"an unknown field", headOf(`"seal_key":""`, `"seal_key":"","more":1`), "newer"},
		{"an unknown field in front", headOf(`{"v":1`, `{"more":{},"v":1`), "newer"},
		{"an unknown field whose name looks like two", headOf(`"seal_key":""`, `"seal_key":"","v rev":1`), "newer"},
		{"an unknown field with an empty name", headOf(`"seal_key":""`, `"seal_key":"","":1`), "newer"},
		{"a known name in another case", headOf(`"seal_key":""`, `"seal_key":"","BASE":3`), "newer"},
		{"an unknown field in a transaction", headOf(`"seal_key":""`, `"seal_key":"","txn":{"transaction":"t-1","more":1}`), "newer"},
		{"an unknown field in a replaced head", headOf(`"seal_key":""`, `"seal_key":"","replaces":[{"rev":4,"hash":"x","more":1}]`), "newer"},
		{"a deep unknown field", headOf(`"seal_key":""`, `"seal_key":"","more":`+deep), "newer"},

		{"empty", `{}`, "refused"},
		{"no version", headOf(`"v":1,`, ``), "refused"},
		{"no revision", headOf(`"rev":7,`, ``), "refused"},
		{"version 0", headOf(`"v":1`, `"v":0`), "refused"},
		{"version 0 and an unknown field", headOf(`"v":1`, `"v":0,"more":1`), "refused"},
		{"a negative revision and an unknown field", headOf(`"rev":7`, `"rev":-7,"more":1`), "refused"},
		{"a negative revision of a newer version", headOf(`"v":1`, `"v":2`, `"rev":7`, `"rev":-7`), "refused"},
		{"no revision in a newer version", headOf(`"v":1`, `"v":2`, `"rev":7,`, ``), "refused"},
		{"no revision and an unknown field", headOf(`"rev":7`, `"more":1`), "refused"},
		{"no version and an unknown field", headOf(`"v":1`, `"more":1`), "refused"},
		{"version null", headOf(`"v":1`, `"v":null`), "refused"},
		{"version in quotes", headOf(`"v":1`, `"v":"1"`), "refused"},
		{"version by another name", headOf(`"v":1`, `"V":1`), "refused"},
		{"a negative revision", headOf(`"rev":7`, `"rev":-7`), "refused"},
		{"a negative zero", headOf(`"rev":7`, `"rev":-0`), "refused"},
		{"a leading zero", headOf(`"rev":7`, `"rev":07`), "refused"},
		{"a fraction", headOf(`"rev":7`, `"rev":7.0`), "refused"},
		{"an exponent", headOf(`"rev":7`, `"rev":7e0`), "refused"},
		{"a revision in quotes", headOf(`"rev":7`, `"rev":"7"`), "refused"},
		{"a revision of null", headOf(`"rev":7`, `"rev":null`), "refused"},
		{"a revision beyond 64 bits", headOf(`"rev":7`, `"rev":9223372036854775808`), "refused"},
		{"no type", headOf(`"type":"record",`, ``), "refused"},
		{"a type of null", headOf(`"type":"record"`, `"type":null`), "refused"},
		{"a type that is a number", headOf(`"type":"record"`, `"type":3`), "refused"},
		{"no prev", headOf(`"prev":"`+sum("prev")+`",`, ``), "refused"},
		{"another order", headOf(`"v":1,"rev":7`, `"rev":7,"v":1`), "refused"},
		{"a space", headOf(`"v":1`, `"v": 1`), "refused"},
		{"a carriage return", headOf(`"v":1`, "\"v\":1\r"), "refused"},
		{"an escape that needn't be", headOf("record", `\u0072ecord`), "refused"},
		{"a value that isn't ASCII", headOf(`"recovery":""`, `"recovery":"é"`), "refused"},
		{"a value with a newline", headOf(`"recovery":""`, `"recovery":"a\nb"`), "refused"},
		{"a raw NUL", headOf(`"recovery":""`, "\"recovery\":\"\x00\""), "refused"},
		{"an empty list that needn't be", headOf(`"seal_key":""`, `"seal_key":"","revisions":[]`), "refused"},
		{"a null that needn't be", headOf(`"seal_key":""`, `"seal_key":"","txn":null`), "refused"},
		{"a field twice", headOf(`"seal_key":""`, `"seal_key":"","seal_key":""`), "refused"},
		{"a field twice, unequal", headOf(`"rev":7`, `"rev":6,"rev":7`), "refused"},
		{"a field twice, in another case", headOf(`"rev":7`, `"rev":7,"REV":8`), "refused"},
		{"a field twice, by a letter that folds", headOf(`"seal_key":""`, `"seal_key":"","baſe":3,"base":4`), "refused"},
		{"a field twice in a newer version", headOf(`"v":1`, `"v":2,"x":1,"x":2`), "refused"},
		{"the version twice", headOf(`"v":1`, `"v":2,"v":1`), "refused"},
		{"a field twice in a transaction", headOf(`"seal_key":""`, `"seal_key":"","txn":{"transaction":"t-1","transaction":"t-2"}`), "refused"},
		{"a field of another type", headOf(`"seal_key":""`, `"seal_key":"","base":"3"`), "refused"},
		{"a list", `["v",1]`, "refused"},
		{"null", `null`, "refused"},
		{"nothing", ``, "refused"},
		{"braces that don't match", `{"v":1,"rev":[}`, "refused"},
		{"nested beyond sense", headOf(`"seal_key":""`, `"seal_key":"","more":`+deeper), "refused"},
	} {
		t.Run(c.name, func(t *testing.T) {
			e, err := ledger.Parse(lineOf(c.head))
			got := "ok"
			switch {
			case err != nil:
				got = "refused"
			case e.Newer:
				got = "newer"
			}
			if got != c.want {
				t.Errorf("%s, want %s (%v)", got, c.want, err)
			}
			var ee *ledger.EntryError
			if err != nil && !errors.As(err, &ee) {
				t.Errorf("error %T", err)
			}
			if err == nil && string(e.HeadRaw) != c.head {
				t.Errorf("head = %s", e.HeadRaw)
			}
		})
	}
}

func TestParseLine(t *testing.T) {
	head := headOf()
	h := sum(head)
	seal := sum("seal")
	good := string(line(head, `{"salt":"00"}`, h, seal))
	outer := func(extra string) string { return strings.TrimSuffix(good, "}\n") + extra + "}\n" }
	for _, c := range []struct{ name, line, want string }{
		{"whole", good, "ok"},
		{"unsealed", string(line(head, `{"salt":"00"}`, h, "")), "ok"},
		{"erased", string(line(head, `null`, h, seal)), "ok"},
		{"an empty body", string(line(head, `{}`, h, seal)), "ok"},
		{"braces and quotes in the body", string(line(head, `{"a":"}{\"\\\"}","b":[{}]}`, h, seal)), "ok"},

		{"a further field", outer(`,"more":1`), "newer"},
		{"further fields", outer(`,"more":{"a":[1]},"most":null`), "newer"},

		{"nothing", "", "refused"},
		{"a newline", "\n", "refused"},
		{"no newline", strings.TrimSuffix(good, "\n"), "refused"},
		{"two newlines", good + "\n", "refused"},
		{"CRLF", strings.TrimSuffix(good, "\n") + "\r\n", "refused"},
		{"a CR behind further fields", strings.TrimSuffix(outer(`,"more":1`), "\n") + "\r\n", "refused"},
		{"a space at the end", strings.TrimSuffix(good, "\n") + " \n", "refused"},
		{"a space at the front", " " + good, "refused"},
		{"a byte order mark", "\ufeff" + good, "refused"},
		{"two lines", good + good, "refused"},
		{"glued", strings.TrimSuffix(good, "\n") + good, "refused"},
		{"a newline in the body", string(line(head, "{\n}", h, seal)), "refused"},
		{"a newline in further fields", outer(",\n\"more\":1"), "refused"},
		{"all NUL", strings.Repeat("\x00", len(good)), "refused"},
		{"NUL up to the newline", strings.Repeat("\x00", len(good)-1) + "\n", "refused"},
		{"half NUL", good[:len(good)/2] + strings.Repeat("\x00", len(good)/2-1) + "\n", "refused"},
		{"NUL at the end", strings.TrimSuffix(good, "\n") + "\x00\n", "refused"},
		{"another order", strings.Replace(good, `{"head":`, `{"hash":"`+h+`","head":`, 1), "refused"},
		{"a trailing comma", outer(","), "refused"},
		{"a trailing comma and a space", outer(", "), "refused"},
		{"a field twice", outer(`,"seal":""`), "refused"},
		{"a head twice", outer(`,"head":{"v":1}`), "refused"},
		{"a body twice, in another case", outer(`,"BODY":{}`), "refused"},
		{"a further field twice", outer(`,"more":1,"more":2`), "refused"},
		{"rubbish behind", outer(`,"more"`), "refused"},
		{"more than one object behind", outer(`,"more":1}{"a":1`), "refused"},
		{"no seal", strings.Replace(good, `,"seal":"`+seal+`"`, "", 1), "refused"},
		{"no body", strings.Replace(good, `,"body":{"salt":"00"}`, "", 1), "refused"},
		{"a body that is a list", string(line(head, `[]`, h, seal)), "refused"},
		{"a body that is text", string(line(head, `"x"`, h, seal)), "refused"},
		{"a body that is null and more", string(line(head, `null{}`, h, seal)), "refused"},
		{"a body that doesn't end", string(line(head, `{"a":"`, h, seal)), "refused"},
		{"another hash", string(line(head, `{}`, sum("x"), seal)), "refused"},
		{"an empty hash", string(line(head, `{}`, "", seal)), "refused"},
		{"a hash in capitals", string(line(head, `{}`, strings.ToUpper(h), seal)), "refused"},
		{"a hash that is cut", string(line(head, `{}`, h[:63], seal)), "refused"},
		{"a hash of null", string(bytes.Replace([]byte(good), []byte(`"`+h+`"`), []byte("null"), 1)), "refused"},
		{"a seal in capitals", string(line(head, `{}`, h, strings.ToUpper(seal))), "refused"},
		{"a seal that is cut", string(line(head, `{}`, h, seal[:62])), "refused"},
		{"a seal that isn't hex", string(line(head, `{}`, h, "x"+seal[1:])), "refused"},
		{"a seal that is long", string(line(head, `{}`, h, seal+"00")), "refused"},
	} {
		t.Run(c.name, func(t *testing.T) {
			e, err := ledger.Parse([]byte(c.line))
			got := "ok"
			switch {
			case err != nil:
				got = "refused"
			case e.Newer:
				got = "newer"
			}
			if got != c.want {
				t.Errorf("%s, want %s (%v)", got, c.want, err)
			}
			if err == nil && (string(e.Raw) != c.line || e.Hash != h) {
				t.Errorf("raw %q, hash %s", e.Raw, e.Hash)
			}
		})
	}
}

func TestParseLargest(t *testing.T) {
	head := headOf()
	fit := func(n int) []byte {
		b := string(line(head, `{"a":""}`, sum(head), ""))
		return line(head, `{"a":"`+strings.Repeat("x", n-len(b))+`"}`, sum(head), "")
	}
	if _, err := ledger.Parse(fit(ledger.MaxEntry)); err != nil {
		t.Errorf("the largest entry: %v", err)
	}
	if _, err := ledger.Parse(fit(ledger.MaxEntry + 1)); err == nil {
		t.Error("a larger entry is accepted")
	}
	// Nested braces are counted, not recursed into.
	n := (ledger.MaxEntry - 500) / 6
	b := line(head, strings.Repeat(`{"a":`, n)+"{}"+strings.Repeat("}", n), sum(head), "")
	e, err := ledger.Parse(b)
	if err != nil {
		t.Fatalf("a deep body: %v", err)
	}
	if _, _, err := e.Body(); err == nil {
		t.Error("a body nested beyond sense is decoded")
	}
}

// An error names the revision at most, never what stands in the line.
func TestParseErrorsHoldNoText(t *testing.T) {
	const secret = "sk-live-0123456789"
	es := ledgertest.Entries(nil, ledgertest.First(), ledgertest.Save(ledgertest.Record(secret, ledger.KindNote, secret)))
	raw := string(es[1].Raw)
	for _, bad := range []string{
		raw[:len(raw)-1], strings.Replace(raw, `"seal":`, `"steal":`, 1), strings.Replace(raw, es[1].Hash, sum("x"), 1),
		string(lineOf(headOf(`"type":"record"`, `"type":{"`+secret+`":1}`))), string(lineOf(headOf(`"rev":7`, `"rev":"`+secret+`"`))),
		strings.Repeat(secret, ledger.MaxEntry), string(lineOf(headOf(`"recovery":""`, `"recovery":"`+secret+`é"`))),
	} {
		_, err := ledger.Parse([]byte(bad))
		if err == nil || strings.Contains(err.Error(), secret) || strings.Contains(err.Error(), "sk-") {
			t.Errorf("error = %v", err)
		}
	}
	e := forge(es[1], func(*ledger.Head) {}, `{"records":[{"id":`+fmt.Sprintf("%d", 3)+`,"text":"`+secret+`"}]}`)
	if _, _, err := e.Body(); err == nil || strings.Contains(err.Error(), secret) {
		t.Errorf("error of the body = %v", err)
	}
}

// Lines of other formats, torn, glued, cut and forged ones: none is an entry.
func TestCaseC001_TornLinesAreNoEntries(t *testing.T)         { foreign(t, "C001/*") }
func TestCaseC002_GluedLinesAreNoEntries(t *testing.T)        { foreign(t, "C002/*") }
func TestCaseC008_ForeignLinesAreNoEntries(t *testing.T)      { foreign(t, "C008/*") }
func TestCaseC070_ForgedForeignRowIsNoEntry(t *testing.T)     { foreign(t, "C070/*") }
func TestCaseC082_ForeignLinesFromFutureAreNone(t *testing.T) { foreign(t, "C082/*") }

func foreign(t *testing.T, pattern string) {
	t.Helper()
	files, err := filepath.Glob("testdata/" + pattern)
	if err != nil || len(files) == 0 {
		t.Fatalf("%d fixtures, %v", len(files), err)
	}
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for l := range bytes.Lines(b) {
			n++
			if _, err := ledger.Parse(l); err == nil {
				t.Errorf("%s, line %d is taken for an entry", f, n)
			}
		}
		if n == 0 {
			t.Errorf("%s is empty", f)
		}
	}
}

// The same tears in lines of our own: the intact entries before the tear
// verify, the torn or glued line is refused, and what follows a gap is too.
func TestCaseC001_TornAndGluedEntries(t *testing.T) {
	es := ledgertest.Entries(ledgertest.Key(), ledgertest.First(), note("n-1"), note("n-2"), note("n-3"))
	one, two, three := string(es[1].Raw), string(es[2].Raw), string(es[3].Raw)
	for _, c := range []struct {
		name, lines string
		verified    int64
	}{
		{"torn tail", string(es[0].Raw) + one + two[:len(two)/2], 1},
		{"torn middle", string(es[0].Raw) + one + two[:len(two)/2] + three, 1},
		{"no final newline", string(es[0].Raw) + one + strings.TrimSuffix(two, "\n"), 1},
		{"glued", string(es[0].Raw) + strings.TrimSuffix(one, "\n") + two + three, 0},
		{"a line lost", string(es[0].Raw) + one + three, 1},
		{"whole", string(es[0].Raw) + one + two + three, 3},
	} {
		p, err := ledger.Verify(ledger.Pos{}, lines([]byte(c.lines)))
		if p.Rev != c.verified || (err == nil) != (c.name == "whole") {
			t.Errorf("%s: verified up to %d, %v; want %d", c.name, p.Rev, err, c.verified)
		}
	}
}

// lines parses what bufio reads, as a log over a file does.
func lines(b []byte) func(func(ledger.Entry, error) bool) {
	return func(yield func(ledger.Entry, error) bool) {
		r := bufio.NewReader(bytes.NewReader(b))
		for {
			l, _ := r.ReadBytes('\n')
			if len(l) == 0 {
				return
			}
			e, err := ledger.Parse(l)
			if !yield(e, err) || err != nil {
				return
			}
		}
	}
}

// C008: an entry that this build doesn't understand keeps its number, is shown
// as such, and nothing takes its place.
func TestCaseC008_UnknownEntriesKeepTheirNumber(t *testing.T) {
	key := ledgertest.Key()
	goal := ledgertest.Save(ledgertest.Record("g-1", ledger.KindGoal, "Ship the importer"))
	decision := ledgertest.Save(ledgertest.Record("d-1", ledger.KindDecision, "Use one writer"))
	next := ledgertest.Save(ledgertest.Record("n-1", ledger.KindNext, "Write the reader"))
	meter := ledgertest.Future()
	base := ledgertest.Entries(key, ledgertest.First(), goal)
	es := ledgertest.Extend(base, key, meter, decision, next)
	if !es[2].Newer || es[2].Rev != 2 {
		t.Fatalf("the unknown entry: newer %v, revision %d", es[2].Newer, es[2].Rev)
	}
	s := apply(t, es...)
	newer, _ := s.Newer(t.Context())
	if !cmp.Equal(newer, []int64{2}) || s.Head() != es[4].Pos() {
		t.Errorf("newer = %v, head %v", newer, s.Head())
	}
	if got := find(t, s, ledger.Query{}); !cmp.Equal(got, []string{"n-1", "d-1", "g-1"}) {
		t.Errorf("records = %v", got)
	}

	// The fixture's fault: a writer that couldn't decode 2 takes the number again.
	reused := ledgertest.Extend(base, key, decision, next)
	both := append(append([]ledger.Entry{}, base...), es[2], reused[2], reused[3])
	if p, err := ledger.Verify(ledger.Pos{}, seq(both)); err == nil || p.Rev != 2 {
		t.Errorf("a number used twice verifies up to %d: %v", p.Rev, err)
	}
	m := ledgertest.NewMemory(ledgertest.Options{Sealer: key, Entries: es[:3]})
	var conflict *ledger.ConflictError
	if _, err := m.Append(t.Context(), base[1].Pos(), decision); !errors.As(err, &conflict) || conflict.Head != es[2].Pos() {
		t.Errorf("append behind the last known entry: %v", err)
	}
	if saved, err := m.Append(t.Context(), conflict.Head, decision); err != nil || saved.Rev != 3 {
		t.Errorf("append behind the unknown entry: %v, %v", saved.Pos, err)
	}
}
