package surface

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// TestCache: a hash is trusted while a stat tells nothing else, and not where a
// change could hide from the stat.
func TestCache(t *testing.T) {
	dir := project(t)
	write(t, dir, "f", "one")
	full := filepath.Join(dir, "f")
	info, err := os.Stat(full)
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	cache := NewCache()
	o := observer(dir, func(o *Options) { o.Cache, o.Now = cache, func() time.Time { return now } })
	look := func() string { return lookOne(t, o, Want{Surface: "file:f", Worktree: "main"}).Facts["sha256"] }

	look()
	if cache.Len() != 0 {
		t.Fatal("a hash of a file that has just changed is kept")
	}
	now = now.Add(Racy + time.Second)
	if look() != sum("one") || cache.Len() != 1 {
		t.Skip("this system's stat has no change time: nothing is kept")
	}
	// A write that leaves size, inode and times as they were can't be made: the
	// change time can't be set. So the entry is looked at instead.
	st, err := statInfo(full)
	if err != nil {
		t.Fatal(err)
	}
	cache.files[st.id] = cached{st.now, [32]byte{1}}
	if look() == sum("one") {
		t.Error("the kept hash is not used")
	}
	var b bytes.Buffer
	if _, err := cache.WriteTo(&b); err != nil {
		t.Fatal(err)
	}
	again, err := ReadCache(bytes.NewReader(b.Bytes()))
	if err != nil || again.files[st.id] != cache.files[st.id] {
		t.Errorf("written and read: %v, %v", again, err)
	}
	write(t, dir, "f", "two")
	if err := os.Chtimes(full, info.ModTime(), info.ModTime()); err != nil {
		t.Fatal(err)
	}
	if look() != sum("two") {
		t.Error("a change of the same size with its time set back is not seen")
	}
}

func FuzzReadCache(f *testing.F) {
	var b bytes.Buffer
	c := NewCache()
	c.files[fileID{1, 2}] = cached{state{3, 4, 5}, [32]byte{6}}
	if _, err := c.WriteTo(&b); err != nil {
		f.Fatal(err)
	}
	f.Add(b.Bytes())
	f.Add([]byte(cacheMagic))
	f.Add([]byte("x"))
	f.Fuzz(func(t *testing.T, in []byte) {
		c, err := ReadCache(bytes.NewReader(in))
		if err != nil {
			return
		}
		var out bytes.Buffer
		if _, err := c.WriteTo(&out); err != nil {
			t.Fatal(err)
		}
		again, err := ReadCache(&out)
		if err != nil || again.Len() != c.Len() {
			t.Fatalf("not read again: %v", err)
		}
	})
}

func FuzzJSON(f *testing.F) {
	f.Add([]byte(`{"a":{"b":[1,2]}}`), "/a/b/0")
	f.Add([]byte(`[{"x":1}]`), "/0/x")
	f.Add([]byte(`{"":{"~":1}}`), "//~0")
	f.Fuzz(func(t *testing.T, in []byte, pointer string) {
		if sumJSON(in, []string{pointer}) != sumJSON(bytes.Clone(in), []string{pointer}) {
			t.Fatal("not the same twice")
		}
	})
}
