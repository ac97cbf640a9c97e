package index_test

import (
	"errors"
	"fmt"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"holdfast/internal/index"
)

func TestMeta(t *testing.T) {
	o := index.Options{Dir: t.TempDir()}
	x := open(t, o)
	for _, set := range []string{"first", "second\nline", "", "third"} {
		if err := x.SetMeta(t.Context(), "damage", set); err != nil {
			t.Fatal(err)
		}
		for name, y := range map[string]*index.Index{"same": x, "another": open(t, o)} {
			got, err := y.Meta(t.Context(), "damage")
			if err != nil || got != set {
				t.Errorf("%s index: %q, %v; want %q", name, got, err, set)
			}
		}
	}
	if got, err := x.Meta(t.Context(), "never set"); got != "" || err != nil {
		t.Errorf("a value never set: %q, %v", got, err)
	}
}

func TestNotesOfReadOnlyIndex(t *testing.T) {
	o := index.Options{Dir: t.TempDir()}
	w := open(t, o)
	follow(t, w, logEntries(t, 3))
	if err := w.SetMeta(t.Context(), "key", "value"); err != nil {
		t.Fatal(err)
	}
	o.ReadOnly = true
	x := open(t, o)
	if got, err := x.Meta(t.Context(), "key"); got != "value" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
	for name, err := range map[string]error{
		"meta":     x.SetMeta(t.Context(), "key", "other"),
		"stamps":   x.SetStamps(t.Context(), map[string]index.Stamp{"a": {}}, nil),
		"ancestry": x.SetAncestry(t.Context(), "a", nil),
	} {
		if !errors.Is(err, index.ErrNotKept) {
			t.Errorf("%s: %v, want ErrNotKept", name, err)
		}
	}
}

// Stamps behave as a map, across instances.
func TestStamps(t *testing.T) {
	dir := folders(t)
	rapid.Check(t, func(t *rapid.T) {
		o := index.Options{Dir: dir()}
		x := openIn(t, o)
		defer x.Close()
		want := map[string]index.Stamp{}
		number := rapid.SampledFrom([]int64{0, 1, -1, math.MaxInt64, math.MinInt64, 1764532800123456789})
		for range rapid.IntRange(1, 4).Draw(t, "calls") {
			set := map[string]index.Stamp{}
			for range rapid.IntRange(0, 90).Draw(t, "set") {
				name := fmt.Sprintf("gen/0001/rev/%08d.json", rapid.IntRange(0, 200).Draw(t, "name"))
				set[name] = index.Stamp{Size: number.Draw(t, "size"), MtimeNS: number.Draw(t, "mtime"), CtimeNS: number.Draw(t, "ctime"), Inode: uint64(number.Draw(t, "inode"))}
			}
			var removed []string
			for name := range want {
				if _, again := set[name]; !again && rapid.IntRange(0, 3).Draw(t, "remove") == 0 {
					removed = append(removed, name)
				}
			}
			if err := x.SetStamps(t.Context(), set, removed); err != nil {
				t.Fatal(err)
			}
			for name, s := range set {
				want[name] = s
			}
			for _, name := range removed {
				delete(want, name)
			}
			got, err := x.Stamps(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatal(diff)
			}
			kept, err := x.StampSums(t.Context())
			if err != nil || !kept.Equal(sumsOf(want)) {
				t.Fatal(kept, err)
			}
		}
	})
}

func sumsOf(stamps map[string]index.Stamp) index.StampSums {
	out := index.StampSums{}
	for name, s := range stamps {
		out.Add([]byte(name), s)
	}
	return out
}

// TestStampSumsTell: whatever differs in one file of many is seen in the sums.
func TestStampSumsTell(t *testing.T) {
	stamps := map[string]index.Stamp{}
	for i := range 300 {
		stamps[fmt.Sprintf("0001/rev/%08d.json", i)] = index.Stamp{Size: 700, MtimeNS: 1764532800123456789 + int64(i)<<32, CtimeNS: 1764532800123456789 + int64(i)<<32, Inode: uint64(i)}
	}
	whole, name := sumsOf(stamps), "0001/rev/00000123.json"
	was := stamps[name]
	for what, s := range map[string]index.Stamp{
		"size":                 {Size: was.Size + 1, MtimeNS: was.MtimeNS, CtimeNS: was.CtimeNS, Inode: was.Inode},
		"mtime":                {Size: was.Size, MtimeNS: was.MtimeNS + 1<<32, CtimeNS: was.CtimeNS, Inode: was.Inode},
		"ctime":                {Size: was.Size, MtimeNS: was.MtimeNS, CtimeNS: was.CtimeNS + 1<<62, Inode: was.Inode},
		"inode":                {Size: was.Size, MtimeNS: was.MtimeNS, CtimeNS: was.CtimeNS, Inode: was.Inode + 1},
		"two that are swapped": {Size: was.MtimeNS, MtimeNS: was.Size, CtimeNS: was.CtimeNS, Inode: was.Inode},
	} {
		stamps[name] = s
		if whole.Equal(sumsOf(stamps)) {
			t.Errorf("%s: not seen", what)
		}
	}
	delete(stamps, name)
	if whole.Equal(sumsOf(stamps)) {
		t.Error("a file that is gone is not seen")
	}
	stamps["0001/rev/00000124.json0"] = was
	if whole.Equal(sumsOf(stamps)) {
		t.Error("another name is not seen")
	}
}

func TestAncestry(t *testing.T) {
	x := open(t, index.Options{Dir: t.TempDir()})
	head := func(n int) string { return fmt.Sprintf("%040x", n) }
	facts := func(n int) map[string]bool { return map[string]bool{head(n): true, head(n + 1): false, "": true} }
	for n := range 30 {
		if err := x.SetAncestry(t.Context(), head(n), facts(n)); err != nil {
			t.Fatal(err)
		}
	}
	if err := x.SetAncestry(t.Context(), head(29), facts(100)); err != nil {
		t.Fatal(err)
	}
	for n, want := range map[int]map[string]bool{0: nil, 5: nil, 15: facts(15), 28: facts(28), 29: facts(100), 77: nil} {
		got, err := x.Ancestry(t.Context(), head(n))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("head %d: %s", n, diff)
		}
	}
}
