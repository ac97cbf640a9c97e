package git

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

const (
	headsPrefix = "refs/heads/"
	maxSymrefs  = 5 // SYMREF_MAXDEPTH in git's refs code
	maxRefName  = 4096
)

// errUnsettled: files don't say (another ref format, an odd shape); git may know.
var errUnsettled = errors.New("files do not settle it")

// ref is the content of one ref: an object id, or the name of another ref.
type ref struct{ oid, target string }

// parseRef reads a ref file: "ref: NAME" or an object id that white space or
// the end follows (git's parse_loose_ref_contents).
func parseRef(b []byte) (ref, bool) {
	if rest, ok := bytes.CutPrefix(b, []byte("ref:")); ok {
		name := string(bytes.TrimSpace(rest))
		return ref{target: name}, validRef(name) || name == reftableHead
	}
	word := b
	if i := bytes.IndexAny(b, " \t\r\n\v\f"); i >= 0 {
		word = b[:i]
	}
	oid := strings.ToLower(string(word))
	return ref{oid: oid}, validOID(oid)
}

// reftableHead is what HEAD names where refs are kept in another format
// (gitformat-reftable, and the same for what follows it).
const reftableHead = "refs/heads/.invalid"

// validOID reports a full object id, SHA-1 or SHA-256, in lower-case hex.
func validOID(s string) bool {
	if len(s) != 40 && len(s) != 64 {
		return false
	}
	return strings.Trim(s, "0123456789abcdef") == ""
}

// validRef holds a full ref name to git-check-ref-format(1), so that it is
// safe as a path below a git folder and as an argument.
func validRef(name string) bool {
	if !strings.HasPrefix(name, "refs/") || len(name) > maxRefName {
		return false
	}
	if strings.Contains(name, "..") || strings.Contains(name, "@{") || strings.HasSuffix(name, ".") {
		return false
	}
	for i := 0; i < len(name); i++ {
		if c := name[i]; c < 0x20 || c == 0x7f || strings.IndexByte(" ~^:?*[\\", c) >= 0 {
			return false
		}
	}
	for part := range strings.SplitSeq(name, "/") {
		if part == "" || part[0] == '.' || strings.HasSuffix(part, ".lock") {
			return false
		}
	}
	return filepath.IsLocal(filepath.FromSlash(name)) // device names on Windows
}

// perWorktree reports refs that each worktree has for itself (git-worktree(1), REFS).
func perWorktree(name string) bool {
	for _, p := range []string{"refs/bisect/", "refs/worktree/", "refs/rewritten/"} {
		if strings.HasPrefix(name, p) {
			return true
		}
	}
	return !strings.HasPrefix(name, "refs/")
}

// refPath is where a loose ref lies.
func (r *Repo) refPath(name string) string {
	dir := r.CommonDir
	if perWorktree(name) {
		dir = r.GitDir
	}
	return filepath.Join(dir, filepath.FromSlash(name))
}

// readRefFile reads a loose ref. A link is a ref of the old style where its
// text is a ref name; any other link is left to git.
func readRefFile(path string) (ref, error) {
	b, err := readOwn(path, maxRefFile)
	if errors.Is(err, errIsLink) {
		to, err := os.Readlink(path)
		if err != nil {
			return ref{}, err
		}
		if to = filepath.ToSlash(to); validRef(to) {
			return ref{target: to}, nil
		}
		return ref{}, errUnsettled
	}
	if err != nil {
		return ref{}, err
	}
	v, ok := parseRef(b)
	if !ok {
		return ref{}, ErrMalformed
	}
	return v, nil
}

// readRef reads one ref, loose before packed: git writes a packed file before
// it removes the loose one, so the older look must come first.
func (r *Repo) readRef(name string) (ref, error) {
	v, err := readRefFile(r.refPath(name))
	if err == nil && v.target == reftableHead {
		return ref{}, errUnsettled
	}
	if err == nil || !absent(err) && !errors.Is(err, errIsDir) {
		return v, err
	}
	if !strings.HasPrefix(name, "refs/") {
		return ref{}, ErrNoRef
	}
	oid, err := packedRef(filepath.Join(r.CommonDir, "packed-refs"), name)
	if errors.Is(err, ErrNoRef) && !r.filesFormat() {
		err = errUnsettled
	}
	return ref{oid: oid}, err
}

// filesFormat is false where refs are kept in another format: there refs/heads
// is a file, so that older programs find no refs.
func (r *Repo) filesFormat() bool {
	fi, err := os.Stat(filepath.Join(r.CommonDir, "refs", "heads"))
	return err != nil || fi.IsDir()
}

// resolve follows symbolic refs. Where the last one doesn't exist it returns
// its name with ErrNoRef.
func (r *Repo) resolve(name string) (last, oid string, err error) {
	for range maxSymrefs {
		v, err := r.readRef(name)
		if err != nil || v.target == "" {
			return name, v.oid, err
		}
		name = v.target
	}
	return name, "", errUnsettled
}

// Ref resolves HEAD or a full ref name ("refs/…") to an object id, through
// symbolic refs. ErrNoRef where it doesn't exist.
func (r *Repo) Ref(ctx context.Context, name string) (string, error) {
	if name != "HEAD" && !validRef(name) {
		return "", fmt.Errorf("read ref: %w", ErrMalformed)
	}
	_, oid, err := r.resolve(name)
	if errors.Is(err, errUnsettled) {
		oid, err = r.refFromGit(ctx, name)
	}
	if err != nil {
		return "", fmt.Errorf("read ref: %w", err)
	}
	return oid, nil
}

func (r *Repo) refFromGit(ctx context.Context, name string) (string, error) {
	oid, err := r.line(ctx, "rev-parse", "--quiet", "--verify", name)
	if exitCode(err) == 1 {
		return "", ErrNoRef
	}
	if err == nil && !validOID(oid) {
		err = ErrMalformed
	}
	return oid, err
}
