package project

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"holdfast/internal/durable"
	"holdfast/internal/ledger"
)

// twin copies a project with its ledger to another machine, with state folders of
// its own.
func (b *bench) twin() *bench {
	b.t.Helper()
	other := newBench(b.t)
	if err := os.CopyFS(other.w.Home, os.DirFS(b.w.Home)); err != nil {
		b.t.Fatal(err)
	}
	if err := os.CopyFS(other.dir, os.DirFS(b.dir)); err != nil && !errors.Is(err, os.ErrExist) {
		b.t.Fatal(err)
	}
	if err := os.RemoveAll(filepath.Join(other.w.Home, ".local", "state", "holdfast", "paths")); err != nil { // another machine doesn't know this path
		b.t.Fatal(err)
	}
	other.now = b.now
	return other
}

func (b *bench) importLedger(path string) Import {
	b.t.Helper()
	p := b.open(codex)
	q := ImportRequest{Path: path}
	d, err := p.ImportLedger(context.Background(), q)
	if err != nil {
		b.t.Fatal(err)
	}
	if q.Expect = d.Fingerprint; d.Applied {
		b.t.Fatal("a preview was applied")
	}
	if d, err = p.ImportLedger(context.Background(), q); err != nil || !d.Applied {
		b.t.Fatalf("%+v, %v", d, err)
	}
	return d
}

// TestImportLedger: two machines went their own ways; what each alone has comes over
// once, and what both changed is diverged until somebody settles it.
func TestImportLedger(t *testing.T) {
	a := newBench(t)
	save(t, a.open(codex), request(ledger.KindNote, "common", "as it was"), request(ledger.KindNote, "gone", "to be retracted"))
	save(t, a.open(codex), request(ledger.KindNext, "step", "do it"))
	if err := a.open(codex).Close(context.Background()); err != nil {
		t.Fatal(err)
	}
	b := a.twin()
	p := b.open(claude)
	change := request(ledger.KindNote, "common", "as there")
	change.ExpectedRevision = num(1)
	save(t, p, change)
	save(t, p, request(ledger.KindNote, "both", "of there"))
	save(t, p, request(ledger.KindNote, "same", "word for word"))
	save(t, p, request(ledger.KindNote, "theirs", "only there"))
	if _, err := p.Retract(context.Background(), ChangeRequest{ID: "gone", ExpectedRevision: num(1)}); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Done(context.Background(), ChangeRequest{ID: "step", ExpectedRevision: num(2)}); err != nil {
		t.Fatal(err)
	}
	p = a.open(codex)
	mine := request(ledger.KindNote, "common", "as here")
	mine.ExpectedRevision = num(1)
	save(t, p, mine)
	save(t, p, request(ledger.KindNote, "both", "of here"))
	save(t, p, request(ledger.KindNote, "same", "word for word"))

	d := a.importLedger(filepath.Join(b.dir, ".holdfast"))
	if d.Common != 3 || len(d.Add) != 5 || d.Present != 1 || len(d.LeftOut) != 0 {
		t.Errorf("%+v", d)
	}
	again, err := a.open(codex).ImportLedger(context.Background(), ImportRequest{Path: filepath.Join(b.dir, ".holdfast")})
	if err != nil || len(again.Add) != 0 || again.Present != 6 {
		t.Errorf("a second time: %+v, %v", again, err)
	}
	for id, want := range map[string]struct {
		text     string
		diverged bool
		status   string
	}{
		"common": {"as there", true, ""}, "both": {"of there", true, ""}, "same": {"word for word", false, ""}, "theirs": {"only there", false, ""}, "step": {"do it", false, "done"},
	} {
		s, err := a.open(codex).Show(context.Background(), id, false)
		if err != nil {
			t.Fatal(id, err)
		}
		if s.Text != want.text || len(s.Diverged) > 0 != want.diverged || s.Status != want.status && want.status != "" {
			t.Errorf("%s: %+v", id, s.Item)
		}
	}
	if s, err := a.open(codex).Show(context.Background(), "gone", false); err != nil || !s.Retracted {
		t.Errorf("gone: %+v, %v", s, err)
	}
	settle := request(ledger.KindNote, "common", "settled")
	s, _ := a.open(codex).Show(context.Background(), "common", false)
	settle.ExpectedRevision = &s.Revision
	save(t, a.open(codex), settle)
	if s, err = a.open(codex).Show(context.Background(), "common", false); err != nil || len(s.Diverged) > 0 || s.Text != "settled" {
		t.Errorf("settled: %+v, %v", s.Item, err)
	}
	if diag, err := a.open(codex).Doctor(context.Background(), DoctorRequest{}); err != nil || !diag.Healthy {
		t.Errorf("%+v, %v", diag, err)
	}
}

// TestImportLedgerSources: a mirror and a folder say the same; what isn't a whole
// chain is refused, and nothing is changed.
func TestImportLedgerSources(t *testing.T) {
	from := newSick(t, 3)
	into := newBench(t)
	folder, err := into.open(codex).ImportLedger(context.Background(), ImportRequest{Path: from.dir})
	if err != nil || len(folder.Add) != 3 {
		t.Fatalf("%+v, %v", folder, err)
	}
	mirror, err := into.open(codex).ImportLedger(context.Background(), ImportRequest{Path: from.mirror()})
	if err != nil || mirror.SHA256 != folder.SHA256 {
		t.Fatalf("%+v, %v", mirror, err)
	}
	whole, err := os.ReadFile(from.mirror())
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitAfter(string(whole), "\n")
	for name, text := range map[string]string{
		"nothing": "", "a list": "[]\n", "no first revision": strings.Join(lines[1:], ""), "a gap": lines[0] + lines[1] + lines[3],
		"changed": strings.Replace(string(whole), "text 2", "TEXT 2", 1), "out of order": lines[0] + lines[2] + lines[1],
	} {
		path := filepath.Join(from.w.Temp, "source")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := into.open(codex).ImportLedger(context.Background(), ImportRequest{Path: path}); err == nil || Explain(err).Exit != ExitDamaged {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := os.Stat(filepath.Join(into.dir, ".holdfast")); !os.IsNotExist(err) {
		t.Error("a ledger was made:", err)
	}
}

// TestImportCutShort: a disk that fails at any step of an import leaves whole
// revisions, tells how many, and repeating it adds the rest and nothing twice.
func TestImportCutShort(t *testing.T) {
	from := newSick(t, 4)
	for n := 1; n < 400; n += 23 {
		into := newBench(t)
		left := n
		into.w.Layer = &durable.Layer{Fault: func(op durable.Op, path string) error {
			if op == durable.OpSync || op == durable.OpCreate || op == durable.OpLink || op == durable.OpWrite {
				if left--; left <= 0 && strings.HasPrefix(path, into.dir) {
					return os.ErrPermission
				}
			}
			return nil
		}}
		p := into.open(codex)
		d, err := p.ImportLedger(context.Background(), ImportRequest{Path: from.dir})
		if err != nil {
			t.Fatal(err)
		}
		_, err = p.ImportLedger(context.Background(), ImportRequest{Path: from.dir, Expect: d.Fingerprint})
		into.w.Layer = &durable.Layer{}
		if err == nil {
			continue
		}
		q := into.open(codex)
		if d, err = q.ImportLedger(context.Background(), ImportRequest{Path: from.dir}); err != nil {
			t.Fatal(n, err)
		}
		if d, err = q.ImportLedger(context.Background(), ImportRequest{Path: from.dir, Expect: d.Fingerprint}); err != nil || !d.Applied {
			t.Fatal(n, err)
		}
		if got := ids(brief(t, into.open(codex))); got != "n-4 n-3 n-2 n-1" {
			t.Errorf("after a fault at %d: %q", n, got)
		}
		if diag, err := into.open(codex).Doctor(context.Background(), DoctorRequest{}); err != nil || diag.Revision != 4 {
			t.Errorf("after a fault at %d: %+v, %v", n, diag, err)
		}
	}
}
