package git

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestHistory(t *testing.T) {
	for _, format := range []string{"sha1", "sha256"} {
		t.Run(format, func(t *testing.T) { testHistory(t, format) })
	}
}

// forked is a history: root with side and tip (tagged v1) on it, and an
// unrelated one, which is checked out.
type forked struct{ root, side, tip, other, tag, tree, gone string }

func (w *world) forked(format string) forked {
	w.repo("r", "--object-format="+format)
	var f forked
	f.root = w.git("r", "rev-parse", "HEAD")
	w.git("r", "checkout", "-q", "-b", "side")
	f.side = w.commit("r", "s", "s")
	w.git("r", "checkout", "-q", "main")
	f.tip = w.commit("r", "m", "m")
	w.git("r", "checkout", "-q", "--orphan", "other")
	f.other = w.commit("r", "o", "o")
	w.git("r", "tag", "-a", "-m", "t", "v1", f.tip)
	f.tag = w.git("r", "rev-parse", "refs/tags/v1")
	f.gone = strings.Repeat("0a", len(f.root)/2)
	f.tree = w.git("r", "rev-parse", f.tip+"^{tree}")
	return f
}

func testHistory(t *testing.T, format string) {
	w := newWorld(t)
	f := w.forked(format)
	root, side, tip, other, gone, tree := f.root, f.side, f.tip, f.other, f.gone, f.tree
	ctx := context.Background()
	r := w.find("r")
	base, err := r.MergeBase(ctx, side, tip)
	must(t, err)
	equal(t, root, base)
	base, err = r.MergeBase(ctx, "refs/heads/side", "refs/tags/v1")
	must(t, err)
	equal(t, root, base)
	base, err = r.MergeBase(ctx, side, other)
	must(t, err)
	equal(t, "", base)
	for _, pair := range [][2]string{{gone, tip}, {tip, gone}, {"refs/heads/none", tip}, {tree, tip}} {
		if _, err := r.MergeBase(ctx, pair[0], pair[1]); !errors.Is(err, ErrMissing) {
			t.Errorf("%v: %v", pair, err)
		}
		if yes, err := r.IsAncestor(ctx, pair[0], pair[1]); yes || !errors.Is(err, ErrMissing) {
			t.Errorf("%v: %v, %v", pair, yes, err)
		}
	}
	for _, c := range []struct {
		anc, desc string
		want      bool
	}{{root, tip, true}, {tip, tip, true}, {side, tip, false}, {tip, root, false}, {other, tip, false}, {root, "HEAD", false}, {other, "HEAD", true}} {
		got, err := r.IsAncestor(ctx, c.anc, c.desc)
		must(t, err)
		equal(t, c.want, got)
	}
	for _, bad := range []string{"", "--all", "main", "HEAD~1", tip[:10], "refs/heads/main..side"} {
		if _, err := r.MergeBase(ctx, bad, tip); !errors.Is(err, ErrMalformed) {
			t.Errorf("%q: %v", bad, err)
		}
		if _, err := r.Ancestors(ctx, bad, []string{tip}); !errors.Is(err, ErrMalformed) {
			t.Errorf("%q: %v", bad, err)
		}
	}
	first, err := r.FirstCommit(ctx)
	must(t, err)
	equal(t, other, first)
	w.git("r", "switch", "-q", "--orphan", "unborn")
	first, err = r.FirstCommit(ctx)
	must(t, err)
	equal(t, "", first)
}

func TestAncestors(t *testing.T) {
	for _, format := range []string{"sha1", "sha256"} {
		w := newWorld(t)
		f := w.forked(format)
		root, side, tip, other, gone, tree, tag := f.root, f.side, f.tip, f.other, f.gone, f.tree, f.tag
		ctx := context.Background()
		r := w.find("r")
		asked := []string{root, side, tip, other, gone, tree, tag, "", "--all", "main", tip[:8], root}
		for _, of := range []string{tip, "refs/heads/main", "refs/tags/v1"} {
			got, err := r.Ancestors(ctx, of, asked)
			must(t, err)
			equal(t, map[string]bool{
				root: true, side: false, tip: true, other: false, gone: false, tree: false, tag: false,
				"": false, "--all": false, "main": false, tip[:8]: false,
			}, got)
		}
		if _, err := r.Ancestors(ctx, gone, asked); !errors.Is(err, ErrMissing) {
			t.Error(err)
		}
		if got, err := r.Ancestors(ctx, gone, nil); err != nil || len(got) != 0 {
			t.Error(got, err)
		}
		for oid, want := range map[string]bool{root: true, gone: false, tree: false, tag: false} {
			got, err := r.HasCommit(ctx, oid)
			must(t, err)
			equal(t, want, got)
		}
	}
}

// TestAncestorsRandom compares one answer for all commits of random histories
// with what git says of each.
func TestAncestorsRandom(t *testing.T) {
	w := newWorld(t)
	w.repo("r")
	rnd := rand.New(rand.NewPCG(1, 2))
	tree := w.git("r", "rev-parse", "HEAD^{tree}")
	all := []string{w.git("r", "rev-parse", "HEAD")}
	for i := range 120 {
		args := []string{"commit-tree", tree, "-m", fmt.Sprint(i)}
		for range rnd.IntN(3) {
			args = append(args, "-p", all[max(0, len(all)-1-rnd.IntN(12))])
		}
		all = append(all, w.git("r", args...))
	}
	r := w.find("r")
	for range 6 {
		of := all[rnd.IntN(len(all))]
		want := map[string]bool{}
		for _, c := range all {
			want[c] = false
		}
		for oid := range strings.SplitSeq(w.git("r", "rev-list", of), "\n") {
			want[oid] = true
		}
		got, err := r.Ancestors(context.Background(), of, all)
		must(t, err)
		equal(t, want, got)
	}
}

// TestShallow: a cut-off history has no first commit, and what lies behind the
// cut is missing, not "no ancestor".
func TestShallow(t *testing.T) {
	w := newWorld(t)
	w.repo("r")
	root := w.git("r", "rev-parse", "HEAD")
	tip := w.commit("r", "b", "b")
	w.git(".", "clone", "-q", "--depth=1", "file://"+w.path("r"), "cut")
	ctx := context.Background()
	r := w.find("cut")
	if !r.Shallow() || w.find("r").Shallow() {
		t.Error("shallow")
	}
	first, err := r.FirstCommit(ctx)
	must(t, err)
	equal(t, "", first)
	if yes, err := r.IsAncestor(ctx, root, tip); yes || !errors.Is(err, ErrMissing) {
		t.Error(yes, err)
	}
	got, err := r.Ancestors(ctx, tip, []string{root, tip})
	must(t, err)
	equal(t, map[string]bool{root: false, tip: true}, got)
}

// TestMissingObjects: a damaged history is an error of its own.
func TestMissingObjects(t *testing.T) {
	w := newWorld(t)
	w.repo("r")
	root := w.git("r", "rev-parse", "HEAD")
	mid := w.commit("r", "b", "b")
	tip := w.commit("r", "c", "c")
	must(t, os.Remove(filepath.Join(w.path("r/.git/objects"), mid[:2], mid[2:])))
	r := w.find("r")
	ctx := context.Background()
	if yes, err := r.IsAncestor(ctx, root, tip); yes || !errors.Is(err, ErrMissing) {
		t.Error(yes, err)
	}
	if base, err := r.MergeBase(ctx, root, tip); !errors.Is(err, ErrMissing) {
		t.Error(base, err)
	}
	got, err := r.Ancestors(ctx, tip, []string{root, mid, tip})
	must(t, err)
	equal(t, map[string]bool{root: false, mid: false, tip: true}, got)
	if got, err := r.Ancestors(ctx, root, []string{tip}); !errors.Is(err, ErrMissing) {
		t.Error(got, err)
	}
	if _, err := r.FirstCommit(ctx); !errors.Is(err, ErrMissing) {
		t.Error(err)
	}
	h, err := r.Head(ctx)
	must(t, err)
	equal(t, tip, h.Commit)
}

// TestWithoutGit: what needs git says so, in one class of error.
func TestWithoutGit(t *testing.T) {
	w := newWorld(t)
	w.repo("r")
	r, err := Find(context.Background(), w.noGit(), w.path("r"))
	must(t, err)
	tip := w.git("r", "rev-parse", "HEAD")
	ctx := context.Background()
	for name, call := range map[string]func() error{
		"merge base":  func() error { _, err := r.MergeBase(ctx, tip, tip); return err },
		"is ancestor": func() error { _, err := r.IsAncestor(ctx, tip, tip); return err },
		"ancestors":   func() error { _, err := r.Ancestors(ctx, tip, []string{tip}); return err },
		"status":      func() error { _, err := r.Status(ctx); return err },
		"files":       func() error { _, err := r.Files(ctx); return err },
		"tracked":     func() error { _, err := r.TrackedUnder(ctx, ".holdfast"); return err },
		"first":       func() error { _, err := r.FirstCommit(ctx); return err },
		"digest":      func() error { _, err := r.DirtyDigest(ctx); return err },
		"blobs":       func() error { _, err := r.HeadBlobs(ctx, []string{"a.txt"}); return err },
	} {
		if err := call(); !errors.Is(err, ErrNoGit) || !errors.Is(err, ErrUnavailable) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, path := range []string{"", ".", "relative/bin", w.path("r")} {
		w.write("r/git", "#!/bin/sh\n")
		must(t, os.Chmod(w.path("r/git"), 0o755))
		r.env.Path = path
		if _, err := r.Status(ctx); !errors.Is(err, ErrNoGit) {
			t.Errorf("PATH=%q: %v", path, err)
		}
	}
}
