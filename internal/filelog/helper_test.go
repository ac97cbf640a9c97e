package filelog

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"holdfast/internal/durable"
	"holdfast/internal/ledger"
	"holdfast/internal/ledger/ledgertest"
)

// testLog makes a log in a fresh project with its own state folder. It waits for
// nobody longer than a moment, so that damage is believed soon.
func testLog(t testing.TB) *Log {
	t.Helper()
	return logIn(t, t.TempDir())
}

// quickLog is testLog on a file system in memory, if there is one, for walks
// that would flush a disk thousands of times.
func quickLog(t testing.TB) *Log {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "filelog-")
	if err != nil {
		return testLog(t)
	}
	t.Cleanup(func() { check(t, os.RemoveAll(dir)) })
	return logIn(t, dir)
}

func logIn(t testing.TB, dir string) *Log {
	t.Helper()
	project := filepath.Join(dir, "project")
	mkdir(t, project)
	m := &Machine{
		State: []string{filepath.Join(dir, "state")}, Layer: &durable.Layer{}, Rand: rand.Reader,
		Now: time.Now, LockWait: 100 * time.Millisecond, Owner: "test", Tool: "test",
	}
	return New(m, Place{Dir: project, Name: FolderName})
}

// again opens the same ledger as a new process would.
func (l *Log) again() *Log { return New(l.m, l.p) }

// elsewhere opens the ledger in another folder, on the same machine.
func (l *Log) elsewhere(dir string) *Log {
	return New(l.m, Place{Dir: dir, Name: l.p.Name, FirstCommit: l.p.FirstCommit})
}

// stranger opens the same ledger on another machine.
func (l *Log) stranger(t testing.TB) *Log {
	m := *l.m
	m.State = []string{filepath.Join(t.TempDir(), "state")}
	return New(&m, l.p)
}

// with is the same place on the same machine through another file layer.
func (l *Log) with(layer *durable.Layer) *Log {
	m := *l.m
	m.Layer = layer
	return New(&m, l.p)
}

func note(text string) ledger.Draft {
	d := ledgertest.Save(ledgertest.Record("n-1", ledger.KindNote, text))
	d.At = time.Now()
	return d
}

func typed(d ledger.Draft) ledger.Draft {
	d.At = time.Now()
	return d
}

func create(t testing.TB, l *Log) ledger.Pos {
	t.Helper()
	return add(t, l, ledger.Pos{}, ledger.Draft{Type: ledger.TypeLedger, At: time.Now()})
}

// add saves, and wants nothing to be wrong with it.
func add(t testing.TB, l *Log, after ledger.Pos, d ledger.Draft) ledger.Pos {
	t.Helper()
	saved, err := l.Append(context.Background(), after, d)
	if err != nil {
		t.Fatalf("append after revision %d: %v", after.Rev, err)
	}
	if !saved.Protected || len(saved.Warnings) > 0 {
		t.Fatalf("append after revision %d: %+v", after.Rev, saved)
	}
	return saved.Pos
}

func head(t testing.TB, l *Log) ledger.Pos {
	t.Helper()
	p, err := l.Head(context.Background())
	if err != nil {
		t.Fatalf("head: %v", err)
	}
	return p
}

func fill(t testing.TB, l *Log, n int) ledger.Pos {
	t.Helper()
	p := head(t, l)
	for range n {
		p = add(t, l, p, note("text"))
	}
	return p
}

// made is a ledger with n saves.
func made(t testing.TB, n int) (*Log, ledger.Pos) {
	t.Helper()
	return grown(t, testLog(t), n)
}

func grown(t testing.TB, l *Log, n int) (*Log, ledger.Pos) {
	t.Helper()
	create(t, l)
	return l, fill(t, l, n)
}

// torture is true for the long runs, which HOLDFAST_TORTURE asks for.
func torture() bool { return os.Getenv("HOLDFAST_TORTURE") != "" }

// rounds is how often something random is tried: few times by default, as often
// as the environment variable says otherwise.
func rounds(t testing.TB, variable string, few int) int {
	t.Helper()
	v := os.Getenv(variable)
	if v == "" {
		return few
	}
	n, err := strconv.Atoi(v)
	check(t, err)
	return n
}

// verify checks the chain and that it ends at want, as every reader sees it.
func verify(t testing.TB, l *Log, want ledger.Pos) {
	t.Helper()
	for _, l := range []*Log{l, l.again()} {
		got, err := ledger.Verify(ledger.Pos{}, l.Entries(context.Background(), ledger.Pos{}))
		if err != nil {
			t.Fatal(err)
		}
		if h := head(t, l); got != want || h != want {
			t.Fatalf("verified up to %v, head %v; want %v", got, h, want)
		}
	}
}

// refuses checks that a fresh process can't save, and gives why.
func refuses(t testing.TB, l *Log, after ledger.Pos) error {
	t.Helper()
	_, err := l.Append(context.Background(), after, note("must not be saved"))
	if err == nil {
		t.Fatal("a save was accepted")
	}
	return err
}

func wantDamage(t testing.TB, err error, kind string) *DamageError {
	t.Helper()
	d, ok := errors.AsType[*DamageError](err)
	if !ok || d.Kind != kind {
		t.Fatalf("got %v, want damage of kind %s", err, kind)
	}
	return d
}

func want[E error](t testing.TB, err error) E {
	t.Helper()
	e, ok := errors.AsType[E](err)
	if !ok {
		t.Fatalf("got %T %v, want %T", err, err, e)
	}
	return e
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func mkdir(t testing.TB, path string) {
	t.Helper()
	check(t, os.MkdirAll(path, 0o700))
}

// put writes a file over whatever is there.
func put(t testing.TB, path, content string) {
	t.Helper()
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	check(t, os.WriteFile(path, []byte(content), 0o600))
}

func get(t testing.TB, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	check(t, err)
	return string(b)
}

// Paths in the ledger of a test.
func (l *Log) rev(n int64) string     { return filepath.Join(l.Dir(), "gen/0001/rev", revFile(n)) }
func (l *Log) at(name string) string  { return filepath.Join(l.Dir(), filepath.FromSlash(name)) }
func (l *Log) mirror() string         { return filepath.Join(l.m.State[0], l.id(), mirrorName) }
func (l *Log) packed(p pack) string   { return filepath.Join(l.Dir(), "gen/0001/pack", p.name()) }
func (l *Log) paths() string          { return filepath.Join(l.m.State[0], pathsName) }
func (l *Log) state(nm string) string { return filepath.Join(l.m.State[0], nm) }

// id is the ledger's id as FORMAT has it.
func (l *Log) id() string {
	b, err := os.ReadFile(l.at(formatName))
	if err != nil {
		return l.ID()
	}
	fm, err := parseFormat("", b)
	if err != nil {
		return l.ID()
	}
	return fm.Ledger
}

// snapshot is everything below the folders: names, modes, content.
func snapshot(t testing.TB, dirs ...string) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, dir := range dirs {
		err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				if errors.Is(err, fs.ErrNotExist) {
					return nil
				}
				return err
			}
			info, err := d.Info()
			if err != nil {
				return err
			}
			all[path] = info.Mode().String()
			if info.Mode().IsRegular() {
				b, err := os.ReadFile(path)
				if err != nil {
					return err
				}
				all[path] += fmt.Sprintf(" %d %s", info.ModTime().UnixNano(), b)
			}
			return nil
		})
		check(t, err)
	}
	return all
}

// temporaries lists what a save should have removed.
func (l *Log) temporaries(t testing.TB) []string {
	t.Helper()
	var found []string
	for path := range snapshot(t, append([]string{l.Dir()}, l.m.State...)...) {
		if name := filepath.Base(path); durable.IsTemporary(name) || strings.HasPrefix(name, probePrefix) {
			found = append(found, path)
		}
	}
	slices.Sort(found)
	return found
}

// copyTree copies a folder as cp -r does.
func copyTree(t testing.TB, from, to string) {
	t.Helper()
	check(t, os.CopyFS(to, os.DirFS(from)))
}

// when calls do once, before the first step of that kind whose path ends so.
func when(op durable.Op, suffix string, do func()) *durable.Layer {
	done := false
	return &durable.Layer{Trace: func(o durable.Op, path string) {
		if !done && o == op && strings.HasSuffix(path, suffix) {
			done = true
			do()
		}
	}}
}

func isConflict(err error) bool { return errors.As(err, new(*ledger.ConflictError)) }

func isNotWritable(err error) bool { return durable.NotWritable(err) }
func isFull(err error) bool        { return durable.DiskFull(err) }

// readOnlyBelow and fullBelow play a file system that is read-only or full.
func readOnlyBelow(dir string, err error) *durable.Layer {
	return &durable.Layer{Fault: func(op durable.Op, path string) error {
		switch op {
		case durable.OpCreate, durable.OpWrite, durable.OpLink, durable.OpRename, durable.OpRemove, durable.OpMkdir, durable.OpChmod, durable.OpTruncate, durable.OpLock:
			if strings.HasPrefix(path, dir) {
				return err
			}
		}
		return nil
	}}
}

func fullBelow(dir string) *durable.Layer {
	return &durable.Layer{Fault: func(op durable.Op, path string) error {
		switch op {
		case durable.OpWrite, durable.OpMkdir:
			if strings.HasPrefix(path, dir) && filepath.Base(path) != lockName && filepath.Base(path) != mirrorLockName {
				return errFull
			}
		}
		return nil
	}}
}
