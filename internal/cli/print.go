package cli

import (
	"bytes"
	"fmt"
	"strings"
	"sync"
	"time"
	"unicode/utf8"
)

// Styles of a terminal (ECMA-48, "Select graphic rendition").
const (
	reset  = "\x1b[0m"
	bold   = "\x1b[1m"
	dim    = "\x1b[2m"
	red    = "\x1b[31m"
	green  = "\x1b[32m"
	yellow = "\x1b[33m"
)

// printer collects an answer for people, styled for a terminal or plain.
type printer struct {
	bytes.Buffer
	color bool
	width int // columns; 0: no limit
}

func (p *printer) printf(format string, args ...any) { fmt.Fprintf(p, format, args...) }

func (p *printer) style(code, s string) string {
	if !p.color || s == "" {
		return s
	}
	return code + s + reset
}

// table aligns rows in columns two spaces apart. The last column is cut to what
// the terminal's width leaves.
func (p *printer) table(rows [][]string, style func(column int, cell string) string) {
	if len(rows) == 0 {
		return
	}
	widths := make([]int, len(rows[0]))
	for _, r := range rows {
		for i, c := range r {
			widths[i] = max(widths[i], utf8.RuneCountInString(c))
		}
	}
	for _, r := range rows {
		p.row(r, widths, style)
	}
}

func (p *printer) row(cells []string, widths []int, style func(int, string) string) {
	used := 0
	for i, c := range cells {
		if i == len(cells)-1 {
			if p.width > 0 {
				c = cut(c, max(20, p.width-used))
			}
			p.WriteString(p.styled(style, i, c))
			break
		}
		p.WriteString(p.styled(style, i, c))
		pad := widths[i] - utf8.RuneCountInString(c) + 2
		p.WriteString(strings.Repeat(" ", pad))
		used += widths[i] + 2
	}
	p.WriteString("\n")
}

func (p *printer) styled(style func(int, string) string, i int, c string) string {
	if style == nil || !p.color {
		return c
	}
	return style(i, c)
}

// cut shortens s to n code points.
func cut(s string, n int) string {
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	r := []rune(s)
	return string(r[:n-1]) + "…"
}

// slow is how long a command may be silent on a terminal.
const slow = 500 * time.Millisecond

func (a *app) showsProgress() bool {
	return a.ErrTTY && !a.json && !a.quiet && a.w.Getenv("TERM") != "dumb"
}

// progress says on a terminal that something takes longer. The function it
// returns takes the line away again.
func (a *app) progress() func() {
	if !a.showsProgress() {
		return func() {}
	}
	var mu sync.Mutex
	shown, over := false, false
	t := time.AfterFunc(slow, func() {
		mu.Lock()
		defer mu.Unlock()
		if !over {
			shown = true
			fmt.Fprint(a.Err, "holdfast: working...")
		}
	})
	return func() {
		t.Stop()
		mu.Lock()
		defer mu.Unlock()
		if shown {
			fmt.Fprint(a.Err, "\r\x1b[K")
		}
		shown, over = false, true
	}
}
