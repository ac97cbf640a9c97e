//go:build unix

package filelog

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"holdfast/internal/durable"
)

// TestInspect: each thing that is not as we make it is told once, whatever else
// lies there, and nothing else is.
func TestInspect(t *testing.T) {
	l, _ := seeded(t, testLog(t), 3, plain)
	look := func() map[string]Oddity {
		t.Helper()
		found, err := l.Inspect(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		byName := map[string]Oddity{}
		for _, o := range found {
			if _, twice := byName[filepath.Base(o.Path)]; twice {
				t.Errorf("%s is told twice", o.Path)
			}
			byName[filepath.Base(o.Path)] = o
		}
		return byName
	}
	if odd := look(); len(odd) > 0 {
		t.Fatalf("of a whole ledger: %+v", odd)
	}
	at := func(name string) string { return filepath.Join(l.Dir(), filepath.FromSlash(name)) }
	state := filepath.Join(l.m.State[0], l.ID(), mirrorName)
	for _, err := range []error{
		os.WriteFile(at("notes.txt"), nil, 0o600), os.WriteFile(at("gen/0001/rev/00000002 (conflicted copy).json"), nil, 0o600),
		os.Symlink("/etc/passwd", at("gen/0001/rev/link")), syscall.Mkfifo(at("gen/0001/fifo"), 0o600), os.Chmod(at(".gitignore"), 0o644), os.Chmod(at("gen"), 0o750),
		os.Link(at("FORMAT"), at("second")), os.Link(at("FORMAT"), at("third")), os.Chmod(state, 0o666),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	odd := look()
	for name, want := range map[string]Oddity{
		"notes.txt": {}, "00000002 (conflicted copy).json": {Copy: true}, "link": {Misfit: durable.MisfitKind}, "fifo": {Misfit: durable.MisfitKind},
		".gitignore": {Misfit: durable.MisfitMode}, "gen": {Misfit: durable.MisfitMode}, "FORMAT": {Misfit: durable.MisfitNames}, "second": {Misfit: durable.MisfitNames},
		"third": {Misfit: durable.MisfitNames}, mirrorName: {Misfit: durable.MisfitMode},
	} {
		if o, ok := odd[name]; !ok || o.Misfit != want.Misfit || o.Copy != want.Copy || o.Why == "" {
			t.Errorf("%s: %+v, there %t", name, o, ok)
		}
	}
	if len(odd) != 10 {
		t.Errorf("%d are told: %+v", len(odd), odd)
	}
	paths, err := l.Tighten(t.Context())
	if err != nil || len(paths) != 3 {
		t.Errorf("closed %q, %v", paths, err)
	}
	for name, o := range look() {
		if o.Misfit == durable.MisfitMode {
			t.Errorf("%s is still open to others", name)
		}
	}
}

// TestStrayFilesAreNoDamage: what is not named like a revision says nothing of the
// ledger, and an entry in it is found all the same.
func TestStrayFilesAreNoDamage(t *testing.T) {
	l, _ := seeded(t, testLog(t), 3, plain)
	rev := filepath.Join(l.Dir(), genName, "0001", revName)
	whole, err := os.ReadFile(filepath.Join(rev, revFile(2)))
	check(t, err)
	check(t, os.WriteFile(filepath.Join(rev, "old"), append([]byte("{no entry}\n"), whole...), 0o600))
	check(t, os.Symlink("old", filepath.Join(rev, "link")))
	n := 0
	err = l.SurveyGeneration(t.Context(), "0001", Visitor{
		Line: func(s *Seen) error {
			if strings.HasSuffix(s.Path, "old") {
				n++
			}
			return s.Err
		},
		File: func(_ FileSum, err error) error { return err },
	})
	if err != nil || n != 1 {
		t.Errorf("%d entries, %v", n, err)
	}
}

// TestProbe leaves nothing behind, and who holds the lock is told by name.
func TestProbe(t *testing.T) {
	l, _ := seeded(t, testLog(t), 3, plain)
	if err := l.Probe(t.Context()); err != nil {
		t.Fatal(err)
	}
	names, err := os.ReadDir(filepath.Join(l.Dir(), genName, "0001", tmpName))
	if err != nil || len(names) > 0 {
		t.Errorf("left: %v, %v", names, err)
	}
	if who, held, err := l.Held(); held || err != nil {
		t.Errorf("held by %q, %v", who, err)
	}
	unlock, err := l.Lock(t.Context())
	check(t, err)
	if _, held, err := l.again().Held(); !held || err != nil {
		t.Errorf("another's lock is not seen: %v", err)
	}
	if _, held, _ := l.Held(); held {
		t.Error("one's own lock is told")
	}
	check(t, errors.Join(unlock(), nil))
}
