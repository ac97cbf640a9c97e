package ledger

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"hash"
	"iter"
	"slices"
)

// Verify checks that entries follow from and one another: revisions without a
// gap, hashes chained, bodies as their heads name them, and no body erased that
// a redact entry among them doesn't name. It returns the last position that
// holds. A redact entry that is void erases nothing.
func Verify(from Pos, entries iter.Seq2[Entry, error]) (Pos, error) {
	p := from
	c := Checker{}
	for e, err := range entries {
		if err != nil {
			return p, err
		}
		if err := c.Add(p, &e); err != nil {
			return p, err
		}
		p = e.Pos()
	}
	return p, c.End()
}

// Checker verifies entries one by one, for callers that do more with them than
// Verify. The zero Checker is ready.
type Checker struct{ erased []int64 }

// Add checks that e stands rightly behind after.
func (c *Checker) Add(after Pos, e *Entry) error {
	if e.Rev != after.Next() {
		return &ChainError{Rev: after.Next(), Why: "another revision stands in its place"}
	}
	if e.Prev != after.Hash {
		return &ChainError{Rev: e.Rev, Why: "it doesn't follow the entry before it"}
	}
	if !e.CheckBody() {
		return &ChainError{Rev: e.Rev, Why: "its body was changed"}
	}
	if e.BodyRaw == nil {
		c.erased = append(c.erased, e.Rev)
	}
	if e.Type == TypeRedact && !e.Void() {
		c.erased = slices.DeleteFunc(c.erased, func(r int64) bool { return slices.Contains(e.Revisions, r) })
	}
	return nil
}

// End checks what only the whole can show: each erased body was redacted.
func (c *Checker) End() error {
	if len(c.erased) > 0 {
		return &ChainError{Rev: c.erased[0], Why: "its body is gone and nothing says that it was redacted"}
	}
	return nil
}

// Seals tells what a seal is worth on this machine.
type Seals map[string]Key // by key id

// SealState is what the seal of an entry says here.
type SealState int

// States of a seal. BadSeal is damage; the others are not.
const (
	Unsealed SealState = iota
	SealedHere
	SealedElsewhere
	BadSeal
)

// Check tells what e's seal says.
func (s Seals) Check(e *Entry) SealState {
	if e.SealKey == "" {
		if e.Seal != "" {
			return BadSeal
		}
		return Unsealed
	}
	k, here := s[e.SealKey]
	if !here {
		return SealedElsewhere
	}
	if k.Sealed(e.Hash, e.Seal) {
		return SealedHere
	}
	return BadSeal
}

// SealChecker is Seals for many entries one after another: each key is set up
// once. It is not safe for concurrent use.
type SealChecker struct {
	seals Seals
	macs  map[string]hash.Hash
	sum   [sha256.Size]byte
	text  [2 * sha256.Size]byte
}

// Checker prepares to check many entries.
func (s Seals) Checker() *SealChecker {
	return &SealChecker{seals: s, macs: map[string]hash.Hash{}}
}

// Check tells what e's seal says, as Seals.Check does.
func (c *SealChecker) Check(e *Entry) SealState {
	k, here := c.seals[e.SealKey]
	if !here || len(e.Hash) != len(c.text) {
		return c.seals.Check(e)
	}
	m := c.macs[e.SealKey]
	if m == nil {
		m = hmac.New(sha256.New, k)
		c.macs[e.SealKey] = m
	}
	m.Reset()
	copy(c.text[:], e.Hash)
	m.Write(c.text[:])
	hex.Encode(c.text[:], m.Sum(c.sum[:0]))
	if !hmac.Equal([]byte(e.Seal), c.text[:]) {
		return BadSeal
	}
	return SealedHere
}
