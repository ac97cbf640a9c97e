package txn_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"holdfast/internal/ledger"
	"holdfast/internal/txn"
)

func TestParseBeginRefuses(t *testing.T) {
	op := func(fields string) string {
		return `{"intent":"x","operations":[{"kind":"write",` + fields + `}]}`
	}
	post := func(surface, expect string) string {
		return op(`"postconditions":[{"surface":"` + surface + `","expect":` + expect + `}]`)
	}
	sum := strings.Repeat("a", 64)
	many := make([]string, 1001)
	for i := range many {
		many[i] = fmt.Sprintf(`"f%d":%q`, i, sum)
	}
	posts := strings.TrimSuffix(strings.Repeat(`{"surface":"file:a","expect":{"state":"absent"}},`, 101), ",")
	tests := []struct{ name, in, field string }{
		{"nothing", ``, "request"},
		{"no object", `[]`, "request"},
		{"something behind", post("file:a", `{"state":"absent"}`) + `{}`, "request"},
		{"half", `{"intent":"x"`, "request"},
		{"unknown field", `{"intent":"x","operations":[],"force":true}`, "force"},
		{"a field twice", `{"intent":"x","intent":"y","operations":[]}`, "intent"},
		{"a name twice", post("dir:d", `{"contains":{"a":"`+sum+`","a":"`+sum+`"}}`), "a"},
		{"nested deeply", strings.Repeat("[", 200) + strings.Repeat("]", 200), "request"},
		{"no intent", `{"intent":" ","operations":[]}`, "intent"},
		{"no operation", `{"intent":"x","operations":[]}`, "operations"},
		{"no postcondition", op(`"postconditions":[]`), "operations[0].postconditions"},
		{"no kind", `{"intent":"x","operations":[{"postconditions":[{"surface":"file:a","expect":{"state":"absent"}}]}]}`, "operations[0].kind"},
		{"kind in capitals", `{"intent":"x","operations":[{"kind":"Write","postconditions":[]}]}`, "operations[0].kind"},
		{"101 postconditions", op(`"postconditions":[` + posts + `]`), "*limit"},
		{"1001 names", post("dir:d", `{"contains":{`+strings.Join(many, ",")+`}}`), "*limit"},
		{"unknown surface", post("disk:a", `{"state":"absent"}`), "operations[0].postconditions[0].surface"},
		{"surface without a name", post("file:", `{"state":"absent"}`), "operations[0].postconditions[0].surface"},
		{"NUL in a surface", post(`file:a\u0000`, `{"state":"absent"}`), "operations[0].postconditions[0].surface"},
		{"bad record", post("record:../x", `{"state":"absent"}`), "operations[0].postconditions[0].surface"},
		{"expects nothing", post("file:a", `{}`), "operations[0].postconditions[0].expect"},
		{"unknown key", post("file:a", `{"owner":"root"}`), "operations[0].postconditions[0].expect.owner"},
		{"key of another surface", post("file:a", `{"oid":"`+sum+`"}`), "operations[0].postconditions[0].expect.oid"},
		{"a value of no scalar", post("file:a", `{"sha256":["x"]}`), "expect.sha256"},
		{"short digest", post("file:a", `{"sha256":"abc"}`), "operations[0].postconditions[0].expect.sha256"},
		{"mode of no number", post("file:a", `{"mode":"rwx"}`), "operations[0].postconditions[0].expect.mode"},
		{"mode too large", post("file:a", `{"mode":"17777"}`), "operations[0].postconditions[0].expect.mode"},
		{"negative size", post("file:a", `{"size":-1}`), "operations[0].postconditions[0].expect.size"},
		{"absent with content", post("file:a", `{"state":"absent","sha256":"`+sum+`"}`), "operations[0].postconditions[0].expect"},
		{"link with content", post("file:a", `{"link":"b","sha256":"`+sum+`"}`), "operations[0].postconditions[0].expect"},
		{"contains of a file", post("file:a", `{"contains":{"a":"`+sum+`"}}`), "operations[0].postconditions[0].expect.contains"},
		{"contains nothing", post("dir:a", `{"contains":{}}`), "operations[0].postconditions[0].expect.contains"},
		{"a name that leaves", post("dir:a", `{"contains":{"../b":"`+sum+`"}}`), "operations[0].postconditions[0].expect.contains"},
		{"a name in .git", post("dir:a", `{"contains":{".GIT/config":"`+sum+`"}}`), "operations[0].postconditions[0].expect.contains"},
		{"settles for ever", op(`"settle_ms":86400001,"postconditions":[{"surface":"file:a","expect":{"state":"absent"}}]`), "operations[0].settle_ms"},
		{"settles before", op(`"settle_ms":-1,"postconditions":[{"surface":"file:a","expect":{"state":"absent"}}]`), "operations[0].settle_ms"},
		{"ignores something else", op(`"ignore":["size"],"postconditions":[{"surface":"file:a","expect":{"state":"absent"}}]`), "operations[0].ignore"},
		{"ignores what it expects", op(`"ignore":["mode"],"postconditions":[{"surface":"file:a","expect":{"mode":"0644"}}]`), "operations[0].postconditions[0].expect.mode"},
		{"reported is no object", `{"intent":"x","operations":[{"kind":"upload","postconditions":[{"surface":"reported:r","expect":{"etag":"1"}}]}],"reported":{"r":"v1"}}`, "reported.r"},
		{"reported is huge", `{"intent":"x","operations":[{"kind":"upload","postconditions":[{"surface":"reported:r","expect":{"etag":"1"}}]}],"reported":{"r":{"etag":"1","x":"` + strings.Repeat("y", 4096) + `"}}}`, "*limit"},
		{"probe over MCP", `{"intent":"x","operations":[{"kind":"verify","postconditions":[{"surface":"probe:p","expect":{}}]}],"probes":{"p":{"argv":["true"]}}}`, "probes"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := txn.ParseBegin([]byte(tt.in), false)
			var field *ledger.FieldError
			var limit *ledger.LimitError
			switch {
			case errors.As(err, &limit) && tt.field == "*limit":
			case errors.As(err, &field) && field.Field == tt.field:
			default:
				t.Fatalf("got %v, want an error about %s", err, tt.field)
			}
		})
	}
}

func TestParseReportRefuses(t *testing.T) {
	for name, in := range map[string]string{
		"unknown outcome": `{"transaction":"t1","attempt":"a1","outcome":"fine"}`,
		"no attempt":      `{"transaction":"t1","outcome":"failed"}`,
		"huge detail":     `{"transaction":"t1","attempt":"a1","outcome":"failed","detail":"` + strings.Repeat("x", 2001) + `"}`,
		"unknown field":   `{"transaction":"t1","attempt":"a1","outcome":"failed","really":true}`,
	} {
		if _, err := txn.ParseReport([]byte(in)); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	if _, err := txn.ParseAttempt([]byte(`{"transaction":"t1"}`)); err == nil {
		t.Error("an attempt of no operation: accepted")
	}
	if _, err := txn.ParseReport([]byte(`{"transaction":"t1","attempt":"a1","outcome":"failed","detail":"no answer"}`)); err != nil {
		t.Errorf("a good report: %v", err)
	}
}

// TestTextsNameEveryField fills every text of a request with a text of its own:
// each must reach the screening.
func TestTextsNameEveryField(t *testing.T) {
	type texter interface {
		Texts(func(name, text string))
	}
	for _, r := range []texter{&txn.BeginRequest{}, &txn.ObserveRequest{}, &txn.AttemptRequest{}, &txn.ReportRequest{}} {
		n := 0
		fill(reflect.ValueOf(r).Elem(), &n)
		var all strings.Builder
		r.Texts(func(_, text string) { fmt.Fprintln(&all, text) })
		for i := range n {
			if !strings.Contains(all.String(), fmt.Sprintf("text-%d.", i)) {
				t.Errorf("%T: the text in field %d is not yielded", r, i)
			}
		}
		if n == 0 {
			t.Errorf("%T: no texts", r)
		}
	}
}

// fill puts a different text into every string that v holds.
func fill(v reflect.Value, n *int) {
	next := func() string { *n++; return fmt.Sprintf("text-%d.", *n-1) }
	switch {
	case v.Type() == reflect.TypeFor[json.RawMessage]():
		v.SetBytes([]byte(`{"` + next() + `":"` + next() + `","deep":[{"x":"` + next() + `"}]}`))
	case v.Kind() == reflect.String:
		v.SetString(next())
	case v.Kind() == reflect.Struct:
		for i := range v.NumField() {
			fill(v.Field(i), n)
		}
	case v.Kind() == reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0), n)
	case v.Kind() == reflect.Map:
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		fill(key, n)
		fill(value, n)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(key, value)
	}
}

func TestParsePostcondition(t *testing.T) {
	sum := strings.Repeat("a", 64)
	for in, want := range map[string]string{
		"file:notes.md=absent":                  `{"surface":"file:notes.md","expect":{"state":"absent"}}`,
		"file:notes.md=sha256:" + sum:           `{"surface":"file:notes.md","expect":{"sha256":"` + sum + `"}}`,
		"file:a=b.txt=present":                  `{"surface":"file:a=b.txt","expect":{"state":"present"}}`,
		"file:x=sha256:1/y=size:3":              `{"surface":"file:x","expect":{"sha256":"1/y=size:3"}}`,
		"git:ref:main=oid:" + sum:               `{"surface":"git:ref:main","expect":{"oid":"` + sum + `"}}`,
		"file:l=link:a=b":                       `{"surface":"file:l","expect":{"link":"a=b"}}`,
		"probe:tests=exit:0":                    `{"surface":"probe:tests","expect":{"exit":0}}`,
		`reported:drive/notes=etag:W/"v2:=abc"`: `{"surface":"reported:drive/notes","expect":{"etag":"W/\"v2:=abc\""}}`,
	} {
		p, err := txn.ParsePostcondition(in)
		if got, _ := json.Marshal(p); err != nil || string(got) != want {
			t.Errorf("%s: %s, %v; want %s", in, got, err, want)
		}
	}
	for _, in := range []string{"", "file:a", "file:a=", "file:a=owner:root", "dir:d=contains:a", "disk:a=absent:1"} {
		if p, err := txn.ParsePostcondition(in); err == nil {
			t.Errorf("%q is accepted as %+v", in, p)
		}
	}
}

// FuzzParseBegin: whatever is accepted can be written and is accepted again.
func FuzzParseBegin(f *testing.F) {
	f.Add([]byte(`{"intent":"x","operations":[` + fileOp("a", "1") + `],"reported":{}}`))
	f.Add([]byte(`{"intent":"x","operations":[{"kind":"move","source":"file:a","destination":"dir:b","ignore":["mode","json:/a"],"settle_ms":5,"postconditions":[{"surface":"dir:b","expect":{"contains":{"a/b":"` + strings.Repeat("0", 64) + `"}}}]}],"key":"k","replaces":"t1"}`))
	f.Fuzz(func(t *testing.T, in []byte) {
		r, err := txn.ParseBegin(in, true)
		if err != nil {
			return
		}
		out, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		again, err := txn.ParseBegin(out, true)
		if err != nil {
			t.Fatalf("not accepted again: %v\n%s", err, out)
		}
		if second, err := json.Marshal(again); err != nil || string(second) != string(out) {
			t.Fatalf("%s became %s (%v)", out, second, err)
		}
		r.Texts(func(string, string) {})
	})
}
