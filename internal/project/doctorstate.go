package project

import (
	"context"
	"fmt"

	"holdfast/internal/check"
	"holdfast/internal/txn"
)

// stateFindings tells what a whole ledger says of work that is not done:
// transactions, an interrupted setup, clients and receipts.
func (p *Project) stateFindings(ctx context.Context, d *Diagnosis) {
	list, err := p.TxnList(ctx, false)
	d.unseen("transactions", err)
	for i := range list.Transactions {
		d.transaction(&list.Transactions[i])
	}
	u, err := p.UnfinishedSetup(ctx)
	d.unseen("unfinished setups", err)
	if err == nil && u != nil {
		d.add("setup_unfinished", SeverityWarn, fmt.Sprintf("a setup was interrupted at revision %d; %d files are not as they were to be", u.Revision, len(u.Missing)), "holdfast setup")
	}
	checks, err := p.Checks(ctx, "")
	d.unseen("receipts", err)
	for i := range checks.Checks {
		if c := &checks.Checks[i]; c.Freshness == check.Stale || c.Freshness == check.Expired {
			d.add("receipt_stale", SeverityNote, fmt.Sprintf("check %s: its receipt is %s", visible(c.ID), c.Freshness), "holdfast checks "+c.ID)
		}
	}
	p.clientFindings(ctx, d)
}

// unseen says what could not be looked at: the rest of the diagnosis stands.
func (d *Diagnosis) unseen(what string, err error) {
	if err != nil {
		d.add("not_checked", SeverityWarn, what+" could not be looked at: "+Explain(err).Message, "holdfast doctor")
	}
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

// clientFindings starts the server as each client would whose entry is one that
// setup writes; any other is told of, and not started.
func (p *Project) clientFindings(ctx context.Context, d *Diagnosis) {
	a, err := p.CheckSetup(ctx, true)
	d.unseen("clients", err)
	for i := range a.Clients {
		d.client(&a.Clients[i])
	}
}

func (d *Diagnosis) client(c *ClientSetup) {
	switch {
	case c.Verified != nil && !c.Verified.OK:
		d.add("client_silent", SeverityWarn, c.Name+": its server was started as it starts it, and "+c.Verified.Why, "holdfast setup --check")
		return
	case c.Verified != nil && c.Verified.Version != d.Version:
		d.add("client_version", SeverityNote, c.Name+" starts version "+visible(c.Verified.Version)+", and this is "+d.Version, "holdfast setup --check")
	}
	switch c.State {
	case NotThere:
		d.add("client_absent", SeverityNote, c.Name+" is not set up", "holdfast setup --check")
	case Differs, Partly:
		d.add("client_changed", SeverityWarn, c.Name+": its configuration is not as setup writes it", "holdfast setup --check")
	}
}
