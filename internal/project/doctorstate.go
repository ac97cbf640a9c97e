package project

import (
	"context"
	"fmt"

	"holdfast/internal/check"
	"holdfast/internal/txn"
)

// stateFindings tells what a whole ledger says of work that is not done:
// transactions, an interrupted setup, clients and receipts.
func (p *Project) stateFindings(ctx context.Context, d *Diagnosis) error {
	list, err := p.TxnList(ctx, false)
	if err != nil {
		return fmt.Errorf("look at transactions: %w", err)
	}
	for i := range list.Transactions {
		d.transaction(&list.Transactions[i])
	}
	u, err := p.UnfinishedSetup(ctx)
	if err != nil {
		return fmt.Errorf("look for an unfinished setup: %w", err)
	}
	if u != nil {
		d.add("setup_unfinished", SeverityWarn, fmt.Sprintf("a setup was interrupted at revision %d; %d files are not as they were to be", u.Revision, len(u.Missing)), "holdfast setup")
	}
	checks, err := p.Checks(ctx, "")
	if err != nil {
		return fmt.Errorf("look at receipts: %w", err)
	}
	for i := range checks.Checks {
		if c := &checks.Checks[i]; c.Freshness == check.Stale || c.Freshness == check.Expired {
			d.add("receipt_stale", SeverityNote, fmt.Sprintf("check %s: its receipt is %s", visible(c.ID), c.Freshness), "holdfast status")
		}
	}
	return p.clientFindings(ctx, d)
}

func (d *Diagnosis) transaction(b *txn.Brief) {
	code := "transaction_open"
	switch {
	case b.State == txn.StateBlocked:
		code = "transaction_blocked"
	case b.Interrupted:
		code = "transaction_interrupted"
	}
	d.add(code, SeverityWarn, fmt.Sprintf("transaction %s, since revision %d", visible(b.Transaction), b.Rev), "holdfast txn show "+b.Transaction)
}

// clientFindings starts no server: whether one answers is for setup's own check.
func (p *Project) clientFindings(ctx context.Context, d *Diagnosis) error {
	a, err := p.CheckSetup(ctx, false)
	if err != nil {
		return fmt.Errorf("look at clients: %w", err)
	}
	for i := range a.Clients {
		d.client(&a.Clients[i])
	}
	return nil
}

func (d *Diagnosis) client(c *ClientSetup) {
	switch c.State {
	case NotThere:
		d.add("client_absent", SeverityNote, c.Name+" is not set up", "holdfast setup --check")
	case Differs, Partly:
		d.add("client_changed", SeverityWarn, c.Name+": its configuration is not as setup writes it", "holdfast setup --check")
	}
}
