package git

import (
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
)

// setting is one git configuration variable.
type setting struct{ key, value string }

// lookup returns the last value of a variable, "" without one.
func lookup(vars []string, key string) string {
	for i := len(vars) - 1; i >= 0; i-- {
		if k, v, ok := strings.Cut(vars[i], "="); ok && sameVar(k, key) {
			return v
		}
	}
	return ""
}

// sameVar compares names as the system does.
func sameVar(a, b string) bool {
	if runtime.GOOS == "windows" {
		return strings.EqualFold(a, b)
	}
	return a == b
}

// home is the user's home folder, "" if none is told.
func (e Env) home() string {
	if h := lookup(e.Vars, "HOME"); h != "" || runtime.GOOS != "windows" {
		return h
	}
	return lookup(e.Vars, "USERPROFILE")
}

// keepGit lists what a person may set for git on this machine and what can't
// lead to another repository: where its programs and its own configuration are.
func keepGit(key string) bool {
	switch key {
	case "GIT_EXEC_PATH", "GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM", "GIT_CONFIG_COUNT":
		return true
	}
	return strings.HasPrefix(key, "GIT_CONFIG_KEY_") || strings.HasPrefix(key, "GIT_CONFIG_VALUE_")
}

// childVars is the environment of a git process: the caller's without GIT_*
// that could name another repository, index, object folder, editor or trace
// file, and with what keeps git quiet, local and read-only. Settings join the
// GIT_CONFIG_COUNT list (git 2.31) behind the caller's own.
func (e Env) childVars(settings []setting) []string {
	vars := make([]string, 0, len(e.Vars)+2*len(settings)+8)
	for _, kv := range e.Vars {
		key, _, _ := strings.Cut(kv, "=")
		if runtime.GOOS == "windows" {
			key = strings.ToUpper(key)
		}
		if strings.HasPrefix(key, "GIT_") && !keepGit(key) || strings.HasPrefix(key, "LC_") || key == "LANGUAGE" {
			continue
		}
		vars = append(vars, kv)
	}
	n, err := strconv.Atoi(lookup(vars, "GIT_CONFIG_COUNT"))
	if err != nil || n < 0 {
		n = 0
	}
	for _, s := range settings {
		i := strconv.Itoa(n)
		vars = append(vars, "GIT_CONFIG_KEY_"+i+"="+s.key, "GIT_CONFIG_VALUE_"+i+"="+s.value)
		n++
	}
	return append(vars,
		"GIT_CONFIG_COUNT="+strconv.Itoa(n),
		"LC_ALL=C",
		"GIT_TERMINAL_PROMPT=0",
		"GIT_PAGER=cat",
		// GIT_NO_LAZY_FETCH is git 2.39.4. An older one goes as far as starting a
		// fetch in a partial clone that lacks an object; it then finds every
		// transport forbidden (a list that names none beats protocol.*.allow).
		"GIT_NO_LAZY_FETCH=1",
		"GIT_ALLOW_PROTOCOL=:",
	)
}

// binary finds git. Relative entries of the path and those inside the
// repository are passed over: a checkout must not bring its own git.
func (r *Repo) binary() (string, error) {
	names := []string{"git"}
	if runtime.GOOS == "windows" {
		names = []string{"git.exe"}
	}
	for _, dir := range filepath.SplitList(r.env.Path) {
		if !filepath.IsAbs(dir) {
			continue
		}
		for _, name := range names {
			p := filepath.Join(dir, name)
			fi, err := os.Stat(p)
			if err == nil && fi.Mode().IsRegular() && executable(fi) && !r.brings(dir) {
				return p, nil
			}
		}
	}
	return "", ErrNoGit
}

// brings reports that a folder lies in the repository, in one of its worktrees
// that are known here, or in a repository around it.
func (r *Repo) brings(dir string) bool {
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	for ; r != nil; r = r.outer {
		if inside(dir, r.Top) || inside(dir, r.MainTop) || inside(dir, r.CommonDir) || inside(dir, superTop(r.CommonDir)) {
			return true
		}
	}
	return false
}

// superTop is the folder that holds the outermost .git on the way to a git
// folder: of a submodule, the top of the whole project. "" without one.
func superTop(gitDir string) string {
	top := ""
	for dir := gitDir; dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		if filepath.Base(dir) == ".git" {
			top = filepath.Dir(dir)
		}
	}
	return top
}

func executable(fi os.FileInfo) bool {
	return runtime.GOOS == "windows" || fi.Mode()&0o111 != 0
}

// inside reports that path is dir or below it; both are clean and absolute.
func inside(path, dir string) bool {
	if dir == "" {
		return false
	}
	rel, err := filepath.Rel(dir, path)
	return err == nil && filepath.IsLocal(rel)
}
