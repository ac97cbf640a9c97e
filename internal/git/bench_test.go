package git

import (
	"context"
	"fmt"
	"strings"
	"testing"
)

func BenchmarkFind(b *testing.B) {
	w := newWorld(b)
	w.repo("r")
	w.write("r/a/b/c/x", "")
	w.git("r", "worktree", "add", "-q", "-b", "side", "../wt")
	for _, at := range []string{"r", "r/a/b/c", "wt"} {
		b.Run(strings.ReplaceAll(at, "/", "_"), func(b *testing.B) {
			for b.Loop() {
				if _, err := Find(context.Background(), w.env, w.path(at)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkHead(b *testing.B) {
	w := newWorld(b)
	w.repo("r")
	w.repo("packed")
	w.git("packed", "pack-refs", "--all")
	w.repo("huge")
	var refs strings.Builder
	refs.WriteString("# pack-refs with: peeled fully-peeled sorted \n")
	for i := range 200_000 {
		fmt.Fprintf(&refs, "%040x refs/heads/b%07d\n", i, i)
	}
	fmt.Fprintf(&refs, "%s refs/heads/main\n", w.git("huge", "rev-parse", "HEAD"))
	w.git("huge", "pack-refs", "--all")
	w.write("huge/.git/packed-refs", refs.String())
	w.repo("detached")
	w.git("detached", "checkout", "-q", "--detach")
	for _, at := range []string{"r", "packed", "huge", "detached"} {
		r := w.find(at)
		b.Run(at, func(b *testing.B) {
			for b.Loop() {
				if h, err := r.Head(context.Background()); err != nil || h.Commit == "" {
					b.Fatal(h, err)
				}
			}
		})
	}
}

// BenchmarkStatus beside plain git status, to compare within one run.
func BenchmarkStatus(b *testing.B) {
	w := newWorld(b)
	w.repo("r")
	for i := range 2000 {
		w.write(fmt.Sprintf("r/d%d/f%d", i%50, i), "x")
	}
	w.git("r", "add", ".")
	w.git("r", "commit", "-q", "-m", "x")
	r := w.find("r")
	b.Run("git", func(b *testing.B) {
		for b.Loop() {
			w.git("r", "status", "--porcelain")
		}
	})
	b.Run("ours", func(b *testing.B) {
		for b.Loop() {
			if _, err := r.Status(context.Background()); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkAncestors(b *testing.B) {
	w := newWorld(b)
	w.repo("r")
	var in strings.Builder
	for i := range 5000 {
		fmt.Fprintf(&in, "commit refs/heads/main\ncommitter A <a@b> %d +0000\ndata 1\nx\n", 1_700_000_000+i)
		if i == 0 {
			in.WriteString("from refs/heads/main^0\n")
		}
	}
	w.write("stream", in.String())
	w.git("r", "config", "alias.load", "!git fast-import --quiet --force < "+w.path("stream"))
	w.git("r", "load")
	all := strings.Split(w.git("r", "rev-list", "main"), "\n")
	r := w.find("r")
	for b.Loop() {
		got, err := r.Ancestors(context.Background(), all[10], all)
		if err != nil || len(got) != len(all) || got[all[9]] || !got[all[len(all)-1]] {
			b.Fatal(err, len(got))
		}
	}
}
