package durable

import (
	"errors"
	"os"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// No name that this package thinks of is one that Windows reserves, and it
// makes no file with such a name when told to.
func TestCaseC016_ReservedNames(t *testing.T) {
	data, err := os.ReadFile("testdata/reserved-names.txt")
	check(t, err)
	d, tmp := tempDir(t, nil)
	put(t, d.join("x"), "x")
	before := snapshot(t, d.Path())
	for name := range strings.Lines(string(data)) {
		name = strings.TrimSuffix(name, "\n")
		if !IsReserved(name) {
			t.Errorf("%q counts as free", name)
		}
		_, pubErr := d.Publish(tmp, name, nil, 0o600)
		_, makeErr := d.MakeSub(name, 0o700)
		_, lockErr := d.Lock(bg, name, 0, "")
		for _, err := range []error{pubErr, makeErr, lockErr, d.Replace(tmp, name, nil, 0o600),
			d.Append(name, nil, 0o600), d.Rename("x", d, name)} {
			if !errors.Is(err, ErrUnsafe) {
				t.Errorf("%q: %v", name, err)
			}
		}
	}
	if after := snapshot(t, d.Path()); len(after) != len(before) {
		t.Errorf("files were made: %v", after)
	}
	rapid.Check(t, func(rt *rapid.T) {
		random := rapid.SliceOfN(rapid.Byte(), tempRandom, tempRandom).Draw(rt, "random")
		name, err := (&Layer{Rand: strings.NewReader(string(random))}).tempName()
		if err != nil || IsReserved(name) || !IsTemporary(name) || strings.ToLower(name) != name {
			rt.Fatalf("%q, %v", name, err)
		}
	})
}

func TestNamesThatAreFree(t *testing.T) {
	for _, name := range []string{"00000001.json", "FORMAT", "lock", ".gitignore", "com", "com10", "console.log",
		"nullable", "aux-file", ".holdfast", "settings.json", "größe", "lpt.txt"} {
		if IsReserved(name) {
			t.Errorf("%q counts as reserved", name)
		}
	}
}

func FuzzIsTemporary(f *testing.F) {
	f.Add(".holdfast-0123456789abcdef0123456789abcdef.tmp")
	f.Add(".holdfast-.tmp")
	f.Fuzz(func(t *testing.T, name string) {
		if IsTemporary(name) && (len(name) != len(tempPrefix)+32+len(tempSuffix) || IsReserved(name)) {
			t.Errorf("%q", name)
		}
	})
}
