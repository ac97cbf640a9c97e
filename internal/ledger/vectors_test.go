package ledger_test

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"flag"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"holdfast/internal/ledger"
	"holdfast/internal/ledger/ledgertest"
)

var update = flag.Bool("update", false, "write the test vectors anew; a change of them is a change of the format")

const (
	vectorsFile = "testdata/vectors/vectors.jsonl"
	refusedFile = "testdata/vectors/refused.jsonl"
	readmeFile  = "testdata/vectors/README.md"
)

// vector is one entry of the vectors and how it is sealed.
type vector struct {
	draft ledger.Draft
	seal  ledger.Sealer
	erase bool
}

// vectors is the ledger that the vectors hold: the README has a line for each.
func vectors() []vector {
	key, other := ledgertest.Key(), ledgertest.OtherKey()
	git := ledger.Git{Branch: "feature/import", Commit: sum("commit")[:40], Base: sum("base")[:40]}
	at := func(d ledger.Draft) ledger.Draft { d = ledgertest.On(d, git); d.Body.Worktree = "main"; return d }
	person := func(d ledger.Draft) ledger.Draft { d.Body.Actor = ledgertest.Person(); return d }

	odd := note("odd")
	odd.Body.Records[0].Text = "line\u2028separator, <b>&amp;</b>, \"quoted\" \\ back, tab\t, bell\a, 🙂, lone \xed\xa0\x80 surrogate"
	done := person(at(ledgertest.Status("n-1", 1, ledger.StatusDone)))
	done.Body.Change.WithoutEvidence = "The check can't run here."
	retractCheck := ledgertest.Retract("unit", 8)
	retractCheck.Body.Change.Category = ledger.CategoryCheck
	early := note("early")
	early.At = time.Date(1970, 1, 1, 0, 0, 0, 0, time.UTC)
	detached := ledgertest.On(note("detached"), ledger.Git{Commit: git.Commit, Base: git.Base, Detached: true})
	correction := ledgertest.Record("q-1", ledger.KindAnswer, "Which format?")
	correction.Replaces, correction.Answer = 1, "JSON lines"

	out := []vector{
		{draft: ledgertest.First(), seal: key},
		{draft: ledgertest.WithKey(at(ledgertest.Save(fullRecords()...)), "save-1"), seal: key},
		{draft: odd, seal: key},
		{draft: done, seal: key},
		{draft: at(ledgertest.Retract("g-1", 1)), seal: key},
		{draft: at(ledgertest.Restore("g-1", 4)), seal: key},
		{draft: ledgertest.Confirm(ledger.Ref{ID: "d-1", Rev: 1}), seal: key},
		{draft: ledgertest.Carry("fix/a", "fix/b"), seal: key},
		{draft: at(fullCheck()), seal: key},
		{draft: retractCheck, seal: key},
		{draft: ledgertest.Allow("not a secret"), seal: key},
		{draft: note("unsealed"), seal: nil},
		{draft: ledgertest.Confirm(ledger.Ref{ID: "unsealed", Rev: 11}), seal: nil},
		{draft: ledgertest.Save(correction), seal: key},
		{draft: note("secret"), seal: key, erase: true},
		{draft: ledgertest.Redact(ledger.Ref{ID: "secret", Rev: 14}), seal: key},
		{draft: note("hidden"), seal: key},
		{draft: ledgertest.Recover("0c9e1f3e-6a53-4d8e-9d55-0d7c2ad7f0a1", 15, ledger.Pos{Rev: 17, Hash: sum("another head")}), seal: key},
		{draft: note("elsewhere"), seal: other},
		{draft: early, seal: key},
		{draft: detached, seal: key},
		{draft: ledgertest.Future(), seal: key},
	}
	for _, d := range everyType() {
		if strings.Contains(d.Type, ".") || d.Type == ledger.TypeMerge || d.Type == ledger.TypeAdopt || d.Type == ledger.TypeSealed {
			out = append(out, vector{draft: d, seal: key})
		}
	}
	return out
}

// fullRecords have every field of a record between them.
func fullRecords() []ledger.Record {
	goal := ledgertest.Record("g-1", ledger.KindGoal, "Ship the importer")
	next := ledgertest.Record("n-1", ledger.KindNext, "Write the reader")
	next.DoneWhen, next.Status = "unit", ledger.StatusOpen
	question := ledgertest.Record("q-1", ledger.KindQuestion, "Which format?")
	decision := ledgertest.Record("d-1", ledger.KindDecision, "Use one writer")
	decision.Why, decision.RevisitWhen, decision.Supersedes = "Two lost saves.", "There are two machines.", "d-0"
	decision.Rejected = []ledger.Rejected{{Option: "A lock file", Why: "It stays behind."}, {Option: "Nothing"}}
	n := ledgertest.Record("note-1", ledger.KindNote, "The reader stops at 64 KiB.")
	n.Cites = []ledger.Cite{{Path: "internal/reader/reader.go", SHA256: sum("reader.go")}, {Path: "gone.go"}}
	n.Settles = []int64{5, 7}
	return []ledger.Record{goal, next, question, decision, n}
}

func fullCheck() ledger.Draft {
	d := ledgertest.Check("unit", ledger.Passed)
	r := d.Body.Receipt
	r.Title, r.Worktree = "Unit tests", "main"
	r.Inputs = ledger.Inputs{Declared: []string{"internal/**"}, Count: 2, Digest: sum("inputs"), Files: []ledger.InputFile{{Path: "a.go", SHA256: sum("a")}, {Path: ".env", SHA256: sum("b"), Keyed: true}}}
	r.Output = ledger.Output{Bytes: 120, SHA256: sum("output"), Lines: 3}
	r.Counts = &ledger.Counts{Runner: "go test", Passed: 612, Skipped: 2, Total: 614}
	r.Runtime = ledger.Runtime{OS: "linux", Arch: "amd64", Program: "/usr/bin/go", Size: 13000000, SHA256: sum("go"), Version: "go1.26.0"}
	r.Env = map[string]string{"CI": sum("true"), "GOFLAGS": sum("")}
	r.Flags, r.DirtyDigest, r.ValidForMS = []string{"cached"}, sum("dirty"), 86400000
	return d
}

func encodeVectors() []ledger.Entry {
	var es []ledger.Entry
	vs := vectors()
	for _, v := range vs {
		es = ledgertest.Extend(es, v.seal, v.draft)
	}
	for i, v := range vs {
		if v.erase {
			es[i] = es[i].Erase()
		}
	}
	return es
}

// The bytes of every entry are those of the published vectors.
func TestVectors(t *testing.T) {
	got := join(encodeVectors())
	if *update {
		if err := os.WriteFile(vectorsFile, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(vectorsFile)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("entries are encoded otherwise than the vectors:\n%s", cmp.Diff(strings.Split(string(want), "\n"), strings.Split(string(got), "\n")))
	}
}

// Read without what wrote them, the vectors verify, and say what the README
// says of them.
func TestVectorsAreRead(t *testing.T) {
	b, err := os.ReadFile(vectorsFile)
	if err != nil {
		t.Fatal(err)
	}
	readme, err := os.ReadFile(readmeFile)
	if err != nil {
		t.Fatal(err)
	}
	key, other := ledgertest.Key(), ledgertest.OtherKey()
	for _, k := range []ledger.Key{key, other} {
		if !bytes.Contains(readme, []byte(hex.EncodeToString(k))) || !bytes.Contains(readme, []byte(k.KeyID())) {
			t.Errorf("the README lacks key %s, %s", k.KeyID(), hex.EncodeToString(k))
		}
	}
	var es []ledger.Entry
	for e, err := range lines(b) {
		if err != nil {
			t.Fatal(err)
		}
		es = append(es, e)
	}
	end, err := ledger.Verify(ledger.Pos{}, seq(es))
	if err != nil || end != es[len(es)-1].Pos() {
		t.Fatalf("the vectors verify up to %v: %v", end, err)
	}
	for _, e := range es {
		if row := readmeRow(&e, sealsOf(key)); !bytes.Contains(readme, []byte(row)) {
			t.Errorf("the README lacks the row %q", row)
		}
	}
	if !bytes.Contains(readme, []byte(end.Hash)) {
		t.Errorf("the README lacks the last hash, %s", end.Hash)
	}
	s := apply(t, es...)
	open := strings.Join(find(t, s, ledger.Query{}), " ")
	if !bytes.Contains(readme, []byte("`"+open+"`")) {
		t.Errorf("the README lacks the open records: %s", open)
	}
}

// readmeRow is how the README's table begins for an entry.
func readmeRow(e *ledger.Entry, here ledger.Seals) string {
	state := map[ledger.SealState]string{ledger.Unsealed: "no", ledger.SealedHere: "first key", ledger.SealedElsewhere: "second key"}[here.Check(e)]
	return "| " + strings.Join([]string{
		strings.TrimSpace(jsonText(e.Rev)), "`" + e.Type + "`", state, map[bool]string{true: "void", false: ""}[e.Void()],
		map[bool]string{true: "erased", false: ""}[e.BodyRaw == nil], map[bool]string{true: "newer", false: ""}[e.Newer],
	}, " | ") + " |"
}

func jsonText(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(b)
}

type refusal struct {
	Why  string `json:"why"`
	Line string `json:"line"`
}

// refusals are lines that are near an entry and none.
func refusals() []refusal {
	e := encodeVectors()[1]
	raw, head, body := string(e.Raw), string(e.HeadRaw), string(e.BodyRaw)
	at := func(old, new string) string { return strings.Replace(raw, old, new, 1) }
	forged := func(old, new string) string {
		h := strings.Replace(head, old, new, 1)
		return string(line(h, body, sum(h), ""))
	}
	tail := func(s string) string { return strings.TrimSuffix(raw, "}\n") + s }
	return []refusal{
		{"no newline at the end", strings.TrimSuffix(raw, "\n")},
		{"cut in the middle", raw[:len(raw)/2]},
		{"a carriage return before the newline", tail("}\r\n")},
		{"two entries on one line", strings.TrimSuffix(raw, "\n") + raw},
		{"a newline inside", at(`"body":{`, "\"body\":{\n")},
		{"a space between the parts", at(`,"body":`, `, "body":`)},
		{"another order of the parts", `{"hash":"` + e.Hash + `","head":` + head + `,"body":` + body + `,"seal":"` + e.Seal + "\"}\n"},
		{"a comma at the end", tail(",}\n")},
		{"a part twice", tail(`,"seal":"` + e.Seal + "\"}\n")},
		{"a body that is a list", at(body, `[`+body+`]`)},
		{"a changed head", at(`"rev":1,`, `"rev":2,`)},
		{"a hash in capitals", at(e.Hash, strings.ToUpper(e.Hash))},
		{"a seal that is cut", at(e.Seal, e.Seal[:62])},
		{"a field of the head twice", forged(`"rev":1,`, `"rev":1,"rev":1,`)},
		{"a field of the head twice, in another case", forged(`"rev":1,`, `"rev":1,"REV":2,`)},
		{"fields of the head in another order", forged(`"v":1,"rev":1,`, `"rev":1,"v":1,`)},
		{"a space in the head", forged(`"rev":1`, `"rev": 1`)},
		{"an escape in the head", forged(`"type":"record"`, `"type":"rec\u006frd"`)},
		{"a number written otherwise", forged(`"rev":1,`, `"rev":1e0,`)},
		{"a revision below 0", forged(`"rev":1,`, `"rev":-1,`)},
		{"a field of the head missing", forged(`"recovery":"",`, ``)},
		{"a null in the head", forged(`"recovery":""`, `"recovery":null`)},
		{"version 0", forged(`"v":1`, `"v":0`)},
	}
}

func TestVectorsRefused(t *testing.T) {
	var want bytes.Buffer
	enc := json.NewEncoder(&want)
	enc.SetEscapeHTML(false)
	for _, r := range refusals() {
		if err := enc.Encode(r); err != nil {
			t.Fatal(err)
		}
	}
	if *update {
		if err := os.WriteFile(refusedFile, want.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(refusedFile)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want.Bytes()) {
		t.Error("the refused lines differ from the vectors")
	}
	for l := range bytes.Lines(got) {
		var r refusal
		if err := json.Unmarshal(l, &r); err != nil {
			t.Fatal(err)
		}
		if _, err := ledger.Parse([]byte(r.Line)); err == nil {
			t.Errorf("%s: accepted", r.Why)
		}
	}
}
