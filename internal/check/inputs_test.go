package check

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"holdfast/internal/ledger"
)

func put(t *testing.T, top string, files ...string) {
	t.Helper()
	for _, f := range files {
		p := filepath.Join(top, filepath.FromSlash(f))
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, []byte("content of "+f), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func realDir(t *testing.T) string {
	t.Helper()
	d, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestPatterns(t *testing.T) {
	for _, c := range []struct {
		pattern, file string
		want          bool
	}{
		{"a", "a", true}, {"a", "a/b/c", true}, {"a", "ab", false}, {".", "x/y", true}, {"a/**", "a/b/c", true}, {"a/**", "a", false}, {"**/*.go", "x.go", true},
		{"**/*.go", "a/b/x.go", true}, {"*.go", "a/x.go", false}, {"a/**/z", "a/z", true}, {"a/**/z", "a/b/c/z", true}, {"?", "é", true}, {"[!a].go", "b.go", true}, {"[!a].go", "a.go", false},
		{"[a-c]x", "bx", true}, {"a*é", "abé", true}, {"*.go", "x_go", false}, {"[", "[", true},
	} {
		p, err := ParsePattern(c.pattern, ".")
		if err != nil {
			t.Errorf("%s: %v", c.pattern, err)
		} else if p.Match(c.file) != c.want {
			t.Errorf("%s, %s: %v", c.pattern, c.file, !c.want)
		}
	}
	for _, bad := range []string{"", "..", "../x", "a/../../x", "/etc/passwd", ".git/config", ".holdfast/x", "a\x00b"} {
		if _, err := ParsePattern(bad, "."); !errors.Is(err, ErrOutside) {
			t.Errorf("%q: %v", bad, err)
		}
	}
	if p, err := ParsePattern("../go.mod", "sub"); err != nil || p.Text != "go.mod" {
		t.Errorf("%+v %v", p, err)
	}
}

func TestFilesDeclaredAndPlain(t *testing.T) {
	top, away := realDir(t), realDir(t)
	put(t, away, "secret.go")
	put(t, top, "go.mod", "src/a.go", "src/deep/b.go", "src/package.json", "other/c.txt", ".git/config", ".holdfast/x", "node_modules/m.js", "src/.git/config", ".dot/y")
	if err := os.Symlink(away, filepath.Join(top, "src", "out")); err != nil {
		t.Skip(err)
	}
	tree := Tree{Top: top}
	for _, c := range []struct{ declared, want []string }{
		{[]string{"src/**/*.go"}, []string{"go.mod", "src/a.go", "src/deep/b.go", "src/package.json"}},
		{[]string{"other"}, []string{"go.mod", "other/c.txt"}}, {[]string{"gone/**"}, []string{"go.mod"}},
		{nil, []string{"go.mod", "other/c.txt", "src/a.go", "src/deep/b.go", "src/out", "src/package.json"}},
	} {
		got, partial, err := tree.Files(t.Context(), c.declared, ".")
		if err != nil || partial || !slices.Equal(got, c.want) {
			t.Errorf("%v: %v %v %v", c.declared, got, partial, err)
		}
	}
	if _, _, err := tree.Files(t.Context(), []string{"src/out/*.go"}, "."); !errors.Is(err, ErrOutside) {
		t.Errorf("a link led out: %v", err)
	}
}

func TestHashingAndTheCache(t *testing.T) {
	top := realDir(t)
	var files []string
	for i := range 20_000 {
		files = append(files, fmt.Sprintf("d%02d/f%05d", i%50, i))
	}
	slices.Sort(files)
	put(t, top, files...)
	now := time.Now().Add(-time.Minute) // however long it takes, the files are younger
	clock := func() time.Time { return now }
	cache := NewCache([]byte("key"), clock)
	look := func(files []string) ([]ledger.InputFile, error) {
		h := Hasher{Top: top, CPUs: 2, Cache: cache}
		return h.Hash(t.Context(), files)
	}
	first, err := look(append(files, "vanished"))
	if err != nil || len(first) != len(files) {
		t.Fatal(len(first), err)
	}
	if cache.Dirty() {
		t.Error("files younger than two seconds are remembered")
	}
	now = now.Add(time.Hour)
	again, err := look(files)
	if err != nil || !cmp.Equal(first, again) || Digest(first) != Digest(again) {
		t.Error("hashed again, it differs", err)
	}
	if runtime.GOOS != "windows" && len(cache.all()) != len(files) {
		t.Errorf("%d are remembered", len(cache.all()))
	}
	if err := os.WriteFile(filepath.Join(top, files[7]), []byte("CONTENT OF "+files[7]), 0o644); err != nil {
		t.Fatal(err)
	}
	changed, err := look(files)
	if err != nil {
		t.Fatal(err)
	}
	if got := Changes(first, changed); !slices.Equal(got, []string{"changed: " + files[7]}) {
		t.Errorf("%v", got)
	}
	other := NewCache([]byte("key"), clock)
	if err := other.Decode(cache.Encode()); err != nil || !cmp.Equal(other.all(), cache.all(), cmp.AllowUnexported(named{}, cached{}, identity{})) {
		t.Error("the written cache differs", err)
	}
	if err := NewCache([]byte("another"), clock).Decode(cache.Encode()); err == nil {
		t.Error("a cache with another machine's seal is taken")
	}
}

// TestOneLook: a Hasher looks at a file once, whatever sets of files it is asked
// for, and each set gets what belongs to it.
func TestOneLook(t *testing.T) {
	top := realDir(t)
	var all []string
	for i := range 500 {
		all = append(all, fmt.Sprintf("d%02d/f%05d", i%7, i))
	}
	slices.Sort(all)
	put(t, top, all...)
	h := Hasher{Top: top, CPUs: 2}
	rapid.Check(t, func(rt *rapid.T) {
		var some []string
		for _, f := range all {
			if rapid.IntRange(0, 3).Draw(rt, "take") == 0 {
				some = append(some, f)
			}
		}
		got, err := h.Hash(t.Context(), some)
		if err != nil || len(got) != len(some) {
			rt.Fatal(len(got), err)
		}
		for i := range got {
			sum := sha256.Sum256([]byte("content of " + some[i]))
			if got[i].Path != some[i] || got[i].SHA256 != hex.EncodeToString(sum[:]) {
				rt.Fatal(got[i])
			}
		}
		if !slices.IsSorted(h.seen.files) || len(slices.Compact(slices.Clone(h.seen.files))) != len(h.seen.files) {
			rt.Fatal("what was looked at is in no order, or twice")
		}
	})
	if err := os.WriteFile(filepath.Join(top, all[3]), []byte("other"), 0o644); err != nil {
		t.Fatal(err)
	}
	first, _ := h.Hash(t.Context(), all)
	second, err := h.Hash(t.Context(), all)
	if err != nil || !cmp.Equal(first, second) {
		t.Error("one look tells two things", err)
	}
}

func TestManifestRoundTrip(t *testing.T) {
	files := []ledger.InputFile{{Path: "a b", SHA256: "11"}, {Path: "é/.env", SHA256: "22", Keyed: true}}
	sum, packed, err := EncodeManifest(files)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := DecodeManifest(packed, sum); err != nil || !cmp.Equal(got, files) {
		t.Error(got, err)
	}
	for _, c := range []struct {
		b   []byte
		sum string
	}{{packed, sum[1:] + "0"}, {packed[:len(packed)-3], sum}, {nil, sum}, {[]byte("text"), sum}} {
		if _, err := DecodeManifest(c.b, c.sum); !errors.Is(err, errManifest) {
			t.Errorf("%v", err)
		}
	}
}

func FuzzPattern(f *testing.F) {
	for _, s := range []string{"a/**/b", "[!a-z]*", "[]", "[z-a]", "../x", "a?é", "**"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		p, err := ParsePattern(s, ".")
		if err != nil && !errors.Is(err, ErrOutside) {
			t.Errorf("%q: %v", s, err)
		}
		if err == nil && p.Match("../outside") {
			if p.Text != "." && p.base != "." {
				t.Errorf("%q reaches out", s)
			}
		}
	})
}

func FuzzManifestAndCache(f *testing.F) {
	_, packed, _ := EncodeManifest([]ledger.InputFile{{Path: "a", SHA256: "b"}})
	f.Add(packed)
	f.Add(NewCache(nil, time.Now).Encode())
	f.Fuzz(func(t *testing.T, b []byte) {
		if _, err := DecodeManifest(b, "no digest"); err == nil {
			t.Error("a wrong name is taken")
		}
		_ = NewCache(nil, time.Now).Decode(b)
	})
}
