package git

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
)

// Head is what is checked out in a worktree.
type Head struct {
	Branch    string // short name, as git has it (it need not be UTF-8); "" when detached
	Commit    string // full object id; "" when unborn
	Detached  bool   // HEAD names no branch
	Unborn    bool   // the branch has no commit yet
	Returning string // when detached in a rebase or bisect: the branch git will return to
}

// Head reads what is checked out.
func (r *Repo) Head(ctx context.Context) (Head, error) {
	h, err := r.headFromFiles()
	if errors.Is(err, errUnsettled) {
		h, err = r.headFromGit(ctx)
	}
	if err != nil {
		return Head{}, fmt.Errorf("read HEAD: %w", err)
	}
	if h.Detached {
		h.Returning = r.returning()
	}
	return h, nil
}

func (r *Repo) headFromFiles() (Head, error) {
	v, err := r.readRef("HEAD")
	if err != nil {
		return Head{}, err
	}
	if v.oid != "" {
		return Head{Commit: v.oid, Detached: true}, nil
	}
	name, oid, err := r.resolve(v.target)
	if err != nil && !errors.Is(err, ErrNoRef) {
		return Head{}, err
	}
	return headOf(name, oid), nil
}

func (r *Repo) headFromGit(ctx context.Context) (Head, error) {
	name, err := r.line(ctx, "symbolic-ref", "--quiet", "HEAD")
	if err != nil && exitCode(err) != 1 {
		return Head{}, err
	}
	oid, err := r.refFromGit(ctx, "HEAD")
	if err != nil && !errors.Is(err, ErrNoRef) {
		return Head{}, err
	}
	return headOf(name, oid), nil
}

// headOf names the branch; a HEAD that leads outside refs/heads has none.
func headOf(name, oid string) Head {
	branch, ok := strings.CutPrefix(name, headsPrefix)
	if !ok {
		branch = ""
	}
	return Head{Branch: branch, Commit: oid, Detached: !ok, Unborn: oid == ""}
}

// returning reads the branch that a rebase or bisect began on. Git keeps it in
// rebase-merge/head-name, rebase-apply/head-name ("refs/heads/x", or "detached
// HEAD") and BISECT_START (a short name, or an object id).
func (r *Repo) returning() string {
	for _, file := range []string{"rebase-merge/head-name", "rebase-apply/head-name"} {
		name, err := r.stateLine(file)
		if err != nil {
			continue
		}
		branch, ok := strings.CutPrefix(name, headsPrefix)
		if ok && validRef(name) {
			return branch
		}
		return ""
	}
	name, err := r.stateLine("BISECT_START")
	name = strings.TrimPrefix(name, headsPrefix)
	if err != nil || validOID(name) || !validRef(headsPrefix+name) {
		return ""
	}
	return name
}

func (r *Repo) stateLine(file string) (string, error) {
	b, err := readRegular(filepath.Join(r.GitDir, filepath.FromSlash(file)), maxPointer)
	return strings.TrimSpace(string(b)), err
}
