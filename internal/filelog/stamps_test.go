package filelog

import (
	"os"
	"strings"
	"testing"
	"time"

	"holdfast/internal/ledger"
)

func stamps(t testing.TB, l *Log) map[string]Stamp {
	t.Helper()
	s, err := l.again().Stamps(t.Context())
	check(t, err)
	return s
}

// What saving, packing and erasing leftovers do is no change; whatever else
// happens to a file is.
func TestChangedStamps(t *testing.T) {
	l, p := seeded(t, quickLog(t), MaxLoose, plain)
	old := stamps(t, l)
	if len(old) != MaxLoose+1 {
		t.Fatalf("%d stamps", len(old))
	}
	p = add(t, l, p, note("packs"))
	now := stamps(t, l)
	if c := ChangedStamps(old, now); len(c) > 0 {
		t.Errorf("packing: %v", c[:1])
	}
	old = now
	for name, c := range map[string]struct {
		do     func()
		change string
		gone   bool
		damage string
	}{
		"a loose revision changed":  {func() { swap(t, l.rev(1500), "worth", "Worth") }, "0001/rev/00001500.json", false, DamageChanged},
		"a loose revision is gone":  {func() { check(t, os.Remove(l.rev(1500))) }, "0001/rev/00001500.json", true, DamageMissing},
		"a pack changed":            {func() { swap(t, l.packed(packOf(1)), "worth", "Worth") }, "0001/pack/00000001-00001000.jsonl", false, DamageChanged},
		"a pack is gone":            {func() { check(t, os.Remove(l.packed(packOf(1)))) }, "0001/pack/00000001-00001000.jsonl", true, DamageMissing},
		"a revision was touched":    {func() { check(t, os.Chtimes(l.rev(1500), time.Now(), time.Now())) }, "0001/rev/00001500.json", false, ""},
		"a pack was written again":  {func() { put(t, l.packed(packOf(1)), get(t, l.packed(packOf(1)))) }, "0001/pack/00000001-00001000.jsonl", false, ""},
		"the first revision's mode": {func() { check(t, os.Chmod(l.rev(0), 0o640)) }, "0001/rev/00000000.json", false, ""},
	} {
		t.Run(name, func(t *testing.T) {
			l0 := l
			kept := t.TempDir()
			copyTree(t, l0.at("gen"), kept+"/gen")
			before := stamps(t, l0)
			c.do()
			// The log may refuse a ledger with gaps; the stamps are for what it
			// doesn't notice by itself.
			now, err := l0.again().Stamps(t.Context())
			check(t, err)
			changes := ChangedStamps(before, now)
			found := false
			for _, ch := range changes {
				found = found || ch.Name == c.change && ch.Gone == c.gone
			}
			if !found {
				t.Errorf("changes %v, want %s", changes[:min(3, len(changes))], c.change)
			}
			err = l0.again().CheckChanged(t.Context(), changes)
			if c.damage == "" {
				check(t, err)
			} else if !Damaged(err) {
				t.Errorf("got %v", err)
			}
			check(t, os.RemoveAll(l0.at("gen")))
			copyTree(t, kept+"/gen", l0.at("gen"))
		})
	}
	verify(t, l, p)
}

func swap(t testing.TB, path, from, to string) {
	t.Helper()
	put(t, path, strings.Replace(get(t, path), from, to, 1))
}

// A recovery's generation has stamps of its own.
func TestStampsOfAnotherGeneration(t *testing.T) {
	l, p := made(t, 3)
	old := stamps(t, l)
	l.recovered(t, 1, l.key1(t), p)
	now := stamps(t, l)
	if c := ChangedStamps(old, now); len(c) > 0 {
		t.Errorf("%v", c)
	}
	if c := ChangedStamps(old, nil); len(c) != 4 {
		t.Errorf("everything is gone: %v", c)
	}
	check(t, l.again().CheckChanged(t.Context(), []Change{{Name: "0001/rev/00000002.json"}}))
}

// A revision with the temporary's name still on it gets no stamp: it will change.
func TestStampOfAHalfPublishedRevision(t *testing.T) {
	l, _ := made(t, 3)
	check(t, os.Link(l.rev(3), l.at("gen/0001/tmp/.holdfast-00112233445566778899aabbccddeeff.tmp")))
	if _, there := stamps(t, l)["0001/rev/00000003.json"]; there {
		t.Error("it has a stamp")
	}
	if s := stamps(t, l); len(s) != 3 {
		t.Errorf("%d stamps", len(s))
	}
}

// A chain broken in the middle is noticed from either side.
func TestEntryIsInChain(t *testing.T) {
	l, _ := made(t, 5)
	e, err := ledger.Encode(ledger.Pos{Rev: 2, Hash: l.chain(t)[2].Hash}, note("another"), make([]byte, 16), nil)
	check(t, err)
	put(t, l.rev(3), string(e.Raw))
	_, err = l.again().Entry(t.Context(), 3)
	wantDamage(t, err, DamageChanged)
	if _, err := l.again().Entry(t.Context(), 5); err != nil {
		t.Error(err)
	}
}
