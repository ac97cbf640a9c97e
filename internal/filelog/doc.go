// Package filelog keeps a ledger in a folder of revision files: creating file
// N+1 exclusively is the commit and the compare-and-swap, and its bytes hold
// the hash of file N. It owns the layout of that folder, the sealed packs, the
// mirror outside the project, this machine's seal key and its notes of which
// ledger was seen where, and the checks of all these at each opening.
//
// It must never start a ledger over where this machine knows of one, rewrite a
// revision, acknowledge a save that isn't flushed, or hold a lock or an open
// file between calls. Locks are for fairness: no rule here rests on them.
//
// The layout is specified in docs/LEDGER-FORMAT.md.
package filelog
