//go:build unix

package check

import (
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"

	"holdfast/internal/ledger"
)

func TestSpecialInputs(t *testing.T) {
	top, away := realDir(t), realDir(t)
	put(t, away, "x")
	put(t, top, "a", ".env", "dir/f")
	for _, err := range []error{
		os.Symlink("a", filepath.Join(top, "in")), os.Symlink(filepath.Join(away, "x"), filepath.Join(top, "out")),
		os.Symlink(away, filepath.Join(top, "astray")), syscall.Mkfifo(filepath.Join(top, "fifo"), 0o600),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	files := []string{".env", "a", "a/below", "astray/x", "dir", "fifo", "gone", "in", "out"}
	hash := func(key string) map[string]ledger.InputFile {
		h := Hasher{Top: top, CPUs: 2, Key: []byte(key)}
		got, err := h.Hash(t.Context(), files)
		if err != nil {
			t.Fatal(err)
		}
		m := map[string]ledger.InputFile{}
		for _, f := range got {
			m[f.Path] = f
		}
		return m
	}
	one, two, none := hash("1"), hash("2"), hash("")
	for f, want := range map[string]string{"astray/x": Unreadable, "dir": Folder, "fifo": Special, "gone": "", "a/below": ""} {
		if one[f].SHA256 != want {
			t.Errorf("%s: %q, want %q", f, one[f].SHA256, want)
		}
	}
	if !one[".env"].Keyed || one[".env"] == two[".env"] || none[".env"].SHA256 != Unreadable || one["a"] != two["a"] {
		t.Error("secrets are hashed with the machine's key, and nothing else is")
	}
	if err := os.WriteFile(filepath.Join(top, "a"), []byte("other"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(away, "x"), []byte("other"), 0o644); err != nil {
		t.Fatal(err)
	}
	if now := hash("1"); now["in"] == one["in"] || now["out"] != one["out"] {
		t.Error("a link counts with what it leads to inside, and not outside")
	}
}

func TestRuntimeNamesWhatACommandGoesThrough(t *testing.T) {
	dir := realDir(t)
	script(t, dir, "tool", "#!/usr/bin/env -S sh\n", 0o755)
	h := Hasher{Top: dir, CPUs: 1}
	env := []string{"PATH=" + dir + ":/usr/bin:/bin"}
	through := func(argv ...string) []string {
		var out []string
		rt := h.Runtime(t.Context(), argv, dir, env, Platform{"os", "arch"})
		if rt.OS != "os" || len(rt.SHA256) != 64 {
			t.Errorf("%+v", rt)
		}
		for _, p := range rt.Through {
			out = append(out, filepath.Base(p.Path))
		}
		return out
	}
	if got := through("./tool"); !slices.Equal(got, []string{"env", "sh"}) {
		t.Errorf("%v", got)
	}
	if got := through("sh", "-c", "cat x && tool y"); !slices.Equal(got, []string{"cat", "tool"}) {
		t.Errorf("%v", got)
	}
	if got := Version(t.Context(), filepath.Join(dir, "tool"), dir, env); got != "" {
		t.Errorf("a program that isn't on the list was run: %q", got)
	}
}
