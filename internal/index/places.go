package index

import (
	"crypto/sha256"
	"encoding/hex"
	"math"
	"strconv"

	"holdfast/internal/ledger"
)

// place is where in the code entries were made.
type place struct {
	ledger.Git
	n    int64
	last int64 // last revision made there, -1 for none that says so
}

// places are in the order of their numbers, which have no gaps from 0.
type places []place

var nowhere ledger.Git

func (ps places) git(n int64) *ledger.Git {
	if n >= 0 && n < int64(len(ps)) {
		return &ps[n].Git
	}
	return &nowhere
}

func readPlaces(d *database) (places, error) {
	var ps places
	err := d.each(func(scan func(...any) error) error {
		var p place
		if err := scan(&p.n, &p.Branch, &p.Commit, &p.Base, &p.Detached, &p.last); err != nil {
			return err
		}
		if p.n != int64(len(ps)) {
			return errContent
		}
		ps = append(ps, p)
		return nil
	}, "SELECT n, branch, commit_id, base, detached, last FROM places ORDER BY n")
	return ps, err
}

// everything reports whether all that was ever made at ps is in force in s: so
// that s is no different from a scope without limits.
func (ps places) everything(s *ledger.Scope) bool {
	for i := range ps {
		if _, ok := s.InForce(ps[i].Git, max(ps[i].last, 0)); !ok {
			return false
		}
	}
	return true
}

// digest names what s says about ps: two scopes with the same digest have the
// same versions in force among those made there.
func (ps places) digest(s *ledger.Scope, head int64) string {
	var b []byte
	for i := range ps {
		b = strconv.AppendInt(append(b, ' '), upTo(s, ps[i].Git, head), 10)
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:16])
}

// upTo is the last revision up to which what is made at g is in force: MaxInt64
// without limit, -1 for nothing. Being in force never begins later.
func upTo(s *ledger.Scope, g ledger.Git, head int64) int64 {
	in := func(rev int64) bool { _, ok := s.InForce(g, rev); return ok }
	if in(math.MaxInt64) {
		return math.MaxInt64
	}
	if !in(0) {
		return -1
	}
	lo, hi := int64(0), head+1 // in force at lo, not at hi
	for lo+1 < hi {
		if mid := lo + (hi-lo)/2; in(mid) {
			lo = mid
		} else {
			hi = mid
		}
	}
	return lo
}
