package check

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"slices"
	"sync"
	"time"
)

// identity is by what a file is known not to have changed.
type identity struct {
	dev, inode   uint64
	size         int64
	mtime, ctime int64 // nanoseconds
}

// trusted is how long a file must have been at rest when it was looked at: a
// change within the clock's grain leaves the times as they were.
const trusted = 2 * time.Second

type cached struct {
	id  identity
	sum [32]byte
}

// Cache remembers digests of files. The nil Cache remembers nothing. It is safe
// for concurrent use. What it says is a matter of speed alone: an entry counts
// only while device, inode, size and both times are the same, and had been at
// rest for two seconds when the file was read.
type Cache struct {
	now   func() time.Time
	key   []byte
	mu    sync.RWMutex
	m     map[string]cached
	added int // since it was read or written
}

// NewCache makes an empty cache. key seals its written form.
func NewCache(key []byte, now func() time.Time) *Cache {
	return &Cache{now: now, key: inputKey(key), m: map[string]cached{}}
}

func (c *Cache) get(name string, id identity) (string, bool) {
	if c == nil || id.inode == 0 {
		return "", false
	}
	c.mu.RLock()
	e, ok := c.m[name]
	c.mu.RUnlock()
	if !ok || e.id != id {
		return "", false
	}
	return hex.EncodeToString(e.sum[:]), true
}

// put remembers what was read of a file that looked as before and after.
func (c *Cache) put(name string, before, after identity, sum string) {
	if c == nil || before != after || after.inode == 0 {
		return
	}
	rest := c.now().Add(-trusted).UnixNano()
	if after.mtime > rest || after.ctime > rest {
		return
	}
	e := cached{id: after}
	if n, err := hex.Decode(e.sum[:], []byte(sum)); err != nil || n != len(e.sum) {
		return
	}
	c.mu.Lock()
	c.m[name] = e
	c.added++
	c.mu.Unlock()
}

// worthWriting: a cache is written when more than one in so many of its entries
// are new. The others are soon read again.
const worthWriting = 50

// Dirty reports whether there is enough new to be written.
func (c *Cache) Dirty() bool {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.added > len(c.m)/worthWriting
}

const (
	cacheMagic   = "holdfast inputs 1\n"
	maxCached    = 1_000_000
	MaxCacheFile = 512 << 20 // bytes of a written cache that are read
)

var errCache = errors.New("not a cache of this machine")

// Encode writes the cache, sealed with its key.
func (c *Cache) Encode() []byte {
	c.mu.RLock()
	defer c.mu.RUnlock()
	b := make([]byte, 0, len(cacheMagic)+len(c.m)*128)
	b = append(b, cacheMagic...)
	n := 0
	for name, e := range c.m {
		if n++; n > maxCached {
			break
		}
		b = binary.AppendUvarint(b, uint64(len(name)))
		b = append(b, name...)
		for _, v := range []uint64{e.id.dev, e.id.inode, uint64(e.id.size), uint64(e.id.mtime), uint64(e.id.ctime)} {
			b = binary.LittleEndian.AppendUint64(b, v)
		}
		b = append(b, e.sum[:]...)
	}
	m := hmac.New(sha256.New, c.key)
	m.Write(b)
	return m.Sum(b)
}

// Decode reads what Encode wrote. What isn't whole or has another seal is an
// error, and leaves the cache empty.
func (c *Cache) Decode(b []byte) error {
	if len(b) < len(cacheMagic)+sha256.Size || !bytes.HasPrefix(b, []byte(cacheMagic)) {
		return errCache
	}
	body, seal := b[:len(b)-sha256.Size], b[len(b)-sha256.Size:]
	m := hmac.New(sha256.New, c.key)
	m.Write(body)
	if !hmac.Equal(m.Sum(nil), seal) {
		return errCache
	}
	names := string(body) // one allocation for all names
	out := make(map[string]cached, len(body)/128)
	for pos := len(cacheMagic); pos < len(body); {
		n, w := binary.Uvarint(body[pos:])
		if w <= 0 || n > uint64(len(body)-pos-w) || len(body)-pos-w-int(n) < 72 {
			return errCache
		}
		pos += w
		name := names[pos : pos+int(n)]
		pos += int(n)
		u := func(i int) uint64 { return binary.LittleEndian.Uint64(body[pos+8*i:]) }
		e := cached{id: identity{u(0), u(1), int64(u(2)), int64(u(3)), int64(u(4))}}
		copy(e.sum[:], body[pos+40:pos+72])
		out[name] = e
		pos += 72
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.m, c.added = out, 0
	return nil
}

// Keep forgets what is none of files, once there is too much of that.
func (c *Cache) Keep(files []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.m) < 2*len(files)+10_000 {
		return
	}
	for name := range c.m {
		if _, ok := slices.BinarySearch(files, name); !ok && name[0] != 0 {
			delete(c.m, name)
		}
	}
}
