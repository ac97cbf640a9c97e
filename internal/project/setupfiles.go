package project

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"holdfast/internal/client"
	"holdfast/internal/durable"
	"holdfast/internal/secret"
)

// setupFile is what lies at a path that setup may edit.
type setupFile struct {
	client.FileFacts
	real   string // absolute, without links; where the file is or would be made
	locked string // why it can't be written, which matters only if it must be
}

// setupFacts looks at a path of the project, whatever lies there.
func (p *Project) setupFacts(path string) setupFile {
	abs := filepath.Join(p.loc.top, filepath.FromSlash(path))
	f := setupFile{}
	real, err := realPath(abs)
	if err != nil {
		f.Problem = problemOf(err)
		return f
	}
	f.real = real
	if real != abs {
		f.Real = p.relative(real)
	}
	if f.Problem = p.offLimits(real); f.Problem != "" {
		return f
	}
	info, err := os.Lstat(real)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		f.locked = p.unwritable(nearest(filepath.Dir(real)))
	case err != nil:
		f.Problem = problemOf(err)
	default:
		p.readFacts(&f, info)
	}
	return f
}

func (p *Project) readFacts(f *setupFile, info fs.FileInfo) {
	dir, err := p.w.Layer.OpenForeignDir(filepath.Dir(f.real))
	if err != nil {
		f.Problem = problemOf(err)
		return
	}
	defer dir.Close()
	if info.Mode().IsRegular() && info.Mode().Perm()&0o400 == 0 {
		f.Problem = fmt.Sprintf("it can't be read (mode %04o)", info.Mode().Perm())
		return
	}
	f.Data, err = dir.ReadFile(filepath.Base(f.real), client.MaxFile)
	if err != nil {
		f.Problem = problemOf(err)
		return
	}
	f.Exists = true
	f.locked = p.unwritable(filepath.Dir(f.real))
	if info.Mode().Perm()&0o200 == 0 {
		f.locked = fmt.Sprintf("it is not writable (mode %04o)", info.Mode().Perm())
	}
}

// realPath follows links as far as the path exists. A link to nowhere is an
// error: nothing is made through one.
func realPath(path string) (string, error) {
	real, err := filepath.EvalSymlinks(path)
	if err == nil || !errors.Is(err, fs.ErrNotExist) {
		return real, err
	}
	if _, lerr := os.Lstat(path); lerr == nil {
		return "", errDangling
	}
	if path == filepath.Dir(path) {
		return "", err
	}
	dir, err := realPath(filepath.Dir(path))
	if err != nil {
		return "", err
	}
	if info, serr := os.Stat(dir); serr == nil && !info.IsDir() {
		return "", syscall.ENOTDIR
	}
	return filepath.Join(dir, filepath.Base(path)), nil
}

var errDangling = errors.New("it is a link that leads nowhere")

// problemOf is a reason not to touch a file, in words.
func problemOf(err error) string {
	unsafe, isUnsafe := errors.AsType[*durable.UnsafeFileError](err)
	large, isLarge := errors.AsType[*durable.TooLargeError](err)
	switch {
	case errors.Is(err, errDangling):
		return err.Error()
	case isUnsafe && strings.HasPrefix(unsafe.Why, "has "):
		return "it " + unsafe.Why + " (hard links), which an edit would part"
	case isUnsafe && strings.HasPrefix(unsafe.Why, "belongs"):
		return "it " + unsafe.Why
	case isUnsafe:
		return "there is " + unsafe.Why
	case isLarge:
		return fmt.Sprintf("the file has %d bytes, more than the limit of %d", large.Size, large.Limit)
	case errors.Is(err, fs.ErrPermission):
		return "it can't be read (permission denied)"
	case errors.Is(err, syscall.ENOTDIR):
		return "a file is in the place of a folder above it"
	case errors.Is(err, syscall.ELOOP), strings.Contains(err.Error(), "too many links"):
		return "its links lead in a circle"
	}
	return sentence(err)
}

// userFolders are where clients keep a user's own settings, below the home
// folder. A link from a project into one is not followed.
var userFolders = []string{".codex", ".claude", ".claude.json", ".cursor", ".gemini", ".copilot", ".vscode", ".agents", ".config", "Library", "AppData"}

// offLimits says why nothing is written at a real path, or nothing.
func (p *Project) offLimits(real string) string {
	home := resolved(p.w.Home)
	inside, inProject := within(p.loc.top, real)
	if inProject {
		first, _, _ := strings.Cut(filepath.ToSlash(inside), "/")
		if first == ".git" || real == p.Path() || strings.HasPrefix(real, p.Path()+string(filepath.Separator)) {
			return "it leads into " + first + ", where setup writes nothing"
		}
		return ""
	}
	inside, inHome := within(home, real)
	if p.w.Home == "" || !inHome {
		return "it leads outside the project and the home folder"
	}
	first, _, _ := strings.Cut(filepath.ToSlash(inside), "/")
	for _, u := range userFolders {
		if first == u {
			return "it leads to this user's own settings, which setup never touches"
		}
	}
	return ""
}

// within gives the part of path below dir.
func within(dir, path string) (string, bool) {
	rel, err := filepath.Rel(dir, path)
	if err != nil || rel == ".." || strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
		return "", false
	}
	return rel, true
}

// relative names a real path as seen from the project.
func (p *Project) relative(real string) string {
	if rel, err := filepath.Rel(p.loc.top, real); err == nil {
		return filepath.ToSlash(rel)
	}
	return filepath.ToSlash(real)
}

// nearest is the first folder of a path, from its end, that is there.
func nearest(dir string) string {
	for !isDir(dir) && dir != filepath.Dir(dir) {
		dir = filepath.Dir(dir)
	}
	return dir
}

// unwritable says why no file can be made in a folder, or nothing.
func (p *Project) unwritable(dir string) string {
	if err := canWrite(dir); err != nil {
		return "its folder is not writable (" + errnoText(err) + ")"
	}
	return ""
}

func errnoText(err error) string {
	if n, ok := errors.AsType[syscall.Errno](err); ok {
		return n.Error()
	}
	return sentence(err)
}

func lexists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// lookPath finds a program in a PATH list. Empty and relative entries don't
// count: they would mean the folder that a client happens to stand in.
func (w *World) lookPath(program, list string) string {
	names := []string{program}
	if w.OS == "windows" {
		names = []string{program + ".exe", program + ".cmd", program + ".bat"}
	}
	for _, dir := range filepath.SplitList(list) {
		if !filepath.IsAbs(dir) {
			continue
		}
		for _, n := range names {
			path := filepath.Join(dir, n)
			info, err := os.Stat(path)
			if err == nil && info.Mode().IsRegular() && (w.OS == "windows" || info.Mode().Perm()&0o111 != 0) {
				return path
			}
		}
	}
	return ""
}

// maskContext leaves out of a diff the lines that look like secrets: an edit
// beside one shows it, and one that gets a comma comes as a new line.
func (p *Project) maskContext(diff string) string {
	lines := strings.SplitAfter(diff, "\n")
	for i, l := range lines {
		if len(l) < 9 || !strings.Contains(" +-", l[:1]) || strings.HasPrefix(l, "--- ") || strings.HasPrefix(l, "+++ ") {
			continue
		}
		if len(p.screen.Check([]secret.Field{{Name: "line", Text: l[1:]}})) > 0 {
			lines[i] = l[:1] + "[a line that may hold a secret is not shown]\n"
		}
	}
	return strings.Join(lines, "")
}
