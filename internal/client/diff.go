package client

import (
	"bytes"
	"fmt"
	"strings"
)

// Diff shows a change as a unified diff for people. Whether anything differs is
// decided on bytes; a nil side is a file that is not there. What an eye would
// miss is said on lines that start with a backslash: line ends, white space at
// the end, the form of letters, the last digit of a number, a missing final
// line end. Control characters are shown, never sent. Long lines are cut around
// what differs. An empty string means that the bytes are the same.
func Diff(path string, before, after []byte) string {
	if (before == nil) == (after == nil) && bytes.Equal(before, after) {
		return ""
	}
	var b strings.Builder
	name := visible(path)
	from, to := "a/"+name, "b/"+name
	if before == nil {
		from = "/dev/null"
	}
	if after == nil {
		to = "/dev/null"
	}
	fmt.Fprintf(&b, "--- %s\n+++ %s\n", from, to)
	if len(before)+len(after) == 0 {
		b.WriteString("\\ the file is empty\n")
		return b.String()
	}
	d := differ{old: lines(before), new: lines(after), mixed: mixedEnds(before, after)}
	d.compare()
	d.write(&b)
	return b.String()
}

// lines splits a text behind each line end.
func lines(data []byte) []string {
	if len(data) == 0 {
		return nil
	}
	out := strings.SplitAfter(string(data), "\n")
	if out[len(out)-1] == "" {
		out = out[:len(out)-1]
	}
	return out
}

// mixedEnds reports whether two texts together use more than one line end.
func mixedEnds(a, b []byte) bool {
	crlf := bytes.Count(a, []byte("\r\n")) + bytes.Count(b, []byte("\r\n"))
	lf := bytes.Count(a, []byte("\n")) + bytes.Count(b, []byte("\n"))
	return crlf > 0 && crlf < lf
}

// op is one line of a diff: ' ' in both, '-' only in the old, '+' only in the new.
type op struct {
	kind     byte
	old, new int // indexes of lines
}

type differ struct {
	old, new []string
	mixed    bool
	ops      []op
}

// maxTable is the largest table for a line-by-line comparison; beyond it the
// middle is shown as replaced.
const maxTable = 4 << 20

// compare finds a longest common sequence of lines between the common start and
// the common end.
func (d *differ) compare() {
	n, m := len(d.old), len(d.new)
	head := 0
	for head < n && head < m && d.old[head] == d.new[head] {
		d.ops = append(d.ops, op{' ', head, head})
		head++
	}
	tail := 0
	for tail < n-head && tail < m-head && d.old[n-1-tail] == d.new[m-1-tail] {
		tail++
	}
	d.middle(head, n-tail, m-tail)
	for i := tail; i > 0; i-- {
		d.ops = append(d.ops, op{' ', n - i, m - i})
	}
}

func (d *differ) middle(head, n, m int) {
	i, j := head, head
	if rows, cols := n-head+1, m-head+1; rows*cols <= maxTable {
		table := make([]int32, rows*cols)
		at := func(i, j int) *int32 { return &table[(i-head)*cols+j-head] }
		for i := n - 1; i >= head; i-- {
			for j := m - 1; j >= head; j-- {
				if d.old[i] == d.new[j] {
					*at(i, j) = *at(i+1, j+1) + 1
				} else {
					*at(i, j) = max(*at(i+1, j), *at(i, j+1))
				}
			}
		}
		for i < n && j < m {
			switch {
			case d.old[i] == d.new[j]:
				d.ops = append(d.ops, op{' ', i, j})
				i, j = i+1, j+1
			case *at(i+1, j) >= *at(i, j+1):
				d.ops = append(d.ops, op{'-', i, j})
				i++
			default:
				d.ops = append(d.ops, op{'+', i, j})
				j++
			}
		}
	}
	for ; i < n; i++ {
		d.ops = append(d.ops, op{'-', i, j})
	}
	for ; j < m; j++ {
		d.ops = append(d.ops, op{'+', i, j})
	}
}

// context is the number of unchanged lines around a change.
const context = 3

// write prints the hunks.
func (d *differ) write(b *strings.Builder) {
	for i := 0; i < len(d.ops); {
		if d.ops[i].kind == ' ' {
			i++
			continue
		}
		start := max(0, i-context)
		end, quiet := i, 0
		for end < len(d.ops) && quiet <= 2*context {
			if d.ops[end].kind == ' ' {
				quiet++
			} else {
				quiet = 0
			}
			end++
		}
		if quiet > context {
			end -= quiet - context
		}
		d.hunk(b, d.ops[start:end])
		i = end
	}
}

func (d *differ) hunk(b *strings.Builder, ops []op) {
	olds, news := 0, 0
	for _, o := range ops {
		if o.kind != '+' {
			olds++
		}
		if o.kind != '-' {
			news++
		}
	}
	fmt.Fprintf(b, "@@ -%s +%s @@\n", extent(ops[0].old, olds), extent(ops[0].new, news))
	for i := 0; i < len(ops); {
		if ops[i].kind == ' ' {
			d.line(b, ' ', d.old[ops[i].old], "")
			i++
			continue
		}
		var gone, come []string
		for ; i < len(ops) && ops[i].kind != ' '; i++ {
			if ops[i].kind == '-' {
				gone = append(gone, d.old[ops[i].old])
			} else {
				come = append(come, d.new[ops[i].new])
			}
		}
		d.block(b, gone, come)
	}
}

// extent names a range of lines as unified diffs do.
func extent(start, n int) string {
	if n == 0 {
		return fmt.Sprintf("%d,0", start)
	}
	return fmt.Sprintf("%d,%d", start+1, n)
}

// block prints lines that went and lines that came; the n-th of both are
// compared letter by letter.
func (d *differ) block(b *strings.Builder, gone, come []string) {
	for i, l := range gone {
		other := ""
		if i < len(come) {
			other = come[i]
		}
		d.line(b, '-', l, other)
	}
	for i, l := range come {
		if i >= len(gone) {
			d.line(b, '+', l, "")
			continue
		}
		d.line(b, '+', l, gone[i])
		for _, n := range notes(gone[i], l) {
			fmt.Fprintf(b, "\\ %s\n", n)
		}
	}
}

func (d *differ) line(b *strings.Builder, kind byte, l, other string) {
	text, end := splitEnd(l)
	b.WriteByte(kind)
	b.WriteString(excerpt(text, other))
	if d.mixed && end == "\r\n" {
		b.WriteString("␍")
	}
	b.WriteByte('\n')
	if end == "" {
		b.WriteString("\\ No newline at end of file\n")
	}
}

func splitEnd(l string) (text, end string) {
	for _, e := range []string{"\r\n", "\n"} {
		if t, ok := strings.CutSuffix(l, e); ok {
			return t, e
		}
	}
	return l, ""
}
