package mcpserver

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

// padded is a save whose line has exactly n bytes, by spaces where JSON allows
// them.
func padded(id string, n int, lineEnd string) string {
	line := strings.TrimSuffix(call(id, "holdfast_record", note(id)), "\n")
	return line[:1] + strings.Repeat(" ", n-len(line)-len(lineEnd)) + line[1:] + lineEnd
}

func TestCaseC046_MessagesOfEverySize(t *testing.T) {
	t.Parallel()
	deep := func(n int) string {
		return `{"jsonrpc":"2.0","id":"d","method":"tools/call","params":{"name":"holdfast_record","arguments":` + strings.Repeat(`{"a":`, n) + "1" + strings.Repeat("}", n) + "}}\n"
	}
	for _, c := range []struct {
		name, input string
		id          string // of the answer; empty: none can be told
		ok          bool   // saved, or else an error answer
	}{
		{"64 KiB less one", padded("s", 64<<10-1, "\n"), `"s"`, true},
		{"64 KiB", padded("s", 64<<10, "\n"), `"s"`, true},
		{"1 MiB", padded("s", 1<<20, "\n"), `"s"`, true},
		{"4 MiB", padded("s", 4<<20, "\n"), `"s"`, true},
		{"16 MiB", padded("s", 16<<20, "\n"), "null", false},
		{"16 MiB, the id in front", `{"jsonrpc":"2.0","id":"f","method":"ping","params":{"x":"` + strings.Repeat("x", 16<<20) + "\"}}\n", `"f"`, false},
		{"16 MiB, the id behind", `{"jsonrpc":"2.0","method":"ping","params":{"x":"` + strings.Repeat("{", 16<<20) + "\"},\"id\":17}\n", `17`, false},
		{"carriage return", padded("s", 300, "\r\n"), `"s"`, true},
		{"blank lines before", "\n \r\n\n" + padded("s", 300, "\n"), `"s"`, true},
		{"bad UTF-8", strings.Replace(call("s", "holdfast_record", note("s")), "text of", "text \xff\xfe of", 1), `"s"`, false},
		{"NUL byte", strings.Replace(call("s", "holdfast_record", note("s")), "text of", "text \x00 of", 1), `"s"`, false},
		{"NUL, escaped", strings.Replace(call("s", "holdfast_record", note("s")), "text of", `text \u0000 of`, 1), `"s"`, false},
		{"half a surrogate pair", strings.Replace(call("s", "holdfast_record", note("s")), "text of", `text \ud800 of`, 1), `"s"`, false},
		{"900 deep", deep(900), `"d"`, false},
		{"10,000 deep", deep(10_000), `"d"`, false},
		{"100,000 deep", deep(100_000), `"d"`, false},
		{"array", `[` + strings.TrimSpace(call("s", "holdfast_record", note("s"))) + "]\n", `"s"`, true},
		{"empty array", "[]\n", "null", false},
		{"array of rubbish", "[1]\n", "null", false},
		{"10,000 deep array", strings.Repeat("[", 10_000) + strings.Repeat("]", 10_000) + "\n", "null", false},
		{"a text", "\"hello\"\n", "null", false},
		{"terminal noise", "\x1b[31mhello\x1b[0m\n", "null", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBed(t)
			p := b.start()
			p.initialize()
			p.write(c.input)
			m := p.read()
			if string(m.ID) != c.id {
				t.Errorf("answered id %s, want %s: %.300s", m.ID, c.id, m.raw)
			}
			if got := m.Error == nil && !m.tool(t).IsError; got != c.ok {
				t.Errorf("saved: %v, want %v: %.300s", got, c.ok, m.raw)
			}
			if len(m.raw) > 16<<10 {
				t.Errorf("the answer has %d bytes", len(m.raw))
			}
			p.must("holdfast_record", note("after"))
			logMemory(t, p)
			p.closed()
		})
	}
}

func TestALineThatNeverEnds(t *testing.T) {
	b := newBed(t)
	p := b.start()
	p.initialize()
	part := strings.Repeat("x", 1<<20)
	for range 40 {
		p.write(part)
	}
	logMemory(t, p)
	p.write("\n")
	if m := p.read(); m.Error == nil || string(m.ID) != "null" {
		t.Errorf("%.300s", m.raw)
	}
	p.must("holdfast_record", note("n-0"))
	p.write("{\"jsonrpc\":") // and one that is cut off by the end of input
	for _, m := range p.closed() {
		if m.Error == nil {
			t.Errorf("%.300s", m.raw)
		}
	}
	b.saved(t, 1)
}

func logMemory(t *testing.T, p *proc) {
	t.Helper()
	if kib := p.memory(); kib > 0 {
		t.Logf("%d KiB resident", kib)
	}
}

// memory is what is resident, in KiB, or 0 where the system doesn't tell.
func (p *proc) memory() (kib int) {
	if runtime.GOOS != "linux" {
		return 0
	}
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	if err != nil {
		p.t.Fatal(err)
	}
	for _, line := range strings.Split(string(status), "\n") {
		if _, err := fmt.Sscanf(line, "VmRSS: %d kB", &kib); err == nil {
			return kib
		}
	}
	return 0
}

// Lines of any bytes come out as they went in, or as too long, and the one
// behind them too.
func TestLinesStayInStep(t *testing.T) {
	const limit = 100_000
	rapid.Check(t, func(t *rapid.T) {
		var in bytes.Buffer
		var want []string
		for range rapid.IntRange(0, 6).Draw(t, "lines") {
			line := rapid.SliceOfN(rapid.Byte(), 0, 300).Draw(t, "line")
			line = bytes.TrimSpace(bytes.ReplaceAll(line, []byte("\n"), []byte(" ")))
			if rapid.IntRange(0, 9).Draw(t, "long") == 0 {
				line = append([]byte{'x'}, bytes.Repeat([]byte("y"), limit+rapid.IntRange(0, 200_000).Draw(t, "more"))...)
			}
			in.Write(line)
			in.WriteByte('\n')
			switch {
			case len(line) > limit:
				want = append(want, "too long")
			case len(line) > 0:
				want = append(want, string(line))
			}
		}
		r := newLineReader(&in)
		r.limit = limit + 1
		var got []string
		for {
			line, err := r.next()
			if _, long := errors.AsType[*longLineError](err); long {
				got = append(got, "too long")
				continue
			}
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, string(line))
		}
		if strings.Join(got, "\n") != strings.Join(want, "\n") {
			t.Fatalf("%d lines came out, want %d", len(got), len(want))
		}
	})
}

// FuzzMessage: whatever a line holds, what is answered is a message, and an id
// that is found in a message that can be decoded is that message's.
func FuzzMessage(f *testing.F) {
	for _, s := range []string{call(1, "holdfast_resume", nil), `{"jsonrpc":"2.0","method":"x","params":{"id":4},"id":"a"}`, `[{"id":1}]`, `{"a":"\",\"id\":5}","id":6}`, "\xff"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		line := bytes.TrimSpace(bytes.ReplaceAll(data, []byte("\n"), nil))
		if len(line) == 0 {
			return
		}
		var out bytes.Buffer
		c := &stdio{out: &out, open: newOpenCalls(0), broken: make(chan struct{})}
		c.take(line)
		for _, answer := range strings.Split(strings.TrimSpace(out.String()), "\n") {
			if answer == "" {
				continue
			}
			if _, err := parse(answer); err != nil {
				t.Fatal(err)
			}
		}
		var m map[string]json.RawMessage
		if !utf8.Valid(line) || json.Unmarshal(line, &m) != nil || bytes.Count(line, []byte(`"id"`)) != bytes.Count(line, []byte(`id`)) {
			return
		}
		if id := idOf(line, line); id != nil && bytes.Count(line, []byte(`"id"`)) == 1 && string(m["id"]) != string(id) {
			t.Fatalf("found id %s, it is %s", id, m["id"])
		}
	})
}
