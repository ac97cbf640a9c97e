// Package recovery finds what is wrong with a ledger and brings back what was
// acknowledged: from revisions, packs, mirrors, older generations and exports.
//
// It owns the survey of every copy, which chain of entries is the best that
// verifies, the plan of a recovery with its fingerprint, and the order of steps in
// which a plan is applied. It must never change a generation that holds damage,
// begin before the whole source verified, apply what a preview didn't show, take
// an entry's word that its seal doesn't back, or let an erased body come back.
package recovery
