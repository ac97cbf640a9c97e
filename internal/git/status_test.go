package git

import (
	"bytes"
	"context"
	"errors"
	"os"
	"strings"
	"testing"
)

func TestStatus(t *testing.T) {
	w := newWorld(t)
	w.repo("r")
	w.commit("r", "b.txt", "b\n")
	ctx := context.Background()
	check := func(what string, want Status) {
		t.Helper()
		got, err := w.find("r").Status(ctx)
		must(t, err)
		if got != want {
			t.Errorf("%s: got %+v, want %+v", what, got, want)
		}
	}
	check("clean", Status{})
	w.write("r/a.txt", "changed\n")
	w.write("r/new\nname ü", "x")
	w.write("r/dir/x", "x")
	w.write("r/dir/y", "x")
	check("changed", Status{Dirty: true, Changed: 1, Untracked: 2})
	w.git("r", "mv", "b.txt", "c.txt")
	check("renamed", Status{Dirty: true, Changed: 3, Untracked: 2})
	w.write("r/.gitignore", "/dir\nnew*\n.gitignore\n")
	check("ignored", Status{Dirty: true, Changed: 3})
	w.git("r", "config", "status.showUntrackedFiles", "no")
	w.git("r", "config", "status.branch", "true")
	w.git("r", "config", "color.status", "always")
	w.write("r/more", "x")
	check("configured otherwise", Status{Dirty: true, Changed: 3, Untracked: 1})
	w.git("r", "reset", "-q", "--hard")
	must(t, os.Remove(w.path("r/more")))
	w.git("r", "checkout", "-q", "-b", "side")
	w.commit("r", "a.txt", "side\n")
	w.git("r", "checkout", "-q", "main")
	w.commit("r", "a.txt", "main\n")
	if _, err := w.try("r", "merge", "side"); err == nil {
		t.Fatal("a conflict was meant")
	}
	check("conflict", Status{Dirty: true, Changed: 1, Unmerged: 1})
	w.git("r", "merge", "--abort")
	w.write("r/.holdfast/FORMAT", "x")
	check(".holdfast", Status{})
	w.git("r", "add", "-f", ".holdfast")
	check(".holdfast tracked", Status{})
	w.repo("u")
	w.git("u", "switch", "-q", "--orphan", "unborn")
	if s, err := w.find("u").Status(ctx); err != nil || s.Dirty {
		t.Errorf("unborn: %+v, %v", s, err)
	}
	w.git(".", "clone", "-q", "--bare", "u", "bare.git")
	if _, err := w.find("bare.git").Status(ctx); !errors.Is(err, ErrNoWorktree) {
		t.Error(err)
	}
}

func TestFiles(t *testing.T) {
	w := newWorld(t)
	w.repo("r")
	w.commit("r", "sub/-x", "b\n")
	w.commit("r", "gone", "b\n")
	must(t, os.Remove(w.path("r/gone")))
	w.write("r/.gitignore", "ignored\n")
	w.write("r/ignored", "x")
	w.write("r/ünï \"q\"\n\\", "x")
	w.write("r/nul", "x") // a name that Windows reserves
	w.write("r/.holdfast/FORMAT", "x")
	w.write("r/sub/.holdfast/x", "x")
	w.repo("r/inner")
	w.repo("lib")
	w.git("r", "submodule", "add", "-q", "../lib", "lib")
	w.git("r", "worktree", "add", "-q", "wts/side")
	w.write("r/wts/side/x", "x")
	want := []string{".gitignore", ".gitmodules", "a.txt", "gone", "nul", "sub/-x", "ünï \"q\"\n\\"}
	got, err := w.find("r/sub").Files(context.Background())
	must(t, err)
	equal(t, want, got)
	got, err = w.find("r/wts/side").Files(context.Background())
	must(t, err)
	equal(t, []string{"a.txt", "gone", "sub/-x", "x"}, got)
}

// TestCaseC024_TrackedUnder: ledger files that were once committed are found,
// and only those.
func TestCaseC024_TrackedUnder(t *testing.T) {
	w := newWorld(t)
	w.repo("r")
	ctx := context.Background()
	check := func(at, prefix string, want ...string) {
		t.Helper()
		got, err := w.find(at).TrackedUnder(ctx, prefix)
		must(t, err)
		equal(t, want, got)
	}
	check("r", ".holdfast")
	w.git("r", "checkout", "-q", "-b", "old")
	w.write("r/.holdfast/gen/0001/rev/00000000.json", "{}")
	w.commit("r", ".holdfast/FORMAT", "x")
	w.git("r", "add", ".holdfast")
	w.git("r", "commit", "-q", "-m", "x")
	w.commit("r", ".holdfast-not/x", "x")
	check("r", ".holdfast", ".holdfast/FORMAT", ".holdfast/gen/0001/rev/00000000.json")
	check("r", ".holdfast/", ".holdfast/FORMAT", ".holdfast/gen/0001/rev/00000000.json")
	check("r", "*")
	w.git("r", "checkout", "-q", "main")
	check("r", ".holdfast")
	w.git("r", "worktree", "add", "-q", "../wt", "old")
	check("wt", ".holdfast", ".holdfast/FORMAT", ".holdfast/gen/0001/rev/00000000.json")
	for _, bad := range []string{"..", "../r", "/etc", ".holdfast/../.."} {
		if _, err := w.find("r").TrackedUnder(ctx, bad); !errors.Is(err, ErrMalformed) {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

// TestCaseC064_DirtyDigest: each kind of edit changes the digest, undoing it
// changes it back, and ignored files and the ledger leave it alone.
func TestCaseC064_DirtyDigest(t *testing.T) {
	w := newWorld(t)
	w.repo("lib")
	w.repo("r")
	w.git("r", "submodule", "add", "-q", "../lib", "lib")
	w.commit("r", ".gitignore", "ignored\n")
	ctx := context.Background()
	digest := func() string {
		t.Helper()
		d, err := w.find("r").DirtyDigest(ctx)
		must(t, err)
		return d
	}
	equal(t, "", digest())
	seen := map[string]string{"": "clean"}
	differs := func(what string) {
		t.Helper()
		d := digest()
		if was, ok := seen[d]; ok {
			t.Errorf("%s: as %s", what, was)
		}
		if again := digest(); again != d {
			t.Errorf("%s: not stable", what)
		}
		seen[d] = what
	}
	w.write("r/a.txt", "edit 1\n")
	differs("tracked")
	edit1 := digest()
	w.write("r/a.txt", "edit 2\n")
	differs("tracked again")
	w.write("r/new/deep/file", "1")
	differs("untracked")
	w.write("r/new/deep/file", "2")
	differs("untracked again")
	w.write("r/lib/a.txt", "inside")
	differs("in the submodule")
	w.write("r/lib/a.txt", "inside 2")
	differs("in the submodule again")
	w.commit("r/lib", "a.txt", "inside 3")
	differs("submodule commit")
	w.commit("r/lib", "z", "z")
	differs("submodule commit again")
	must(t, os.Remove(w.path("r/a.txt")))
	differs("deleted")
	must(t, os.Symlink("target", w.path("r/a.txt")))
	differs("a link")
	must(t, errors.Join(os.Remove(w.path("r/a.txt")), os.Symlink("/etc/passwd", w.path("r/a.txt"))))
	differs("another link")
	before := digest()
	w.write("r/ignored", "x")
	w.write("r/.holdfast/FORMAT", "x")
	equal(t, before, digest())
	w.git("r", "submodule", "-q", "update", "--force")
	must(t, errors.Join(os.RemoveAll(w.path("r/new")), os.Remove(w.path("r/a.txt"))))
	w.write("r/a.txt", "edit 1\n")
	equal(t, edit1, digest())
	w.write("r/a.txt", "one\n")
	equal(t, "", digest())
}

// TestDirtyDigestFIFO: a FIFO in a file's place is a change, and never waited for.
func TestDirtyDigestFIFO(t *testing.T) {
	w := newWorld(t)
	w.repo("r")
	must(t, os.Remove(w.path("r/a.txt")))
	fifo(t, w.path("r/a.txt"))
	d, err := w.find("r").DirtyDigest(context.Background())
	if must(t, err); len(d) != 64 {
		t.Errorf("digest %q", d)
	}
}

func TestBlobs(t *testing.T) {
	for _, format := range []string{"sha1", "sha256"} {
		w := newWorld(t)
		w.repo("r", "--object-format="+format)
		ctx := context.Background()
		w.commit("r", "d/-x *?", "content\n")
		must(t, os.Symlink("a.txt", w.path("r/link")))
		w.git("r", "add", "link")
		w.git("r", "commit", "-q", "-m", "l")
		var paths []string
		for range 3000 {
			paths = append(paths, "some/long/path/that/is/not/there/"+strings.Repeat("x", 30))
		}
		paths = append(paths, "a.txt", "d/-x *?", "d", "d/", "link", "", "..", "../r/a.txt", "/etc/passwd", "*", "--all")
		r := w.find("r")
		got, err := r.HeadBlobs(ctx, paths)
		must(t, err)
		oid := func(p string) string { return w.git("r", "rev-parse", "HEAD:"+p) }
		equal(t, map[string]Blob{
			"a.txt":   {OID: oid("a.txt"), Mode: "100644", Size: 4},
			"d/-x *?": {OID: oid("d/-x *?"), Mode: "100644", Size: 8},
			"link":    {OID: oid("link"), Mode: "120000", Size: 5},
		}, got)
		id, err := HashBlob(strings.NewReader("content\n"), 8, len(got["link"].OID))
		must(t, err)
		equal(t, oid("d/-x *?"), id)
		if _, err := HashBlob(strings.NewReader("content\n"), 7, 40); err == nil {
			t.Error("a file that grew was hashed")
		}
		b, err := r.ReadBlob(ctx, id, 8)
		must(t, err)
		equal(t, "content\n", string(b))
		if _, err := r.ReadBlob(ctx, id, 7); !errors.Is(err, ErrTooMuch) {
			t.Error(err)
		}
		if _, err := r.ReadBlob(ctx, strings.Repeat("0b", len(id)/2), 7); !errors.Is(err, ErrMissing) {
			t.Error(err)
		}
		w.git("r", "switch", "-q", "--orphan", "unborn")
		if got, err := r.HeadBlobs(ctx, paths); err != nil || len(got) != 0 {
			t.Error(got, err)
		}
	}
}

// TestRecords: a stream is cut the same way however it arrives, within bounds.
func TestRecords(t *testing.T) {
	text := "a\x00\x00bc\x00" + strings.Repeat("d", 5000) + "\x00"
	want := []string{"a", "", "bc", strings.Repeat("d", 5000)}
	for _, step := range []int{1, 2, 3, 7, 4096, len(text)} {
		var got []string
		s := &splitter{visit: func(r string) error { got = append(got, r); return nil }}
		for rest := []byte(text); len(rest) > 0; {
			n := min(step, len(rest))
			if _, err := s.Write(bytes.Clone(rest[:n])); err != nil {
				t.Fatal(err)
			}
			rest = rest[n:]
		}
		equal(t, want, got)
	}
	s := &splitter{visit: func(string) error { return nil }}
	var err error
	for i := 0; i < 2*maxRecord && err == nil; i += 1000 {
		_, err = s.Write(make([]byte, 0, 1000)[:1000:1000])
		if i == 0 {
			s.sep = 'x' // zeros end nothing from here on
		}
	}
	if !errors.Is(err, ErrTooMuch) {
		t.Error(err)
	}
}
