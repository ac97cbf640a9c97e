package index_test

import (
	"bytes"
	"database/sql"
	"errors"
	"math/rand"
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

// spoil changes the file at path.
var spoilers = map[string]func(t *testing.T, path string){
	"empty": func(t *testing.T, path string) { write(t, path, nil) },
	"zeros": func(t *testing.T, path string) { write(t, path, make([]byte, size(t, path))) },
	"text":  func(t *testing.T, path string) { write(t, path, []byte("this is not a database at all")) },
	"noise": func(t *testing.T, path string) {
		b := make([]byte, size(t, path))
		rand.New(rand.NewSource(7)).Read(b)
		write(t, path, b)
	},
	"cut in half":     func(t *testing.T, path string) { truncate(t, path, size(t, path)/2) },
	"cut in a page":   func(t *testing.T, path string) { truncate(t, path, size(t, path)-100) },
	"cut to a page":   func(t *testing.T, path string) { truncate(t, path, 4096) },
	"cut in a header": func(t *testing.T, path string) { truncate(t, path, 50) },
	"pages of zeros": func(t *testing.T, path string) {
		b := read(t, path)
		clear(b[4096:])
		write(t, path, b)
	},
	"pages of noise": func(t *testing.T, path string) {
		b := read(t, path)
		rand.New(rand.NewSource(8)).Read(b[4096:])
		write(t, path, b)
	},
	"another version": func(t *testing.T, path string) { sqlOn(t, path, "PRAGMA user_version(99)") },
	"another's tables": func(t *testing.T, path string) {
		write(t, path, nil)
		sqlOn(t, path, "CREATE TABLE somebody_elses (a)")
	},
	"tables missing": func(t *testing.T, path string) { sqlOn(t, path, "DROP TABLE versions") },
	"base missing":   func(t *testing.T, path string) { sqlOn(t, path, "DELETE FROM base") },
	"base nonsense":  func(t *testing.T, path string) { sqlOn(t, path, "UPDATE base SET marks = 'nonsense'") },
	"rows nonsense": func(t *testing.T, path string) {
		sqlOn(t, path, "UPDATE texts SET rec = 'nonsense'; UPDATE names SET s = 'nonsense' || n")
	},
	"current nonsense": func(t *testing.T, path string) { sqlOn(t, path, "UPDATE current SET vn = vn + 1") },
	"places nonsense":  func(t *testing.T, path string) { sqlOn(t, path, "UPDATE places SET n = n + 10 WHERE n > 0") },
	"indexes missing":  func(t *testing.T, path string) { sqlOn(t, path, "DROP INDEX current_at; DROP INDEX current_content") },
	"a folder": func(t *testing.T, path string) {
		if err := errors.Join(os.Remove(path), os.Mkdir(path, 0o700)); err != nil {
			t.Fatal(err)
		}
	},
}

func write(t *testing.T, path string, b []byte) {
	t.Helper()
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func size(t *testing.T, path string) int64 {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return info.Size()
}

func truncate(t *testing.T, path string, n int64) {
	t.Helper()
	if err := os.Truncate(path, n); err != nil {
		t.Fatal(err)
	}
}

func sqlOn(t *testing.T, path, q string) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.ExecContext(t.Context(), q); err != nil {
		t.Fatal(err)
	}
}

// asked does what a caller does: follow, ask, and once more after a
// DamagedError, as its comment says.
func asked(t *testing.T, x *index.Index, es []ledger.Entry) {
	t.Helper()
	for try := 0; ; try++ {
		err := ask(t, x, es)
		if err == nil {
			break
		}
		var d *index.DamagedError
		if !errors.As(err, &d) || try == 2 {
			t.Fatal(err)
		}
	}
	answers(t, view(t, x, rest(x, es)), es)
}

func ask(t *testing.T, x *index.Index, es []ledger.Entry) error {
	if err := x.Follow(t.Context(), logOf(es)); err != nil {
		return err
	}
	v, err := x.View(t.Context(), rest(x, es))
	if err != nil {
		return err
	}
	for _, k := range []ledger.FindState{ledger.FindOpen, ledger.FindFinished, ledger.FindAny} {
		if _, err := v.Find(t.Context(), ledger.Query{Scope: ledger.All(), State: k, Since: "2"}); err != nil {
			return err
		}
	}
	for _, e := range es {
		if _, _, err := v.KeyUse(t.Context(), e.KeySHA256); err != nil {
			return err
		}
	}
	if _, err := v.Commits(t.Context()); err != nil {
		return err
	}
	if _, err := v.Events(t.Context(), ledger.EventQuery{Since: -1}); err != nil {
		return err
	}
	if _, err := v.Search(t.Context(), index.SearchQuery{Text: "note*"}); err != nil {
		return err
	}
	_, err = v.Search(t.Context(), index.SearchQuery{})
	return err
}

func sample() []ledger.Draft {
	g := ledger.Git{Branch: "main", Commit: ledgertest.ID(0), Base: ledgertest.ID(0)}
	ds := []ledger.Draft{ledgertest.First()}
	for i := 1; i < 60; i++ {
		r := ledgertest.Record("r-"+strings.Repeat("x", i), ledger.KindNext, "note "+strings.Repeat("word ", i))
		ds = append(ds, ledgertest.On(ledgertest.WithKey(ledgertest.Save(r), "key "+r.ID), g))
	}
	for i := 1; i < 30; i++ {
		ds = append(ds, ledgertest.On(ledgertest.Status("r-"+strings.Repeat("x", i), int64(i), ledger.StatusDone), g))
	}
	return ds
}

// Whatever is where the file should be: it is replaced, and the answers are
// right. Before it is opened, and while it is open.
func TestSpoiltFile(t *testing.T) {
	es := ledgertest.Entries(ledgertest.Key(), sample()...)
	for name, spoil := range spoilers {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			o := index.Options{Dir: dir, Ledger: id}
			x := open(t, o)
			follow(t, x, es[:70])
			spoil(t, filepath.Join(dir, index.FileName))
			fresh := open(t, o)
			asked(t, fresh, es)
			if got := fresh.Where(); got != index.InCache {
				t.Errorf("the new one is in %q", got)
			}
			asked(t, x, es)
		})
	}
}

// A file that can't be written isn't replaced; it is left alone.
func TestSpoiltReadOnlyFile(t *testing.T) {
	es := ledgertest.Entries(ledgertest.Key(), sample()...)
	for name, spoil := range spoilers {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, index.FileName)
			w, err := index.Open(t.Context(), index.Options{Dir: dir, Ledger: id})
			if err != nil {
				t.Fatal(err)
			}
			follow(t, w, es[:70])
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
			spoil(t, path)
			var before []byte
			if name != "a folder" {
				before = read(t, path)
			}
			asked(t, open(t, index.Options{Dir: dir, Ledger: id, ReadOnly: true}), es)
			if name != "a folder" && !bytes.Equal(before, read(t, path)) {
				t.Error("the file was changed")
			}
		})
	}
}

// Any byte of the file may be another one: nothing panics or hangs, and after
// Discard all is well.
func TestFlippedBytes(t *testing.T) {
	es := ledgertest.Entries(ledgertest.Key(), sample()...)
	dir := t.TempDir()
	path := filepath.Join(dir, index.FileName)
	w := open(t, index.Options{Dir: dir, Ledger: id})
	follow(t, w, es)
	good := read(t, path)
	r := rand.New(rand.NewSource(3))
	rounds := 150
	if testing.Short() {
		rounds = 20
	}
	for range rounds {
		dir := t.TempDir()
		b := bytes.Clone(good)
		for range 1 + r.Intn(20) {
			b[r.Intn(len(b))] ^= byte(1 + r.Intn(255))
		}
		write(t, filepath.Join(dir, index.FileName), b)
		x, err := index.Open(t.Context(), index.Options{Dir: dir, Ledger: id})
		if err != nil {
			t.Fatal(err)
		}
		var d *index.DamagedError
		var g *index.RegressedError
		if err := ask(t, x, es); err != nil && !errors.As(err, &d) && !errors.As(err, &g) {
			t.Fatal(err)
		}
		if err := x.Discard(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := ask(t, x, es); err != nil {
			t.Fatal(err)
		}
		if err := x.Close(); err != nil {
			t.Fatal(err)
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
