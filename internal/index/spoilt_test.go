package index_test

import (
	"bytes"
	"database/sql"
	"errors"
	"math/rand"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"holdfast/internal/index"
	"holdfast/internal/ledger"
	"holdfast/internal/ledger/ledgertest"
)

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
		sqlOn(t, path, "UPDATE versions SET rec = 'nonsense'; UPDATE makers SET actor = 'nonsense'")
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
