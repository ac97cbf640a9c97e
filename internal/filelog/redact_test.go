package filelog

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"holdfast/internal/durable"
	"holdfast/internal/ledger"
	"holdfast/internal/ledger/ledgertest"
)

const leaked = "xq-leaked-value-7731"

// grep lists the files below the folders that hold the leaked value.
func grep(t testing.TB, dirs ...string) (found []string) {
	t.Helper()
	for path, content := range snapshot(t, dirs...) {
		if strings.Contains(content, leaked) {
			found = append(found, path)
		}
	}
	return found
}

// leaky is a ledger whose revision 2 leaked a value, everywhere that a ledger
// keeps one, and whose head is the redact entry.
func leaky(t *testing.T, l *Log) ledger.Pos {
	t.Helper()
	create(t, l)
	fill(t, l, 1)
	d := ledgertest.Check("unit", ledger.Passed)
	d.Body.Receipt.Title = leaked
	d.Body.Receipt.Inputs.Manifest = strings.Repeat("ab", 32)
	p := add(t, l, head(t, l), typed(d))
	p = fill(t, l, 2)
	line := get(t, l.rev(2))
	for _, dir := range []string{l.at(ManifestsName), filepath.Join(filepath.Dir(l.mirror()), ManifestsName)} {
		mkdir(t, dir)
		put(t, filepath.Join(dir, strings.Repeat("ab", 32)+".gz"), leaked)
		put(t, filepath.Join(dir, strings.Repeat("cd", 32)+".gz"), "another manifest")
	}
	// Older generations, one in the making, temporaries that a crash left, torn
	// and glued lines in the mirror, a copy by a cloud folder.
	l.recovered(t, p.Rev, l.key1(t), p)
	p = head(t, l)
	mkdir(t, l.at("gen/.build-0123/rev"))
	put(t, l.at("gen/.build-0123/rev/"+revFile(2)), line)
	mkdir(t, l.at("gen/.build-0123/pack"))
	put(t, l.at("gen/.build-0123/pack/"+packOf(1).name()), get(t, l.rev(1))+line+get(t, l.rev(3)))
	for _, dir := range []string{"gen/0001/tmp", "gen/0002/tmp", "gen/.build-0123/tmp", "gen/0001/rev", ""} {
		mkdir(t, l.at(dir))
		put(t, l.at(dir+"/.holdfast-00112233445566778899aabbccddeeff.tmp"), line)
	}
	put(t, l.at("gen/0001/rev/00000002 (conflicted copy).json"), line)
	put(t, filepath.Join(filepath.Dir(l.mirror()), ".holdfast-00112233445566778899aabbccddeeff.tmp"), line)
	p = add(t, l, p, recoveredNote("after"))
	mirror := get(t, l.mirror())
	put(t, l.mirror(), mirror+line[:len(line)-10]+"\n"+line[:len(line)-200]+mirror[:60]+"\n"+strings.Repeat("x", ledger.MaxEntry+5)+line+get(t, l.at("gen/0002/rev/"+revFile(p.Rev))))
	r := typed(ledgertest.Redact(ledger.Ref{ID: "unit", Rev: 2}))
	r.Recovery = recoveredNote("").Recovery
	return add(t, l, p, r)
}

// A redacted value is found nowhere in the project's ledger and the state
// folders, and the chain verifies; doing it again changes nothing.
func TestRedact(t *testing.T) {
	l := testLog(t)
	p := leaky(t, l)
	all := []string{l.p.Dir, l.m.State[0]}
	if n := len(grep(t, all...)); n < 14 {
		t.Fatalf("only %d files hold the value before", n)
	}
	rs, err := l.Redactions(t.Context())
	check(t, err)
	if len(rs) != 1 || rs[0].Rev != 2 || rs[0].By != p.Rev || rs[0].Erased {
		t.Fatalf("redactions %+v", rs)
	}
	done, err := l.Redact(t.Context(), []int64{2})
	check(t, err)
	if len(done.Files) == 0 || len(done.Redactions) != 1 {
		t.Errorf("%+v", done)
	}
	if found := grep(t, all...); len(found) > 0 {
		t.Errorf("still in %v", found)
	}
	verify(t, l, p)
	wantMirrored(t, l, p)
	e, err := l.again().Entry(t.Context(), 2)
	if err != nil || e.BodyRaw != nil {
		t.Errorf("entry 2: %v, %v", e.BodyRaw, err)
	}
	if _, err := os.Lstat(l.at(ManifestsName + "/" + strings.Repeat("cd", 32) + ".gz")); err != nil {
		t.Error("another manifest is gone")
	}
	if info, err := os.Lstat(l.at("gen/0002/rev/" + revFile(2))); err != nil || info.Mode().Perm() != 0o600 && info.Mode().Perm() != sealedMode {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	before := snapshot(t, all...)
	done, err = l.again().Redact(t.Context(), nil)
	check(t, err)
	if len(done.Files) > 0 {
		t.Errorf("the second time: %v", done.Files)
	}
	after := snapshot(t, all...)
	delete(before, l.at(lockName))
	delete(after, l.at(lockName))
	for path := range before {
		if strings.HasSuffix(path, mirrorLockName) {
			delete(before, path)
			delete(after, path)
		}
	}
	same(t, before, after)
	verify(t, l, add(t, l.again(), p, recoveredNote("and on")))
}

// In packs, in the loose files under them, and in generations made read-only.
func TestRedactInPacks(t *testing.T) {
	l, p := seeded(t, quickLog(t), MaxLoose+500, func(rev int64) string {
		if rev == 400 || rev == 1500 {
			return leaked
		}
		return "text"
	})
	put(t, l.rev(400), strings.SplitAfter(get(t, l.packed(packOf(1))), "\n")[399])
	old := l.at("gen/0001")
	copyTree(t, old, l.at("gen/.build-77"))
	for _, name := range []string{"rev", "pack", "."} {
		check(t, os.Chmod(l.at("gen/.build-77/"+name), 0o500))
	}
	p = add(t, l.again(), p, typed(ledgertest.Redact(ledger.Ref{ID: "n-1", Rev: 400}, ledger.Ref{ID: "n-1", Rev: 1500})))
	_, err := l.again().Redact(t.Context(), []int64{400, 1500})
	check(t, err)
	if found := grep(t, l.p.Dir, l.m.State[0]); len(found) > 0 {
		t.Errorf("still in %v", found)
	}
	if info, err := os.Stat(l.at("gen/.build-77/rev")); err != nil || info.Mode().Perm() != 0o500 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	verify(t, l, p)
}

// Only what a redact entry names that a person of this machine made is erased.
func TestRedactOnlyOnAPersonsWord(t *testing.T) {
	type forged func(t *testing.T, l *Log, p ledger.Pos) ledger.Pos
	put := func(seal func(*testing.T, *Log) ledger.Sealer) forged {
		return func(t *testing.T, l *Log, p ledger.Pos) ledger.Pos {
			e, err := ledger.Encode(p, typed(ledgertest.Redact(ledger.Ref{ID: "n-1", Rev: 1})), make([]byte, 16), seal(t, l))
			check(t, err)
			put(t, l.rev(e.Rev), string(e.Raw))
			return e.Pos()
		}
	}
	unsealed := put(func(*testing.T, *Log) ledger.Sealer { return nil })
	elsewhere := put(func(*testing.T, *Log) ledger.Sealer { return ledgertest.OtherKey() })
	here := put(func(t *testing.T, l *Log) ledger.Sealer { return l.key1(t) })
	adopt := func(t *testing.T, l *Log, p ledger.Pos) ledger.Pos {
		return add(t, l.again(), p, typed(ledgertest.Adopt(l.id())))
	}
	for _, c := range []struct {
		name  string
		do    []forged
		erase bool
	}{
		{"nothing", nil, false},
		{"unsealed", []forged{unsealed}, false},
		{"sealed elsewhere", []forged{elsewhere}, false},
		{"adopted, then sealed elsewhere", []forged{adopt, elsewhere}, false},
		{"sealed elsewhere, then adopted", []forged{elsewhere, adopt}, true},
		{"unsealed, then adopted", []forged{unsealed, adopt}, false},
		{"sealed here", []forged{here}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := testLog(t)
			p := add(t, l, create(t, l), note(leaked))
			for _, do := range c.do {
				p = do(t, l, p)
			}
			_, err := l.again().Redact(t.Context(), []int64{1})
			found := len(grep(t, l.p.Dir, l.m.State[0]))
			switch {
			case c.erase && (err != nil || found > 0):
				t.Errorf("%v, found in %d files", err, found)
			case !c.erase && (!errors.Is(err, ErrNotRedacted) || found == 0):
				t.Errorf("%v, found in %d files", err, found)
			}
			_, err = l.again().Redact(t.Context(), []int64{1, 0})
			if !errors.Is(err, ErrNotRedacted) {
				t.Errorf("what nobody redacted: %v", err)
			}
		})
	}
}

// Death or an error at any step of an erasure leaves a ledger that verifies, and
// the next erasure finishes it.
func TestRedactAtEveryStep(t *testing.T) {
	l0 := quickLog(t)
	p := leaky(t, l0)
	kept := filepath.Join(t.TempDir(), "kept")
	copyTree(t, filepath.Dir(l0.p.Dir), kept)
	step := 1
	if !torture() {
		step = 7
	}
	for n := 1; ; n += step {
		for _, forever := range []bool{false, true} {
			restore(t, l0, kept)
			f := &faulty{n: n, err: errIO, forever: forever}
			_, err := l0.with(f.layer()).Redact(t.Context(), []int64{2})
			if len(f.fired) == 0 {
				check(t, err)
				return
			}
			where := fmt.Sprintf("at %q", f.fired[0])
			if found := grep(t, l0.p.Dir, l0.m.State[0]); err == nil && len(found) > 0 {
				t.Errorf("%s: no error, and still in %v", where, found)
			}
			good := l0.with(&durable.Layer{})
			verify(t, good, p)
			if _, err := good.Redact(t.Context(), nil); err != nil {
				t.Errorf("%s: the next time: %v", where, err)
			}
			if found := grep(t, l0.p.Dir, l0.m.State[0]); len(found) > 0 {
				t.Errorf("%s: after the next time still in %v", where, found)
			}
			if found := l0.temporaries(t); len(found) > 0 {
				t.Errorf("%s: left %v", where, found)
			}
			verify(t, good, p)
			wantMirrored(t, good, p)
		}
	}
}

// Bodies come back, from an old copy of the mirror or a file that a cloud folder
// restored: whoever meets one erases it.
func TestRedactedBodyComesBack(t *testing.T) {
	l := testLog(t)
	p := add(t, l, create(t, l), note(leaked))
	line, mirror := get(t, l.rev(1)), get(t, l.mirror())
	p = add(t, l, p, typed(ledgertest.Redact(ledger.Ref{ID: "n-1", Rev: 1})))
	_, err := l.Redact(t.Context(), []int64{1})
	check(t, err)
	put(t, l.rev(1), line)
	put(t, l.mirror(), mirror)
	rs, err := l.again().Redactions(t.Context())
	check(t, err)
	if len(rs) != 1 || rs[0].Erased {
		t.Errorf("%+v", rs)
	}
	_, err = l.again().Redact(t.Context(), nil)
	check(t, err)
	if found := grep(t, l.p.Dir, l.m.State[0]); len(found) > 0 {
		t.Errorf("still in %v", found)
	}
	verify(t, l, p)
}

// Erasing doesn't change what was not asked for, byte for byte.
func TestRedactLeavesTheRest(t *testing.T) {
	l := testLog(t)
	add(t, l, create(t, l), note(leaked))
	p := fill(t, l, 3)
	p = add(t, l, p, typed(ledgertest.Redact(ledger.Ref{ID: "n-1", Rev: 1})))
	put(t, l.mirror(), "garbage\n\n"+get(t, l.mirror())+"{\"torn")
	before := strings.SplitAfter(get(t, l.mirror()), "\n")
	_, err := l.Redact(t.Context(), []int64{1})
	check(t, err)
	after := strings.SplitAfter(get(t, l.mirror()), "\n")
	if len(before) != len(after) {
		t.Fatalf("%d lines, %d before", len(after), len(before))
	}
	for i := range before {
		if changed := before[i] != after[i]; changed != (i == 3) {
			t.Errorf("line %d changed: %v", i+1, changed)
		}
	}
	if !bytes.Contains([]byte(after[3]), []byte(`,"body":null,`)) {
		t.Errorf("line 4 has a body")
	}
	verify(t, l, p)
}
