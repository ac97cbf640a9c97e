package project

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"holdfast/internal/ledger"
	"holdfast/internal/txn"
)

func TestDoctorTransactions(t *testing.T) {
	for _, c := range []struct {
		brief txn.Brief
		code  string
	}{
		{txn.Brief{Transaction: "t", State: txn.StateOpen}, "transaction_open"},
		{txn.Brief{Transaction: "t", State: txn.StateOpen, Interrupted: true}, "transaction_interrupted"},
		{txn.Brief{Transaction: "t", State: txn.StateBlocked, Interrupted: true}, "transaction_blocked"},
	} {
		d := Diagnosis{Healthy: true}
		d.transaction(&c.brief)
		if f := d.Findings[0]; d.Healthy || f.Code != c.code || f.Severity != SeverityWarn || f.AtRisk || f.Next != "holdfast txn show t" {
			t.Errorf("%+v gives %+v", c.brief, f)
		}
	}
}

// A client that isn't set up is nothing to worry about.
func TestDoctorClients(t *testing.T) {
	s := newSick(t, 2)
	d, err := s.open(codex).Doctor(context.Background(), DoctorRequest{})
	if err != nil || !d.Healthy {
		t.Fatalf("found %+v, %v", d, err)
	}
	d.client(&ClientSetup{Name: "A", State: NotThere})
	if n := len(d.Findings); n == 0 || d.Findings[n-1].Code != "client_absent" || !d.Healthy {
		t.Errorf("found %+v", d)
	}
	d.client(&ClientSetup{Name: "A", State: Differs})
	if n := len(d.Findings); d.Findings[n-1].Code != "client_changed" || d.Healthy {
		t.Errorf("found %+v", d)
	}
}

// What was saved before a rule was known is found by --secrets, by its revision
// alone.
func TestDoctorSecrets(t *testing.T) {
	s := newSick(t, 2)
	const token = "ghp_" + "a8Kd72mXqLw0ZtB5vRn3YcE6uJf1HsP4gTiO" // of no account
	p := s.open(codex)
	out, err := p.mutate(t.Context(), mutation{kind: ledger.TypeRecord, build: func(context.Context, *reading) (ledger.Draft, error) {
		return ledger.Draft{Body: ledger.Body{Records: []ledger.Record{{ID: "old", Kind: "note", Text: "use " + token, Source: "s"}}}}, nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	d, err := s.open(codex).Doctor(t.Context(), DoctorRequest{Secrets: true})
	if err != nil || d.Healthy {
		t.Fatalf("%+v, %v", d, err)
	}
	n := 0
	for _, f := range d.Findings {
		if f.Code == "secret" {
			n++
			if want := fmt.Sprintf("holdfast redact --revision %d", out.Rev); f.Next != want {
				t.Errorf("next %q, want %q", f.Next, want)
			}
		}
		if strings.Contains(f.Evidence, token) {
			t.Errorf("%s shows the secret", f.Code)
		}
	}
	if n != 1 {
		t.Errorf("%d found", n)
	}
}

// TestDoctorWritesNothing: not even what is only remembered, whatever it finds.
func TestDoctorWritesNothing(t *testing.T) {
	for name, spoil := range map[string]func(s *sick){
		"whole": func(*sick) {},
		"no cache": func(s *sick) {
			if err := os.RemoveAll(s.w.cacheFolder()); err != nil {
				s.t.Fatal(err)
			}
		},
		"damaged": func(s *sick) { s.change(s.revision(1), func(b []byte) []byte { return b[:len(b)/2] }) },
	} {
		t.Run(name, func(t *testing.T) {
			s := newSick(t, 3)
			spoil(s)
			root := filepath.Dir(filepath.Dir(s.dir))
			before := snapshot(t, root)
			if _, err := s.open(codex).Doctor(t.Context(), DoctorRequest{Secrets: true}); err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(before, snapshot(t, root)); d != "" {
				t.Error(d)
			}
		})
	}
}

// snapshot is every file below a folder: its content, mode and time.
func snapshot(t *testing.T, root string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		out[path] = fmt.Sprint(info.Mode(), info.ModTime().UnixNano())
		if info.Mode().IsRegular() {
			b, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			out[path] += string(b)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}
