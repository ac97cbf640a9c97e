package project

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"holdfast/internal/filelog"
)

// TestPruneKeepsTheLastCopy: an older generation whose newest entry stands nowhere
// else stays, and goes once it does.
func TestPruneKeepsTheLastCopy(t *testing.T) {
	s := newSick(t, 3)
	whole, err := os.ReadFile(s.mirror())
	if err != nil {
		t.Fatal(err)
	}
	lines := bytes.SplitAfter(whole, []byte("\n"))
	s.change(s.mirror(), func([]byte) []byte { return bytes.Join(lines[:2], nil) })
	if err := os.Remove(s.revision(2)); err != nil {
		t.Fatal(err)
	}
	p := s.open(person)
	preview, err := p.Recover(t.Context(), RecoverRequest{})
	if err != nil || preview.By != "generation" {
		t.Fatalf("%+v, %v", preview, err)
	}
	if _, err := p.Recover(t.Context(), RecoverRequest{Expect: preview.Fingerprint}); err != nil {
		t.Fatal(err)
	}
	kinds := func(items []PruneItem) (out string) {
		for _, it := range items {
			out += it.Kind + " "
		}
		return out
	}
	d, err := s.open(person).Prune(t.Context(), "")
	if err != nil || !strings.Contains(kinds(d.Keep), "generation") || strings.Contains(kinds(d.Remove), "generation") {
		t.Fatalf("%+v, %v", d, err)
	}
	if d, err = s.open(person).Prune(t.Context(), d.Fingerprint); err != nil || !d.Applied {
		t.Fatalf("%+v, %v", d, err)
	}
	if _, err := os.Stat(filepath.Dir(s.rev)); err != nil {
		t.Fatal("the last copy of an entry is gone:", err)
	}
	// The line comes back into the mirror, behind those of the new generation.
	s.change(s.mirror(), func(now []byte) []byte { return append(bytes.Join(lines[2:], nil), now...) })
	if d, err = s.open(person).Prune(t.Context(), ""); err != nil || !strings.Contains(kinds(d.Remove), "generation") {
		t.Fatalf("%+v, %v", d, err)
	}
	refused(t, second(s.open(codex).Prune(t.Context(), d.Fingerprint)), "person")
	refused(t, second(s.open(person).Prune(t.Context(), strings.Repeat("0", 64))), "fingerprint")
	if d, err = s.open(person).Prune(t.Context(), d.Fingerprint); err != nil || !d.Applied {
		t.Fatalf("%+v, %v", d, err)
	}
	if _, err := os.Stat(filepath.Dir(s.rev)); !os.IsNotExist(err) {
		t.Error("it is still there:", err)
	}
}

// TestPruneKeepsOriginals of a transaction that isn't over, and drops the others.
func TestPruneKeepsOriginals(t *testing.T) {
	b := newBench(t)
	b.put("config.yml", "old\n")
	p := b.open(codex)
	a, err := p.TxnBegin(t.Context(), beginJSON(fileOp("config.yml", "new\n")), nil)
	if err != nil {
		t.Fatal(err)
	}
	b.write(filepath.Join(filelog.FolderName, filelog.QuarantineName, "t-000000000000", "old"), "of a transaction that nobody knows")
	d, err := b.open(person).Prune(t.Context(), "")
	if err != nil || len(d.Keep) != 1 || filepath.Base(d.Keep[0].Path) != a.Transaction || len(d.Remove) != 1 {
		t.Fatalf("%+v, %v", d, err)
	}
	if d, err = b.open(person).Prune(t.Context(), d.Fingerprint); err != nil || !d.Applied {
		t.Fatalf("%+v, %v", d, err)
	}
	entries, err := os.ReadDir(filepath.Join(b.dir, filelog.FolderName, filelog.QuarantineName))
	if err != nil || len(entries) != 1 || entries[0].Name() != a.Transaction {
		t.Errorf("left: %v, %v", entries, err)
	}
}

// TestForgetLeavesAnotherCopy: a second folder with the same ledger keeps mirror and
// index.
func TestForgetLeavesAnotherCopy(t *testing.T) {
	s := newSick(t, 2)
	other := filepath.Join(filepath.Dir(s.dir), "other")
	if err := os.CopyFS(other, os.DirFS(s.dir)); err != nil {
		t.Fatal(err)
	}
	w := *s.w
	w.Dir = other
	q, err := Open(t.Context(), &w, Options{Caller: person})
	if err != nil {
		t.Fatal(err)
	}
	defer q.Close(t.Context())
	f, err := q.Forget(t.Context(), "")
	if err != nil || len(f.Others) != 1 || len(f.Paths) != 1 {
		t.Fatalf("%+v, %v", f, err)
	}
	refused(t, second(q.As(codex).Forget(t.Context(), s.id)), "person")
	refused(t, second(q.Forget(t.Context(), "0123")), "fingerprint")
	if f, err = q.Forget(t.Context(), s.id); err != nil || !f.Forgot {
		t.Fatalf("%+v, %v", f, err)
	}
	if _, err := os.Stat(filepath.Join(other, filelog.FolderName)); !os.IsNotExist(err) {
		t.Error("the copy is still there:", err)
	}
	if _, err := os.Stat(s.mirror()); err != nil {
		t.Error("the other's mirror is gone:", err)
	}
	if got := ids(brief(t, s.open(codex))); got != "n-2 n-1" {
		t.Errorf("the other has %q", got)
	}
}

// TestOriginalsGoInTime: those of a complete transaction after 30 days, of a begin
// that was never saved after a day, and of one that is open never.
func TestOriginalsGoInTime(t *testing.T) {
	b := newBench(t)
	begin := func(name string) string {
		b.put(name, "old\n")
		a, err := b.open(codex).TxnBegin(t.Context(), beginJSON(fileOp(name, "new\n")), nil)
		if err != nil {
			t.Fatal(err)
		}
		return a.Transaction
	}
	open, done := begin("a.yml"), begin("b.yml")
	b.put("b.yml", "new\n")
	p := b.open(codex)
	if _, err := p.TxnObserve(t.Context(), fmt.Appendf(nil, `{"transaction":%q}`, done)); err != nil {
		t.Fatal(err)
	}
	quarantine := filepath.Join(b.dir, filelog.FolderName, filelog.QuarantineName)
	b.write(filepath.Join(filelog.FolderName, filelog.QuarantineName, "t-000000000000", "old"), "of a begin that was refused")
	after := func(days int, want ...string) {
		t.Helper()
		b.now = time.Now().Add(time.Duration(days)*24*time.Hour + time.Hour)
		p := b.open(codex)
		save(t, p, request("note", fmt.Sprint("n-", days), "a save"))
		if err := p.Close(context.Background()); err != nil {
			t.Fatal(err)
		}
		var got []string
		entries, err := os.ReadDir(quarantine)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			got = append(got, e.Name())
		}
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("after %d days: %q, want %q", days, got, want)
		}
	}
	after(0, open, done, "t-000000000000")
	after(2, open, done)
	after(40, open)
}
