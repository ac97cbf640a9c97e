//go:build unix

package git

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func fifo(t testing.TB, path string) {
	t.Helper()
	must(t, syscall.Mkfifo(path, 0o644))
}

// TestCaseC023_SafeDirectory: a repository of another user. Files still tell
// the branch; git isn't talked into going on.
func TestCaseC023_SafeDirectory(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can give a repository to another user")
	}
	w := newWorld(t)
	w.repo("theirs")
	must(t, filepath.Walk(w.path("theirs"), func(p string, _ os.FileInfo, err error) error {
		return errors.Join(err, os.Lchown(p, 12345, 12345))
	}))
	if out, err := w.try("theirs", "status"); err == nil || !strings.Contains(out, "dubious ownership") {
		t.Fatalf("this git doesn't refuse: %s", out)
	}
	ctx := context.Background()
	r := w.find("theirs")
	if len(r.Notes) != 1 || !strings.Contains(r.Notes[0], "safe.directory") {
		t.Errorf("notes: %q", r.Notes)
	}
	h, err := r.Head(ctx)
	must(t, err)
	equal(t, "main", h.Branch)
	name, err := r.DefaultBranch(ctx)
	must(t, err)
	equal(t, "main", name)
	if _, err := r.Status(ctx); !errors.Is(err, ErrRefused) || !errors.Is(err, ErrUnavailable) {
		t.Error(err)
	}
	if _, err := r.IsAncestor(ctx, h.Commit, h.Commit); !errors.Is(err, ErrUnavailable) {
		t.Error(err)
	}
	for _, vars := range [][]string{
		{"GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=safe.directory", "GIT_CONFIG_VALUE_0=" + w.path("theirs")},
		{"SUDO_UID=12345"},
	} {
		e := w.env
		e.Vars = append(append([]string{}, e.Vars...), vars...)
		r, err := Find(ctx, e, w.path("theirs"))
		must(t, err)
		if _, err := r.Status(ctx); err != nil || len(r.Notes) != 0 {
			t.Errorf("%q: %v, %q", vars, err, r.Notes)
		}
	}
	must(t, os.Lchown(w.path("theirs"), 0, 0)) // the .git folder alone is theirs
	if _, err := w.find("theirs").Status(ctx); !errors.Is(err, ErrRefused) {
		t.Error(err)
	}
}
