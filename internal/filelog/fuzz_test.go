package filelog

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"

	"pgregory.net/rapid"

	"holdfast/internal/durable"
	"holdfast/internal/ledger"
)

// Names are read in the one form in which they are written, and a name that is
// not a revision's, but has its number, counts as a copy.
func FuzzNames(f *testing.F) {
	for _, s := range []string{"00000000.json", "00000118.json", "118.json", "000000118.json", "99999999.json", "100000000.json",
		"00000118 (conflicted copy).json", ".00000118.json.icloud", "00000001-00001000.jsonl", "00000002-00001001.jsonl", "0001", "0000", "00001",
		".holdfast-00112233445566778899aabbccddeeff.tmp", "-0000001.json", "+0000001.json", "00000001.json\x00", "٠٠٠٠٠١١٨.json"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, name string) {
		rev, isRev := parseRev(name)
		if isRev && (revFile(rev) != name || rev < 0) {
			t.Errorf("%q is read as revision %d", name, rev)
		}
		p, isPack := parsePack(name)
		if isPack && (p.name() != name || p.to-p.from != PackSize-1 || p.to%PackSize != 0 || p.from < 1) {
			t.Errorf("%q is read as pack %v", name, p)
		}
		n, isGen := parseGen(name)
		if isGen && (genFolder(n) != name || n < 1) {
			t.Errorf("%q is read as generation %d", name, n)
		}
		if isRev && isPack || isRev && isGen {
			t.Errorf("%q is two things", name)
		}
		if _, copied := copiedNumber(name, 8); isRev && !copied {
			t.Errorf("%q has no number", name)
		}
	})
}

func FuzzFormat(f *testing.F) {
	good := string(formatOf("00112233445566778899aabbccddeeff").bytes())
	for _, s := range []string{"", good, strings.ToUpper(good), good + good, good[:40], strings.Repeat("\x00", 80), strings.Replace(good, `"v":1`, `"v":2`, 1), `{"format":"holdfast","v":1e9}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		fm, err := parseFormat("FORMAT", b)
		if err == nil && (!bytes.Equal(b, fm.bytes()) || !validLedgerID(fm.Ledger)) {
			t.Errorf("%q is accepted", b)
		}
		if err != nil && len(b) > 12 && strings.Contains(err.Error(), string(b)) {
			t.Errorf("the error shows the content: %v", err)
		}
	})
}

// Lines come whole, in order and with their ends, however they are read; what is
// too long for an entry is cut and passed over.
func FuzzLines(f *testing.F) {
	f.Add([]byte("a\nb\n\nc"), uint16(1))
	f.Add([]byte(strings.Repeat("x", 300)+"\n"), uint16(7))
	f.Add([]byte("\n\n\n"), uint16(0))
	f.Fuzz(func(t *testing.T, b []byte, repeat uint16) {
		data := bytes.Repeat(b, 1+int(repeat)%2000)
		if len(data) > 4<<20 {
			return
		}
		var want [][]byte
		for _, line := range bytes.SplitAfter(data, []byte("\n")) {
			if len(line) > ledger.MaxEntry {
				line = line[:ledger.MaxEntry]
			}
			if len(line) > 0 {
				want = append(want, line)
			}
		}
		for name, r := range map[string]io.Reader{"at once": bytes.NewReader(data), "in halves": iotest.HalfReader(bytes.NewReader(data)), "with the end": iotest.DataErrReader(bytes.NewReader(data))} {
			lr := lineReader{r: r}
			for i := 0; ; i++ {
				line, err := lr.next()
				if errors.Is(err, io.EOF) {
					if i != len(want) {
						t.Fatalf("%s: %d lines, want %d", name, i, len(want))
					}
					break
				}
				if err != nil || i >= len(want) || !bytes.Equal(line, want[i]) {
					t.Fatalf("%s: line %d of %d bytes, %v", name, i, len(line), err)
				}
			}
		}
	})
}

func TestLineReaderErrors(t *testing.T) {
	lr := lineReader{r: iotest.TimeoutReader(iotest.OneByteReader(strings.NewReader("ab\n")))}
	if _, err := lr.next(); !errors.Is(err, iotest.ErrTimeout) {
		t.Errorf("got %v", err)
	}
}

// The end of a mirror is the last whole line that is an entry, whatever is
// before, between and behind.
func TestLastLine(t *testing.T) {
	l, _ := made(t, 3)
	lines := strings.SplitAfter(get(t, l.mirror()), "\n")[:4]
	var positions []ledger.Pos
	for _, line := range lines {
		e, err := ledger.Parse([]byte(line))
		check(t, err)
		positions = append(positions, e.Pos())
	}
	dir, err := (&durable.Layer{}).OpenDir(t.TempDir())
	check(t, err)
	defer dir.Close()
	rapid.Check(t, func(rt *rapid.T) {
		var b strings.Builder
		want := ledger.Pos{}
		for range rapid.IntRange(0, 6).Draw(rt, "parts") {
			switch rapid.IntRange(0, 5).Draw(rt, "part") {
			case 0, 1:
				i := rapid.IntRange(0, len(lines)-1).Draw(rt, "line")
				fresh := b.Len() == 0 || strings.HasSuffix(b.String(), "\n")
				b.WriteString(lines[i])
				if fresh {
					want = positions[i]
				}
			case 2:
				b.WriteString(strings.Repeat("x", rapid.SampledFrom([]int{1, 100, 16 << 10, ledger.MaxEntry, blockSize, 2 * blockSize}).Draw(rt, "garbage")))
			case 3:
				b.WriteString("\n")
			case 4:
				b.WriteString(lines[0][:rapid.IntRange(1, len(lines[0])-2).Draw(rt, "cut")])
			case 5:
				b.WriteString(strings.Repeat("\x00", rapid.IntRange(1, 40_000).Draw(rt, "NUL")))
			}
		}
		if err := os.WriteFile(filepath.Join(dir.Path(), mirrorName), []byte(b.String()), 0o600); err != nil {
			rt.Fatal(err)
		}
		got, err := lastLine(dir)
		if err != nil || got != want {
			rt.Fatalf("%v, %v; want %v", got, err, want)
		}
	})
}

// Random lives of a ledger: saves by several processes, mirrors cut, changed or
// gone, states lost, packs: no acknowledged save is ever missing, and each save
// leaves a whole mirror.
func TestRandomLives(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		l := quickLog(t)
		logs := []*Log{l, l.again(), l.again()}
		p := create(t, l)
		acked := []ledger.Pos{p}
		for range rapid.IntRange(1, 25).Draw(rt, "steps") {
			s := rapid.SampledFrom(logs).Draw(rt, "process")
			step := rapid.IntRange(0, 9).Draw(rt, "step")
			if _, err := os.Lstat(l.mirror()); err != nil && step < 2 {
				continue
			}
			switch step {
			case 0:
				lines := strings.SplitAfter(get(t, l.mirror()), "\n")
				put(t, l.mirror(), strings.Join(lines[:rapid.IntRange(0, len(lines)-1).Draw(rt, "kept")], ""))
			case 1:
				put(t, l.mirror(), get(t, l.mirror())+rapid.SampledFrom([]string{"x", "{\"head\":", "\n\n", "\x00\x00"}).Draw(rt, "torn"))
			case 2:
				check(t, os.RemoveAll(l.state(l.id())))
			case 3:
				check(t, os.RemoveAll(l.paths()))
			case 4:
				logs[2] = l.again()
			case 5:
				check(t, s.Secure(t.Context()))
				wantMirrored(t, l, p)
			default:
				p = add(t, s, head(t, s), note("x"))
				acked = append(acked, p)
				wantMirrored(t, l, p)
			}
		}
		var got []ledger.Pos
		for _, e := range l.chain(t) {
			got = append(got, e.Pos())
		}
		if len(got) != len(acked) {
			rt.Fatalf("%d entries, %d acknowledged", len(got), len(acked))
		}
		for i := range got {
			if got[i] != acked[i] {
				rt.Fatalf("revision %d is another", i)
			}
		}
	})
}
