package surface

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// maxLinks is how many links a path may lead through (SYMLOOP_MAX of Linux).
const maxLinks = 40

// walk resolves a path as the operating system would, but for its last
// component, which is never followed: symbolic links of parents are replaced
// by where they lead, ".." goes up from where it really is. What doesn't exist
// is resolved by its text; so is what can't be read, whose look will be unknown.
func (o *Observer) walk(start, path string) (string, error) {
	cur := start
	if filepath.IsAbs(path) {
		cur = filepath.VolumeName(path) + string(filepath.Separator)
		path = path[len(filepath.VolumeName(path)):]
	}
	rest := parts(path)
	links := 0
	for len(rest) > 0 {
		name := rest[0]
		rest = rest[1:]
		if name == ".." {
			cur = filepath.Dir(cur)
			continue
		}
		actual, info, err := o.entry(cur, name)
		if errors.Is(err, errAmbiguous) {
			return "", err
		}
		next := filepath.Join(cur, actual)
		if err == nil && o.denied(&info) {
			return "", errReserved
		}
		if len(rest) == 0 || err != nil || info.mode&fs.ModeSymlink == 0 {
			cur = next
			continue
		}
		target, err := os.Readlink(next)
		if links++; err != nil || links > maxLinks {
			cur = next
			continue
		}
		if filepath.IsAbs(target) {
			cur = filepath.VolumeName(target) + string(filepath.Separator)
			target = target[len(filepath.VolumeName(target)):]
		}
		rest = append(parts(target), rest...)
	}
	return cur, nil
}

// parts splits a path; empty parts and "." are nothing.
func parts(path string) []string {
	var out []string
	for _, p := range strings.FieldsFunc(path, isSeparator) {
		if p != "." {
			out = append(out, p)
		}
	}
	return out
}

func isSeparator(r rune) bool { return r == '/' || r == filepath.Separator }

// entry finds name in dir under the form that it has there: composed and
// decomposed letters, and where the file system says so the cases of a letter,
// are one name. Without such an entry it gives name as it is, and the error of
// the look.
func (o *Observer) entry(dir, name string) (string, stat, error) {
	return findEntry(name, func(n string) (stat, error) { return statInfo(filepath.Join(dir, n)) }, func() []string {
		if !o.folds(dir) {
			return nil
		}
		return namesIn(dir)
	})
}

func findEntry(name string, look func(string) (stat, error), list func() []string) (string, stat, error) {
	info, err := look(name)
	found, hit := name, err == nil
	for _, form := range forms(name) {
		other, oerr := look(form)
		switch {
		case oerr != nil:
		case !hit:
			found, info, err, hit = form, other, nil, true
		case !info.same(&other):
			return name, stat{}, errAmbiguous
		}
	}
	if hit || !absent(err) {
		return found, info, err
	}
	want := canonical(name, true)
	for _, n := range list() {
		if canonical(n, true) == want {
			if info, err := look(n); err == nil {
				return n, info, nil
			}
		}
	}
	return name, info, err
}

// forms are the other encodings of a name's letters.
func forms(name string) []string {
	if strings.IndexFunc(name, func(r rune) bool { return r > unicode.MaxASCII }) < 0 {
		return nil
	}
	var out []string
	for _, f := range []string{norm.NFC.String(name), norm.NFD.String(name)} {
		if f != name {
			out = append(out, f)
		}
	}
	return out
}

func namesIn(dir string) []string {
	f, err := os.Open(dir)
	if err != nil {
		return nil
	}
	defer f.Close()
	names, err := f.Readdirnames(maxEntries)
	if err != nil {
		return nil
	}
	return names
}

// absent reports whether err says that there is nothing at a path.
func absent(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}

// denied reports whether st is a folder that is never looked into, under
// whatever name it was reached.
func (o *Observer) denied(st *stat) bool {
	if !st.mode.IsDir() {
		return false
	}
	for i := range o.deny {
		if st.same(&o.deny[i]) {
			return true
		}
	}
	return false
}

// folds reports whether the file system at dir takes the cases of a letter for
// one name. Without a seam what holds at the caller's top is taken to hold
// below it.
func (o *Observer) folds(dir string) bool {
	if o.insensitive != nil {
		return o.insensitive(dir)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.folding == nil {
		f := foldsCase(o.tops[o.worktree])
		o.folding = &f
	}
	return *o.folding
}

// foldsCase asks the file system: a folder that can be found under its name
// with the cases swapped lies on one that doesn't tell them apart.
func foldsCase(dir string) bool {
	here, err := os.Lstat(dir)
	base := filepath.Base(dir)
	other := swapCase(base)
	if err != nil || other == base {
		return runtime.GOOS == "darwin" || runtime.GOOS == "windows"
	}
	there, err := os.Lstat(filepath.Join(filepath.Dir(dir), other))
	return err == nil && os.SameFile(here, there)
}

func swapCase(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsUpper(r) {
			return unicode.ToLower(r)
		}
		return unicode.ToUpper(r)
	}, s)
}
