package index_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"holdfast/internal/index"
	"holdfast/internal/ledger"
	"holdfast/internal/ledger/ledgertest"
)

const secret = "correct-horse-battery-staple"

// leaked is a log with a secret at revision 3, and the redact entry that names
// it at revision 10 (its body is still there).
func leaked() []ledger.Entry {
	var ds []ledger.Draft
	ds = append(ds, many(9)...)
	ds[3] = ledgertest.Save(ledgertest.Record("leak", ledger.KindNote, "the pass phrase is "+secret))
	return ledgertest.Entries(ledgertest.Key(), append(ds, ledgertest.Redact(ledger.Ref{ID: "leak", Rev: 3}))...)
}

func erased(es []ledger.Entry) []ledger.Entry {
	out := append([]ledger.Entry(nil), es...)
	out[3] = es[3].Erase()
	return out
}

// holds reports whether any file of the folder has the secret, or a word of it.
func holds(t *testing.T, dir string) bool {
	t.Helper()
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		b, err := os.ReadFile(filepath.Join(dir, f.Name()))
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(b, []byte(secret)) || bytes.Contains(b, []byte("battery")) {
			return true
		}
	}
	return false
}

// Once the log has lost a text by a redaction, the index has lost it too, down
// to the last byte of its file.
func TestRedact(t *testing.T) {
	es := leaked()
	for name, steps := range map[string][][]ledger.Entry{
		"redacted before it was seen":          {erased(es)},
		"seen, then redacted":                  {es[:10], erased(es)},
		"redact entry seen before the erasing": {es[:10], es, erased(es)},
		"everything seen before the erasing":   {es, erased(es)},
		"erased after more was saved":          {es, ledgertest.Extend(es[:11:11], nil, many(1)[1]), erased(ledgertest.Extend(es[:11:11], nil, many(1)[1]))},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			x := open(t, index.Options{Dir: dir, Ledger: id})
			for _, log := range steps {
				check(t, x, log)
			}
			if holds(t, dir) {
				t.Error("the text is still in the file")
			}
		})
	}
}

// As long as the log has the text, as when its redaction isn't believed here,
// the index has it too, and isn't made anew each time.
func TestRedactNotBelieved(t *testing.T) {
	es := leaked()
	dir := t.TempDir()
	x := open(t, index.Options{Dir: dir, Ledger: id})
	check(t, x, es[:5])
	check(t, x, es)
	if err := x.SetMeta(t.Context(), "mark", "this file"); err != nil {
		t.Fatal(err)
	}
	check(t, x, ledgertest.Extend(es[:11:11], nil, many(1)[1]))
	if got, err := x.Meta(t.Context(), "mark"); got != "this file" || err != nil {
		t.Errorf("the file was made anew: %q, %v", got, err)
	}
	if !holds(t, dir) {
		t.Error("the text is gone, though the log has it")
	}
}

// A redaction behind the file makes the file useless: a view over it refuses.
func TestRedactInTheTail(t *testing.T) {
	es := leaked()
	for _, readOnly := range []bool{false, true} {
		dir := t.TempDir()
		w := open(t, index.Options{Dir: dir, Ledger: id})
		follow(t, w, es[:8])
		x := open(t, index.Options{Dir: dir, Ledger: id, ReadOnly: readOnly})
		var d *index.DamagedError
		if _, err := x.View(t.Context(), erased(es)[8:]); !errors.As(err, &d) {
			t.Fatalf("view: %v, want a DamagedError", err)
		}
		check(t, x, erased(es))
		if !readOnly && holds(t, dir) {
			t.Error("the text is still in the file")
		}
		if want := map[bool]string{false: index.InCache, true: index.InMemory}[readOnly]; x.Where() != want {
			t.Errorf("index is in %q, want %q", x.Where(), want)
		}
	}
}
