package client

import (
	"bytes"
	"regexp"
	"strings"
	"sync"
)

// The markers around our block. They stand alone on their lines, at the start.
const (
	blockBegin   = "<!-- holdfast:begin v1 -->"
	blockEnd     = "<!-- holdfast:end -->"
	blockVersion = "1" // the versions we know: so far one
)

var (
	marker = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^<!-- *holdfast:(begin|end)(?: +v([0-9]+))? *-->[ \t]*$`)
	})
	suspect = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?i)<!--.*holdfast:\s*(begin|end)`) })
)

// mdoc is a Markdown file in one of the two states that are written to: no
// marker at all, or one ordered pair outside code fences and comments.
type mdoc struct {
	d          []byte
	start, end int   // of the block without its last line end; -1 when there is none
	open       *flaw // why nothing may be added at the end
}

func parseMarkdown(data []byte) (document, error) {
	m := &mdScan{mdoc: mdoc{d: data, start: -1, end: -1}}
	for off := bomLen(data); off < len(data); {
		next := off + bytes.IndexByte(data[off:], '\n') + 1
		if next == off {
			next = len(data)
		}
		line := strings.TrimSuffix(strings.TrimSuffix(string(data[off:next]), "\n"), "\r")
		if err := m.line(off, line); err != nil {
			return nil, err
		}
		off = next
	}
	switch {
	case m.start >= 0 && m.end < 0:
		return nil, flawAt(m.start, "a begin marker of ours has no end marker")
	case m.fence != "":
		m.open = flawAt(m.opened, "a code fence is never closed, so a block added at the end would be code")
	case m.comment:
		m.open = flawAt(m.opened, "a comment is never closed, so a block added at the end would be part of it")
	}
	return &m.mdoc, nil
}

// mdScan follows the blocks of CommonMark in which a marker is only text:
// fenced code and HTML comments.
type mdScan struct {
	mdoc
	fence   string // the run of the open fence
	comment bool
	opened  int
	version string
}

func (m *mdScan) line(off int, line string) error {
	hit := marker().FindStringSubmatch(line)
	odd := hit == nil && suspect().MatchString(line)
	switch {
	case m.fence != "" || m.comment:
		if hit != nil || odd {
			return flawAt(off, "a marker of ours stands in a code fence or a comment")
		}
	case odd:
		return flawAt(off, "this looks like a marker of ours, but does not stand alone at the start of its line")
	case hit != nil:
		return m.marker(off, line, hit[1], hit[2])
	}
	m.follow(off, line)
	return nil
}

func (m *mdScan) follow(off int, line string) {
	text := strings.TrimLeft(line, " ")
	indented := len(line)-len(text) > 3
	run := fenceRun(text)
	switch {
	case m.fence != "":
		if !indented && len(run) >= len(m.fence) && run[0] == m.fence[0] && strings.TrimSpace(text[len(run):]) == "" {
			m.fence = ""
		}
	case m.comment:
		m.comment = !strings.Contains(line, "-->")
	case indented:
	case run != "" && !(run[0] == '`' && strings.Contains(text[len(run):], "`")):
		m.fence, m.opened = run, off
	case strings.HasPrefix(text, "<!--"):
		m.comment, m.opened = !strings.Contains(text[len("<!--"):], "-->"), off
	}
}

// fenceRun is the run of three or more backticks or tildes at the start.
func fenceRun(text string) string {
	for _, c := range []string{"`", "~"} {
		if n := len(text) - len(strings.TrimLeft(text, c)); n >= 3 {
			return text[:n]
		}
	}
	return ""
}

func (m *mdScan) marker(off int, line, which, version string) error {
	if which == "begin" {
		switch {
		case m.start >= 0:
			return flawAt(off, "a second begin marker of ours")
		case version != blockVersion:
			return flawAt(off, "a begin marker of a version that is not known here")
		}
		m.start, m.version = off, version
		return nil
	}
	switch {
	case m.start < 0:
		return flawAt(off, "an end marker of ours has no begin marker before it")
	case m.end >= 0:
		return flawAt(off, "a second end marker of ours")
	case version != "" && version != m.version:
		return flawAt(off, "the end marker is of another version than the begin marker")
	}
	m.end = off + len(line)
	return nil
}

func (m *mdoc) look(it *Item) ([]found, error) {
	if m.start < 0 {
		return nil, nil
	}
	raw := string(m.d[m.start:m.end])
	var lines []string
	for _, l := range strings.Split(raw, "\n") {
		lines = append(lines, strings.TrimRight(l, " \t\r"))
	}
	return []found{{value: strings.Join(lines, "\n"), form: raw == m.text(it, m.start)}}, nil
}

func (m *mdoc) text(it *Item, off int) string {
	return strings.ReplaceAll(it.Want.(string), "\n", eolAt(m.d, off))
}

// insert puts the block at the end, behind one blank line.
func (m *mdoc) insert(it *Item) (edit, error) {
	if m.open != nil {
		return edit{}, m.open
	}
	n := len(m.d)
	eol := eolAt(m.d, n)
	text := m.text(it, n) + eol
	if n > bomLen(m.d) {
		text = gap(m.d, eol) + text
	}
	return edit{steps: []Step{{At: n, Text: text}}}, nil
}

// gap ends the last line of a text, where needed, and adds a blank line.
func gap(d []byte, eol string) string {
	switch {
	case !bytes.HasSuffix(d, []byte("\n")):
		return eol + eol
	case len(bytes.TrimSpace(lastLine(d))) > 0:
		return eol
	}
	return ""
}

// lastLine is the last whole line.
func lastLine(d []byte) []byte {
	d = bytes.TrimSuffix(d, []byte("\n"))
	return d[bytes.LastIndexByte(d, '\n')+1:]
}

func (m *mdoc) update(it *Item, _ found) ([]Step, error) {
	return []Step{{At: m.start, Was: string(m.d[m.start:m.end]), Text: m.text(it, m.start)}}, nil
}

func (m *mdoc) cut(*Item, found) ([]Step, error) {
	from, to := cutLines(m.d, m.start, lineEnd(m.d, m.end))
	return []Step{{At: from, Was: string(m.d[from:to])}}, nil
}

func (m *mdoc) prune(string) ([]Step, bool) { return nil, false }

func (m *mdoc) bare([]Item) bool { return len(bytes.TrimSpace(m.d[bomLen(m.d):])) == 0 }

// outline is the text outside the block, without blank lines.
func (m *mdoc) outline(skip []found, _ []string) string {
	text := string(m.d)
	if len(skip) > 0 && m.start >= 0 {
		text = text[:m.start] + "\n" + text[m.end:]
	}
	var out []string
	for _, l := range strings.Split(text, "\n") {
		if l = strings.TrimRight(l, " \t\r"); l != "" {
			out = append(out, l)
		}
	}
	return strings.Join(out, "\n")
}
