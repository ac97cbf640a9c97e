package index

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"slices"
)

// cursor is where a search goes on. A text's number and rank never change, so
// while others write no match comes twice.
type cursor struct {
	top, low int64 // only texts numbered so
	before   int64 // matches above top
	rank     int64 // only those behind this rank and number
	vn       int64 // 0: from the first
}

// purpose names what a cursor belongs to.
func (q *SearchQuery) purpose() []byte {
	sum := sha256.Sum256(fmt.Appendf(nil, "%q %q %v %v %v", q.Text, q.Kinds, q.AllBranches, q.History, q.Retracted))
	return sum[:6]
}

func (c *cursor) encode(q *SearchQuery) string {
	b := q.purpose()
	for _, n := range []int64{c.top, c.low, c.before, c.rank, c.vn} {
		b = binary.AppendUvarint(b, uint64(n))
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
	b, err := base64.RawURLEncoding.DecodeString(s)
	p := q.purpose()
	if err != nil || len(b) < len(p) || !slices.Equal(b[:len(p)], p) {
		return c, ErrCursor
	}
	b = b[len(p):]
	for _, n := range []*int64{&c.top, &c.low, &c.before, &c.rank, &c.vn} {
		u, size := binary.Uvarint(b)
		if size <= 0 || u > maxNumber {
			return c, ErrCursor
		}
		*n, b = int64(u), b[size:]
	}
	if len(b) > 0 || c.top > top || c.low > c.top {
		return c, ErrCursor
	}
	return c, nil
}

const maxNumber = 1 << 53
