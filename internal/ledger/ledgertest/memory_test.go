package ledgertest_test

import (
	"errors"
	"testing"

	"holdfast/internal/ledger"
	"holdfast/internal/ledger/ledgertest"
)

func TestMemory(t *testing.T) {
	for name, s := range map[string]ledger.Sealer{"unsealed": nil, "sealed": ledgertest.Key()} {
		t.Run(name, func(t *testing.T) {
			open := func(*testing.T) ledger.Log { return ledgertest.NewMemory(ledgertest.Options{Sealer: s}) }
			reopen := func(_ *testing.T, l ledger.Log) ledger.Log {
				return ledgertest.NewMemory(ledgertest.Options{Sealer: s, Entries: l.(*ledgertest.Memory).Snapshot()})
			}
			ledgertest.Run(t, open, ledgertest.Reopen(reopen))
		})
	}
}

func TestMemoryFailures(t *testing.T) {
	m := ledgertest.NewMemory(ledgertest.Options{})
	zero, err := m.Append(t.Context(), ledger.Pos{}, ledgertest.First())
	if err != nil {
		t.Fatal(err)
	}
	d := ledgertest.Save(ledgertest.Record("n-1", ledger.KindNote, "Text"))
	m.Fail(ledgertest.Pass, ledgertest.Refuse, ledgertest.Conflict, ledgertest.UnknownLost, ledgertest.UnknownSaved, ledgertest.Unprotected)

	p, err := m.Append(t.Context(), zero.Pos, d)
	if err != nil || !p.Protected {
		t.Fatalf("pass: %v, %v", p, err)
	}
	if _, err := m.Append(t.Context(), p.Pos, d); !errors.Is(err, ledgertest.ErrRefused) {
		t.Fatalf("refuse: %v", err)
	}
	_, err = m.Append(t.Context(), p.Pos, d)
	var c *ledger.ConflictError
	if !errors.As(err, &c) || c.Head.Rev != p.Rev+1 {
		t.Fatalf("conflict: %v", err)
	}
	var u *ledger.UnknownOutcomeError
	if _, err = m.Append(t.Context(), c.Head, d); !errors.As(err, &u) || u.Rev != 3 {
		t.Fatalf("unknown, lost: %v", err)
	}
	if h, _ := m.Head(t.Context()); h != c.Head {
		t.Fatalf("a lost entry moved the head to %v", h)
	}
	if _, err = m.Append(t.Context(), c.Head, d); !errors.As(err, &u) {
		t.Fatalf("unknown, saved: %v", err)
	}
	h, _ := m.Head(t.Context())
	if h.Rev != 3 {
		t.Fatalf("head = %v, want the entry whose outcome was unknown", h)
	}
	s, err := m.Append(t.Context(), h, d)
	if err != nil || s.Protected || len(s.Warnings) == 0 {
		t.Fatalf("unprotected: %+v, %v", s, err)
	}
	if m.Appends() != 7 {
		t.Errorf("%d appends counted, want 7", m.Appends())
	}
	if _, err := ledger.Verify(ledger.Pos{}, m.Entries(t.Context(), ledger.Pos{})); err != nil {
		t.Errorf("verify: %v", err)
	}
}
