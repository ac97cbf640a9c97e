package project

import "holdfast/internal/ledger"

// ViewCaller is who acts in the browser view: the person who started it. One
// that a known coding agent started acts as that agent, so that nothing can
// vouch for itself by way of the view. It is a threshold, not a proof.
func ViewCaller(w *World) Caller {
	if client := agentClient(w); client != "" {
		return Caller{Actor: ledger.Actor{Kind: ledger.Agent, Client: client, Via: ledger.ViaView}}
	}
	return Caller{Actor: ledger.Actor{Kind: ledger.Person, Via: ledger.ViaView}}
}

// ByPerson reports whether what is saved counts as a person's.
func (p *Project) ByPerson() bool { return p.caller.Kind == ledger.Person }

// CallerName is the client's name; empty for a person.
func (p *Project) CallerName() string { return p.caller.Client }
