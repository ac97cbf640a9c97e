package git

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
)

const (
	maxBranches  = 1_000_000
	maxRefDepth  = 64
	originHead   = "refs/remotes/origin/HEAD"
	originPrefix = "refs/remotes/origin/"
)

// DefaultBranch names the branch that others start from: what origin/HEAD
// names, if that exists; else init.defaultBranch, main or master, the first
// that is a local branch; else "".
func (r *Repo) DefaultBranch(ctx context.Context) (string, error) {
	name, err := r.originDefault(ctx)
	if err != nil || name != "" {
		return name, wrap("read origin/HEAD", err)
	}
	candidates := []string{"main", "master"}
	v, err := r.initBranch(ctx)
	if err != nil {
		return "", err
	}
	if v != "" {
		candidates = append([]string{v}, candidates...)
	} // without git, or with a config it can't read, the names that everybody uses remain
	for _, c := range candidates {
		if !validRef(headsPrefix + c) {
			continue
		}
		_, err := r.Ref(ctx, headsPrefix+c)
		if err == nil {
			return c, nil
		}
		if !errors.Is(err, ErrNoRef) {
			return "", fmt.Errorf("look for the default branch: %w", err)
		}
	}
	return "", nil
}

// initBranch is the configured init.defaultBranch, "" without one.
func (r *Repo) initBranch(ctx context.Context) (string, error) {
	r.initial.Lock()
	defer r.initial.Unlock()
	if r.initial.asked {
		return r.initial.name, nil
	}
	v, err := r.line(ctx, "config", "--get", "init.defaultBranch")
	if ctx.Err() != nil {
		return "", ctx.Err()
	}
	if err != nil { // not set, or no git to ask
		v = ""
	}
	r.initial.name, r.initial.asked = v, true
	return v, nil
}

// originDefault is the branch that origin/HEAD names, "" without one. A name
// that neither origin nor this repository has (renamed upstream) doesn't count.
func (r *Repo) originDefault(ctx context.Context) (string, error) {
	v, err := r.readRef(originHead)
	if errors.Is(err, errUnsettled) {
		v.target, err = r.line(ctx, "symbolic-ref", "--quiet", originHead)
		if exitCode(err) == 1 || errors.Is(err, ErrUnavailable) {
			return "", nil
		}
	}
	if errors.Is(err, ErrNoRef) || errors.Is(err, ErrMalformed) {
		return "", nil
	}
	name, ok := strings.CutPrefix(v.target, originPrefix)
	if err != nil || !ok {
		return "", err
	}
	for _, full := range []string{v.target, headsPrefix + name} {
		if _, err := r.Ref(ctx, full); err == nil {
			return name, nil
		}
	}
	return "", nil
}

// RefTips maps the short name of every local branch to its commit.
func (r *Repo) RefTips(ctx context.Context) (map[string]string, error) {
	tips, err := r.tipsFromFiles(ctx)
	if errors.Is(err, errUnsettled) {
		tips, err = r.tipsFromGit(ctx)
	}
	return tips, wrap("list branches", err)
}

func (r *Repo) tipsFromFiles(ctx context.Context) (map[string]string, error) {
	if !r.filesFormat() {
		return nil, errUnsettled
	}
	tips := map[string]string{}
	if err := r.looseTips(ctx, headsPrefix, tips, maxRefDepth); err != nil {
		return nil, err
	}
	f, size, err := openRegular(filepath.Join(r.CommonDir, "packed-refs"), true)
	if absent(err) {
		return tips, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if size > maxPacked {
		return nil, errUnsettled
	}
	err = eachPacked(f, func(oid string, name []byte) bool {
		short, ok := strings.CutPrefix(string(name), headsPrefix)
		if _, loose := tips[short]; ok && !loose && validRef(string(name)) {
			tips[short] = oid
		}
		return len(tips) <= maxBranches && ctx.Err() == nil
	})
	if err == nil && len(tips) > maxBranches {
		err = ErrTooMuch
	}
	return tips, errors.Join(err, ctx.Err())
}

// looseTips adds the branches below prefix ("refs/heads/…/"). What isn't a
// valid ref (a lock, a stray file) is passed over, as git does.
func (r *Repo) looseTips(ctx context.Context, prefix string, tips map[string]string, depth int) error {
	d, err := openNoWait(filepath.Join(r.CommonDir, filepath.FromSlash(prefix)), true)
	if absent(err) {
		return nil
	}
	if err != nil {
		return err
	}
	defer d.Close()
	for ctx.Err() == nil {
		entries, err := d.ReadDir(1024)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		for _, e := range entries {
			name := prefix + e.Name()
			if !validRef(name) {
				continue
			}
			if e.IsDir() {
				if depth == 0 {
					return ErrTooMuch
				}
				if err := r.looseTips(ctx, name+"/", tips, depth-1); err != nil {
					return err
				}
				continue
			}
			if err := r.addLoose(name, tips); err != nil {
				return err
			}
		}
	}
	return ctx.Err()
}

func (r *Repo) addLoose(name string, tips map[string]string) error {
	_, oid, err := r.resolve(name)
	switch {
	case err == nil:
		tips[strings.TrimPrefix(name, headsPrefix)] = oid
	case errors.Is(err, ErrNoRef), errors.Is(err, ErrMalformed), errors.Is(err, errNotRegular):
		return nil // gone meanwhile, broken or dangling: git leaves it out too
	default:
		return err
	}
	if len(tips) > maxBranches {
		return ErrTooMuch
	}
	return nil
}

func (r *Repo) tipsFromGit(ctx context.Context) (map[string]string, error) {
	tips := map[string]string{}
	err := r.lines(ctx, call{args: []string{"for-each-ref", "--format=%(objectname) %(refname)", headsPrefix}},
		func(line string) error {
			oid, name, _ := strings.Cut(line, " ")
			short, ok := strings.CutPrefix(name, headsPrefix)
			if !ok || !validOID(oid) {
				return ErrMalformed
			}
			tips[short] = oid
			return nil
		})
	return tips, err
}

// wrap adds what was being done to an error, and leaves nil alone.
func wrap(doing string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", doing, err)
}
