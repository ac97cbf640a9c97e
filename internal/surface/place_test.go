package surface

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// project is a folder to look at, with links resolved.
func project(tb testing.TB) string {
	tb.Helper()
	dir, err := filepath.EvalSymlinks(tb.TempDir())
	if err != nil {
		tb.Fatal(err)
	}
	return dir
}

func observer(dir string, change ...func(*Options)) *Observer {
	o := Options{Worktree: "main", Tops: map[string]string{"main": dir}, Cache: NewCache(), Now: time.Now, Workers: 2}
	for _, c := range change {
		c(&o)
	}
	return New(o)
}

func write(tb testing.TB, dir, p, text string) {
	tb.Helper()
	full := filepath.Join(dir, filepath.FromSlash(p))
	if err := errors.Join(os.MkdirAll(filepath.Dir(full), 0o755), os.WriteFile(full, []byte(text), 0o644)); err != nil {
		tb.Fatal(err)
	}
}

func link(tb testing.TB, dir, p, target string) {
	tb.Helper()
	full := filepath.Join(dir, filepath.FromSlash(p))
	if err := errors.Join(os.MkdirAll(filepath.Dir(full), 0o755), os.Symlink(target, full)); err != nil {
		tb.Fatal(err)
	}
}

// TestPlaceSpellings: every spelling of one thing is one place, and no other's.
func TestPlaceSpellings(t *testing.T) {
	dir := project(t)
	other := project(t)
	write(t, dir, "real/sub/x", "")
	write(t, dir, "f", "")
	write(t, other, "y", "")
	link(t, dir, "link", "real")
	link(t, dir, "deep/up", "../real/sub")
	link(t, dir, "abs", filepath.Join(dir, "real"))
	link(t, dir, "l2", "link/sub")
	link(t, dir, "leaf", "f")
	link(t, dir, "out", other)
	link(t, dir, "round", "round2")
	link(t, dir, "round2", "round")
	o := observer(dir)
	for in, want := range map[string]string{
		"file:f":                     "file:f",
		"file:./f":                   "file:f",
		"file:.//./f":                "file:f",
		"file:real/../f":             "file:f",
		"file:link/../f":             "file:f", // link leads to real, whose parent is the top
		"file:deep/up/../../f":       "file:f", // two up from real/sub
		"file:missing/../f":          "file:f",
		"file:f/":                    "file:f",
		"file:" + dir + "/f":         "file:f",
		"file:" + dir + "/link/../f": "file:f",
		"file:link/sub/x":            "file:real/sub/x",
		"file:abs/sub/x":             "file:real/sub/x",
		"file:l2/x":                  "file:real/sub/x",
		"file:deep/up/x":             "file:real/sub/x",
		"file:leaf":                  "file:leaf", // the last component is never followed
		"file:link":                  "file:link",
		"dir:link/.":                 "dir:link",
		"dir:link/sub/..":            "dir:real",
		"dir:.":                      "dir:.",
		"dir:real/..":                "dir:.",
		"file:new/dir/z":             "file:new/dir/z",
		"file:out":                   "file:out", // a link is a link
		"file:round/x":               "file:round/x",
		"file:...":                   "file:...",
		"git:ref:main":               "git:ref:refs/heads/main",
		"git:ref:refs/heads/main":    "git:ref:refs/heads/main",
		"git:ref:refs/tags/v1":       "git:ref:refs/tags/v1",
		"git:ref:HEAD":               "git:ref:HEAD",
		"record:use-go":              "record:use-go",
		"probe:tests":                "probe:tests",
		"reported: drive/a ":         "reported:drive/a",
		"reported:cafe\u0301":        "reported:café",
	} {
		p, err := o.Place(in, nil)
		if err != nil || p.Surface != want || p.Outside {
			t.Errorf("%q: %+v, %v; want %q", in, p, err, want)
		}
	}
	for in, want := range map[string]error{
		"f":                                 errForm,
		"file:":                             errForm,
		"file:a\x00b":                       errForm,
		"disk:f":                            errForm,
		"file:..":                           errOutside,
		"file:../x":                         errOutside,
		"file:real/../../x":                 errOutside,
		"file:link/../../x":                 errOutside,
		"file:/etc/passwd":                  errOutside,
		"file:out/y":                        errOutside,
		"file:out/../x":                     errOutside,
		"dir:out/.":                         nil, // still the link itself
		"file:" + other + "/y":              errOutside,
		"file:.git/config":                  errReserved,
		"file:.GIT/config":                  errReserved,
		"file:real/.git":                    errReserved,
		"dir:.holdfast":                     errReserved,
		"dir:.Holdfast/gen":                 errReserved,
		"git:ref:a..b":                      errRef,
		"git:ref:-x y":                      errRef,
		"git:ref:refs/heads/.x":             errRef,
		"git:ref:x.lock":                    errRef,
		"record:../x":                       errName,
		"probe:a b":                         errName,
		"file:" + strings.Repeat("x/", 600): errPath,
	} {
		if p, err := o.Place(in, nil); err != want {
			t.Errorf("%q: %+v, %v; want %v", in, p, err, want)
		}
	}
}

// TestPlaceDenied: git's folder is not looked at under any name.
func TestPlaceDenied(t *testing.T) {
	dir := project(t)
	write(t, dir, "common/config", "")
	link(t, dir, "innocent", "common")
	o := observer(dir, func(o *Options) { o.Deny = []string{filepath.Join(dir, "common")} })
	for _, in := range []string{"file:common/config", "file:innocent/config", "dir:common", "file:innocent/../common/config"} {
		if p, err := o.Place(in, nil); err != errReserved {
			t.Errorf("%q: %+v, %v", in, p, err)
		}
	}
	look := lookOne(t, o, Want{Surface: "dir:.", Worktree: "main", Whole: true})
	if look.State != Present || look.Facts["files"] != "1" { // the link alone
		t.Errorf("a folder that holds it: %+v", look)
	}
}

func TestPlaceOutside(t *testing.T) {
	dir, other := project(t), project(t)
	write(t, other, "sub/y", "Y")
	link(t, other, "l", "sub")
	link(t, other, "away", dir)
	link(t, dir, "out", other)
	o := observer(dir, func(o *Options) { o.Outside = true })
	roots := []string{filepath.Join(dir, "out")} // given by a link
	for _, in := range []string{"file:" + other + "/sub/y", "file:out/sub/y", "file:out/l/y", "file:" + dir + "/out/l/y"} {
		p, err := o.Place(in, roots)
		if err != nil || p.Surface != "file:"+other+"/sub/y" || !p.Outside {
			t.Fatalf("%q: %+v, %v", in, p, err)
		}
		w := Want{Surface: p.Surface, Worktree: "main", Outside: true, Roots: roots}
		if l := lookOne(t, o, w); l.State != Present || l.Facts["sha256"] != sumHex([]byte("Y")) {
			t.Errorf("%q: %+v", in, l)
		}
		if l := lookOne(t, observer(dir), w); l.State != Unknown {
			t.Errorf("%q, seen from elsewhere: %+v", in, l)
		}
		w.Roots = nil
		if l := lookOne(t, o, w); l.State != Unknown {
			t.Errorf("%q, with nothing allowed: %+v", in, l)
		}
	}
	if p, err := o.Place("file:out/away/f", roots); err != nil || p.Outside || p.Surface != "file:f" {
		t.Errorf("back into the project: %+v, %v", p, err)
	}
	if p, err := o.Place("file:"+other+"/../x", roots); err != errOutside {
		t.Errorf("beside the allowed folder: %+v, %v", p, err)
	}
	if p, err := o.Place("file:"+other+"/.git/x", roots); err != errReserved {
		t.Errorf("somebody's git folder: %+v, %v", p, err)
	}
}

// TestPlaceUnicode: composed and decomposed letters are one name.
func TestPlaceUnicode(t *testing.T) {
	composed, decomposed := "caf\u00e9", "cafe\u0301"
	dir := project(t)
	write(t, dir, decomposed+"/x", "X")
	o := observer(dir)
	for _, in := range []string{composed, decomposed} {
		p, err := o.Place("file:"+in+"/x", nil)
		id := p.Identity
		if id == "" {
			id = p.Surface
		}
		if err != nil || id != "file:"+composed+"/x" {
			t.Errorf("%q: %+v, %v", in, p, err)
		}
		if l := lookOne(t, o, Want{Surface: p.Surface, Worktree: "main"}); l.State != Present {
			t.Errorf("%q: %+v", in, l)
		}
		// The last component, which is found under the form that it has.
		if l := lookOne(t, o, Want{Surface: "dir:" + in, Worktree: "main", Names: []string{"x"}}); len(l.Names) != 1 {
			t.Errorf("%q: %+v", in, l)
		}
	}
	write(t, dir, composed+"/x", "another")
	if foldsForms(dir, composed, decomposed) {
		t.Skip("this file system takes both forms for one name")
	}
	if p, err := o.Place("file:"+composed+"/x", nil); err != errAmbiguous {
		t.Errorf("two files, one name: %+v, %v", p, err)
	}
	if l := lookOne(t, o, Want{Surface: "dir:" + composed, Worktree: "main", Whole: true}); l.State != Unknown {
		t.Errorf("two folders, one name: %+v", l)
	}
}

func foldsForms(dir, a, b string) bool {
	x, err1 := os.Stat(filepath.Join(dir, a))
	y, err2 := os.Stat(filepath.Join(dir, b))
	return err1 == nil && err2 == nil && os.SameFile(x, y)
}

// TestPlaceInsensitive: where the file system doesn't tell cases apart, neither
// does an identity. The file system of the test does; the seam says otherwise.
func TestPlaceInsensitive(t *testing.T) {
	dir := project(t)
	write(t, dir, "Real/Notes.md", "N")
	link(t, dir, "Link", "Real")
	o := observer(dir, func(o *Options) { o.Insensitive = func(string) bool { return true } })
	for _, in := range []string{"Real/Notes.md", "REAL/notes.MD", "link/notes.md", "real/../LINK/NOTES.md"} {
		p, err := o.Place("file:"+in, nil)
		if err != nil || !p.Fold || p.Identity != "file:real/notes.md" {
			t.Errorf("%q: %+v, %v", in, p, err)
		}
		if l := lookOne(t, o, Want{Surface: p.Surface, Worktree: "main"}); l.State != Present || l.Facts["sha256"] != sumHex([]byte("N")) {
			t.Errorf("%q: %+v", in, l)
		}
	}
	if l := lookOne(t, o, Want{Surface: "dir:Real", Worktree: "main", Names: []string{"NOTES.MD"}}); l.Names["NOTES.MD"]["type"] != "file" {
		t.Errorf("a named entry: %+v", l)
	}
}

func FuzzPlace(f *testing.F) {
	dir := project(f)
	write(f, dir, "a/b/c", "")
	link(f, dir, "l", "a/b")
	link(f, dir, "out", "..")
	link(f, dir, "round", "round")
	o := observer(dir)
	for _, s := range []string{"file:a", "dir:./l/../x", "file:out/x", "file:round/x", "git:ref:main", "record:x", "file:/", "dir:a//b/./../..", "file:.g\u200cit/x"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		p, err := o.Place(s, nil)
		if err != nil {
			return
		}
		k, name, ok := split(p.Surface)
		if !ok {
			t.Fatalf("%q became %q, which is no surface", s, p.Surface)
		}
		if k == kindFile || k == kindDir {
			if name != "." && !filepath.IsLocal(name) || reserved(name) {
				t.Fatalf("%q became %q", s, p.Surface)
			}
		}
		again, err := o.Place(p.Surface, nil)
		if err != nil || again.Surface != p.Surface {
			t.Fatalf("%q became %q, and that %+v, %v", s, p.Surface, again, err)
		}
	})
}
