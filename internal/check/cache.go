package check

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"slices"
	"sort"
	"strings"
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

type named struct {
	name string
	cached
}

// Cache remembers digests of files. The nil Cache remembers nothing. It is safe
// for concurrent use. What it says is a matter of speed alone: an entry counts
// only while device, inode, size and both times are the same, and had been at
// rest for two seconds when the file was read.
type Cache struct {
	now   func() time.Time
	key   []byte
	mu    sync.RWMutex
	base  written           // as it was read
	m     map[string]cached // what came since; it goes before base
	added int               // since it was read or written
}

// NewCache makes an empty cache. key seals its written form.
func NewCache(key []byte, now func() time.Time) *Cache {
	return &Cache{now: now, key: inputKey(key), m: map[string]cached{}}
}

// get gives the digest of a file that still looks as it did. hint is where in the
// written cache the asker's next file is likely to be: files are asked for in
// their order.
func (c *Cache) get(name string, id identity, hint *int) (string, bool) {
	if c == nil || id.inode == 0 {
		return "", false
	}
	c.mu.RLock()
	e, ok := c.find(name, hint)
	c.mu.RUnlock()
	if !ok || e.id != id {
		return "", false
	}
	return hex.EncodeToString(e.sum[:]), true
}

func (c *Cache) find(name string, hint *int) (cached, bool) {
	if len(c.m) > 0 {
		if e, ok := c.m[name]; ok {
			return e, true
		}
	}
	if *hint >= len(c.base.at) || string(c.base.name(*hint)) != name {
		n, ok := sort.Find(len(c.base.at), func(i int) int { return strings.Compare(name, string(c.base.name(i))) })
		if !ok {
			return cached{}, false
		}
		*hint = n
	}
	*hint++
	return c.base.entry(*hint - 1), true
}

// written is a cache as it lies in its file: most of what a command reads of it, it
// never asks for.
type written struct {
	b  []byte
	at []int32 // where the entries begin, sorted by name
}

const entrySize = 5*8 + sha256.Size // behind the name

func (w *written) name(i int) []byte {
	n, k := binary.Uvarint(w.b[w.at[i]:])
	from := int(w.at[i]) + k
	return w.b[from : from+int(n)]
}

func (w *written) entry(i int) (e cached) {
	n, k := binary.Uvarint(w.b[w.at[i]:])
	b := w.b[int(w.at[i])+k+int(n):]
	u := func(i int) uint64 { return binary.LittleEndian.Uint64(b[8*i:]) }
	e.id = identity{u(0), u(1), int64(u(2)), int64(u(3)), int64(u(4))}
	copy(e.sum[:], b[40:entrySize])
	return e
}

// readWritten finds the entries, and checks that each is whole and their order.
func readWritten(b []byte) (written, error) {
	w := written{b, make([]int32, 0, len(b)/128)}
	for pos := len(cacheMagic); pos < len(b); {
		n, k := binary.Uvarint(b[pos:])
		if k <= 0 || n > uint64(len(b)-pos-k) || len(b)-pos-k-int(n) < entrySize {
			return written{}, errCache
		}
		w.at = append(w.at, int32(pos))
		if i := len(w.at) - 1; i > 0 && bytes.Compare(w.name(i-1), w.name(i)) >= 0 {
			return written{}, errCache
		}
		pos += k + int(n) + entrySize
	}
	return w, nil
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
	return c.added > max(len(c.m), len(c.base.at))/worthWriting
}

const (
	cacheMagic   = "holdfast inputs 2\n"
	maxCached    = 1_000_000
	MaxCacheFile = 512 << 20 // bytes of a written cache that are read; an int32 must tell any place in it
)

var errCache = errors.New("not a cache of this machine")

// Encode writes the cache, sealed with its key.
func (c *Cache) Encode() []byte {
	c.mu.RLock()
	defer c.mu.RUnlock()
	all := c.all()
	b := make([]byte, 0, len(cacheMagic)+len(all)*128)
	b = append(b, cacheMagic...)
	for _, e := range all[:min(len(all), maxCached)] {
		b = binary.AppendUvarint(b, uint64(len(e.name)))
		b = append(b, e.name...)
		for _, v := range []uint64{e.id.dev, e.id.inode, uint64(e.id.size), uint64(e.id.mtime), uint64(e.id.ctime)} {
			b = binary.LittleEndian.AppendUint64(b, v)
		}
		b = append(b, e.sum[:]...)
	}
	m := hmac.New(sha256.New, c.key)
	m.Write(b)
	return m.Sum(b)
}

// all is everything that is remembered, sorted by name.
func (c *Cache) all() []named {
	all := make([]named, 0, len(c.base.at)+len(c.m))
	for i := range c.base.at {
		if name := string(c.base.name(i)); !has(c.m, name) {
			all = append(all, named{name, c.base.entry(i)})
		}
	}
	for name, e := range c.m {
		all = append(all, named{name, e})
	}
	slices.SortFunc(all, func(a, b named) int { return strings.Compare(a.name, b.name) })
	return all
}

func has(m map[string]cached, name string) bool {
	_, ok := m[name]
	return ok
}

// Decode reads what Encode wrote. What isn't whole or has another seal is an
// error, and leaves the cache empty. The cache keeps b.
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
	base, err := readWritten(body)
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.base, c.m, c.added = base, map[string]cached{}, 0
	return nil
}

// Keep forgets what is none of files, once there is too much of that.
func (c *Cache) Keep(files []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.m)+len(c.base.at) < 2*len(files)+10_000 {
		return
	}
	kept := map[string]cached{}
	for _, e := range c.all() {
		if _, ok := slices.BinarySearch(files, e.name); ok || e.name[0] == 0 {
			kept[e.name] = e.cached
		}
	}
	c.base, c.m = written{}, kept
}
