package filelog

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"holdfast/internal/durable"
	"holdfast/internal/ledger"
)

// full is a ledger whose next save packs.
func full(t testing.TB) (*Log, ledger.Pos) {
	t.Helper()
	return seeded(t, quickLog(t), MaxLoose, plain)
}

func count(t testing.TB, dir string) int {
	t.Helper()
	es, err := os.ReadDir(dir)
	check(t, err)
	return len(es)
}

func TestPacking(t *testing.T) {
	l, p := full(t)
	p = add(t, l, p, note("the one too many"))
	if n := count(t, l.at("gen/0001/rev")); n != MaxLoose+2-PackSize {
		t.Errorf("%d loose revisions", n)
	}
	verify(t, l, p)
	if strings.Count(get(t, l.packed(packOf(1))), "\n") != PackSize {
		t.Error("the pack has not a line for each revision")
	}
	for i := range 3 {
		p = add(t, l, p, note(fmt.Sprint(i)))
	}
	verify(t, l, p)
	for _, rev := range []int64{0, 1, 500, 1000, 1001, p.Rev} {
		if e, err := l.again().Entry(t.Context(), rev); err != nil || e.Rev != rev {
			t.Errorf("entry %d: %v, %v", rev, e.Rev, err)
		}
	}
	for _, after := range []int64{0, 1, 999, 1000, 1001, 1500} {
		e, err := l.Entry(t.Context(), after)
		check(t, err)
		end, err := ledger.Verify(e.Pos(), l.again().Entries(t.Context(), e.Pos()))
		if err != nil || end != p {
			t.Errorf("from %d: %v, %v", after, end, err)
		}
	}
}

// The order of packing: the pack's bytes, its name, its folder; only when it was
// read back are the loose files removed.
func TestOrderOfPacking(t *testing.T) {
	l, p := full(t)
	r := &recorder{}
	s := l.with(r.layer(l))
	head(t, s)
	s.seen.noted = true
	add(t, s, p, note("x"))
	from := slices.Index(r.steps, "sync state/"+"ID/mirror.jsonl") + 1
	got := r.steps[from:]
	want := []string{
		"mkdir project/.holdfast/gen/0001/pack", // not here: it is there already
		"create project/.holdfast/gen/0001/tmp/TMP",
		"write project/.holdfast/gen/0001/tmp/TMP",
		"sync project/.holdfast/gen/0001/tmp/TMP",
		"link project/.holdfast/gen/0001/pack/00000001-00001000.jsonl",
		"remove project/.holdfast/gen/0001/tmp/TMP",
		"syncdir project/.holdfast/gen/0001/pack",
		"remove project/.holdfast/gen/0001/rev/00000001.json",
	}[1:]
	if !slices.Equal(got[:len(want)], want) {
		t.Errorf("steps %q", got[:len(want)])
	}
	if last := got[len(got)-1]; last != "syncdir project/.holdfast/gen/0001/rev" || len(got) != len(want)+PackSize {
		t.Errorf("%d steps, the last is %s", len(got), last)
	}
}

// Whatever fails while packing, the save stands and is told of it; every entry
// is there, and a later save packs.
func TestPackingUnderFaults(t *testing.T) {
	l0, p := full(t)
	kept := filepath.Join(t.TempDir(), "kept")
	copyTree(t, filepath.Dir(l0.p.Dir), kept)
	for n := 1; ; n++ {
		for _, forever := range []bool{false, true} {
			restore(t, l0, kept)
			f := &faulty{n: n, err: errIO, forever: forever, only: packing()}
			saved, err := l0.with(f.layer()).Append(t.Context(), p, note("x"))
			check(t, err)
			if len(f.fired) == 0 {
				return
			}
			if len(saved.Warnings) == 0 && f.ops[0] != durable.OpStat && f.ops[0] != durable.OpClose {
				t.Errorf("at %q: nobody was told", f.fired[0])
			}
			fresh := l0.again()
			fresh.m.Layer = &durable.Layer{}
			verify(t, fresh, saved.Pos)
			packed := func() bool { _, err := os.Lstat(l0.packed(packOf(1))); return err == nil }
			q := saved.Pos
			for i := 0; i < 64 && !packed(); i++ {
				q = add(t, fresh, q, note("y"))
			}
			if !packed() {
				t.Errorf("at %q: not packed later", f.fired[0])
			}
			verify(t, fresh, q)
		}
		if n > 3 && !torture() {
			n += 5
		}
		if n > 40 { // the removals are all alike
			n += 300
		}
	}
}

// packing passes the steps behind the mirror's, but for reading revisions.
func packing() func(op durable.Op, path string) bool {
	begun := false
	return func(op durable.Op, path string) bool {
		begun = begun || op == durable.OpSync && strings.HasSuffix(path, mirrorName)
		reading := strings.Contains(path, "/rev/") && op != durable.OpRemove
		return begun && !reading && !strings.HasSuffix(path, mirrorLockName) && !strings.HasSuffix(path, mirrorName)
	}
}

func restore(t testing.TB, l *Log, kept string) {
	t.Helper()
	dir := filepath.Dir(l.p.Dir)
	for _, name := range []string{"project/.holdfast", "state"} {
		check(t, os.RemoveAll(filepath.Join(dir, name)))
		copyTree(t, filepath.Join(kept, name), filepath.Join(dir, name))
	}
}

// Death between publishing a pack and removing what it covers leaves nothing
// wrong, and the next packing removes it.
func TestLeftoversOfPacking(t *testing.T) {
	l, p := full(t)
	s := l.with(&durable.Layer{Fault: func(op durable.Op, path string) error {
		if op == durable.OpRemove && strings.HasSuffix(path, "/rev/"+revFile(400)) {
			return errIO
		}
		return nil
	}})
	saved, err := s.Append(t.Context(), p, note("x"))
	check(t, err)
	if len(saved.Warnings) != 1 || count(t, l.at("gen/0001/rev")) < 1500 {
		t.Fatalf("saved %+v", saved)
	}
	verify(t, l, saved.Pos)
	// A copy of a leftover, or a changed one, doesn't count.
	put(t, l.at("gen/0001/rev/00000700 (conflicted copy).json"), "x")
	put(t, l.rev(800), "not the packed one\n")
	verify(t, l, saved.Pos)
	q := saved.Pos
	for q.Rev <= MaxLoose+PackSize {
		q = add(t, l, q, note("y"))
	}
	verify(t, l, q)
	for _, rev := range []int64{400, 600, 1400} {
		if _, err := os.Lstat(l.rev(rev)); err == nil {
			t.Errorf("revision %d is still loose", rev)
		}
	}
	if get(t, l.rev(800)) != "not the packed one\n" {
		t.Error("what differs from the pack was removed")
	}
}

// A revision that can't be packed since it is damaged is noted: writing stops.
func TestPackingFindsDamage(t *testing.T) {
	l, p := full(t)
	put(t, l.rev(500), strings.Replace(get(t, l.rev(500)), "worth", "Worth", 1))
	saved, err := l.Append(t.Context(), p, note("x"))
	check(t, err)
	if len(saved.Warnings) == 0 {
		t.Error("nobody was told")
	}
	d := wantDamage(t, refuses(t, l.again(), saved.Pos), DamageChanged)
	if d.Rev != 500 {
		t.Errorf("%+v", d)
	}
	if count(t, l.at("gen/0001/pack")) > 0 {
		t.Error("damage was packed")
	}
}

// Damage in a pack: what is read of it says so, what is not read is not.
func TestDamagedPack(t *testing.T) {
	for name, c := range map[string]struct {
		do   func(s string) string
		kind string
	}{
		"cut":         {func(s string) string { return s[:len(s)/2] }, DamageUnreadable},
		"cut at line": {func(s string) string { return s[:strings.Index(s[len(s)/2:], "\n")+len(s)/2+1] }, DamageMissing},
		"longer":      {func(s string) string { return s + s[strings.LastIndex(s[:len(s)-1], "\n")+1:] }, DamageChanged},
		"flipped":     {func(s string) string { return strings.Replace(s, "worth", "Worth", 1) }, DamageChanged},
		"swapped": {func(s string) string {
			ls := strings.SplitAfter(s, "\n")
			ls[10], ls[11] = ls[11], ls[10]
			return strings.Join(ls, "")
		}, DamageChanged},
		"NUL":   {func(s string) string { return strings.Repeat("\x00", len(s)) }, DamageUnreadable},
		"empty": {func(string) string { return "" }, DamageMissing},
	} {
		t.Run(name, func(t *testing.T) {
			l, p := full(t)
			p = add(t, l, p, note("x"))
			path := l.packed(packOf(1))
			put(t, path, c.do(get(t, path)))
			var last error
			for _, err := range l.again().Entries(t.Context(), ledger.Pos{}) {
				last = err
			}
			wantDamage(t, last, c.kind)
			if h := head(t, l.again()); h != p {
				t.Errorf("head %v", h)
			}
		})
	}
	l, p := full(t)
	p = add(t, l, p, note("x"))
	check(t, os.Remove(l.packed(packOf(1))))
	wantDamage(t, refuses(t, l.again(), p), DamageMissing)
}

// Readers and writers in the middle of packings see every entry, in order.
func TestPackingMeanwhile(t *testing.T) {
	l, _ := full(t)
	ctx, stop := context.WithCancel(t.Context())
	var readers sync.WaitGroup
	for i := range 3 {
		readers.Go(func() {
			r := l.again()
			for ctx.Err() == nil {
				if i == 0 {
					r = l.again()
				}
				h, err := r.Head(t.Context())
				if err != nil {
					t.Errorf("head: %v", err)
					return
				}
				end, err := ledger.Verify(ledger.Pos{}, r.Entries(t.Context(), ledger.Pos{}))
				if err != nil || end.Rev < h.Rev {
					t.Errorf("verified up to %d, the head was %d: %v", end.Rev, h.Rev, err)
					return
				}
			}
		})
	}
	var writers sync.WaitGroup
	for range 3 {
		writers.Go(func() {
			w := l.again()
			for i := 0; i < 700; {
				_, err := w.Append(t.Context(), head(t, w), note("x"))
				switch {
				case err == nil:
					i++
				case !isConflict(err):
					t.Errorf("append: %v", err)
					return
				}
			}
		})
	}
	writers.Wait()
	stop()
	readers.Wait()
	h := head(t, l)
	if h.Rev != MaxLoose+2100 {
		t.Errorf("head %v", h)
	}
	verify(t, l, h)
	if n := count(t, l.at("gen/0001/pack")); n < 2 {
		t.Errorf("%d packs", n)
	}
}

// Two processes pack the same range.
func TestPackingTwice(t *testing.T) {
	l, p := full(t)
	other := l.again()
	head(t, other)
	var q ledger.Pos
	s := l.with(when(durable.OpLink, packOf(1).name(), func() {
		v, err := other.checked(t.Context())
		check(t, err)
		defer v.close()
		check(t, other.packOldest(t.Context(), v))
		q = v.head
	}))
	p = add(t, s, p, note("x"))
	if q != p {
		t.Errorf("%v and %v", q, p)
	}
	verify(t, l, p)
}
