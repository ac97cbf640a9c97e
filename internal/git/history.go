package git

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
)

// MergeBase returns the best common ancestor of two commits, "" for histories
// that have none, ErrMissing where a commit isn't here. Each is a full object
// id, HEAD or a full ref name.
func (r *Repo) MergeBase(ctx context.Context, a, b string) (string, error) {
	if err := commitish(a, b); err != nil {
		return "", wrap("find merge base", err)
	}
	base, err := r.line(ctx, "merge-base", a, b)
	no, err := r.verdict(ctx, err, a, b)
	if no {
		return "", nil
	}
	if err == nil && !validOID(base) {
		err = ErrMalformed
	}
	return base, wrap("find merge base", err)
}

// IsAncestor reports whether anc is desc or an ancestor of it; false with
// ErrMissing where a commit isn't here. Arguments as for MergeBase.
func (r *Repo) IsAncestor(ctx context.Context, anc, desc string) (bool, error) {
	if err := commitish(anc, desc); err != nil {
		return false, wrap("compare commits", err)
	}
	_, err := r.line(ctx, "merge-base", "--is-ancestor", anc, desc)
	no, err := r.verdict(ctx, err, anc, desc)
	return !no && err == nil, wrap("compare commits", err)
}

// Ancestors tells which of the candidates, full object ids, are of (a full
// object id, HEAD or a full ref name) or ancestors of it. Every candidate is a
// key of the answer; one that isn't a commit here is false, and so is one that
// only damaged history leads to. ErrMissing: of isn't here, or what a candidate
// came from isn't.
//
// It takes two processes for any number of candidates, and a walk no deeper
// than the oldest one. The walk goes by commit dates like all of git's: where
// clocks were wrong by more than a handful of commits, it may miss an ancestor.
func (r *Repo) Ancestors(ctx context.Context, of string, candidates []string) (map[string]bool, error) {
	answer := make(map[string]bool, len(candidates))
	if len(candidates) == 0 {
		return answer, nil
	}
	if err := commitish(of); err != nil {
		return nil, wrap("find ancestors", err)
	}
	here, err := r.commits(ctx, append([]string{of}, candidates...))
	if err != nil {
		return nil, wrap("find ancestors", err)
	}
	tip, ok := here[of]
	if !ok {
		return nil, wrap("find ancestors", ErrMissing)
	}
	var in strings.Builder
	in.WriteString("^" + tip + "\n")
	for _, c := range candidates {
		_, seen := answer[c]
		_, ok := here[c]
		if answer[c] = ok; ok && !seen && c != tip {
			in.WriteString(c + "\n")
		}
	}
	// What the candidates reach and tip doesn't reach is listed: a candidate in
	// the list is no ancestor.
	c := call{args: []string{"rev-list", "--stdin"}, stdin: strings.NewReader(in.String())}
	err = r.lines(ctx, c, func(oid string) error {
		if _, asked := answer[oid]; asked {
			answer[oid] = false
		}
		return nil
	})
	if exitCode(err) == 128 {
		err = lacking(err)
	}
	if err != nil {
		return nil, wrap("find ancestors", err)
	}
	return answer, nil
}

// commits looks up which names are commits that are here, and their ids. Names
// that are neither ids nor refs are passed over.
func (r *Repo) commits(ctx context.Context, names []string) (map[string]string, error) {
	var in strings.Builder
	asked := make([]string, 0, len(names))
	for _, n := range names {
		if commitish(n) != nil {
			continue
		}
		in.WriteString(n)
		if !validOID(n) {
			in.WriteString("^{commit}") // a ref may name a tag
		}
		in.WriteString("\n")
		asked = append(asked, n)
	}
	here := make(map[string]string, len(asked))
	i := 0
	c := call{args: []string{"cat-file", "--batch-check=%(objecttype) %(objectname)"}, stdin: strings.NewReader(in.String())}
	err := r.lines(ctx, c, func(line string) error {
		if i == len(asked) {
			return ErrMalformed
		}
		if oid, ok := strings.CutPrefix(line, "commit "); ok && validOID(oid) {
			here[asked[i]] = oid
		}
		i++
		return nil
	})
	if err == nil && i != len(asked) {
		err = ErrMalformed
	}
	return here, err
}

// HasCommit reports whether a commit, given by its full object id, is here.
func (r *Repo) HasCommit(ctx context.Context, oid string) (bool, error) {
	if !validOID(oid) {
		return false, wrap("look for commit", ErrMalformed)
	}
	here, err := r.commits(ctx, []string{oid})
	return here[oid] == oid && err == nil, wrap("look for commit", err)
}

// lacking marks git's "fatal" in a walk over objects: one of them isn't here.
func lacking(err error) error { return fmt.Errorf("%w: %w", ErrMissing, err) }

// verdict reads how merge-base ended: 1 is a plain no, unless an object on the
// way couldn't be read; anything higher is mostly a commit that isn't here.
func (r *Repo) verdict(ctx context.Context, err error, names ...string) (no bool, _ error) {
	exit, ok := errors.AsType[*exitError](err)
	switch {
	case !ok:
		return false, err
	case exit.code == 1 && !exit.broken:
		return true, nil
	case exit.broken:
		return false, lacking(err)
	}
	here, herr := r.commits(ctx, names)
	if herr == nil && len(here) < len(names) {
		err = lacking(err)
	}
	return false, err
}

// commitish allows what can't be taken for an option or a search.
func commitish(names ...string) error {
	for _, n := range names {
		if n != "HEAD" && !validOID(n) && !validRef(n) {
			return fmt.Errorf("name of a commit: %w", ErrMalformed)
		}
	}
	return nil
}

// Shallow reports a history that is cut off: a commit that isn't found may
// exist all the same.
func (r *Repo) Shallow() bool { return exists(filepath.Join(r.CommonDir, "shallow")) }

// FirstCommit returns the root that HEAD's first parents lead to, "" on an
// unborn branch and where history is cut off. Other branches may have another
// root; to learn whether a known one is still this repository's, ask HasCommit.
func (r *Repo) FirstCommit(ctx context.Context) (string, error) {
	h, err := r.Head(ctx)
	if err != nil || h.Unborn || r.Shallow() {
		return "", wrap("find first commit", err)
	}
	oid, err := r.line(ctx, "rev-list", "--first-parent", "--max-parents=0", h.Commit)
	if exitCode(err) == 128 {
		err = lacking(err)
	}
	if err == nil && !validOID(oid) {
		err = ErrMalformed
	}
	if err != nil {
		return "", wrap("find first commit", err)
	}
	return oid, nil
}
