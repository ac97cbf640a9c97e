// Package ledgertest holds what tests of ledgers share: the suite that every
// ledger.Log must pass, a log in memory, drafts for each type of entry, and
// random histories together with the code history they grew with.
//
// It is for tests alone. Everything in it is deterministic: the same calls give
// the same bytes.
package ledgertest
