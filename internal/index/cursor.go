package index

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"slices"
)

// cursor is where a search goes on. It names the matches that were given, so
// that none comes twice and none is passed over while others write: the ranks
// may change, the numbers of the texts don't.
type cursor struct {
	top    int64   // only texts up to this number
	before int     // matches above it
	seen   []int64 // of those up to it, given already; ascending
}

// purpose names what a cursor belongs to.
func (q *SearchQuery) purpose() []byte {
	sum := sha256.Sum256(fmt.Appendf(nil, "%q %q %v %v %v", q.Text, q.Kinds, q.AllBranches, q.History, q.Retracted))
	return sum[:6]
}

func (c *cursor) encode(q *SearchQuery) string {
	b := binary.AppendUvarint(q.purpose(), uint64(c.top))
	b = binary.AppendUvarint(b, uint64(c.before))
	last := int64(0)
	for _, n := range c.seen {
		b = binary.AppendUvarint(b, uint64(n-last))
		last = n
	}
	return base64.RawURLEncoding.EncodeToString(b)
}

// readCursor gives the cursor in s, or the beginning for an empty one. The
// error is ErrCursor.
func readCursor(s string, q *SearchQuery, top int64) (cursor, error) {
	c := cursor{top: top}
	if s == "" {
		return c, nil
	}
	if len(s) > 16<<10 {
		return c, ErrCursor
	}
	b, err := base64.RawURLEncoding.DecodeString(s)
	p := q.purpose()
	if err != nil || len(b) < len(p) || !slices.Equal(b[:len(p)], p) {
		return c, ErrCursor
	}
	var ns []int64
	for b = b[len(p):]; len(b) > 0; {
		n, size := binary.Uvarint(b)
		if size <= 0 || n > uint64(top) {
			return c, ErrCursor
		}
		b, ns = b[size:], append(ns, int64(n))
	}
	if len(ns) < 2 {
		return c, ErrCursor
	}
	c.top, c.before = ns[0], int(ns[1])
	last := int64(0)
	for _, n := range ns[2:] {
		if last += n; last > c.top {
			return c, ErrCursor
		}
		c.seen = append(c.seen, last)
	}
	return c, nil
}
