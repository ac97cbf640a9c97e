package git

import (
	"context"
	"errors"
	"os"
	"sync"
)

// owner remembers whether git accepts the repository's owner. Git checks that
// only where it discovers a repository itself, and our calls name theirs, so
// the question is asked apart: by comparing owners where that settles it, else
// by letting git discover the repository once.
type owner struct {
	mu      sync.Mutex
	known   bool
	refused bool
}

// checkOwner returns ErrRefused where git would not touch the repository.
func (r *Repo) checkOwner(ctx context.Context) error {
	if r.owner == nil {
		return nil
	}
	r.owner.mu.Lock()
	defer r.owner.mu.Unlock()
	if !r.owner.known {
		refused, err := r.askOwner(ctx)
		if err != nil {
			return err
		}
		r.owner.known, r.owner.refused = true, refused
	}
	if r.owner.refused {
		return ErrRefused
	}
	return nil
}

// askOwner lets git discover the repository from its top. Anything but this
// very repository as the answer is a refusal.
func (r *Repo) askOwner(ctx context.Context) (refused bool, err error) {
	if ownedByUs(r.env, r.Top, r.dotGit(), r.GitDir) {
		return false, nil
	}
	at := r.Top
	if at == "" {
		at = r.GitDir
	}
	dir, err := r.lineOf(ctx, call{args: []string{"rev-parse", "--absolute-git-dir"}, at: at})
	if errors.Is(err, ErrRefused) || exitCode(err) >= 0 {
		return true, nil
	}
	if err != nil {
		return false, err
	}
	return !sameFile(dir, r.GitDir), nil
}

// sameFile reports that two paths lead to one file or folder.
func sameFile(a, b string) bool {
	fa, err := os.Stat(a)
	if err != nil {
		return false
	}
	fb, err := os.Stat(b)
	return err == nil && os.SameFile(fa, fb)
}
