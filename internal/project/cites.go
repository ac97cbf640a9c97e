package project

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"holdfast/internal/filelog"
	"holdfast/internal/ledger"
)

// errChangedMeanwhile: a file was changed between the look at it and the save.
var errChangedMeanwhile = errors.New("a cited file changed meanwhile")

// watched is a file as it was looked at before the lock.
type watched struct {
	path string
	info fs.FileInfo
}

func (f watched) unchanged() bool {
	now, err := os.Stat(f.path)
	return err == nil && os.SameFile(now, f.info) && now.Size() == f.info.Size() && now.ModTime().Equal(f.info.ModTime())
}

// cite resolves cited paths, which a caller gives relative to its working
// directory or to the project, and hashes the files.
func (p *Project) cite(field string, paths []string) ([]ledger.Cite, []watched, error) {
	var cites []ledger.Cite
	var files []watched
	for _, given := range paths {
		rel, err := p.inside(field, given)
		if err != nil {
			return nil, nil, err
		}
		full := filepath.Join(p.loc.top, filepath.FromSlash(rel))
		sum, info, err := hashFile(full)
		if err != nil {
			return nil, nil, &ledger.FieldError{Field: field, Why: "a cited file can't be read: " + reason(err)}
		}
		cites = append(cites, ledger.Cite{Path: rel, SHA256: sum})
		files = append(files, watched{full, info})
	}
	return cites, files, nil
}

// inside turns a given path into a slash path relative to the project's top.
func (p *Project) inside(field, given string) (string, error) {
	bad := func(why string) (string, error) { return "", &ledger.FieldError{Field: field, Why: why} }
	if given == "" || strings.ContainsRune(given, 0) {
		return bad("an empty path")
	}
	full := given
	if !filepath.IsAbs(full) {
		full = filepath.Join(p.loc.dir, filepath.FromSlash(given))
		if _, err := os.Lstat(full); err != nil {
			full = filepath.Join(p.loc.top, filepath.FromSlash(given))
		}
	}
	real, err := filepath.EvalSymlinks(full)
	if err != nil {
		return bad("a cited file doesn't exist")
	}
	rel, err := filepath.Rel(p.loc.top, real)
	if err != nil {
		return bad("a cited file lies outside the project")
	}
	rel = filepath.ToSlash(rel)
	first, _, _ := strings.Cut(rel, "/")
	if !ledger.ValidPath(rel) || first == ".git" || first == filelog.FolderName {
		return bad("a cited file must lie inside the project, and not in .git or .holdfast")
	}
	return rel, nil
}

// hashFile gives the SHA-256 of a regular file.
func hashFile(path string) (string, fs.FileInfo, error) {
	before, err := os.Lstat(path)
	if err != nil {
		return "", nil, err
	}
	if !before.Mode().IsRegular() {
		return "", nil, errNotRegular
	}
	f, err := openNonblocking(path)
	if err != nil {
		return "", nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return "", nil, err
	}
	if !info.Mode().IsRegular() || !os.SameFile(info, before) {
		return "", nil, errNotRegular
	}
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", nil, fmt.Errorf("read file: %w", err)
	}
	return hex.EncodeToString(h.Sum(nil)), info, nil
}

var errNotRegular = errors.New("it is not a regular file")

// reason is an error's cause without the path, which may be long or strange.
func reason(err error) string {
	if pe, ok := errors.AsType[*fs.PathError](err); ok {
		return pe.Err.Error()
	}
	return err.Error()
}

// changedCites lists the cited files that are no longer what they were.
func (p *Project) changedCites(cites []ledger.Cite) []string {
	var out []string
	for _, c := range cites {
		sum, _, err := hashFile(filepath.Join(p.loc.top, filepath.FromSlash(c.Path)))
		if err != nil || sum != c.SHA256 {
			out = append(out, c.Path)
		}
	}
	return out
}
