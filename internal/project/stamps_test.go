package project

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"testing"

	"holdfast/internal/ledger"
)

func (b *bench) revision(rev string) string {
	return filepath.Join(b.dir, ".holdfast", "gen", "0001", "rev", "0000000"+rev+".json")
}

// spoil rewrites a file of the ledger behind everybody's back.
func (b *bench) spoil(path string, change func([]byte) []byte) {
	b.t.Helper()
	old, err := os.ReadFile(path)
	if err == nil {
		err = os.Remove(path)
	}
	if err == nil {
		err = os.WriteFile(path, change(old), 0o400)
	}
	if err != nil {
		b.t.Fatal(err)
	}
}

// three saves three notes, each by a process of its own that has ended.
func (b *bench) three() {
	b.t.Helper()
	for _, id := range []string{"a", "b", "c"} {
		p := b.open(codex)
		save(b.t, p, request(ledger.KindNote, id, "about "+id))
		if err := p.Close(context.Background()); err != nil {
			b.t.Fatal(err)
		}
	}
}

func TestStampsFindWhatChangedInTheMiddle(t *testing.T) {
	for name, change := range map[string]func(*bench){
		"changed": func(b *bench) {
			b.spoil(b.revision("2"), func(old []byte) []byte { return bytes.Replace(old, []byte("about"), []byte("ABOUT"), 1) })
		},
		"cut": func(b *bench) { b.spoil(b.revision("2"), func(old []byte) []byte { return old[:len(old)/2] }) },
		"gone": func(b *bench) {
			if err := os.Remove(b.revision("2")); err != nil {
				b.t.Fatal(err)
			}
		},
		"its text erased by hand": func(b *bench) {
			b.spoil(b.revision("2"), func(old []byte) []byte {
				e, err := ledger.Parse(old)
				if err != nil {
					b.t.Fatal(err)
				}
				e = e.Erase()
				return e.Raw
			})
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.three()
			change(b)
			ctx := context.Background()
			p := b.open(claude)
			br, err := p.Resume(ctx, ResumeRequest{})
			refused(t, err, "damaged")
			if !br.Incomplete || ids(br) != "c b a" { // the mirror has them
				t.Errorf("incomplete %v, has %q", br.Incomplete, ids(br))
			}
			// From then on writing stops, in every process, and reading is marked.
			for range 2 {
				q := b.open(codex)
				_, err := q.Record(ctx, []RecordRequest{request(ledger.KindNote, "d", "about d")})
				refused(t, err, "damaged")
				items, _, err := q.List(ctx, ListRequest{})
				if !Incomplete(err) || len(items) != 3 {
					t.Errorf("list: %d records, %v", len(items), err)
				}
			}
		})
	}
}

// What touches a file without harm is no damage, and is read once.
func TestStampsForgiveATouch(t *testing.T) {
	b := newBench(t)
	b.three()
	brief(t, b.open(codex))
	b.spoil(b.revision("2"), func(old []byte) []byte { return old })
	brief(t, b.open(codex))
	if err := os.Chmod(b.revision("1"), 0o600); err != nil {
		t.Fatal(err)
	}
	p := b.open(codex)
	if err := p.CheckStamps(context.Background()); err != nil {
		t.Fatal(err)
	}
	save(t, p, request(ledger.KindNote, "d", "about d"))
}
