package client

import (
	"bytes"
	"fmt"
	"unicode/utf8"
)

// bom is the UTF-8 byte order mark. It is read past, put back, never written
// into a file we create.
const bom = "\xef\xbb\xbf"

// bomLen is the number of bytes of a byte order mark at the start.
func bomLen(data []byte) int {
	if bytes.HasPrefix(data, []byte(bom)) {
		return len(bom)
	}
	return 0
}

// checkText refuses what is not UTF-8 text of a sensible size. Messages name
// bytes, since a mark or a broken sequence can't be seen in an editor.
func checkText(data []byte) error {
	if len(data) > MaxFile {
		return flawAt(-1, "the file has %d bytes, more than the limit of %d", len(data), MaxFile)
	}
	for _, m := range []struct{ bytes, name string }{
		{"\xff\xfe\x00\x00", "UTF-32"}, {"\x00\x00\xfe\xff", "UTF-32"},
		{"\xff\xfe", "UTF-16"}, {"\xfe\xff", "UTF-16"},
	} {
		if bytes.HasPrefix(data, []byte(m.bytes)) {
			return flawAt(0, "the file starts with the bytes % X: it is %s, not UTF-8", m.bytes, m.name)
		}
	}
	for i := 0; i < len(data); {
		r, n := utf8.DecodeRune(data[i:])
		if r == utf8.RuneError && n <= 1 {
			return flawAt(i, "the byte %02X is not valid UTF-8", data[i])
		}
		if r == 0 {
			return flawAt(i, "the file holds a byte 00, as UTF-16 text does")
		}
		i += n
	}
	return nil
}

// eolAt is the line end to use for text inserted at off: that of the nearest
// line before it, else of the next one, else a newline.
func eolAt(data []byte, off int) string {
	i := bytes.LastIndexByte(data[:off], '\n')
	if i < 0 {
		i = bytes.IndexByte(data, '\n')
	}
	if i > 0 && data[i-1] == '\r' {
		return "\r\n"
	}
	return "\n"
}

// lineStart is the offset of the first byte of the line that holds off.
func lineStart(data []byte, off int) int {
	i := bytes.LastIndexByte(data[:off], '\n') + 1
	if i == 0 {
		return min(bomLen(data), off)
	}
	return i
}

// lineIndent is the white space at the start of the line that holds off.
func lineIndent(data []byte, off int) string {
	start := lineStart(data, off)
	end := start
	for end < off && (data[end] == ' ' || data[end] == '\t') {
		end++
	}
	return string(data[start:end])
}

// lineEnd is the offset behind the line end that follows off.
func lineEnd(data []byte, off int) int {
	if i := bytes.IndexByte(data[off:], '\n'); i >= 0 {
		return off + i + 1
	}
	return len(data)
}

// cutLines widens whole lines that are to go by the blank line before them,
// when nothing or another blank line follows: that is the one setup added.
func cutLines(d []byte, from, to int) (int, int) {
	after := d[to:lineEnd(d, to)]
	if from > bomLen(d) && len(bytes.TrimSpace(after)) == 0 {
		prev := lineStart(d, from-1)
		if len(bytes.TrimSpace(d[prev:from])) == 0 {
			from = prev
		}
	}
	return from, to
}

// position turns an offset into line and column, both from 1.
func position(data []byte, off int) (line, col int) {
	off = min(off, len(data))
	line = bytes.Count(data[:off], []byte{'\n'}) + 1
	return line, utf8.RuneCount(data[lineStart(data, off):off]) + 1
}

// refuse turns a reason into the error that callers see.
func refuse(t Target, data []byte, err error) *RefusedError {
	out := &RefusedError{Path: t.Path, Why: err.Error(), Snippet: snippet(t)}
	f, ok := err.(*flaw)
	switch {
	case !ok:
		out.Why = fmt.Sprintf("edit: %v", err)
	case f.line > 0:
		out.Line, out.Col = f.line, f.col
	case f.off >= 0:
		out.Line, out.Col = position(data, f.off)
	}
	return out
}
