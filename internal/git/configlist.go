package git

import (
	"context"
	"fmt"
	"strings"
)

// proof is set beside the overrides; a git that doesn't list it doesn't read
// GIT_CONFIG_COUNT (before 2.31), and its filters can't be switched off.
const proof = "holdfast.proof"

// maxFilters bounds the overrides, which travel in the environment.
const maxFilters = 500

// parseConfigEntry reads one record of `git config --list -z`: the key, and
// after a line feed the value; no line feed stands for a variable without value.
func parseConfigEntry(rec string) (key, value string) {
	key, value, _ = strings.Cut(rec, "\n")
	return key, value
}

// filterName is the driver that a key such as "filter.NAME.clean" configures;
// the name may hold dots and equals signs, and may be empty.
func filterName(key string) (string, bool) {
	rest, ok := strings.CutPrefix(key, "filter.")
	i := strings.LastIndexByte(rest, '.')
	if !ok || i < 0 {
		return "", false
	}
	return rest[:i], true
}

// noFilters returns settings under which no content filter runs. It must be
// asked anew for each call that compares content: configuration changes.
//
// The listing includes what config files include (--local alone would not, and
// filters may hide there). Filters of the person's own configuration are
// switched off as well: one such as git-lfs takes commands to run from the
// repository's configuration (lfs.extension.*).
func (r *Repo) noFilters(ctx context.Context) ([]setting, error) {
	var settings []setting
	seen := map[string]bool{}
	proven := false
	// The listing tells init.defaultBranch by the way: who needs it meanwhile
	// waits for it and saves a run of git.
	initial := ""
	if r.initial != nil && r.initial.TryLock() {
		defer r.initial.Unlock()
		defer func() {
			if proven && !r.initial.asked {
				r.initial.name, r.initial.asked = initial, true
			}
		}()
	}
	c := call{args: []string{"config", "--list", "-z", "--includes"}, settings: []setting{{proof, "1"}}}
	err := r.records(ctx, c, 0, func(rec string) error {
		key, value := parseConfigEntry(rec)
		proven = proven || key == proof
		if key == "init.defaultbranch" {
			initial = value
		}
		name, ok := filterName(key)
		if !ok || seen[name] {
			return nil
		}
		if seen[name] = true; len(seen) > maxFilters {
			return ErrTooMuch
		}
		p := "filter." + name + "."
		settings = append(settings, setting{p + "clean", ""}, setting{p + "smudge", ""},
			setting{p + "process", ""}, setting{p + "required", "false"})
		return nil
	})
	switch {
	case exitCode(err) >= 0:
		return nil, fmt.Errorf("%w: %w", ErrUnavailable, err)
	case err != nil:
		return nil, err
	case !proven:
		return nil, ErrOldGit
	}
	return settings, nil
}
