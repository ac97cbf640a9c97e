package git

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func FuzzPointer(f *testing.F) {
	for _, name := range []string{"dot-git-worktree", "dot-git-submodule", "dot-git-crlf", "dot-git-dangling"} {
		f.Add([]byte(fixture(f, name)))
	}
	f.Add([]byte("gitdir: a\r\nb"))
	f.Fuzz(func(t *testing.T, b []byte) {
		p, ok := parsePointer(b)
		if ok && (p == "" || strings.ContainsAny(p, "\n\x00") || !bytes.HasPrefix(b, []byte("gitdir: "+p))) {
			t.Errorf("%q: %q", b, p)
		}
	})
}

func FuzzRef(f *testing.F) {
	for _, s := range []string{
		"ref: refs/heads/main\n", "ref:refs/heads/x", "ref: refs/heads/../x", strings.Repeat("a", 40) + "\n", strings.Repeat("B", 64),
		"ref: refs/heads/.invalid\n", strings.Repeat("a", 40) + " x",
	} {
		f.Add([]byte(s))
	}
	root := f.TempDir()
	f.Fuzz(func(t *testing.T, b []byte) {
		v, ok := parseRef(b)
		if !ok {
			return
		}
		if (v.oid == "") == (v.target == "") || v.oid != "" && !validOID(v.oid) {
			t.Errorf("%q: %+v", b, v)
		}
		if v.target != "" && !inside(filepath.Join(root, filepath.FromSlash(v.target)), filepath.Join(root, "refs")) {
			t.Errorf("%q leads out: %q", b, v.target)
		}
	})
}

// FuzzPacked: looking a name up and listing all names agree, in a file of any
// bytes, and in a sorted one of any names.
func FuzzPacked(f *testing.F) {
	oid := strings.Repeat("1", 40)
	f.Add([]byte("# pack-refs with: peeled fully-peeled sorted \n"+oid+" refs/heads/a\n^"+oid+"\n"+oid+" refs/heads/b\n"), "refs/heads/b", uint16(3))
	f.Add([]byte(oid+" refs/heads/a"), "refs/heads/a", uint16(900))
	path := filepath.Join(f.TempDir(), "packed-refs")
	f.Fuzz(func(t *testing.T, b []byte, name string, pad uint16) {
		must(t, os.WriteFile(path, b, 0o644))
		packedRef(path, name)
		eachPacked(bytes.NewReader(b), func(id string, n []byte) bool {
			if !validOID(id) || bytes.ContainsAny(n, "\n") {
				t.Errorf("%q: %q %q", b, id, n)
			}
			return true
		})
		var names []string
		for i, part := range strings.Split(string(b), "\n") {
			if len(part) < 100 {
				names = append(names, "refs/heads/"+strings.Map(plain, part)+strings.Repeat("p", (i*int(pad))%3000)+"e")
			}
		}
		for i := range 40 {
			names = append(names, "refs/heads/"+strings.Repeat("m", (i*int(pad))%2000)+"e")
		}
		slices.Sort(names)
		names = slices.Compact(names)
		var file strings.Builder
		file.WriteString("# pack-refs with: peeled fully-peeled sorted \n")
		for _, n := range names {
			file.WriteString(oid + " " + n + "\n^" + oid + "\n")
		}
		must(t, os.WriteFile(path, []byte(file.String()), 0o644))
		for _, n := range names {
			if got, err := packedRef(path, n); err != nil || got != oid {
				t.Fatalf("%q isn't found: %v", n, err)
			}
			if got, err := packedRef(path, n+"x"); err == nil {
				t.Fatalf("%q is found: %s", n+"x", got)
			}
		}
	})
}

func plain(r rune) rune {
	if r <= ' ' || r == 0x7f {
		return '_'
	}
	return r
}

func FuzzChange(f *testing.F) {
	for _, s := range []string{
		"1 .M N... 100644 100644 100644 1111111111111111111111111111111111111111 1111111111111111111111111111111111111111 a b.txt",
		"u UU N... 100644 100644 100644 100644 1 2 3 a", "? new file", "! x", "# branch.oid 1", "", "1", "u a b", "? ",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, rec string) {
		c, skip, err := parseChange(rec)
		if err == nil && !skip && (c.path == "" || rec != c.fields+" "+c.path) {
			t.Errorf("%q: %+v", rec, c)
		}
	})
}

func FuzzConfigEntry(f *testing.F) {
	for _, s := range []string{"filter.x.clean\ncat", "filter..clean\n", "filter.a=b.c.required", "filter.clean\nx", "core.bare\ntrue", "filter.", "\n"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, rec string) {
		key, value := parseConfigEntry(rec)
		if rec != key && rec != key+"\n"+value {
			t.Errorf("%q: %q %q", rec, key, value)
		}
		if name, ok := filterName(key); ok && !strings.HasPrefix(key, "filter."+name+".") {
			t.Errorf("%q: %q", key, name)
		}
	})
}

// FuzzConfigFile: the config file parser ends, and never finds a variable in a
// text that doesn't hold its name.
func FuzzConfigFile(f *testing.F) {
	for _, s := range []string{
		"[core]\n\tbare = true\n\tworktree = ../../../x\n[extensions]\nworktreeConfig\n",
		"[core \"sub\"]\nbare=true\n", "\ufeff[core]bare # c\n", "[core]\nworktree = \"a b\\t\" c ; d\\\n", "[core]\nworktree = a\\\r\n b\r\n", "[", "[a", "[a \"b\\\"]\n", "=", "[core]\nbare=0x",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var c coreConfig
		c.parse(b)
		low := strings.ToLower(string(b))
		if c.bare != nil && !strings.Contains(low, "bare") || c.worktree != "" && !strings.Contains(low, "worktree") {
			t.Errorf("%q: %+v", b, c)
		}
	})
}

func FuzzIndexEntry(f *testing.F) {
	f.Add("100644 1111111111111111111111111111111111111111 0\ta\tb")
	f.Add("160000 x 0\t")
	f.Fuzz(func(t *testing.T, rec string) {
		if e, err := parseIndexEntry(rec); err == nil && (e.path == "" || !validOID(e.oid) || !strings.HasSuffix(rec, "\t"+e.path)) {
			t.Errorf("%q: %+v", rec, e)
		}
	})
}

func FuzzTreeEntry(f *testing.F) {
	f.Add("100644 blob 1111111111111111111111111111111111111111       4\ta.txt")
	f.Add("040000 tree 1111111111111111111111111111111111111111       -\td")
	f.Fuzz(func(t *testing.T, rec string) {
		if b, _, err := parseTreeEntry(rec); err == nil && b.OID != "" && (!validOID(b.OID) || b.Size < 0) {
			t.Errorf("%q: %+v", rec, b)
		}
	})
}

// TestCoreConfig compares the parser with git on what git accepts.
func TestCoreConfig(t *testing.T) {
	w := newWorld(t)
	for _, text := range []string{
		"[core]\n\tbare = true\n", "[core]bare=false", "[CORE]\n BARE\n", "[core]\nbare = yes # no\n", "[core]\nbare = \"on\" ; x\n",
		"[core]\nworktree = \"a b\"  \n", "[core]\nworktree = a\\\n b\n", "[core]\nworktree = \"x;y\" z\n", "[core]\nworktree = a\\tb\\\\c\n",
		"[core \"x\"]\nbare = true\n", "# c\n; d\n[core]\n# bare = true\nworktree = x\n", "[core]\r\nworktree = x\r\nbare = 1\r\n", "[core]\nbare = 0\n",
		"[core]\nbare = true\n[core]\nbare = false\n", "[core]\nbare =\n", "[a \"b]\"]\n[core]\nbare = -1\n", "\ufeff[core]\nbare = 10\n",
	} {
		w.write("cfg", text)
		var c coreConfig
		c.parse([]byte(text))
		want, err := w.try(".", "config", "--file", "cfg", "--bool", "core.bare")
		got := ""
		if c.bare != nil {
			got = map[bool]string{true: "true", false: "false"}[*c.bare]
		}
		if err == nil && got != want || err != nil && got != "" {
			t.Errorf("%q: bare %q, git says %q", text, got, want)
		}
		want, err = w.try(".", "config", "--file", "cfg", "core.worktree")
		if err == nil && c.worktree != want || err != nil && c.worktree != "" {
			t.Errorf("%q: worktree %q, git says %q", text, c.worktree, want)
		}
	}
}

// TestValidRef agrees with git check-ref-format.
func TestValidRef(t *testing.T) {
	w := newWorld(t)
	for _, name := range []string{
		"main", "a/b", "a..b", "a.lock", "a.lock/b", ".a", "a/.b", "a.", "a//b", "/a", "a/", "a b", "a~", "a^", "a:", "a?", "a*", "a[", "a\\", "a\x7f", "a\x01",
		"a@{b", "@", "a@b", "-a", "ü", "a.b", "{", "a]", "\xff",
	} {
		_, err := w.try(".", "check-ref-format", headsPrefix+name)
		if got := validRef(headsPrefix + name); got != (err == nil) {
			t.Errorf("%q: %v, git says %v", name, got, err)
		}
	}
}
