package filelog

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"holdfast/internal/durable"
	"holdfast/internal/ledger"
)

// The other verbs under a fault at each of their steps: an error is told, or
// what they promise holds; the ledger verifies; nothing temporary stays; the
// next time it works.
func TestOtherVerbsUnderFaults(t *testing.T) {
	for _, c := range []struct {
		name  string
		make  func(t *testing.T, l *Log) *Log
		do    func(l *Log) error
		holds func(t *testing.T, l *Log) bool
		lost  bool // there is no ledger to verify
	}{
		{"secure", func(t *testing.T, l *Log) *Log {
			grown(t, l, 3)
			put(t, l.mirror(), "")
			return l
		}, func(l *Log) error { return l.Secure(t.Context()) }, func(t *testing.T, l *Log) bool {
			return strings.Count(get(t, l.mirror()), "\n") >= 4
		}, false},
		{"note damage", func(t *testing.T, l *Log) *Log { grown(t, l, 3); return l },
			func(l *Log) error { return l.NoteDamage(l.id(), damage(DamageGone, -1, "x", "y"), time.Now()) },
			func(t *testing.T, l *Log) bool { return l.NotedDamage(l.id()) != nil }, false},
		{"clear damage", func(t *testing.T, l *Log) *Log {
			grown(t, l, 3)
			check(t, l.NoteDamage(l.id(), damage(DamageGone, -1, "x", "y"), time.Now()))
			return l
		}, func(l *Log) error { return l.ClearDamage(l.id()) },
			func(t *testing.T, l *Log) bool { return l.NotedDamage(l.id()) == nil }, false},
		{"sweep", func(t *testing.T, l *Log) *Log {
			grown(t, l, 3)
			for _, dir := range []string{l.at("gen/0001/tmp"), l.at("gen/0001/rev"), l.Dir(), l.m.State[0], l.paths()} {
				path := dir + "/.holdfast-00112233445566778899aabbccddeeff.tmp"
				put(t, path, "x")
				check(t, os.Chtimes(path, time.Unix(0, 0), time.Unix(0, 0)))
			}
			return l
		}, func(l *Log) error { _, err := l.Sweep(t.Context()); return err },
			func(t *testing.T, l *Log) bool { return len(l.temporaries(t)) == 0 }, false},
		{"restore format", func(t *testing.T, l *Log) *Log {
			grown(t, l, 3)
			put(t, l.at(formatName), "x")
			return l
		}, func(l *Log) error { return l.RestoreFormat(l.ids()[0]) },
			func(t *testing.T, l *Log) bool { return l.id() != "" }, false},
		{"start over", func(t *testing.T, l *Log) *Log {
			grown(t, l, 3)
			check(t, os.RemoveAll(l.at("gen")))
			return l
		}, func(l *Log) error { _, err := l.StartOver(t.Context()); return err },
			func(t *testing.T, l *Log) bool { _, noted := l.noted(); return !noted }, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			for n := 1; !t.Failed(); n++ {
				l := c.make(t, quickLog(t))
				f := &faulty{n: n, err: errIO}
				err := c.do(l.with(f.layer()))
				if len(f.fired) == 0 {
					check(t, err)
					return
				}
				where := fmt.Sprintf("at %q: %v", f.fired[0], err)
				good := l.with(&durable.Layer{})
				if err == nil && !c.holds(t, good) && f.ops[0] != durable.OpStat && f.ops[0] != durable.OpOpen {
					t.Errorf("%s: nobody was told, and it doesn't hold", where)
				}
				if left := l.temporaries(t); len(left) > 0 && f.ops[0] != durable.OpRemove && c.name != "sweep" {
					t.Errorf("%s: left %v", where, left)
				}
				check(t, c.do(good))
				if !c.holds(t, good) {
					t.Errorf("%s: it doesn't hold the next time", where)
				}
				if c.lost {
					create(t, good)
				}
				verify(t, good, head(t, good))
			}
		})
	}
}

// ids are those of the mirrors.
func (l *Log) ids() (ids []string) {
	es, err := os.ReadDir(l.m.State[0])
	if err != nil {
		return nil
	}
	for _, e := range es {
		if validLedgerID(e.Name()) {
			ids = append(ids, e.Name())
		}
	}
	return ids
}

func TestRestoreFormat(t *testing.T) {
	l, p := made(t, 2)
	id := l.id()
	check(t, l.RestoreFormat(id)) // nothing to do
	want[*PresentError](t, l.RestoreFormat(strings.Repeat("0", 32)))
	if err := l.RestoreFormat("../x"); err == nil {
		t.Error("an id that is none")
	}
	for _, content := range []string{"", "garbage", strings.Repeat("\x00", 80)} {
		put(t, l.at(formatName), content)
		check(t, l.RestoreFormat(id))
		verify(t, l, p)
	}
	check(t, os.Remove(l.at(formatName)))
	check(t, l.RestoreFormat(id))
	verify(t, l, p)
	put(t, l.at(formatName), `{"format":"holdfast","v":9,"ledger":"`+id+`"}`+"\n")
	if err := l.RestoreFormat(id); !errors.As(err, new(*NewerError)) {
		t.Errorf("a newer format: %v", err)
	}
}

// Errors name files and reasons, never what a file holds.
func TestErrorsHoldNoContent(t *testing.T) {
	const secret = "xq-secret-in-a-file"
	for _, path := range []string{"FORMAT", "gen/0001/rev/00000003.json", "gen/0001/rev/00000002.json", "gen/0001/rev/00000000.json"} {
		for _, content := range []string{secret, `{"format":"` + secret + `"}`, `{"head":{"v":1,"rev":3,"type":"` + secret + `"}}` + "\n", `{"head":{"` + secret} {
			t.Run(path, func(t *testing.T) {
				t.Parallel()
				l, p := grown(t, quickLog(t), 3)
				put(t, l.at(path), content)
				s := l.again()
				_, err := s.Append(t.Context(), p, note("x"))
				errs := []error{err}
				for _, err := range s.Entries(t.Context(), ledger.Pos{}) {
					errs = append(errs, err)
				}
				gs, err := s.Generations(t.Context())
				errs = append(errs, err)
				for _, g := range gs {
					errs = append(errs, g.Err)
					for _, err := range s.GenerationEntries(t.Context(), g.Name) {
						errs = append(errs, err)
					}
				}
				for _, err := range errs {
					if err != nil && strings.Contains(fmt.Sprintf("%v %+v", err, err), secret) {
						t.Errorf("%s: %v", path, err)
					}
				}
			})
		}
	}
}

// A lock that can't be given back is told, by every verb that takes it itself.
func TestLockNotGivenBackIsTold(t *testing.T) {
	l := testLog(t)
	grown(t, l, 3)
	stuck := l.with(&durable.Layer{Fault: func(op durable.Op, path string) error {
		if op == durable.OpClose && filepath.Base(path) == lockName {
			return errIO
		}
		return nil
	}})
	_, swept := stuck.Sweep(t.Context())
	_, completed := stuck.CompleteMirrors(t.Context())
	_, redacted := stuck.Redact(t.Context(), nil)
	for what, err := range map[string]error{"sweep": swept, "complete mirrors": completed, "redact": redacted} {
		if !errors.Is(err, errIO) {
			t.Errorf("%s: %v", what, err)
		}
	}
}
