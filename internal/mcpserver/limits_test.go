package mcpserver

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"holdfast/internal/ledger"
	"holdfast/internal/project"
)

func ptr[T any](v T) *T { return &v }

// fill saves n records straight through the hub, with texts that take the most
// room in an answer.
func (b *bed) fill(n int) {
	b.t.Helper()
	ctx := context.Background()
	p, err := project.Open(ctx, b.world(), project.Options{Dir: b.dir, Caller: project.MCPCaller("filler", "1")})
	if err != nil {
		b.t.Fatal(err)
	}
	kinds := []string{ledger.KindGoal, ledger.KindQuestion, ledger.KindAnswer, ledger.KindDecision, ledger.KindNext, ledger.KindNote}
	texts := []string{
		strings.Repeat("the importer keeps its place beside the source. ", 20), strings.Repeat("\"quoted\" \\ back\n", 60),
		strings.Repeat("<b>&amp;</b>", 80), strings.Repeat("\u200b\u202e", 300), "short", strings.Repeat("日本語の長い文。", 60),
	}
	for done := 0; done < n; {
		var reqs []project.RecordRequest
		for ; len(reqs) < 100 && done < n; done++ {
			r := project.RecordRequest{ID: fmt.Sprintf("r-%05d", done), Kind: kinds[done%6], Text: ptr(texts[done/6%6] + fmt.Sprint(" importer ", done)), Source: ptr("a test")}
			if r.Kind == ledger.KindAnswer {
				r.Answer = ptr(texts[done%5])
			}
			reqs = append(reqs, r)
		}
		if _, err := p.Record(ctx, reqs); err != nil {
			b.t.Fatal(err)
		}
	}
	if err := p.Close(ctx); err != nil {
		b.t.Fatal(err)
	}
}

// largest is a record with every field as long as it may be.
func largest(id string) map[string]any {
	long := strings.Repeat("\u202e\"", 1000)
	rejected := make([]map[string]string, 0, 10)
	for range 10 {
		rejected = append(rejected, map[string]string{"option": long[:1000], "why": long[:1000]})
	}
	return map[string]any{"id": id, "kind": "decision", "text": long, "why": long, "revisit_when": long, "source": long[:800], "rejected": rejected}
}

func TestCaseC048_AnswersStaySmall(t *testing.T) {
	t.Parallel()
	const records = 3000
	b := newBed(t)
	b.fill(records)
	p := b.start()
	p.initialize()
	if r := p.ask("holdfast_record", largest("big")); r.IsError {
		t.Fatalf("the largest record: %s", r.text())
	}
	rev := int64(p.must("holdfast_resume", nil).field("revision").(float64))
	for i := range 120 { // a long history
		r := p.must("holdfast_record", map[string]any{"id": "r-00003", "text": fmt.Sprintf("%d %s", i, strings.Repeat("again ", 200)), "expected_revision": current(p, "r-00003")})
		rev = int64(r.field("revision").(float64))
	}
	for _, c := range []struct {
		tool  string
		args  map[string]any
		limit int
		says  string // of the truncation, in the text
	}{
		{"holdfast_resume", nil, usualAnswer, "Left out:"},
		{"holdfast_resume", map[string]any{"budget": 100}, usualAnswer, "Left out:"},
		{"holdfast_resume", map[string]any{"budget": 16000}, maxAnswer, "Left out:"},
		{"holdfast_resume", map[string]any{"all": true}, maxAnswer, "Left out:"},
		{"holdfast_resume", map[string]any{"since": 2}, usualAnswer, "Left out:"},
		{"holdfast_search", map[string]any{"query": "importer"}, usualAnswer, "more with cursor"},
		{"holdfast_search", map[string]any{"query": "importer", "limit": 100}, maxAnswer, "more with cursor"},
		{"holdfast_search", map[string]any{"query": "importer", "limit": 100, "branches": "all", "retracted": true}, maxAnswer, "more with cursor"},
		{"holdfast_search", map[string]any{"id": "r-00003"}, usualAnswer, "older ones were left out"},
		{"holdfast_search", map[string]any{"id": "r-00003", "limit": 100}, maxAnswer, "older ones were left out"},
		{"holdfast_search", map[string]any{"id": "big"}, usualAnswer, "left out"},
		{"holdfast_search", map[string]any{"id": "big", "limit": 100}, maxAnswer, "left out"},
		{"holdfast_checks", nil, usualAnswer, ""},
		{"holdfast_record", map[string]any{"id": "big", "text": "x", "expected_revision": rev + 9}, usualAnswer, "left out"},
	} {
		r := p.ask(c.tool, c.args)
		if r.IsError != (c.tool == "holdfast_record") {
			t.Errorf("%s %v: %.300s", c.tool, c.args, r.text())
		}
		t.Logf("%s %v: %d bytes", c.tool, c.args, r.size)
		if r.size > c.limit {
			t.Errorf("%s %v: %d bytes, at most %d", c.tool, c.args, r.size, c.limit)
		}
		if !strings.Contains(r.text(), c.says) {
			t.Errorf("%s %v: the text doesn't say what was left out: …%s", c.tool, c.args, r.text()[max(0, len(r.text())-300):])
		}
	}
	for _, uri := range []string{handoffURI, recordPrefix + "r-00003", recordPrefix + "big"} {
		p.write(fmt.Sprintf(`{"jsonrpc":"2.0","id":"r","method":"resources/read","params":{"uri":%q}}`+"\n", uri))
		if m := p.read(); m.Error != nil || len(m.raw) > usualAnswer {
			t.Errorf("%s: %d bytes, %v", uri, len(m.raw), m.Error)
		}
	}
	logMemory(t, p)
	p.closed()
}

func current(p *proc, id string) int64 {
	var s struct {
		Revision int64 `json:"revision"`
	}
	if err := json.Unmarshal(p.must("holdfast_search", map[string]any{"id": id, "limit": 1}).Data, &s); err != nil {
		p.t.Fatal(err)
	}
	return s.Revision
}

// The counts of what was left out and what is shown make the whole.
func TestNothingIsLeftOutUncounted(t *testing.T) {
	b := newBed(t)
	b.fill(600)
	p := b.start()
	p.initialize()
	for _, args := range []any{nil, map[string]any{"budget": 300}, map[string]any{"all": true}} {
		r := p.must("holdfast_resume", args)
		var got struct {
			Records []json.RawMessage
			Omitted map[string]int
			Budget  struct{ Tokens, Used int }
		}
		if err := json.Unmarshal(r.Data, &got); err != nil {
			t.Fatal(err)
		}
		sum := len(got.Records)
		for _, n := range got.Omitted {
			sum += n
		}
		if sum != 600 {
			t.Errorf("%v: %d records and %v left out make %d of 600", args, len(got.Records), got.Omitted, sum)
		}
		if got.Budget.Used > got.Budget.Tokens {
			t.Errorf("%v: budget %+v", args, got.Budget)
		}
	}
	p.closed()
}

// Pages of a search, and of a history, stay whole while others write.
func TestACursorStaysValidWhileOthersWrite(t *testing.T) {
	b := newBed(t)
	b.fill(60)
	reader, writer := b.start(), b.start()
	reader.initialize()
	writer.initialize()
	for i := range 30 {
		writer.must("holdfast_record", map[string]any{"id": "r-00000", "text": fmt.Sprint("version ", i), "expected_revision": current(writer, "r-00000")})
	}
	n := 0
	pages := func(args map[string]any, of func(result) []string) []string {
		var all []string
		for range 100 {
			r := reader.must("holdfast_search", args)
			all = append(all, of(r)...)
			cursor, more := r.field("cursor").(string)
			if !more {
				return all
			}
			args["cursor"] = cursor
			writer.must("holdfast_record", note(fmt.Sprintf("importer-%d", n)))
			writer.must("holdfast_record", map[string]any{"id": "r-00000", "text": fmt.Sprint("later ", n), "expected_revision": current(writer, "r-00000")})
			n++
		}
		t.Fatal("no end")
		return nil
	}
	found := pages(map[string]any{"query": "importer", "limit": 7}, func(r result) (out []string) {
		for _, m := range r.field("matches").([]any) {
			out = append(out, m.(map[string]any)["id"].(string))
		}
		return out
	})
	seen := map[string]int{}
	for _, id := range found {
		seen[id]++
	}
	for i := 1; i < 60; i++ { // r-00000 was corrected meanwhile and no longer matches
		if id := fmt.Sprintf("r-%05d", i); seen[id] != 1 {
			t.Errorf("%s was found %d times", id, seen[id])
		}
	}
	versions := pages(map[string]any{"id": "r-00000", "limit": 5}, func(r result) (out []string) {
		list := r.field("history").([]any)
		for i := len(list) - 1; i >= 0; i-- {
			out = append(out, fmt.Sprint(list[i].(map[string]any)["revision"]))
		}
		return out
	})
	for i := 1; i < len(versions); i++ {
		if versions[i] == versions[i-1] {
			t.Errorf("version %s came twice", versions[i])
		}
	}
	if want := 31 + 8; len(versions) < 31 || len(versions) > want {
		t.Errorf("%d versions: %v", len(versions), versions)
	}
	reader.closed()
	writer.closed()
}
