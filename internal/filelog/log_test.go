package filelog

import (
	"context"
	"crypto/rand"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"holdfast/internal/durable"
	"holdfast/internal/ledger"
)

// testLog makes a log in a fresh project with its own state folder.
func testLog(t testing.TB) *Log {
	t.Helper()
	dir := t.TempDir()
	project := filepath.Join(dir, "project")
	if err := os.Mkdir(project, 0o755); err != nil {
		t.Fatal(err)
	}
	m := &Machine{
		State: []string{filepath.Join(dir, "state")}, Layer: &durable.Layer{}, Rand: rand.Reader,
		Now: time.Now, LockWait: 5 * time.Second, Owner: "test", Tool: "test",
	}
	return New(m, Place{Dir: project, Name: FolderName})
}

// again opens the same ledger as a new process would.
func (l *Log) again() *Log { return New(l.m, l.p) }

func note(text string) ledger.Draft {
	return ledger.Draft{Type: ledger.TypeRecord, At: time.Now(), Body: ledger.Body{
		Actor:   ledger.Actor{Kind: ledger.Person, Via: ledger.ViaCLI},
		Records: []ledger.Record{{ID: "n-1", Kind: ledger.KindNote, Text: text, Source: "test"}},
	}}
}

func create(t testing.TB, l *Log) ledger.Pos {
	t.Helper()
	saved, err := l.Append(context.Background(), ledger.Pos{}, ledger.Draft{Type: ledger.TypeLedger, At: time.Now()})
	if err != nil {
		t.Fatal(err)
	}
	if !saved.Protected || len(saved.Warnings) > 0 {
		t.Fatalf("creation: %+v", saved)
	}
	return saved.Pos
}

func fill(t testing.TB, l *Log, n int) ledger.Pos {
	t.Helper()
	p, err := l.Head(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	for range n {
		saved, err := l.Append(context.Background(), p, note("text"))
		if err != nil {
			t.Fatal(err)
		}
		if !saved.Protected || len(saved.Warnings) > 0 {
			t.Fatalf("save: %+v", saved)
		}
		p = saved.Pos
	}
	return p
}

func verify(t testing.TB, l *Log, want ledger.Pos) {
	t.Helper()
	ctx := context.Background()
	got, err := ledger.Verify(ledger.Pos{}, l.Entries(ctx, ledger.Pos{}))
	if err != nil {
		t.Fatal(err)
	}
	head, err := l.Head(ctx)
	if err != nil || got != want || head != want {
		t.Fatalf("verified up to %v, head %v, %v; want %v", got, head, err, want)
	}
}

func TestSaveAndReopen(t *testing.T) {
	l := testLog(t)
	create(t, l)
	p := fill(t, l, 5)
	verify(t, l, p)
	verify(t, l.again(), p)
}

func TestPacking(t *testing.T) {
	l := testLog(t)
	create(t, l)
	p := fill(t, l, MaxLoose+10)
	verify(t, l, p)
	verify(t, l.again(), p)
	if _, err := os.Stat(filepath.Join(l.Dir(), "gen/0001/pack/00000001-00001000.jsonl")); err != nil {
		t.Fatal(err)
	}
	p = fill(t, l.again(), PackSize)
	verify(t, l.again(), p)
}

func TestDeletedFolderIsNoticed(t *testing.T) {
	l := testLog(t)
	create(t, l)
	fill(t, l, 3)
	if err := os.RemoveAll(l.Dir()); err != nil {
		t.Fatal(err)
	}
	for _, l := range []*Log{l, l.again()} {
		_, err := l.Append(context.Background(), ledger.Pos{}, note("x"))
		lost, ok := errors.AsType[*LostError](err)
		if !ok || lost.Saves != 3 {
			t.Fatalf("got %v", err)
		}
	}
}

func BenchmarkSave(b *testing.B) {
	l := testLog(b)
	p := create(b, l)
	ctx := context.Background()
	for b.Loop() {
		unlock, err := l.Lock(ctx)
		if err != nil {
			b.Fatal(err)
		}
		if p, err = l.Head(ctx); err != nil {
			b.Fatal(err)
		}
		saved, err := l.Append(ctx, p, note("text"))
		if err != nil {
			b.Fatal(err)
		}
		p = saved.Pos
		if err := unlock(); err != nil {
			b.Fatal(err)
		}
	}
}
