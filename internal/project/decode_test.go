package project

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"holdfast/internal/ledger"
)

func TestDecodeRecords(t *testing.T) {
	text := func(s string) *string { return &s }
	rev := int64(3)
	want := []RecordRequest{
		{ID: "a", Kind: "decision", Text: text("A \U0001F600 \\ué"), Rejected: &[]ledger.Rejected{{Option: "x", Why: "y"}}, ExpectedRevision: &rev},
		{ID: "b", Cites: &[]string{"f"}, Why: text("")},
	}
	got, err := DecodeRecords([]byte("\ufeff \n" + `[{"id":"a","kind":"decision","text":"A \ud83d\ude00 \\u\u00e9","rejected":[{"option":"x","why":"y"}],"expected_revision":3},
		{"id":"b","cites":["f"],"why":""}] ` + "\n"))
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Fatal(d)
	}
	if one, err := DecodeRecords([]byte(`{"id":"a"}`)); err != nil || len(one) != 1 || one[0].ID != "a" {
		t.Fatal(one, err)
	}
}

func TestDecodeRefuses(t *testing.T) {
	secret := "ghp_" + strings.Repeat("0a", 18)
	for _, c := range []struct{ in, field, why string }{
		{`{"id":"a","txet":"b"}`, "txet", "not a field"},
		{`[{"id":"a"},{"id":"b","txet":"b"}]`, "records[1].txet", "not a field"},
		{`[{"id":"a","rejected":[{"option":"x"},{"because":"y"}]}]`, "records[0].rejected[1].because", "not a field"},
		{`{"Text":"a"}`, "Text", "not a field"},
		{`{"actor":{"kind":"person"}}`, "actor", "not a field"},
		{`{"` + secret + `":"a"}`, "(a name that is not shown)", "not a field"},
		{`{"text":"a","text":"b"}`, "text", "twice"},
		{`{"te\u0078t":"a","text":"b"}`, "text", "twice"},
		{`{"text":4711}`, "text", "must be a text"},
		{`{"text":null}`, "text", "must be a text"},
		{`{"text":["a"]}`, "text", "must be a text"},
		{`{"cites":"a"}`, "cites", "must be a list"},
		{`{"cites":["a",{"x":1}]}`, "cites[1]", "must be a text"},
		{`{"rejected":["a"]}`, "rejected[0]", "must be an object"},
		{`{"expected_revision":"3"}`, "expected_revision", "whole number"},
		{`{"expected_revision":3.5}`, "expected_revision", "whole number"},
		{`{"expected_revision":1e3}`, "expected_revision", "whole number"},
		{`{"expected_revision":99999999999999999999}`, "expected_revision", "whole number"},
		{`{"text":"\ud800"}`, "text", "surrogate"},
		{`{"text":"\udc00 "}`, "text", "surrogate"},
		{`{"text":"\ud800\u0041"}`, "text", "surrogate"},
		{`{"id":"a"} {"id":"b"}`, "request", "behind"},
		{`{"id":"a"}]`, "request", "behind"},
		{`{"id":"a"`, "request", "not valid JSON"},
		{`{"id" "a"}`, "request", "not valid JSON"},
		{`{"id":"a",}`, "request", "not valid JSON"},
		{``, "request", "not valid JSON"},
		{`"a"`, "request", "must be an object"},
		{`null`, "request", "must be an object"},
		{`[[]]`, "records[0]", "must be an object"},
		{"{\"id\":\"a\xff\"}", "request", "UTF-8"},
		{strings.Repeat("[", 100000), "records[0]", "must be an object"},
		{`{"cites":` + strings.Repeat("[", 100000), "cites[0]", "must be a text"},
	} {
		_, err := DecodeRecords([]byte(c.in))
		e, ok := errors.AsType[*ledger.FieldError](err)
		if !ok || e.Field != c.field || !strings.Contains(e.Why, c.why) {
			t.Errorf("%.60q gives %v, want %s: …%s…", c.in, err, c.field, c.why)
			continue
		}
		if strings.Contains(err.Error(), "4711") || strings.Contains(err.Error(), secret) {
			t.Errorf("%.60q: the error repeats a value: %v", c.in, err)
		}
	}
	if _, err := DecodeRecords(make([]byte, MaxRequest+1)); !errors.As(err, new(*ledger.LimitError)) {
		t.Errorf("a large request gives %v", err)
	}
}

// FuzzDecode: what is accepted means the same to encoding/json, and nothing
// panics or loops.
func FuzzDecode(f *testing.F) {
	for _, s := range []string{`{"id":"a","text":"b"}`, `[{"id":"a","rejected":[{"option":"x","why":"y"}]}]`, `{"text":"\ud83d\ude00"}`, `[`, `{"cites":["a"]}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		got, err := DecodeRecords(data)
		if err != nil {
			return
		}
		again, err := json.Marshal(got)
		if err != nil {
			t.Fatal(err)
		}
		back, err := DecodeRecords(again)
		if err != nil {
			t.Fatalf("%s: %v", again, err)
		}
		if d := cmp.Diff(got, back); d != "" {
			t.Fatal(d)
		}
	})
}
