package project

import (
	"context"
	"testing"

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
	d, err := s.open(codex).Doctor(context.Background())
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
