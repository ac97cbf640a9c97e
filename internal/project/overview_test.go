package project

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"holdfast/internal/ledger"
)

func TestOverviewAndPages(t *testing.T) {
	b := newBench(t).repo()
	ctx := context.Background()
	p := b.open(codex)
	if o, err := p.Overview(ctx, 5); err != nil || o.Ledger != "" || len(o.Sections) != 0 {
		t.Fatalf("without a ledger: %+v, %v", o, err)
	}
	for i := range 7 {
		save(t, p, request(ledger.KindNote, fmt.Sprintf("t-%d", i), "note"))
	}
	save(t, p, request(ledger.KindNext, "n-1", "act"))
	if _, err := p.Done(ctx, ChangeRequest{ID: "n-1", ExpectedRevision: num(8)}); err != nil {
		t.Fatal(err)
	}
	b.git("checkout", "-q", "-b", "side")
	b.commit("work")
	save(t, b.open(codex), request(ledger.KindDecision, "d-side", "decided there"))
	b.git("checkout", "-q", "main")

	o, err := b.open(person).Overview(ctx, 5)
	if err != nil {
		t.Fatal(err)
	}
	got := ""
	for _, s := range o.Sections {
		got += fmt.Sprintf("%s %d/%d; ", s.Name, len(s.Items), s.Total)
	}
	if want := "goals 0/0; next actions 0/0; open questions 0/0; answers and decisions 0/0; notes 5/7; finished in the last 7 days 1/1; "; got != want {
		t.Errorf("sections %s, want %s", got, want)
	}
	if len(o.Elsewhere) != 1 || o.Elsewhere[0] != (BranchCount{"side", 1}) || o.Revision != 10 || o.Branch != "main" {
		t.Errorf("%+v", o)
	}
	for _, n := range o.Notices {
		if strings.Contains(n, "on other branches") || n == leftOutNotice {
			t.Errorf("notice %q says what the page shows", n)
		}
	}

	seen := map[string]bool{}
	for at := 0; at < 9; at += 3 {
		items, total, u, err := p.Page(ctx, PageRequest{Kinds: []string{ledger.KindNote}, Offset: at, Limit: 3})
		if err != nil || total != 7 || u.Revision != 10 {
			t.Fatalf("page at %d: %d of %d, %v", at, len(items), total, err)
		}
		for _, it := range items {
			if seen[it.ID] {
				t.Errorf("%s is on two pages", it.ID)
			}
			seen[it.ID] = true
		}
	}
	if len(seen) != 7 {
		t.Errorf("%d notes on the pages, want 7", len(seen))
	}
}

func TestTimelineOfOneActor(t *testing.T) {
	b := newBench(t).repo()
	ctx := context.Background()
	for i := range 30 {
		p := b.open(codex)
		if i%10 == 0 {
			p = b.open(claude)
		}
		save(t, p, request(ledger.KindNote, fmt.Sprintf("t-%d", i), "note"))
	}
	p := b.open(person)
	save(t, p, request(ledger.KindNote, "mine", "note"))
	q := TimelineRequest{Actor: "claude-code", LogRequest: LogRequest{Limit: 2}}
	page, cursor, err := p.Timeline(ctx, q)
	if err != nil || len(page) != 2 || page[0].IDs[0] != "t-20" || page[1].IDs[0] != "t-10" || cursor == "" {
		t.Fatalf("%+v, %q, %v", page, cursor, err)
	}
	fmt.Sscan(cursor, &q.Before)
	if page, cursor, err = p.Timeline(ctx, q); err != nil || len(page) != 2 || page[0].IDs[0] != "t-0" || page[1].Type != ledger.TypeLedger || cursor != "" {
		t.Fatalf("%+v, %q, %v", page, cursor, err)
	}
	if page, _, err = p.Timeline(ctx, TimelineRequest{Actor: "person", LogRequest: LogRequest{Limit: 5}}); err != nil || len(page) != 1 || page[0].IDs[0] != "mine" {
		t.Fatalf("%+v, %v", page, err)
	}
}

func TestGraph(t *testing.T) {
	b := newBench(t).repo()
	b.write("a.go", "package a")
	p := b.open(codex)
	cites := []string{"a.go"}
	d1, d2 := request(ledger.KindDecision, "d-1", "One writer"), request(ledger.KindDecision, "d-2", "Two readers, as d-1 says")
	d1.Cites, d2.Cites = &cites, &cites
	n := request(ledger.KindNext, "n-1", "Build it")
	n.DoneWhen = str("unit")
	save(t, p, d1, d2, n, request(ledger.KindNote, "t-1", "Nothing refers to it"))
	d3 := request(ledger.KindDecision, "d-3", "No writer at all")
	d3.Supersedes = str("d-1")
	save(t, p, d3)

	edges := func(at string) string {
		t.Helper()
		g, err := p.Graph(context.Background(), at)
		if err != nil {
			t.Fatal(err)
		}
		var out []string
		for _, e := range g.Edges {
			mark := "-"
			if e.Suggested {
				mark = "?"
			}
			out = append(out, e.From+" "+mark+e.Says+" "+e.To)
		}
		return strings.Join(out, "\n")
	}
	for at, want := range map[string][]string{
		"":            {"record:d-2 -cites file:a.go", "record:n-1 -is done when it passes: check:unit", "record:d-3 -takes the place of record:d-1"},
		"record:d-1":  {"record:d-1 -cites file:a.go", "record:d-3 -takes the place of record:d-1", "record:d-2 ?its text names it record:d-1", "record:d-1 -was made on branch:main"},
		"file:a.go":   {"record:d-1 -cites file:a.go", "record:d-2 -cites file:a.go"},
		"branch:main": {"record:t-1 -was made on branch:main"},
		"check:unit":  {"record:n-1 -is done when it passes: check:unit"},
		"record:t-1":  {"record:t-1 -was made on branch:main"},
	} {
		got := edges(at)
		for _, w := range want {
			if !strings.Contains(got, w) {
				t.Errorf("around %q lacks %q:\n%s", at, w, got)
			}
		}
	}
	for _, at := range []string{"record:none", "file:none", "nonsense", "record:"} {
		if _, err := p.Graph(context.Background(), at); Explain(err).Code != "not_found" {
			t.Errorf("around %q: %v", at, err)
		}
	}
}

func TestConfirmOfAnotherVersionIsAConflict(t *testing.T) {
	b := newBench(t).repo()
	ctx := context.Background()
	save(t, b.open(codex), request(ledger.KindNote, "t-1", "first"))
	save(t, b.open(codex), RecordRequest{ID: "t-1", Text: str("second"), ExpectedRevision: num(1)})
	me := b.open(person)
	_, err := me.Confirm(ctx, ConfirmRequest{IDs: []string{"t-1"}, ExpectedRevision: num(1)})
	refused(t, err, "conflict")
	q := ConfirmRequest{IDs: []string{"t-1"}, ExpectedRevision: num(2), Key: "k"}
	first, err := me.Confirm(ctx, q)
	if err != nil {
		t.Fatal(err)
	}
	again, err := me.Confirm(ctx, q)
	if err != nil || !again.Replayed || again.Revision != first.Revision {
		t.Errorf("again: %+v, %v", again, err)
	}
}
