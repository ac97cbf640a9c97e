package check

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"holdfast/internal/git"
)

// MaxPlain is how many files are taken without git and without declared inputs.
const MaxPlain = 100_000

// maxListed bounds every list.
const maxListed = 2_000_000

// errFull: the limit of files was reached.
var errFull = errors.New("too many files")

// Tree is a worktree whose files are inputs. It lists each set once; make a new
// one for each look. It is not safe for concurrent use.
type Tree struct {
	Top  string
	Repo *git.Repo // nil without git
	Env  git.Env

	all     []string
	partial bool
	listed  bool
	sets    map[string]set
}

type set struct {
	files   []string
	partial bool
	err     error
}

// Files lists the inputs for the declared patterns, as slash paths from the
// top, sorted; without patterns, those of a check that declares none. dir is the
// folder that the check runs in. partial: the limit was reached.
func (t *Tree) Files(ctx context.Context, declared []string, dir string) (files []string, partial bool, err error) {
	key := dir + "\x00" + strings.Join(declared, "\x00")
	if s, ok := t.sets[key]; ok {
		return s.files, s.partial, s.err
	}
	files, partial, err = t.list(ctx, declared, dir)
	if t.sets == nil {
		t.sets = map[string]set{}
	}
	t.sets[key] = set{files, partial, err}
	return files, partial, err
}

func (t *Tree) list(ctx context.Context, declared []string, dir string) ([]string, bool, error) {
	if len(declared) == 0 {
		return t.everything(ctx)
	}
	var files []string
	places := map[string]bool{".": true}
	up(places, dir)
	for _, d := range declared {
		p, err := ParsePattern(d, ".")
		if err != nil {
			return nil, false, err
		}
		found, err := t.expand(ctx, &p)
		if err != nil {
			return nil, false, err
		}
		files = append(files, found...)
		up(places, p.base)
		if len(files) > maxListed {
			return nil, false, errFull
		}
	}
	files = append(files, t.manifests(places)...)
	slices.Sort(files)
	return slices.Compact(files), false, nil
}

// up adds a folder and those above it.
func up(places map[string]bool, dir string) {
	for d := path.Clean(dir); d != "." && d != "/" && !strings.HasPrefix(d, ".."); d = path.Dir(d) {
		places[d] = true
	}
}

// manifests finds the manifests and lock files in some folders.
func (t *Tree) manifests(places map[string]bool) []string {
	var out []string
	for dir := range places {
		if t.outside(dir) {
			continue
		}
		entries, err := os.ReadDir(t.full(dir))
		if err != nil {
			continue // a file, or gone
		}
		for _, e := range entries {
			if ecosystem(e.Name()) && !e.IsDir() {
				out = append(out, path.Join(dir, e.Name()))
			}
		}
	}
	return out
}

func (t *Tree) full(rel string) string { return filepath.Join(t.Top, filepath.FromSlash(rel)) }

// outside reports whether links lead a path out of the worktree.
func (t *Tree) outside(rel string) bool {
	real, err := filepath.EvalSymlinks(t.full(rel))
	return err == nil && !below(real, t.Top)
}

func below(p, top string) bool {
	return p == top || strings.HasPrefix(p, strings.TrimSuffix(top, string(filepath.Separator))+string(filepath.Separator))
}

// expand lists the files of one pattern. A link is listed and not entered.
func (t *Tree) expand(ctx context.Context, p *Pattern) ([]string, error) {
	if t.outside(path.Dir(p.base)) || p.re != nil && t.outside(p.base) {
		return nil, &PatternError{Pattern: p.Text, Why: "leads out of the project through a link"}
	}
	info, err := os.Lstat(t.full(p.base))
	if err != nil {
		return nil, nil // nothing there, now
	}
	if !info.IsDir() {
		if p.Match(p.base) {
			return []string{p.base}, nil
		}
		if info.Mode()&fs.ModeSymlink == 0 {
			return nil, nil
		}
	}
	var out []string
	err = t.walk(ctx, p.base, func(rel string, d fs.DirEntry) (skip bool, err error) {
		if d.IsDir() {
			return false, nil
		}
		if p.Match(rel) {
			out = append(out, rel)
		}
		if len(out) > maxListed {
			return false, errFull
		}
		return false, nil
	})
	return out, err
}

// walk visits what lies below a folder in no order, never .git and .holdfast. What
// can't be listed has no files: it vanished or is closed to us.
func (t *Tree) walk(ctx context.Context, base string, visit func(string, fs.DirEntry) (bool, error)) error {
	info, err := os.Lstat(t.full(base))
	if err != nil {
		return nil
	}
	if !info.IsDir() {
		_, err := visit(base, fs.FileInfoToDirEntry(info))
		return err
	}
	return t.walkFolder(ctx, base, visit)
}

func (t *Tree) walkFolder(ctx context.Context, folder string, visit func(string, fs.DirEntry) (bool, error)) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	entries, _ := os.ReadDir(t.full(folder))
	prefix := folder + "/"
	if folder == "." {
		prefix = ""
	}
	for _, e := range entries {
		rel := prefix + e.Name()
		if e.Name() == ".git" || rel == ".holdfast" {
			continue
		}
		skip, err := visit(rel, e)
		if err == nil && e.IsDir() && !skip {
			err = t.walkFolder(ctx, rel, visit)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// everything is what a check rests on that declares nothing.
func (t *Tree) everything(ctx context.Context) ([]string, bool, error) {
	if t.listed {
		return t.all, t.partial, nil
	}
	var err error
	if t.Repo != nil && t.Repo.Top != "" {
		t.all, err = t.ofRepo(ctx, t.Repo, "", 8)
	} else {
		t.all, t.partial, err = t.plain(ctx)
	}
	if err != nil {
		return nil, false, err
	}
	t.all = slices.DeleteFunc(t.all, bytecode)
	slices.Sort(t.all)
	t.listed = true
	return t.all, t.partial, nil
}

// bytecode is written by Python beside what it reads, and made anew from it.
func bytecode(file string) bool {
	return strings.HasPrefix(file, "__pycache__/") || strings.Contains(file, "/__pycache__/")
}

// ofRepo takes the tracked and unignored files, also of submodules.
func (t *Tree) ofRepo(ctx context.Context, r *git.Repo, prefix string, depth int) ([]string, error) {
	files, err := r.Files(ctx)
	if err != nil {
		return nil, err
	}
	if prefix != "" {
		for i := range files {
			files[i] = prefix + "/" + files[i]
		}
	}
	if _, err := os.Lstat(filepath.Join(r.Top, ".gitmodules")); err != nil || depth == 0 {
		return files, nil
	}
	text, err := os.ReadFile(filepath.Join(r.Top, ".gitmodules"))
	if err != nil {
		return files, nil
	}
	for _, sub := range modulePaths(text) {
		dir := filepath.Join(r.Top, filepath.FromSlash(sub))
		if real, err := filepath.EvalSymlinks(dir); err != nil || real != dir || !below(real, t.Top) || real == t.Top {
			continue
		}
		repo, err := git.Find(ctx, t.Env, dir)
		if err != nil || repo.Top != dir {
			continue // not checked out
		}
		more, err := t.ofRepo(ctx, repo, path.Join(prefix, sub), depth-1)
		if err != nil {
			return nil, err
		}
		files = append(files, more...)
	}
	return files, nil
}

// modulePaths reads the paths in a .gitmodules file. Source: gitmodules(5).
func modulePaths(text []byte) []string {
	var out []string
	for line := range strings.Lines(string(text)) {
		k, v, ok := strings.Cut(strings.TrimSpace(line), "=")
		if v = strings.Trim(strings.TrimSpace(v), `"`); ok && strings.TrimSpace(k) == "path" && v != "" && path.Clean(v) == v && !path.IsAbs(v) && !strings.HasPrefix(v, "..") {
			out = append(out, v)
		}
	}
	return out
}

// derived folders are not looked into without git, where nothing says what is
// ignored.
var derived = []string{"node_modules", "vendor", "target", "dist", "__pycache__"}

func (t *Tree) plain(ctx context.Context) ([]string, bool, error) {
	var out []string
	err := t.walk(ctx, ".", func(rel string, d fs.DirEntry) (bool, error) {
		if d.IsDir() {
			return strings.HasPrefix(d.Name(), ".") || slices.Contains(derived, d.Name()), nil
		}
		if len(out) == MaxPlain {
			return false, errFull
		}
		out = append(out, rel)
		return false, nil
	})
	if errors.Is(err, errFull) {
		return out, true, nil
	}
	return out, false, err
}
