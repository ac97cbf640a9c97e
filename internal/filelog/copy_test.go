package filelog

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"holdfast/internal/ledger"
)

// notes lists the paths that are noted, and which ledger.
func (l *Log) noteMap() map[string]string {
	out := map[string]string{}
	for _, n := range l.m.notes() {
		out[n.Path] = n.Ledger
	}
	return out
}

// A folder that is moved goes on, and its old path is free for another project.
func TestMovedFolder(t *testing.T) {
	l, p := made(t, 2)
	id := l.id()
	moved := l.elsewhere(filepath.Join(t.TempDir(), "moved"))
	check(t, os.Rename(l.p.Dir, moved.p.Dir))
	p = add(t, moved, p, note("at the new place"))
	verify(t, moved, p)
	if got := moved.noteMap(); len(got) != 1 || got[realPath(moved.p.Dir)] != id {
		t.Errorf("notes %v", got)
	}

	mkdir(t, l.p.Dir)
	another := l.again()
	q := create(t, another)
	verify(t, another, q)
	if another.id() == id {
		t.Error("the old path has the old ledger")
	}
	p = add(t, moved.again(), p, note("and on"))
	verify(t, moved, p)
}

// A moved folder whose ledger is deleted before it was used at its new place is
// a loss, not a new project.
func TestMovedThenDeleted(t *testing.T) {
	l, _ := made(t, 2)
	if !strings.Contains(folderIdentity(l.p.Dir), ".") {
		t.Skip("this file system keeps no birth time: inodes alone may be reused")
	}
	moved := l.elsewhere(filepath.Join(t.TempDir(), "moved"))
	check(t, os.Rename(l.p.Dir, moved.p.Dir))
	check(t, os.RemoveAll(moved.Dir()))
	_, err := moved.Append(t.Context(), ledger.Pos{}, ledger.Draft{Type: ledger.TypeLedger})
	want[*LostError](t, err)
}

// A path is only a note's as long as its folder is the same, or the repository.
func TestReusedPath(t *testing.T) {
	l, _ := made(t, 2)
	l.p.FirstCommit = func() string { return "abc" }
	check(t, os.RemoveAll(l.p.Dir))
	mkdir(t, l.p.Dir)
	if h := head(t, l.again()); h != (ledger.Pos{}) {
		t.Errorf("head %v", h)
	}
	p := create(t, l.again())
	verify(t, l.again(), p)

	// The same repository, cloned anew: its ledger is missing.
	check(t, os.RemoveAll(l.p.Dir))
	mkdir(t, l.p.Dir)
	_, err := l.again().Head(t.Context())
	want[*LostError](t, err)
	l.p.FirstCommit = func() string { return "another" }
	if h := head(t, l.again()); h != (ledger.Pos{}) {
		t.Errorf("head %v", h)
	}
}

// A note made before the first commit gains it.
func TestNoteGainsFirstCommit(t *testing.T) {
	l, p := made(t, 1)
	l.p.FirstCommit = func() string { return "abc" }
	add(t, l.again(), p, note("x"))
	n, ok := l.m.readNote(realPath(l.p.Dir))
	if !ok || n.FirstCommit != "abc" {
		t.Errorf("note %+v, %v", n, ok)
	}
}

// An inode that is used again is not the folder of the note.
func TestInodeReuse(t *testing.T) {
	n := Note{Path: "/a", Folder: "17.1000.5"}
	for _, c := range []struct {
		identity, path string
		want           bool
	}{
		{"17.1000.5", "/a", true}, {"17.1000.5", "/b", true}, {"17.1000.6", "/a", false}, {"18.1000.5", "/a", false}, {"", "/a", false},
	} {
		if got := n.isFolder(c.identity, c.path); got != c.want {
			t.Errorf("%q at %s: %v", c.identity, c.path, got)
		}
	}
	bare := Note{Path: "/a", Folder: "17"}
	if !bare.isFolder("17", "/a") || bare.isFolder("17", "/b") {
		t.Error("without a birth time the path has to agree")
	}
}

// Of two live copies the one with the older note goes on; the other is refused,
// whether it is used at once or after the original went on, and its refusal
// doesn't touch the original.
func TestTwoLiveCopies(t *testing.T) {
	l, p := made(t, 2)
	other := l.elsewhere(filepath.Join(t.TempDir(), "copy"))
	copyTree(t, l.p.Dir, other.p.Dir)

	err := want[*CopyError](t, refuses(t, other, p))
	if err.Other != l.Dir() || err.Path != other.Dir() {
		t.Errorf("%+v", err)
	}
	p2 := add(t, l.again(), p, note("the original goes on"))
	want[*CopyError](t, refuses(t, other.again(), p))
	_, herr := other.again().Head(t.Context())
	want[*CopyError](t, herr)
	if d := l.NotedDamage(l.id()); d != nil {
		t.Errorf("damage of the original: %v", d)
	}
	verify(t, l, p2)
	if found := l.temporaries(t); len(found) > 0 {
		t.Errorf("left: %v", found)
	}

	// The original is deleted: the copy is all there is, if it has everything.
	check(t, os.RemoveAll(other.p.Dir))
	copyTree(t, l.p.Dir, other.p.Dir)
	check(t, os.RemoveAll(l.p.Dir))
	add(t, other.again(), p2, note("the copy goes on"))
}

// Both copies have notes, since they never were there at the same time.
func TestCopiesWithTwoNotes(t *testing.T) {
	l, p := made(t, 2)
	away := filepath.Join(t.TempDir(), "away")
	other := l.elsewhere(filepath.Join(t.TempDir(), "copy"))
	copyTree(t, l.p.Dir, other.p.Dir)
	check(t, os.Rename(l.p.Dir, away))
	time.Sleep(5 * time.Millisecond) // notes tell milliseconds
	q := add(t, other, p, note("alone"))
	check(t, os.Rename(away, l.p.Dir))

	want[*CopyError](t, refuses(t, l.again(), p))
	_, err := other.again().Append(t.Context(), q, note("the newer note"))
	want[*CopyError](t, err)
}

// A folder seen through two paths is one ledger. Here by a link; two mounts are
// told by the probe.
func TestTwoPathsOneFolder(t *testing.T) {
	l, p := made(t, 2)
	link := filepath.Join(t.TempDir(), "link")
	check(t, os.Symlink(l.p.Dir, link))
	p = add(t, l.elsewhere(link), p, note("through a link"))
	p = add(t, l.again(), p, note("and back"))
	verify(t, l, p)
	if got := l.noteMap(); len(got) != 1 {
		t.Errorf("notes %v", got)
	}
}

// A file that is made in one mount appears in the other.
func TestSharedFolder(t *testing.T) {
	l, _ := made(t, 1)
	v, err := l.view()
	check(t, err)
	defer v.close()
	same, err := l.m.Layer.OpenDir(l.Dir())
	check(t, err)
	defer same.Close()
	if !l.shared(v, same) {
		t.Error("one folder is taken for two")
	}
	dir := filepath.Join(t.TempDir(), "copy")
	copyTree(t, l.Dir(), dir)
	copied, err := l.m.Layer.OpenDir(dir)
	check(t, err)
	defer copied.Close()
	if l.shared(v, copied) {
		t.Error("two folders are taken for one")
	}
	if found := l.temporaries(t); len(found) > 0 {
		t.Errorf("left: %v", found)
	}
}

// Notes that can't be written stop no save; it says so.
func TestNoteNotWritten(t *testing.T) {
	l, p := made(t, 1)
	check(t, os.RemoveAll(l.paths()))
	put(t, l.paths(), "a file in its place")
	saved, err := l.again().Append(t.Context(), p, note("x"))
	check(t, err)
	if len(saved.Warnings) != 1 || !strings.Contains(saved.Warnings[0], "not noted") || !saved.Protected {
		t.Errorf("saved %+v", saved)
	}
}
