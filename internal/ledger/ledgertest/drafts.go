package ledgertest

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"time"

	"holdfast/internal/ledger"
)

// LedgerID is the id that First gives a ledger.
const LedgerID = "5eed0000000000000000000000000001"

// Key is a seal key for tests.
func Key() ledger.Key { return testKey("holdfast test key") }

// OtherKey is the key of another machine.
func OtherKey() ledger.Key { return testKey("holdfast test key, another machine") }

func testKey(name string) ledger.Key {
	sum := sha256.Sum256([]byte(name))
	return sum[:]
}

// At is the time of the n-th entry: one second after the one before.
func At(n int) time.Time {
	return time.Date(2026, 11, 30, 20, 0, 0, 0, time.UTC).Add(time.Duration(n) * time.Second)
}

// Agent, Person and Tool are actors.
func Agent() ledger.Actor {
	return ledger.Actor{Kind: ledger.Agent, Client: "codex", Version: "0.101.0", Via: ledger.ViaMCP}
}

// Person is someone at a terminal.
func Person() ledger.Actor { return ledger.Actor{Kind: ledger.Person, Via: ledger.ViaCLI} }

// Tool is the tool itself.
func Tool() ledger.Actor {
	return ledger.Actor{Kind: ledger.Tool, Client: "holdfast", Version: "1.0.0", Via: ledger.ViaCLI}
}

// First is the draft of revision 0.
func First() ledger.Draft {
	d := draft(ledger.TypeLedger, Tool())
	d.Ledger, d.HeadFields.Tool = LedgerID, "1.0.0"
	return d
}

// Record is a valid record of the kind.
func Record(id, kind, text string) ledger.Record {
	r := ledger.Record{ID: id, Kind: kind, Text: text, Source: "a test"}
	if kind == ledger.KindAnswer {
		r.Answer = "the answer to " + id
	}
	return r
}

// Save is an agent's save of records.
func Save(records ...ledger.Record) ledger.Draft {
	d := draft(ledger.TypeRecord, Agent())
	d.Body.Records = records
	return d
}

// Status sets the status of a record whose version at replaces it changes.
func Status(id string, replaces int64, status string) ledger.Draft {
	return change(ledger.TypeStatus, ledger.Change{ID: id, Replaces: replaces, Status: status})
}

// Retract hides a record.
func Retract(id string, replaces int64) ledger.Draft {
	return change(ledger.TypeRetract, ledger.Change{ID: id, Replaces: replaces})
}

// Restore brings a retracted record back.
func Restore(id string, replaces int64) ledger.Draft {
	return change(ledger.TypeRestore, ledger.Change{ID: id, Replaces: replaces})
}

// Confirm is a person's word for versions.
func Confirm(refs ...ledger.Ref) ledger.Draft {
	d := draft(ledger.TypeConfirm, Person())
	d.Body.Confirms = refs
	return d
}

// Carry brings the records of branches to the draft's branch.
func Carry(branches ...string) ledger.Draft {
	d := draft(ledger.TypeCarry, Agent())
	d.Body.Carry = &ledger.Carry{Branches: branches}
	return d
}

// Recover goes back to the state as of base, in a new recovery generation.
func Recover(generation string, base int64, replaces ...ledger.Pos) ledger.Draft {
	d := draft(ledger.TypeRecover, Person())
	d.Recovery, d.Base, d.Replaces = generation, &base, replaces
	d.Fingerprint = digest("recover " + generation)
	return d
}

// Redact erases the bodies of the revisions that refs name.
func Redact(refs ...ledger.Ref) ledger.Draft {
	d := draft(ledger.TypeRedact, Person())
	for _, r := range refs {
		d.Revisions = append(d.Revisions, r.Rev)
	}
	d.Body.Redacted, d.Body.Reason = refs, "a test"
	return d
}

// Allow lets value pass the screening.
func Allow(value string) ledger.Draft {
	d := draft(ledger.TypeAllow, Person())
	salt := sha256.Sum256([]byte(value))
	d.Body.Allow = &ledger.Allow{Salt: hex.EncodeToString(salt[:16]), SHA256: digest(string(salt[:16]) + value), Rule: "test"}
	return d
}

// Adopt gives the ledger a new id.
func Adopt(id string) ledger.Draft {
	d := draft(ledger.TypeAdopt, Person())
	d.ID = id
	return d
}

// Check is a receipt.
func Check(id, outcome string) ledger.Draft {
	d := draft(ledger.TypeCheck, Agent())
	d.Body.Receipt = &ledger.Receipt{
		ID: id, Argv: []string{"go", "test", "./..."}, Dir: ".", Outcome: outcome, InputsStable: true,
		StartedAt: At(0).Format(ledger.TimeLayout), DurationMS: 1500,
		Inputs: ledger.Inputs{Count: 0, Digest: digest("")}, Output: ledger.Output{SHA256: digest("")},
		Runtime: ledger.Runtime{OS: "linux", Arch: "amd64", Program: "go"},
	}
	return d
}

// TxnBegin starts a transaction, as far as the ledger's own rules see it.
func TxnBegin(id string) ledger.Draft {
	d := draft(ledger.TypeTxnBegin, Agent())
	d.Txn = &ledger.TxnHead{Transaction: id, Fingerprints: []string{digest("operation of " + id)}}
	d.Body.Txn = []byte(`{"intent":"a test"}`)
	return d
}

// Future is an entry of a type that this build doesn't know.
func Future() ledger.Draft { return draft("future.kind", Agent()) }

// On puts d on a branch.
func On(d ledger.Draft, g ledger.Git) ledger.Draft {
	d.Body.Git = g
	return d
}

// WithKey gives d an idempotency key.
func WithKey(d ledger.Draft, key string) ledger.Draft {
	d.Key, d.Body.Key, d.Body.Request = key, key, digest("request "+key)
	return d
}

// Entries encodes drafts as a chain from revision 0, draft n a second after
// the one before unless it has a time. s may be nil.
func Entries(s ledger.Sealer, drafts ...ledger.Draft) []ledger.Entry {
	return Extend(nil, s, drafts...)
}

// Extend is a new chain: drafts behind the entries of another, which stays.
func Extend(chain []ledger.Entry, s ledger.Sealer, drafts ...ledger.Draft) []ledger.Entry {
	chain = slices.Clip(chain)
	for _, d := range drafts {
		var after ledger.Pos
		if n := len(chain); n > 0 {
			after = chain[n-1].Pos()
		}
		if d.At.IsZero() {
			d.At = At(len(chain))
		}
		e, err := ledger.Encode(after, d, salt(after), s)
		if err == nil {
			e, err = ledger.Parse(e.Raw) // as a log reads it
		}
		if err != nil {
			panic(err)
		}
		chain = append(chain, e)
	}
	return chain
}

func draft(typ string, a ledger.Actor) ledger.Draft {
	return ledger.Draft{Type: typ, Body: ledger.Body{Actor: a}}
}

func change(typ string, c ledger.Change) ledger.Draft {
	d := draft(typ, Agent())
	d.Body.Change = &c
	return d
}

func salt(after ledger.Pos) []byte {
	sum := sha256.Sum256([]byte("salt " + after.Hash))
	return sum[:16]
}

func digest(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:])
}
