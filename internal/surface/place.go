package surface

import (
	"path/filepath"
	"strings"

	"golang.org/x/text/unicode/norm"

	"holdfast/internal/ledger"
)

// Place is a surface after it was resolved. Package txn has a type of the same
// shape.
type Place struct {
	Surface  string // as it is shown and looked at, such as file:notes.md
	Identity string // where two spellings can name one thing: what they have in common; else empty
	Outside  bool   // an absolute path under an allowed folder
	Fold     bool   // letter case doesn't tell names apart there
}

// PlaceError says why a text names no surface that can be looked at. Why never
// holds the text.
type PlaceError struct{ Why string }

func (e *PlaceError) Error() string { return e.Why }

// Reasons why a place is refused.
var (
	errForm      = &PlaceError{"must be file:PATH, dir:PATH, git:ref:NAME, record:ID, probe:NAME or reported:NAME"}
	errOutside   = &PlaceError{"lies outside of the project"}
	errReserved  = &PlaceError{"lies in git's or Holdfast's own folder"}
	errAmbiguous = &PlaceError{"names two files that differ only in how their letters are encoded"}
	errRef       = &PlaceError{"is not a name that a git ref can have"}
	errName      = &PlaceError{"is not a name that a record or a probe can have"}
	errPath      = &PlaceError{"is not a path that this system can have"}
)

// kind is what stands before a surface's name.
type kind string

const (
	kindFile     kind = "file:"
	kindDir      kind = "dir:"
	kindRef      kind = "git:ref:"
	kindRecord   kind = "record:"
	kindProbe    kind = "probe:"
	kindReported kind = "reported:"
)

// Parse splits a surface's text. The error is a *PlaceError.
func Parse(text string) (prefix, name string, err error) {
	k, name, ok := split(text)
	if !ok {
		return "", "", errForm
	}
	return string(k), name, nil
}

func split(text string) (kind, string, bool) {
	for _, k := range []kind{kindFile, kindDir, kindRef, kindRecord, kindProbe, kindReported} {
		if name, ok := strings.CutPrefix(text, string(k)); ok && name != "" && !strings.ContainsRune(name, 0) {
			return k, name, true
		}
	}
	return "", "", false
}

// Place resolves a surface's text: every spelling of one thing gives the same
// identity. Paths are relative to the top of the caller's worktree; roots are
// folders outside of it that a person allowed. The error is a *PlaceError.
func (o *Observer) Place(text string, roots []string) (Place, error) {
	k, name, ok := split(text)
	if !ok {
		return Place{}, errForm
	}
	switch k {
	case kindFile, kindDir:
		return o.placePath(k, name, roots)
	case kindRef:
		full, ok := fullRef(name)
		if !ok {
			return Place{}, errRef
		}
		return Place{Surface: string(k) + full}, nil
	case kindReported:
		name = norm.NFC.String(strings.TrimSpace(name))
		if name == "" {
			return Place{}, errForm
		}
		return Place{Surface: string(k) + name}, nil
	}
	if !ledger.ValidID(name) {
		return Place{}, errName
	}
	return Place{Surface: string(k) + name}, nil
}

// fullRef gives a ref its full name: a short one is a branch. The rules are
// those of git-check-ref-format(1).
func fullRef(name string) (string, bool) {
	if name == "HEAD" {
		return name, true
	}
	if !strings.HasPrefix(name, "refs/") {
		name = "refs/heads/" + name
	}
	if len(name) > 1000 || strings.Contains(name, "..") || strings.Contains(name, "@{") || strings.HasSuffix(name, ".") {
		return "", false
	}
	for i := 0; i < len(name); i++ {
		if c := name[i]; c < 0x20 || c == 0x7f || strings.IndexByte(" ~^:?*[\\", c) >= 0 {
			return "", false
		}
	}
	for part := range strings.SplitSeq(name, "/") {
		if part == "" || part[0] == '.' || strings.HasSuffix(part, ".lock") {
			return "", false
		}
	}
	return name, true
}

func (o *Observer) placePath(k kind, name string, roots []string) (Place, error) {
	top := o.tops[o.worktree]
	if top == "" {
		return Place{}, errOutside
	}
	if len(name) > ledger.MaxPath {
		return Place{}, errPath
	}
	abs, err := o.walk(top, name)
	if err != nil {
		return Place{}, err
	}
	rel, inside := below(abs, top)
	p := Place{Fold: o.folds(top)}
	if !inside {
		root, ok := rootOf(abs, roots)
		if !ok {
			return Place{}, errOutside
		}
		rel, _ = below(abs, root)
		p = Place{Fold: o.folds(root), Outside: true}
	}
	if rel != "." && !filepath.IsLocal(filepath.FromSlash(rel)) {
		return Place{}, errPath
	}
	if reserved(rel) {
		return Place{}, errReserved
	}
	shown := rel
	if p.Outside {
		shown = filepath.ToSlash(abs)
	}
	p.Surface = string(k) + shown
	if id := canonical(shown, p.Fold); id != shown {
		p.Identity = string(k) + id
	}
	return p, nil
}

// canonical gives a path the form that its spellings share: composed, and in
// lower case where the file system doesn't tell case apart.
func canonical(path string, fold bool) string {
	if fold {
		path = strings.ToLower(norm.NFC.String(path))
	}
	return norm.NFC.String(path)
}

// below gives abs as a slash path relative to dir, "." for dir itself.
func below(abs, dir string) (string, bool) {
	if abs == dir {
		return ".", true
	}
	prefix := strings.TrimSuffix(dir, string(filepath.Separator)) + string(filepath.Separator)
	if !strings.HasPrefix(abs, prefix) {
		return "", false
	}
	return filepath.ToSlash(abs[len(prefix):]), true
}

// rootOf finds the allowed folder that abs lies in, with its links resolved.
func rootOf(abs string, roots []string) (string, bool) {
	for _, r := range roots {
		real, err := filepath.EvalSymlinks(r)
		if err != nil || !filepath.IsAbs(real) {
			continue
		}
		if _, ok := below(abs, real); ok {
			return real, true
		}
	}
	return "", false
}

// reserved reports whether a part of a slash path names git's folder or ours.
func reserved(path string) bool {
	for part := range strings.SplitSeq(path, "/") {
		if reservedName(part) {
			return true
		}
	}
	return false
}

func reservedName(name string) bool {
	return strings.EqualFold(name, ".git") || strings.EqualFold(name, ".holdfast")
}
