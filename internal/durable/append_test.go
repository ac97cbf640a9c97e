package durable

import (
	"bufio"
	"bytes"
	"os"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestAppend(t *testing.T) {
	d, _ := tempDir(t, nil)
	for _, tc := range []struct{ before, data, after string }{
		{"", "a\n", "a\n"},
		{"a\n", "b\n", "a\nb\n"},
		{"a\nto", "b\n", "a\nto\nb\n"},
		{"a\nto", "", "a\nto\n"},
		{"\n", "b", "\nb"},
	} {
		put(t, d.join("x"), tc.before)
		check(t, d.Append("x", []byte(tc.data), 0o600))
		wantFile(t, d.join("x"), tc.after)
	}
}

// Any sequence of appends, torn or not, loses no line.
func TestAppendKeepsLines(t *testing.T) {
	base := t.TempDir()
	rapid.Check(t, func(rt *rapid.T) {
		path, err := os.MkdirTemp(base, "")
		check(t, err)
		d, err := (*Layer)(nil).OpenDir(path)
		check(t, err)
		defer d.Close()
		var want []string
		for i := range rapid.IntRange(1, 8).Draw(rt, "lines") {
			line := strings.Repeat(string(rune('a'+i)), rapid.IntRange(1, 50).Draw(rt, "length"))
			if tear := rapid.IntRange(0, 40).Draw(rt, "torn at"); tear > 0 && tear < len(line) {
				f, err := os.OpenFile(d.join("x"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
				check(t, err)
				f.WriteString(line[:tear])
				f.Close()
			}
			check(t, d.Append("x", []byte(line+"\n"), 0o600))
			want = append(want, line)
		}
		data, err := d.ReadFile("x", 1<<20)
		check(t, err)
		s := bufio.NewScanner(bytes.NewReader(data))
		n := 0
		for s.Scan() {
			if n < len(want) && s.Text() == want[n] {
				n++
			}
		}
		if n != len(want) {
			rt.Fatalf("%d of %d lines are there", n, len(want))
		}
	})
}

func TestAppendCutsBackOnlyItsOwn(t *testing.T) {
	d, _ := tempDir(t, nil)
	put(t, d.join("x"), "a\n")
	d.l = &Layer{Fault: func(op Op, path string) error {
		if op == OpWrite {
			return &ShortWrite{N: 2, Err: errFull}
		}
		return nil
	}}
	if err := d.Append("x", []byte("bbbb\n"), 0o600); !DiskFull(err) {
		t.Fatalf("got %v", err)
	}
	wantFile(t, d.join("x"), "a\n")

	// Somebody else adds a line between the torn write and the look at it.
	torn := false
	d.l.Fault = func(op Op, path string) error {
		switch {
		case op == OpWrite:
			torn = true
			return &ShortWrite{N: 2, Err: errFull}
		case op == OpStat && torn:
			f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
			check(t, err)
			f.WriteString("\nother\n")
			f.Close()
			torn = false
		}
		return nil
	}
	if err := d.Append("x", []byte("bbbb\n"), 0o600); !DiskFull(err) {
		t.Fatalf("got %v", err)
	}
	wantFile(t, d.join("x"), "a\nbb\nother\n")
}
