package web

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"holdfast/internal/ledger"
	"holdfast/internal/project"
)

// TestShots takes pictures of every page, to be looked at:
//
//	HOLDFAST_SHOTS=/tmp/shots HOLDFAST_SHOTS_ENTRIES=300 go test ./internal/web -run Shots
//
// HOLDFAST_SHOTS_ONLY names pages, separated by commas. The pictures in docs/ are
// made so too, with HOLDFAST_SHOTS_ENTRIES=demo.
func TestShots(t *testing.T) {
	dir := os.Getenv("HOLDFAST_SHOTS")
	if dir == "" {
		t.Skip("HOLDFAST_SHOTS names no folder for pictures")
	}
	entries := os.Getenv("HOLDFAST_SHOTS_ENTRIES")
	var h *house
	if entries == "demo" {
		h = demo(t)
	} else {
		n := 0
		fmt.Sscan(entries, &n)
		h = filled(t, n)
	}
	h.serve(0)
	only := os.Getenv("HOLDFAST_SHOTS_ONLY")
	b := h.enter()
	for _, p := range pageList {
		if only != "" && !strings.Contains(only, p.name) {
			continue
		}
		for _, v := range []struct {
			name  string
			width int64
			dark  bool
		}{{"light-wide", 1280, false}, {"dark-wide", 1280, true}, {"light-narrow", 390, false}, {"dark-narrow", 390, true}} {
			b.size(v.width, 900)
			b.dark(v.dark)
			path := p.path
			if entries == "demo" {
				path = strings.ReplaceAll(path, "d-writer", "retry-policy")
			}
			b.open(h.at(path)).until("document.readyState === 'complete'")
			b.shot(fmt.Sprintf("%s/%s-%s-%s.png", dir, p.name, v.name, entries))
		}
	}
}

// demo is a project as it looks after some days of work.
func demo(t *testing.T) *house {
	h := newHouse(t)
	named := filepath.Join(h.root, "tide-tables")
	if err := os.Rename(h.dir, named); err != nil {
		t.Fatal(err)
	}
	h.dir, h.w.Dir = named, named
	for name, text := range map[string]string{"ingest.go": "package main\n", "store.go": "package main\n", "README.md": "# Tide tables\n"} {
		if err := os.WriteFile(filepath.Join(h.dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cites := func(q project.RecordRequest, why string, files ...string) project.RecordRequest {
		q.Cites, q.Why = &files, &why
		return q
	}
	claude := h.open(project.MCPCaller("claude-code", "2.0"))
	me := h.open(person)
	save := func(p *project.Project, reqs ...project.RecordRequest) {
		t.Helper()
		if _, err := p.Record(context.Background(), reqs); err != nil {
			t.Fatal(err)
		}
	}
	save(me, request("goal", "tides-v1", "Publish tide tables for 40 harbours, correct to the minute"))
	retry := cites(request("decision", "retry-policy", "Retry a station three times, then keep yesterday's table and say so"), "A missing table is worse than an old one, but only if it is marked as old.", "ingest.go")
	retry.Rejected = &[]ledger.Rejected{{Option: "Retry for ever", Why: "one dead station held up all others"}}
	save(claude, retry, cites(request("decision", "utc-only", "Store every time in UTC, convert when a page is made"), "Two harbours change their offset in the middle of a spring tide.", "store.go"))
	ship := request("next", "station-ids", "Map the old station numbers to the new ones, then drop the old column; see utc-only")
	ship.DoneWhen = str("unit")
	h.agent(ship, request("next", "print-layout", "Make the printed table fit on one page for harbours with four tides a day"),
		request("question", "moon-data", "May we ship the moon phases under the data's licence, or only link to them?"),
		request("note", "brest-clock", "The gauge at Brest restarts at 03:00 and reports zero for two minutes: not a tide"))
	save(me, request("note", "who-reads", "Most readers are sailors on a phone, outdoors, in sunlight"))
	if _, err := me.Confirm(context.Background(), project.ConfirmRequest{IDs: []string{"utc-only"}}); err != nil {
		t.Fatal(err)
	}
	q := request("next", "first-import", "Import ten years of gauge readings")
	save(claude, q)
	if _, err := claude.Done(context.Background(), project.ChangeRequest{ID: "first-import", ExpectedRevision: new(int64(6))}); err != nil {
		t.Fatal(err)
	}
	text := "Retry a station three times within an hour, then keep yesterday's table and mark it as old"
	if _, err := claude.Record(context.Background(), []project.RecordRequest{{ID: "retry-policy", Text: &text, ExpectedRevision: new(int64(2))}}); err != nil {
		t.Fatal(err)
	}
	h.work(t)
	return h
}

// work adds to the demo checks that were really run, one of which no longer holds,
// and a write that never took effect.
func (h *house) work(t *testing.T) {
	t.Helper()
	run := func(id, title, input string, argv ...string) {
		t.Helper()
		q := project.CheckRequest{ID: id, Title: title, Inputs: []string{input}, Argv: argv, Out: io.Discard, Err: io.Discard}
		if _, err := h.open(project.MCPCaller("codex", "1.0")).RunCheck(context.Background(), q); err != nil {
			t.Fatal(err)
		}
	}
	for range 3 {
		run("unit", "Unit tests", "*.go", "sh", "-c", "test -f store.go")
	}
	run("harbours", "All harbours have a table", "*.csv", "test", "-f", "harbours.csv")
	run("links", "Links in the README lead somewhere", "README.md", "grep", "-q", "Tide", "README.md")
	if err := os.WriteFile(filepath.Join(h.dir, "README.md"), []byte("# Tide tables\n\nFor sailors.\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	h.blockedOn(t, "Publish the table of Brest", "write the page", "brest.html", "the generator reported success")
}
