package surface

import (
	"bufio"
	"encoding/binary"
	"errors"
	"io"
	"sync"
	"time"
)

// Racy is how close to a look a file's last change may lie for the look's hash
// to be distrusted later: within it, a write can leave every stamp as it was.
const Racy = 2 * time.Second

// maxCached is how many hashes a cache holds.
const maxCached = 400_000

// Cache holds hashes of files by what a stat tells of them. A nil cache holds
// nothing. It is safe for use by several goroutines.
type Cache struct {
	mu    sync.RWMutex
	files map[fileID]cached
}

type cached struct {
	state
	sum [32]byte
}

// NewCache makes an empty cache.
func NewCache() *Cache { return &Cache{files: map[fileID]cached{}} }

// Len is how many hashes the cache holds.
func (c *Cache) Len() int {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return len(c.files)
}

func (c *Cache) get(st *stat) (sum [32]byte, ok bool) {
	if c == nil || !st.identified() {
		return sum, false
	}
	c.mu.RLock()
	e, hit := c.files[st.id]
	c.mu.RUnlock()
	return e.sum, hit && e.state == st.now
}

// put keeps a hash that was read at started, unless the file had changed so
// shortly before that a later change might not show.
func (c *Cache) put(st *stat, started time.Time, sum [32]byte) {
	if c == nil || !st.identified() || started.UnixNano()-st.now.ctime < int64(Racy) {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.files) >= maxCached {
		clear(c.files)
	}
	c.files[st.id] = cached{st.now, sum}
}

// The form of a written cache: a line that names it, then records of fixed
// size, big-endian.
const (
	cacheMagic  = "holdfast hashes 1\n"
	cacheRecord = 5*8 + 32
)

// WriteTo writes the cache, for a later process.
func (c *Cache) WriteTo(w io.Writer) (int64, error) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	b := bufio.NewWriterSize(w, 64<<10)
	n, err := b.WriteString(cacheMagic)
	written := int64(n)
	var rec [cacheRecord]byte
	for id, e := range c.files {
		if err != nil {
			break
		}
		for i, x := range []uint64{id.dev, id.ino, uint64(e.size), uint64(e.mtime), uint64(e.ctime)} {
			binary.BigEndian.PutUint64(rec[8*i:], x)
		}
		copy(rec[5*8:], e.sum[:])
		n, err = b.Write(rec[:])
		written += int64(n)
	}
	return written, errors.Join(err, b.Flush())
}

var errCache = errors.New("not a cache of hashes")

// ReadCache reads what WriteTo wrote. A cache proves nothing: the caller must
// know that the file is its own.
func ReadCache(r io.Reader) (*Cache, error) {
	b := bufio.NewReaderSize(r, 64<<10)
	magic := make([]byte, len(cacheMagic))
	if _, err := io.ReadFull(b, magic); err != nil || string(magic) != cacheMagic {
		return nil, errCache
	}
	c := NewCache()
	var rec [cacheRecord]byte
	for len(c.files) < maxCached {
		if _, err := io.ReadFull(b, rec[:]); err == io.EOF {
			return c, nil
		} else if err != nil {
			return nil, errCache
		}
		at := func(i int) uint64 { return binary.BigEndian.Uint64(rec[8*i:]) }
		e := cached{state: state{int64(at(2)), int64(at(3)), int64(at(4))}}
		copy(e.sum[:], rec[5*8:])
		c.files[fileID{at(0), at(1)}] = e
	}
	return c, nil
}
