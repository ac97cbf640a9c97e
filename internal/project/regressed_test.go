package project

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"holdfast/internal/ledger"
)

// An index that saw a later revision counts like the mirror's head: it is not
// believed against the ledger, and nothing takes the lost revision's number.
func TestIndexSawALaterHead(t *testing.T) {
	ctx := context.Background()
	lose := func(b *bench) {
		b.t.Helper()
		mirrors, err := filepath.Glob(filepath.Join(b.w.Home, ".local", "state", "holdfast", "*", "mirror.jsonl"))
		if err != nil || len(mirrors) != 1 {
			b.t.Fatalf("mirrors %v, %v", mirrors, err)
		}
		for _, f := range []string{b.revision("3"), mirrors[0]} {
			if err := os.Remove(f); err != nil {
				b.t.Fatal(err)
			}
		}
	}
	t.Run("read", func(t *testing.T) {
		b := newBench(t)
		b.three()
		lose(b)
		items, _, err := b.open(codex).List(ctx, ListRequest{})
		refused(t, err, "damaged")
		if len(items) != 2 {
			t.Errorf("%d records", len(items))
		}
	})
	t.Run("save", func(t *testing.T) {
		b := newBench(t)
		b.three()
		lose(b)
		_, err := b.open(codex).Record(ctx, []RecordRequest{request(ledger.KindNote, "d", "about d")})
		refused(t, err, "damaged")
	})
	t.Run("another revision in its place", func(t *testing.T) {
		b := newBench(t)
		b.three()
		lose(b)
		p := b.open(codex)
		forge(t, b, p, ledger.Draft{Type: ledger.TypeRecord, Body: ledger.Body{Actor: codex.Actor,
			Records: []ledger.Record{{ID: "x", Kind: ledger.KindNote, Text: "forged", Source: "s"}}}}, nil)
		_, _, err := b.open(codex).List(ctx, ListRequest{})
		refused(t, err, "damaged")
	})
}
