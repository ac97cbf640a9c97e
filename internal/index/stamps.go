package index

import (
	"context"
	"maps"
)

// Stamp is what was seen of a file when its content was last verified.
type Stamp struct {
	Size    int64
	MtimeNS int64
	CtimeNS int64
	Inode   uint64
}

// Stamps lie in buckets, by name without what differs among a hundred revisions: a
// few thousand rows would take as long to read as everything else that a
// briefing needs.
func bucketLen(name []byte) int { return max(len(name)-len("00.json"), 0) }

func bucketOf(name string) string { return name[:bucketLen([]byte(name))] }

// StampSum stands for the stamps of a bucket: two that are equal were made of the
// same files, but for a chance of 2^-64. It is no protection against anybody who
// wants it to be equal, and neither are the stamps.
type StampSum struct {
	Files int
	Sum   uint64
}

// StampSums are sums by bucket.
type StampSums map[string]StampSum

// Add counts a file in. The name is not kept.
func (m StampSums) Add(name []byte, s Stamp) {
	const prime = 1099511628211 // FNV-1a, RFC 9923, by words rather than by bytes
	h := uint64(14695981039346656037)
	for _, c := range name {
		h = (h ^ uint64(c)) * prime
	}
	for _, n := range [...]uint64{uint64(s.Size), uint64(s.MtimeNS), uint64(s.CtimeNS), s.Inode} {
		h = (h ^ n) * prime
		h ^= h >> 32 // a word's upper half would never reach the lower bits
	}
	sum := m[string(name[:bucketLen(name)])]
	sum.Files++
	sum.Sum += h
	m[string(name[:bucketLen(name)])] = sum
}

// Equal reports whether both were made of the same stamps.
func (m StampSums) Equal(n StampSums) bool { return maps.Equal(m, n) }

// StampSums gives the sums of what Stamps gives, in far less time.
func (x *Index) StampSums(ctx context.Context) (StampSums, error) {
	out := StampSums{}
	err := x.note(ctx, func() error {
		return x.d.each(func(scan func(...any) error) error {
			var bucket string
			var sum int64
			var files int
			err := scan(&bucket, &files, &sum)
			out[bucket] = StampSum{files, uint64(sum)}
			return err
		}, "SELECT bucket, files, sum FROM stamps")
	})
	return out, err
}

// Stamps gives all stamps, by file name.
func (x *Index) Stamps(ctx context.Context) (map[string]Stamp, error) {
	out := map[string]Stamp{}
	err := x.note(ctx, func() error {
		return x.d.each(func(scan func(...any) error) error {
			var data string
			if err := scan(&data); err != nil {
				return err
			}
			return readStamps(data, out)
		}, "SELECT data FROM stamps")
	})
	return out, err
}

// SetStamps adds or changes stamps and removes others. The error is ErrNotKept
// where the file can't be written.
func (x *Index) SetStamps(ctx context.Context, set map[string]Stamp, removed []string) error {
	changed := map[string]func(map[string]Stamp){}
	add := func(name string, fn func(map[string]Stamp)) {
		before := changed[bucketOf(name)]
		changed[bucketOf(name)] = func(m map[string]Stamp) {
			if before != nil {
				before(m)
			}
			fn(m)
		}
	}
	for name, s := range set {
		add(name, func(m map[string]Stamp) { m[name] = s })
	}
	for _, name := range removed {
		add(name, func(m map[string]Stamp) { delete(m, name) })
	}
	if len(changed) == 0 {
		return nil
	}
	return x.keep(ctx, func() error {
		for bucket, change := range changed {
			if err := x.setBucket(bucket, change); err != nil {
				return err
			}
		}
		return nil
	})
}

func (x *Index) setBucket(bucket string, change func(map[string]Stamp)) error {
	m := map[string]Stamp{}
	var data string
	_, err := x.d.one("SELECT data FROM stamps WHERE bucket = ?", []any{bucket}, &data)
	if err == nil {
		err = readStamps(data, m)
	}
	if err != nil {
		return err
	}
	change(m)
	if len(m) == 0 {
		return x.d.exec("DELETE FROM stamps WHERE bucket = ?", bucket)
	}
	sums := StampSums{}
	for name, s := range m {
		sums.Add([]byte(name), s)
	}
	return x.d.exec("INSERT OR REPLACE INTO stamps VALUES (?, ?, ?, ?)", bucket, sums[bucket].Files, int64(sums[bucket].Sum), writeStamps(m))
}
