// Package ledger is the domain of Holdfast: what an entry, a record and a
// ledger are, how entries are written as bytes and chained by hashes, what
// makes a record valid, and the state that a sequence of entries means.
//
// It uses the standard library only and does no input or output: a ledger can
// be read and tested with no disk. It must never know a file name, and nothing
// in it may depend on the time, the environment or a random source other than
// those passed in.
//
// The format is specified in docs/LEDGER-FORMAT.md.
package ledger
