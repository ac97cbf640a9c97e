package git

import (
	"context"
	"errors"
	"io"
)

var errTodo = errors.New("git: not written yet")

// Find looks for the repository that holds dir, upwards, by files alone. It
// stops below the home folder and the root of the file system, which are never
// taken. Without a repository it returns ErrNone (ErrDangling for a .git file
// that points nowhere), and a non-nil Repo that holds the Notes alone (and Top,
// the folder of a dangling pointer).
func Find(ctx context.Context, env Env, dir string) (*Repo, error) {
	return &Repo{env: env}, errTodo
}

// Head is what is checked out.
type Head struct {
	Branch    string // short name; "" when detached
	Commit    string // "" when unborn
	Detached  bool
	Unborn    bool
	Returning string // when detached in a rebase or bisect: the branch git will return to
}

// Head reads what is checked out.
func (r *Repo) Head(ctx context.Context) (Head, error) { return Head{}, errTodo }

// DefaultBranch names the branch that others start from: origin/HEAD, else
// init.defaultBranch, main or master if such a branch exists, else "".
func (r *Repo) DefaultBranch(ctx context.Context) (string, error) { return "", errTodo }

// MergeBase returns the best common ancestor, "" for unrelated histories,
// ErrMissing where a or b is not here. Both are full object ids or full ref names.
func (r *Repo) MergeBase(ctx context.Context, a, b string) (string, error) { return "", errTodo }

// IsAncestor reports whether anc is desc or an ancestor of it.
func (r *Repo) IsAncestor(ctx context.Context, anc, desc string) (bool, error) { return false, errTodo }

// Ancestors tells which candidates are of or ancestors of it; each candidate is a key of the answer.
func (r *Repo) Ancestors(ctx context.Context, of string, candidates []string) (map[string]bool, error) {
	return nil, errTodo
}

// HasCommit reports whether the commit is here.
func (r *Repo) HasCommit(ctx context.Context, oid string) (bool, error) { return false, errTodo }

// Shallow reports whether history is cut off.
func (r *Repo) Shallow() bool { return false }

// RefTips maps the short name of every local branch to its commit.
func (r *Repo) RefTips(ctx context.Context) (map[string]string, error) { return nil, errTodo }

// Ref resolves a full ref name ("refs/…" or "HEAD") to an object id; ErrNoRef.
func (r *Repo) Ref(ctx context.Context, name string) (string, error) { return "", errTodo }

// Status counts what differs from HEAD.
type Status struct {
	Dirty     bool // anything below is not zero
	Changed   int  // tracked paths that differ in the index or the worktree, conflicts included
	Untracked int  // untracked, unignored files and folders
	Unmerged  int  // paths in conflict
}

// Status counts uncommitted changes.
func (r *Repo) Status(ctx context.Context) (Status, error) { return Status{}, errTodo }

// Files lists tracked and untracked unignored files, sorted.
func (r *Repo) Files(ctx context.Context) ([]string, error) { return nil, errTodo }

// TrackedUnder lists the tracked files at or below prefix, a slash path from Top.
func (r *Repo) TrackedUnder(ctx context.Context, prefix string) ([]string, error) {
	return nil, errTodo
}

// FirstCommit is the root that first parents of HEAD lead to; "" when unborn or shallow.
func (r *Repo) FirstCommit(ctx context.Context) (string, error) { return "", errTodo }

// DirtyDigest is the sha256, in hex, over all uncommitted changes.
func (r *Repo) DirtyDigest(ctx context.Context) (string, error) { return "", errTodo }

// Blob is a file as HEAD has it.
type Blob struct {
	OID  string
	Mode string // "100644", "100755", "120000"
	Size int64
}

// HeadBlobs looks up files in HEAD's tree; paths not there are absent from the answer.
func (r *Repo) HeadBlobs(ctx context.Context, paths []string) (map[string]Blob, error) {
	return nil, errTodo
}

// ReadBlob returns a blob's bytes, at most max of them, else an error.
func (r *Repo) ReadBlob(ctx context.Context, oid string, max int64) ([]byte, error) {
	return nil, errTodo
}

// HashBlob computes the object id that git gives size bytes of content; oidLen
// is the length of the repository's ids in hex (40 or 64).
func HashBlob(content io.Reader, size int64, oidLen int) (string, error) { return "", errTodo }
