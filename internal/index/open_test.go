package index_test

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"holdfast/internal/durable"
	"holdfast/internal/index"
	"holdfast/internal/ledger"
	"holdfast/internal/ledger/ledgertest"
)

const id = ledgertest.LedgerID

// check fails the test unless x, after following es, answers as their fold does.
func check(t *testing.T, x *index.Index, es []ledger.Entry) {
	t.Helper()
	follow(t, x, es)
	answers(t, view(t, x, rest(x, es)), es)
}

// rest is the part of es that x doesn't hold.
func rest(x *index.Index, es []ledger.Entry) []ledger.Entry {
	base := x.Base()
	if base.Hash == "" {
		return es
	}
	return es[base.Rev+1:]
}

func answers(t *testing.T, v *index.View, es []ledger.Entry) {
	t.Helper()
	h := ledgertest.History{World: ledgertest.NewWorld("main")}
	for range es {
		h.Drafts = append(h.Drafts, ledger.Draft{})
	}
	diff, err := ledgertest.Compare(t.Context(), h, fold(t, es), v)
	if err != nil {
		t.Fatal(err)
	}
	if diff != "" {
		t.Fatalf("fold (-) and index (+) differ: %s", diff)
	}
}

func TestWhere(t *testing.T) {
	es := logEntries(t, 5)
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, []byte("not a folder"), 0o600); err != nil {
		t.Fatal(err)
	}
	old := filepath.Join(dir, "old")
	x := open(t, index.Options{Dir: old})
	follow(t, x, es)
	temp := filepath.Join(dir, "temp")
	for name, c := range map[string]struct {
		o    index.Options
		want string
	}{
		"nothing given":                       {index.Options{}, index.InMemory},
		"new folder":                          {index.Options{Dir: filepath.Join(dir, "a", "b?c%d#e"), TempDir: temp, Ledger: id}, index.InCache},
		"there already":                       {index.Options{Dir: old, TempDir: temp, Ledger: id}, index.InCache},
		"not to be written":                   {index.Options{Dir: old, TempDir: temp, Ledger: id, ReadOnly: true}, index.InReadOnly},
		"not to be written and not there":     {index.Options{Dir: filepath.Join(dir, "c"), TempDir: temp, Ledger: id, ReadOnly: true}, index.InTemp},
		"another ledger's, not to be written": {index.Options{Dir: old, TempDir: temp, Ledger: "other", ReadOnly: true}, index.InTemp},
		"no folder can be made":               {index.Options{Dir: filepath.Join(file, "x"), TempDir: temp, Ledger: id}, index.InTemp},
		"nor a temporary one":                 {index.Options{Dir: filepath.Join(file, "x"), TempDir: filepath.Join(file, "y"), Ledger: id}, index.InMemory},
		"a ledger's id that is a path":        {index.Options{TempDir: temp, Ledger: "../x"}, index.InMemory},
	} {
		t.Run(name, func(t *testing.T) {
			x := open(t, c.o)
			if got := x.Where(); got != c.want {
				t.Errorf("it is in %q, want %q", got, c.want)
			}
			check(t, x, es)
		})
	}
	if _, err := os.Lstat(filepath.Join(dir, "c")); err == nil {
		t.Error("a folder was made for an index that is not to be written")
	}
}

func TestPermissions(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no permission bits")
	}
	dir := filepath.Join(t.TempDir(), "new")
	follow(t, open(t, index.Options{Dir: dir}), logEntries(t, 5))
	for name, want := range map[string]os.FileMode{"": 0o700, index.FileName: 0o600, index.FileName + "-journal": 0o600} {
		info, err := os.Stat(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if got := info.Mode().Perm(); got != want {
			t.Errorf("%s has mode %o, want %o", name, got, want)
		}
	}
}

// Settings that keep the file safe where it may lie.
func TestSettings(t *testing.T) {
	dir := t.TempDir()
	x := open(t, index.Options{Dir: dir})
	follow(t, x, logEntries(t, 5))
	for name, want := range map[string]string{
		"journal_mode": "truncate", "synchronous": "0", "trusted_schema": "0", "cell_size_check": "1", "mmap_size": "0", "temp_store": "2", "cache_size": "-2000", "cache_spill": "0",
	} {
		if got, err := x.Pragma(name); got != want || err != nil {
			t.Errorf("%s is %q (%v), want %q", name, got, err, want)
		}
	}
	names, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range names {
		if strings.Contains(n.Name(), "wal") || strings.Contains(n.Name(), "shm") {
			t.Errorf("there is a file %s", n.Name())
		}
	}
}

func TestAnotherLedgersFile(t *testing.T) {
	dir := t.TempDir()
	x := open(t, index.Options{Dir: dir, Ledger: id})
	follow(t, x, logEntries(t, 5))
	other := ledgertest.First()
	other.Ledger = "another"
	es := ledgertest.Entries(nil, other, ledgertest.Save(ledgertest.Record("a", ledger.KindNote, "text")))
	y := open(t, index.Options{Dir: dir, Ledger: "another"})
	if got := y.Base(); got != (ledger.Pos{}) {
		t.Errorf("another ledger's index is believed up to %v", got)
	}
	check(t, y, es)
	if again := open(t, index.Options{Dir: dir, Ledger: "another"}); again.Base() != es[1].Pos() {
		t.Error("the new file was not kept")
	}
}

// A file that an earlier run of the system left is believed only if it was
// flushed: it may have lost any of its pages.
func TestAfterReboot(t *testing.T) {
	es := logEntries(t, 40)
	dir := t.TempDir()
	at := func(boot string) index.Options { return index.Options{Dir: dir, Ledger: id, Boot: boot} }
	follow(t, open(t, at("one")), es[:20]) // filling a file ends with a flush
	x := open(t, at("two"))
	if x.Base() != es[19].Pos() {
		t.Errorf("a flushed file is at %v after a reboot", x.Base())
	}
	follow(t, x, es[:30])
	if y := open(t, at("two")); y.Base() != es[29].Pos() {
		t.Errorf("a file of this run is at %v", y.Base())
	}
	if y := open(t, at("")); y.Base() != es[29].Pos() {
		t.Errorf("where runs have no name the file is at %v", y.Base())
	}
	y := open(t, at("three"))
	if y.Base() != (ledger.Pos{}) {
		t.Errorf("a file that wasn't flushed is believed up to %v", y.Base())
	}
	check(t, y, es)
	follow(t, open(t, at("three")), append(es, logEntries(t, 41)[40]))
	if err := open(t, at("three")).Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	if z := open(t, at("four")); z.Base().Rev != 40 {
		t.Errorf("a file that was flushed later is at %v", z.Base())
	}
}

// Faults of the folder: the index goes where it can.
func TestFolderFaults(t *testing.T) {
	es := logEntries(t, 5)
	for _, op := range []durable.Op{durable.OpMkdir, durable.OpOpen, durable.OpStat, durable.OpCreate} {
		t.Run(string(op), func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "cache")
			files := &durable.Layer{Fault: func(o durable.Op, path string) error {
				if o == op && strings.HasPrefix(path, dir) {
					return os.ErrPermission
				}
				return nil
			}}
			x := open(t, index.Options{Dir: dir, TempDir: t.TempDir(), Ledger: id, Files: files})
			if got := x.Where(); got != index.InTemp {
				t.Errorf("it is in %q, want temp", got)
			}
			check(t, x, es)
		})
	}
}
