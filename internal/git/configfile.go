package git

import (
	"path/filepath"
	"strings"
)

// coreConfig is what git itself takes from a repository's config file before
// it knows the repository (read_repository_format: no includes).
type coreConfig struct {
	bare           *bool  // nil: not said
	worktree       string // core.worktree, "" if not said
	worktreeConfig bool   // extensions.worktreeConfig
}

// readCoreConfig reads config and, where the main worktree has its own,
// config.worktree. Unreadable files count as empty: git will complain.
func readCoreConfig(commonDir string) coreConfig {
	var c coreConfig
	if b, err := readRegular(filepath.Join(commonDir, "config"), maxConfig); err == nil {
		c.parse(b)
	}
	if c.worktreeConfig {
		if b, err := readRegular(filepath.Join(commonDir, "config.worktree"), maxConfig); err == nil {
			c.parse(b)
		}
	}
	return c
}

// parse understands the file format of git-config(1) as far as three variables
// without subsections need it.
func (c *coreConfig) parse(b []byte) {
	section := ""
	text := strings.TrimPrefix(string(b), "\ufeff")
	for len(text) > 0 {
		text = strings.TrimLeft(text, " \t\r\n")
		switch {
		case text == "":
		case text[0] == '#' || text[0] == ';':
			_, text, _ = strings.Cut(text, "\n")
		case text[0] == '[':
			section, text = configSection(text)
		default:
			var name, value string
			name, value, text = configLine(text)
			c.set(section+"."+strings.ToLower(name), value)
		}
	}
}

func (c *coreConfig) set(key, value string) {
	switch key {
	case "core.bare":
		b := configBool(value)
		c.bare = &b
	case "core.worktree":
		c.worktree = value
	case "extensions.worktreeconfig":
		c.worktreeConfig = configBool(value)
	}
}

// configSection reads "[name]" or `[name "sub"]`. A subsection makes the name
// one that nothing here asks for.
func configSection(text string) (name, rest string) {
	i := strings.IndexAny(text, "]\"\n")
	switch {
	case i < 0:
		return "?", ""
	case text[i] == ']':
		return strings.ToLower(strings.TrimSpace(text[1:i])), text[i+1:]
	case text[i] == '\n':
		return "?", text[i+1:]
	}
	for i++; i < len(text) && text[i] != '"' && text[i] != '\n'; i++ {
		if text[i] == '\\' {
			i++
		}
	}
	if i >= len(text) {
		return "?", ""
	}
	_, rest, _ = strings.Cut(text[i:], "]")
	return "?", rest
}

// configLine reads "name = value" to the end of its line or lines. A name alone
// is the boolean true.
func configLine(text string) (name, value, rest string) {
	end := strings.IndexAny(text, "=\n")
	if end < 0 {
		return strings.TrimSpace(text), "true", ""
	}
	name = strings.TrimSpace(text[:end])
	if text[end] == '\n' {
		return name, "true", text[end+1:]
	}
	value, rest = configValue(text[end+1:])
	return name, value, rest
}

// configValue undoes quotes, escapes, continued lines and comments.
func configValue(text string) (value, rest string) {
	var out strings.Builder
	quoted, keep := false, 0 // keep: length up to the last byte that isn't trailing space
	text = strings.TrimLeft(text, " \t")
	for i := 0; i < len(text); i++ {
		switch ch := text[i]; {
		case ch == '\n':
			return out.String()[:keep], text[i+1:]
		case ch == '\\' && i+1 < len(text):
			i++
			if text[i] == '\r' && i+1 < len(text) && text[i+1] == '\n' {
				i++
			}
			if text[i] == '\n' {
				continue
			}
			out.WriteByte(unescape(text[i]))
			keep = out.Len()
		case ch == '"':
			quoted = !quoted
			keep = out.Len()
		case !quoted && (ch == '#' || ch == ';'):
			_, rest, _ = strings.Cut(text[i:], "\n")
			return out.String()[:keep], rest
		default:
			out.WriteByte(ch)
			if quoted || (ch != ' ' && ch != '\t' && ch != '\r') {
				keep = out.Len()
			}
		}
	}
	return out.String()[:keep], ""
}

func unescape(ch byte) byte {
	switch ch {
	case 'n':
		return '\n'
	case 't':
		return '\t'
	case 'b':
		return '\b'
	}
	return ch
}

// configBool is git_parse_maybe_bool, with what git would refuse taken as false.
func configBool(s string) bool {
	switch strings.ToLower(s) {
	case "true", "yes", "on":
		return true
	case "", "false", "no", "off":
		return false
	}
	n := strings.TrimLeft(s, "+-0")
	return n != "" && strings.Trim(n, "0123456789") == ""
}
