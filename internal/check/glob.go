package check

import (
	"path"
	"path/filepath"
	"regexp"
	"strings"
)

// Pattern is one declared input: a file, a folder with all below it, or a glob
// with *, ?, [abc] and ** (any number of folders).
type Pattern struct {
	Text string // slash path relative to the worktree's top
	base string // the folders before the first wildcard
	re   *regexp.Regexp
}

// ParsePattern reads a pattern that was given in dir, a slash path relative to
// the top ("." for the top). The error is a *PatternError.
func ParsePattern(given, dir string) (Pattern, error) {
	bad := func(why string) (Pattern, error) { return Pattern{}, &PatternError{Pattern: given, Why: why} }
	if given == "" || strings.ContainsAny(given, "\x00\n\r") {
		return bad("is empty or has a line break")
	}
	s := filepath.ToSlash(given)
	if path.IsAbs(s) || filepath.IsAbs(given) || filepath.VolumeName(given) != "" {
		return bad("must be relative to the project")
	}
	s = path.Clean(path.Join(dir, s))
	if s == ".." || strings.HasPrefix(s, "../") {
		return bad("lies outside of the project")
	}
	first, _, _ := strings.Cut(s, "/")
	if first == ".git" || first == ".holdfast" {
		return bad("lies in .git or .holdfast")
	}
	p := Pattern{Text: s, base: s}
	if !strings.ContainsAny(s, "*?[") {
		return p, nil
	}
	if len(s) > 1024 || strings.Count(s, "*") > 32 {
		return bad("is too long")
	}
	p.base = "."
	if head := s[:strings.IndexAny(s, "*?[")]; strings.Contains(head, "/") {
		p.base = head[:strings.LastIndexByte(head, '/')]
	}
	re, err := regexp.Compile(globRegexp(s))
	if err != nil {
		return bad("is no glob")
	}
	p.re = re
	return p, nil
}

// globRegexp writes a glob as a regular expression, which takes linear time.
func globRegexp(s string) string {
	var b strings.Builder
	b.WriteString(`\A`)
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case strings.HasPrefix(s[i:], "**/") && (i == 0 || s[i-1] == '/'):
			b.WriteString(`(?s:.*/)?`)
			i += 2
		case s[i:] == "**" && (i == 0 || s[i-1] == '/'):
			b.WriteString(`(?s:.+)`)
			i++
		case c == '*':
			b.WriteString(`[^/]*`)
		case c == '?':
			b.WriteString(`[^/]`)
		case c == '[':
			n := classEnd(s[i:])
			if n == 0 {
				b.WriteString(`\[`)
				continue
			}
			class := s[i+1 : i+n]
			if class[0] == '!' {
				class = "^/" + class[1:]
			}
			b.WriteString("[" + strings.NewReplacer(`\`, `\\`, `[`, `\[`, `&`, `\&`).Replace(class) + "]")
			i += n
		default:
			b.WriteString(regexp.QuoteMeta(s[i : i+1]))
		}
	}
	b.WriteString(`\z`)
	return b.String()
}

// classEnd finds the ] of a class, 0: there is none.
func classEnd(s string) int {
	from := 1
	if from < len(s) && (s[from] == '!' || s[from] == '^') {
		from++
	}
	for i := from + 1; i < len(s); i++ {
		if s[i] == ']' {
			return i
		}
		if s[i] == '/' {
			break
		}
	}
	return 0
}

// Match reports whether a file is one of the pattern's.
func (p *Pattern) Match(file string) bool {
	if p.re != nil {
		return p.re.MatchString(file)
	}
	return p.Text == "." || file == p.Text || strings.HasPrefix(file, p.Text+"/")
}

// secretLooking inputs are hashed with the machine's key, so that nobody can
// try values against a ledger.
func secretLooking(file string) bool {
	base := strings.ToLower(path.Base(file))
	return strings.HasPrefix(base, ".env") || strings.HasSuffix(base, ".env") || strings.HasSuffix(base, ".pem") || strings.HasSuffix(base, ".key") ||
		strings.HasSuffix(base, ".p12") || strings.HasSuffix(base, ".pfx") || strings.HasPrefix(base, "id_") || strings.HasPrefix(base, "credentials") ||
		base == ".netrc" || base == ".npmrc" || base == ".pypirc" || strings.HasSuffix(base, ".tfvars") || strings.HasSuffix(base, ".keystore")
}

// ecosystems are the files by which a project says what it is built from.
var ecosystems = []string{
	"go.mod", "go.sum", "go.work", "go.work.sum", "package.json", "package-lock.json", "npm-shrinkwrap.json", "yarn.lock", "pnpm-lock.yaml", "bun.lock", "bun.lockb",
	"pyproject.toml", "uv.lock", "poetry.lock", "Pipfile", "Pipfile.lock", "setup.py", "setup.cfg", "tox.ini", "pytest.ini", "Cargo.toml", "Cargo.lock",
	"rust-toolchain", "rust-toolchain.toml", "Gemfile", "Gemfile.lock", "composer.json", "composer.lock", "pom.xml", "mix.exs", "mix.lock", "deno.json", "deno.lock",
	".tool-versions", ".nvmrc", ".python-version", ".ruby-version", "global.json", "Directory.Build.props", "packages.lock.json", "Makefile", "gradle.properties",
}

// ecosystem reports whether a file of that name is a manifest or a lock file.
func ecosystem(name string) bool {
	for _, e := range ecosystems {
		if name == e {
			return true
		}
	}
	return strings.HasPrefix(name, "requirements") && strings.HasSuffix(name, ".txt") || strings.Contains(name, ".gradle") ||
		strings.HasSuffix(name, ".csproj") || strings.HasSuffix(name, ".fsproj") || strings.HasSuffix(name, ".sln") || strings.HasSuffix(name, ".gemspec")
}
