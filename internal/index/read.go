package index

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"

	"holdfast/internal/ledger"
)

// KeyUse implements ledger.Reader.
func (v *View) KeyUse(ctx context.Context, keySHA256 string) (use ledger.KeyUse, ok bool, err error) {
	if keySHA256 == "" {
		return use, false, ctx.Err()
	}
	err = v.do(ctx, func() error {
		err := v.x.d.each(func(scan func(...any) error) error {
			var u ledger.KeyUse
			var request any
			var flags int
			if err := scan(&u.Rev, &flags, &request); err != nil {
				return err
			}
			if flags&entryStands == 0 && !v.spans.Live(u.Rev) {
				return nil
			}
			u.Request = unpackHex(request)
			use, ok = u, true
			return errEnough
		}, "SELECT rev, flags, request FROM entries WHERE key = ? AND rev <= ? ORDER BY rev", packHex(keySHA256), v.upTo)
		if err != nil || v.over == nil {
			return ignore(err, errEnough)
		}
		for _, u := range v.over.keys[keySHA256] {
			if u.stands || v.spans.Live(u.Rev) {
				use, ok = u.KeyUse, true
				break
			}
		}
		return nil
	})
	return use, ok, err
}

func ignore(err, what error) error {
	if err == what {
		return nil
	}
	return err
}

// Commits implements ledger.Reader.
func (v *View) Commits(ctx context.Context) ([]ledger.CommitUse, error) {
	last := map[ledger.Git]int64{}
	err := v.do(ctx, func() error {
		ps, err := v.places()
		if err != nil {
			return err
		}
		if v.seen.pos.Rev > v.upTo { // the file is ahead of the view
			if ps, err = v.placesThen(ps); err != nil {
				return err
			}
		}
		for i := range ps {
			if ps[i].last >= 0 {
				last[ps[i].Git] = ps[i].last
			}
		}
		if v.over != nil {
			for g, rev := range v.over.uses {
				last[g] = rev
			}
		}
		return nil
	})
	out := make([]ledger.CommitUse, 0, len(last))
	for g, rev := range last {
		out = append(out, ledger.CommitUse{Git: g, LastRev: rev})
	}
	slices.SortFunc(out, func(a, b ledger.CommitUse) int {
		return cmp.Or(cmp.Compare(a.LastRev, b.LastRev), cmp.Compare(a.Commit, b.Commit))
	})
	return out, err
}

// placesThen is ps as of the view's head.
func (v *View) placesThen(ps places) (places, error) {
	ps = slices.Clone(ps)
	for i := range ps {
		ps[i].last = -1
	}
	err := v.x.d.each(func(scan func(...any) error) error {
		var n, last int64
		if err := scan(&n, &last); err != nil {
			return err
		}
		if n > 0 && n < int64(len(ps)) {
			ps[n].last = last
		}
		return nil
	}, "SELECT place, max(rev) FROM entries WHERE rev <= ? AND flags & ? = 0 GROUP BY place", v.upTo, entryVoid|entryNewer)
	return ps, err
}

// Carries implements ledger.Reader.
func (v *View) Carries(ctx context.Context) (out []ledger.CarryUse, err error) {
	err = v.do(ctx, func() error {
		err := v.x.d.each(func(scan func(...any) error) error {
			var c ledger.CarryUse
			var branches string
			if err := scan(&c.Rev, &branches, &c.Git.Branch, &c.Git.Commit, &c.Git.Base, &c.Git.Detached); err != nil {
				return err
			}
			if json.Unmarshal([]byte(branches), &c.Branches) != nil {
				return errContent
			}
			out = append(out, c)
			return nil
		}, `SELECT c.rev, c.branches, p.branch, p.commit_id, p.base, p.detached FROM carries c JOIN places p ON p.n = c.place WHERE c.rev <= ? ORDER BY c.rev`, v.upTo)
		if v.over != nil {
			out = append(out, v.over.carries...)
		}
		out = slices.DeleteFunc(out, func(c ledger.CarryUse) bool { return !v.spans.Live(c.Rev) })
		return err
	})
	return out, err
}

// Allows implements ledger.Reader.
func (v *View) Allows(ctx context.Context) (out []ledger.Allow, err error) {
	err = v.do(ctx, func() error {
		err := v.x.d.each(func(scan func(...any) error) error {
			var s string
			var a ledger.Allow
			if err := scan(&s); err != nil {
				return err
			}
			if json.Unmarshal([]byte(s), &a) != nil {
				return errContent
			}
			out = append(out, a)
			return nil
		}, "SELECT value FROM allows WHERE rev <= ? ORDER BY rev", v.upTo)
		if v.over != nil {
			out = append(out, v.over.allows...)
		}
		return err
	})
	return out, err
}

// Newer implements ledger.Reader.
func (v *View) Newer(ctx context.Context) (out []int64, err error) {
	err = v.do(ctx, func() error {
		err := v.x.d.each(func(scan func(...any) error) error {
			var rev int64
			err := scan(&rev)
			out = append(out, rev)
			return err
		}, "SELECT rev FROM newer WHERE rev <= ? ORDER BY rev", v.upTo)
		if v.over != nil {
			out = append(out, v.over.newer...)
		}
		return err
	})
	return out, err
}
