package project

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
)

// answers collects what a reader is told, as JSON.
func answers(t *testing.T, b *bench) string {
	t.Helper()
	ctx := context.Background()
	p := b.open(claude)
	list, total, err := p.List(ctx, ListRequest{All: true})
	if err != nil {
		t.Fatal(err)
	}
	log, _, err := p.Log(ctx, LogRequest{})
	if err != nil {
		t.Fatal(err)
	}
	found, err := p.Search(ctx, SearchRequest{Query: "importer"})
	if err != nil {
		t.Fatal(err)
	}
	shown, err := p.Show(ctx, "n-7", true)
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal([]any{brief(t, p), list, total, log, found, shown})
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestWhatIsDerivedChangesNoAnswer(t *testing.T) {
	b := newBench(t).repo()
	p := b.open(codex)
	for i := range 40 {
		save(t, p, request("note", "n-"+string(rune('0'+i%10))+string(rune('a'+i/10)), "the importer has a trap"))
	}
	save(t, p, request("note", "n-7", "the importer reads once"))
	if err := p.Settle(context.Background()); err != nil {
		t.Fatal(err)
	}
	want := answers(t, b)
	cache := filepath.Join(b.w.Home, ".cache")
	if _, err := os.Stat(cache); err != nil {
		t.Fatal("no index was kept: nothing would be tested")
	}
	for name, harm := range map[string]func() error{
		"index deleted":   func() error { return os.RemoveAll(cache) },
		"handoff deleted": func() error { return os.Remove(filepath.Join(p.Path(), "HANDOFF.md")) },
		"index damaged": func() error {
			return filepath.Walk(cache, func(path string, info os.FileInfo, err error) error {
				if err == nil && info.Mode().IsRegular() {
					return os.WriteFile(path, []byte("not a database, not at all"), 0o600)
				}
				return err
			})
		},
		"index in the way": func() error {
			if err := os.RemoveAll(cache); err != nil {
				return err
			}
			return os.WriteFile(cache, nil, 0o600)
		},
	} {
		t.Run(name, func(t *testing.T) {
			if err := harm(); err != nil {
				t.Fatal(err)
			}
			if got := answers(t, b); got != want {
				t.Errorf("got  %s\nwant %s", got, want)
			}
			if err := b.open(person).Settle(context.Background()); err != nil {
				t.Fatal(err)
			}
		})
	}
}
