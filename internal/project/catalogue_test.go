package project

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// damages is the catalogue of single damages: each is one file or region made
// wrong in one way, after which everything acknowledged must come back.
func damages(s *sick, saves int) map[string]func() {
	out := map[string]func(){}
	region := func(name, path string) { s.region(out, name, path) }
	for _, n := range []int{0, 1, saves / 2, saves - 1, saves} {
		region(fmt.Sprint("revision ", n), s.revision(n))
	}
	region("FORMAT", filepath.Join(s.dir, ".holdfast", "FORMAT"))
	region("mirror", s.mirror())
	index := filepath.Join(s.w.cacheFolder(), s.id, "index.db")
	out["index missing"] = func() {
		if err := os.Remove(index); err != nil {
			s.t.Fatal(err)
		}
	}
	for name, change := range map[string]func([]byte) []byte{
		"empty": func([]byte) []byte { return nil }, "zeroed": func(b []byte) []byte { return make([]byte, len(b)) }, "replaced": func([]byte) []byte { return []byte("hello\n") },
		"cut": func(b []byte) []byte { return b[:len(b)/2] }, "of another format": func(b []byte) []byte { clear(b[:16]); return b },
	} {
		out["index "+name] = func() { s.change(index, change) }
	}
	out["revisions swapped"] = func() {
		a, b := s.revision(1), s.revision(2)
		for _, m := range [][2]string{{a, a + "x"}, {b, a}, {a + "x", b}} {
			if err := os.Rename(m[0], m[1]); err != nil {
				s.t.Fatal(err)
			}
		}
	}
	for name, path := range map[string]string{"ledger": filepath.Join(s.dir, ".holdfast"), "generations": filepath.Join(s.dir, ".holdfast", "gen"),
		"generation": filepath.Join(s.dir, ".holdfast", "gen", "0001"), "revisions": s.rev} {
		out[name+" gone"] = func() {
			if err := os.RemoveAll(path); err != nil {
				s.t.Fatal(err)
			}
		}
	}
	out["a conflict copy"] = func() {
		b, err := os.ReadFile(s.revision(2))
		if err == nil {
			err = os.WriteFile(filepath.Join(s.rev, "00000002 (conflicted copy).json"), b, 0o600)
		}
		if err != nil {
			s.t.Fatal(err)
		}
	}
	return out
}

// region adds to the catalogue what can happen to one file.
func (s *sick) region(out map[string]func(), name, path string) {
	size := int64(0)
	if info, err := os.Stat(path); err == nil {
		size = info.Size()
	}
	out[name+" missing"] = func() {
		if err := os.Remove(path); err != nil {
			s.t.Fatal(err)
		}
	}
	out[name+" empty"] = func() { s.change(path, func([]byte) []byte { return nil }) }
	out[name+" zeroed"] = func() { s.change(path, func(b []byte) []byte { return make([]byte, len(b)) }) }
	out[name+" replaced"] = func() { s.change(path, func([]byte) []byte { return []byte("hello\n") }) }
	out[name+" glued"] = func() { s.change(path, func(b []byte) []byte { return append(b, b...) }) }
	for _, at := range []int64{1, size / 8, size / 4, size * 3 / 8, size / 2, size * 5 / 8, size * 3 / 4, size * 7 / 8, size - 2} {
		out[fmt.Sprint(name, " cut at ", at)] = func() { s.change(path, func(b []byte) []byte { return b[:at] }) }
		out[fmt.Sprint(name, " flipped at ", at)] = func() { s.change(path, func(b []byte) []byte { b[at] ^= 4; return b }) }
		out[fmt.Sprint(name, " half zeroed from ", at)] = func() { s.change(path, func(b []byte) []byte { clear(b[at:]); return b }) }
	}
}

// TestFaultCatalogue: whatever single thing is damaged, doctor names it and recover
// brings back every acknowledged save. The long form tries all, this one every
// fourth.
func TestFaultCatalogue(t *testing.T) {
	const saves = 6
	all := slices.Sorted(maps.Keys(damages(newSick(t, saves), saves)))
	if len(all) < 200 {
		t.Errorf("only %d damages", len(all))
	}
	step := 4
	if os.Getenv("HOLDFAST_TORTURE") != "" {
		step = 1
	}
	t.Logf("every %d. of %d damages", step, len(all))
	for n := 0; n < len(all); n += step {
		name := all[n]
		t.Run(name, func(t *testing.T) {
			t.Parallel() // it waits more than it works
			s := newSick(t, saves)
			damages(s, saves)[name]()
			d, err := s.open(person).Doctor(t.Context(), DoctorRequest{})
			// An index is made anew, and lines that a mirror has twice are no harm: a note.
			harmless := strings.HasPrefix(name, "index ") || name == "mirror glued"
			if err != nil || len(d.Findings) == 0 || d.Healthy != harmless {
				t.Errorf("doctor: %+v, %v", d, err)
			}
			r, err := s.recover(RecoverRequest{})
			_, nothing := errors.AsType[*UsageError](err)
			if err != nil && !nothing {
				t.Fatalf("recover: %v (%+v)", err, r)
			}
			if nothing && r.State != StateHealthy {
				t.Fatalf("nothing to recover, and the ledger is %s", r.State)
			}
			s.all(saves)
			p := s.open(person)
			save(t, p, request("note", "later", "one more"))
			s.all(saves + 1)
		})
	}
}

// TestFaultPackCatalogue: the same of a pack. Every damage is diagnosed and planned
// for, and the last one recovered from; the long form tries all.
func TestFaultPackCatalogue(t *testing.T) {
	s := newSick(t, 2)
	p := s.open(codex)
	for i := range 20 { // entries, a hundred in a batch of requests, until the oldest are packed
		for k := range 101 {
			save(t, p, request("note", fmt.Sprintf("p-%d-%d", i, k), "packed"))
		}
	}
	head := save(t, p, request("note", "last", "the last one")).Revision
	if err := p.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
	pack := filepath.Join(filepath.Dir(s.rev), "pack", "00000001-00001000.jsonl")
	whole, err := os.ReadFile(pack)
	if err != nil {
		t.Fatal(err)
	}
	list := map[string]func(){}
	s.region(list, "pack", pack)
	names := slices.Sorted(maps.Keys(list))
	step := 8
	if os.Getenv("HOLDFAST_TORTURE") != "" {
		step = 1
	}
	t.Logf("every %d. of %d damages", step, len(names))
	for n := 0; n < len(names); n += step {
		if err := os.WriteFile(pack, whole, 0o600); err != nil {
			t.Fatal(err)
		}
		list[names[n]]()
		d, err := s.open(person).Doctor(t.Context(), DoctorRequest{})
		if err != nil || d.Healthy {
			t.Errorf("%s: doctor: %+v, %v", names[n], d, err)
		}
		r, err := s.open(person).Recover(t.Context(), RecoverRequest{})
		if err != nil || r.Revision != head || len(r.Lost) > 0 || r.By != "generation" {
			t.Errorf("%s: recover: %+v, %v", names[n], r, err)
		}
	}
	if r, err := s.recover(RecoverRequest{}); err != nil || !r.Applied || r.Restored != head {
		t.Fatalf("%+v, %v", r, err)
	}
	if d, err := s.open(person).Doctor(t.Context(), DoctorRequest{}); err != nil || !d.Healthy {
		t.Errorf("%+v, %v", d, err)
	}
}
