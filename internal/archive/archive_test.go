package archive

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"filippo.io/age"

	"holdfast/internal/durable"
	"holdfast/internal/ledger"
)

const ledgerID = "0123456789abcdef0123456789abcdef"

func chain(t testing.TB, n int) []ledger.Entry {
	t.Helper()
	var out []ledger.Entry
	var p ledger.Pos
	for i := range n {
		d := ledger.Draft{Type: ledger.TypeRecord, Body: ledger.Body{Records: []ledger.Record{{ID: fmt.Sprint("r-", i), Kind: ledger.KindNote, Text: "text", Source: "s"}}}}
		if i == 0 {
			d = ledger.Draft{Type: ledger.TypeLedger, HeadFields: ledger.HeadFields{Ledger: ledgerID}}
		}
		e, err := ledger.Encode(p, d, make([]byte, 16), nil)
		if err != nil {
			t.Fatal(err)
		}
		out, p = append(out, e), e.Pos()
	}
	return out
}

func seq[T any](items []T) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for _, e := range items {
			if !yield(e, nil) {
				return
			}
		}
	}
}

// attached is a receipt's manifest of some text.
func attached(t testing.TB, text string) Attachment {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, err := z.Write([]byte(text))
	if err = errors.Join(err, z.Close()); err != nil {
		t.Fatal(err)
	}
	return Attachment{Name: sum256(text), Data: b.Bytes()}
}

func content256(t testing.TB, n int, as ...Attachment) Content {
	es := chain(t, n)
	return Content{Manifest: Manifest{Ledger: ledgerID, Head: es[n-1].Pos(), Entries: int64(n), Manifests: int64(len(as)), Tool: "test", At: "2026-11-30T20:00:00.000Z"},
		Lines: seq(es), Attachments: seq(as)}
}

func pair(t testing.TB) (Lock, Key) {
	t.Helper()
	id, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	lock, err := Recipients([]string{id.Recipient().String()})
	if err != nil {
		t.Fatal(err)
	}
	key, err := Identities(strings.NewReader("# mine\n" + id.String() + "\n"))
	if err != nil {
		t.Fatal(err)
	}
	return lock, key
}

func in(t testing.TB, layer *durable.Layer) *durable.Dir {
	t.Helper()
	d, err := layer.OpenDir(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	return d
}

func write(t testing.TB, c Content, lock Lock) string {
	t.Helper()
	d := in(t, &durable.Layer{})
	if _, err := Create(context.Background(), d, "x.age", c, lock); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(d.Path(), "x.age")
}

// read opens a file and reads all of it.
func read(t testing.TB, path string, key Key) (entries, manifests int, err error) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	ctx := context.Background()
	a, err := Open(ctx, f, key)
	if err != nil {
		return 0, 0, err
	}
	for _, err := range a.Lines(ctx) {
		if err != nil {
			return entries, 0, err
		}
		entries++
	}
	for _, err := range a.Attachments(ctx) {
		if err != nil {
			return entries, manifests, err
		}
		manifests++
	}
	return entries, manifests, nil
}

func TestPassphrase(t *testing.T) {
	lock, key, err := Passphrase("  four words by chance \n")
	if err != nil {
		t.Fatal(err)
	}
	path := write(t, content256(t, 30, attached(t, "a manifest")), lock)
	if n, m, err := read(t, path, key); err != nil || n != 30 || m != 1 {
		t.Fatalf("read %d entries, %d manifests: %v", n, m, err)
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v: %v", info.Mode(), err)
	}
	other, err := OpenPassphrase("another one entirely")
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := read(t, path, other); !errors.Is(err, ErrKey) {
		t.Errorf("with another passphrase: %v", err)
	}
	_, x := pair(t)
	if _, _, err := read(t, path, x); !errors.Is(err, ErrKey) {
		t.Errorf("with an identity: %v", err)
	}
	for _, text := range []string{"", "short", "           a          ", strings.Repeat("x", 2000)} {
		if _, _, err := Passphrase(text); !errors.Is(err, ErrPassphrase) {
			t.Errorf("a passphrase of %d bytes: %v", len(text), err)
		}
	}
}

// TestOpensWithAge: the age library and gunzip are enough to read an export.
func TestOpensWithAge(t *testing.T) {
	id, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	lock, err := Recipients([]string{id.Recipient().String()})
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(write(t, content256(t, 5), lock))
	if err != nil {
		t.Fatal(err)
	}
	r, err := age.Decrypt(bytes.NewReader(data), id)
	if err != nil {
		t.Fatal(err)
	}
	z, err := gzip.NewReader(r)
	if err != nil {
		t.Fatal(err)
	}
	plain, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitAfter(string(plain), "\n")
	if len(lines) != 7 || !strings.HasPrefix(lines[0], `{"format":"holdfast-export","v":1,`) || lines[3] != string(chain(t, 5)[2].Raw) {
		t.Errorf("%d lines, the first %q", len(lines), lines[0])
	}
}

// TestEveryCutAndFlip: no damage gets a byte parsed.
func TestEveryCutAndFlip(t *testing.T) {
	lock, key := pair(t)
	path := write(t, content256(t, 3, attached(t, "m")), lock)
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	bad := filepath.Join(t.TempDir(), "bad.age")
	refused := func(what string, b []byte) {
		t.Helper()
		if err := os.WriteFile(bad, b, 0o600); err != nil {
			t.Fatal(err)
		}
		f, err := os.Open(bad)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		a, err := Open(context.Background(), f, key)
		_, isBad := errors.AsType[*BadError](err)
		_, isWork := errors.AsType[*WorkError](err)
		if !isBad && !isWork && !errors.Is(err, ErrKey) || a != nil {
			t.Fatalf("%s: %v", what, err)
		}
	}
	for n := range data {
		refused(fmt.Sprint("cut at ", n), data[:n])
	}
	for i := range data {
		for bit := range 8 {
			b := bytes.Clone(data)
			b[i] ^= 1 << bit
			refused(fmt.Sprintf("byte %d, bit %d", i, bit), b)
		}
	}
	refused("a byte more", append(bytes.Clone(data), 0))
	refused("twice", append(bytes.Clone(data), data...))
	refused("zeroed", make([]byte, len(data)))
}

// TestCaseC076: work factors beyond the limit, and headers that age doesn't
// write, are refused before any key is derived.
func TestCaseC076(t *testing.T) {
	files, err := filepath.Glob("testdata/C076/*.age")
	if err != nil || len(files) != 5 {
		t.Fatal(files, err)
	}
	key, err := OpenPassphrase("password")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range files {
		_, _, err := read(t, path, key)
		_, bad := errors.AsType[*BadError](err)
		_, work := errors.AsType[*WorkError](err)
		if want := strings.Contains(path, "factor-2") || strings.Contains(path, "factor-3") || strings.Contains(path, "factor-6"); work != want || !work && !bad {
			t.Errorf("%s: %v", path, err)
		}
	}
}

// lie encrypts lines that no export has.
func lie(t testing.TB, lock Lock, text io.Reader) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "lie.age")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	enc, err := age.Encrypt(f, lock.to...)
	if err != nil {
		t.Fatal(err)
	}
	z := gzip.NewWriter(enc)
	_, err = io.Copy(z, text)
	if err = errors.Join(err, z.Close(), enc.Close()); err != nil {
		t.Fatal(err)
	}
	return path
}

type zeros struct{}

func (zeros) Read(b []byte) (int, error) { clear(b); return len(b), nil }

// TestLies: what is authentic but no export of ours is refused.
func TestLies(t *testing.T) {
	lock, key := pair(t)
	es := chain(t, 3)
	line := func(entries int, head ledger.Pos) string {
		return fmt.Sprintf(`{"format":"holdfast-export","v":1,"ledger":"%s","head":{"rev":%d,"hash":"%s"},"entries":%d,"manifests":0,"tool":"","at":""}`+"\n", ledgerID, head.Rev, head.Hash, entries)
	}
	whole := line(3, es[2].Pos()) + string(es[0].Raw) + string(es[1].Raw) + string(es[2].Raw)
	if n, _, err := read(t, lie(t, lock, strings.NewReader(whole)), key); err != nil || n != 3 {
		t.Fatal(n, err)
	}
	for name, text := range map[string]io.Reader{
		"empty":         strings.NewReader(""),
		"another file":  strings.NewReader("hello\n"),
		"bomb":          io.LimitReader(zeros{}, 64<<20),
		"bomb of lines": io.MultiReader(strings.NewReader(line(3, es[2].Pos())), io.LimitReader(zeros{}, 64<<20)),
		"missing":       strings.NewReader(line(3, es[2].Pos()) + string(es[0].Raw) + string(es[2].Raw)),
		"reordered":     strings.NewReader(line(3, es[2].Pos()) + string(es[0].Raw) + string(es[2].Raw) + string(es[1].Raw)),
		"short":         strings.NewReader(line(3, es[2].Pos()) + string(es[0].Raw)),
		"longer":        strings.NewReader(whole + string(es[2].Raw)),
		"another head":  strings.NewReader(strings.Replace(whole, es[2].Hash, es[1].Hash, 1)),
	} {
		_, _, err := read(t, lie(t, lock, text), key)
		if _, bad := errors.AsType[*BadError](err); !bad {
			t.Errorf("%s: %v", name, err)
		}
	}
	_, _, err := read(t, lie(t, lock, strings.NewReader(strings.Replace(whole, `"v":1`, `"v":2`, 1))), key)
	if _, newer := errors.AsType[*NewerError](err); !newer {
		t.Errorf("a newer one: %v", err)
	}
}

// TestCaseC077_FaultsLeaveNothing: whatever step of an export fails, no file stays
// and the next one succeeds.
func TestCaseC077_FaultsLeaveNothing(t *testing.T) {
	lock, key := pair(t)
	for n := 1; ; n++ {
		steps, armed := 0, false
		layer := &durable.Layer{Fault: func(op durable.Op, name string) error {
			if op == durable.OpRemove || op == durable.OpStat || op == durable.OpReadDir {
				return nil
			}
			if !armed {
				return nil
			}
			if steps++; steps == n {
				return errors.New("fault")
			}
			return nil
		}}
		d := in(t, layer)
		steps, armed = 0, true
		_, err := Create(context.Background(), d, "x.age", content256(t, 3), lock)
		_, unknown := errors.AsType[*durable.UnknownOutcomeError](err)
		names, lerr := os.ReadDir(d.Path())
		if lerr != nil {
			t.Fatal(lerr)
		}
		switch {
		case err == nil && steps < n:
			if n < 6 {
				t.Errorf("only %d steps", n)
			}
			return
		case err != nil && !unknown && len(names) > 0:
			t.Errorf("step %d: %v leaves %v", n, err, names)
		case len(names) > 0:
			if _, _, err := read(t, filepath.Join(d.Path(), names[0].Name()), key); len(names) > 1 || err != nil {
				t.Errorf("step %d: %v, %v", n, names, err)
			}
		}
	}
}

func TestNeverOverwrites(t *testing.T) {
	lock, _ := pair(t)
	d := in(t, &durable.Layer{})
	if err := os.WriteFile(filepath.Join(d.Path(), "x.age"), []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Create(context.Background(), d, "x.age", content256(t, 2), lock); !errors.Is(err, durable.ErrExists) {
		t.Fatal(err)
	}
	if b, err := os.ReadFile(filepath.Join(d.Path(), "x.age")); err != nil || string(b) != "mine" {
		t.Fatal(b, err)
	}
}

// FuzzOpen: no file makes Open fail otherwise than by its own errors.
func FuzzOpen(f *testing.F) {
	files, err := filepath.Glob("testdata/C076/*.age")
	if err != nil {
		f.Fatal(err)
	}
	for _, name := range files {
		b, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	_, key := pair(f)
	f.Fuzz(func(t *testing.T, b []byte) {
		path := filepath.Join(t.TempDir(), "x.age")
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, _, err := read(t, path, key); err == nil {
			t.Fatal("it opened")
		}
	})
}
