// Package txn is the bounded-recovery engine: what a transaction is, how its
// operations get their fingerprints, what an observation means, and whether an
// attempt may be made. It is a state machine over ledger entries and looks at
// the world: every question is answered from a Book (a fold over entries) and
// Looks (what was found outside), and every answer comes with the one entry
// that must be committed before the answer is given away.
//
// The rules it holds: observe before every mutation; one recovery an
// operation, two a transaction; every recovery must strictly shrink the
// mismatch; anything else ends as blocked, and only a person reopens it.
//
// It must never do input or output, read a clock, take randomness or believe a
// report over a look. It knows no file system: surfaces come resolved, and
// looks come as facts. docs/TRANSACTIONS.md is its specification.
package txn
