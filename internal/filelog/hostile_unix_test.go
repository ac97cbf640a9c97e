//go:build unix

package filelog

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"holdfast/internal/ledger"
)

// Whatever lies in the place of a ledger's file or folder, no link is followed,
// nothing blocks, nothing outside is read or written, and no save is accepted
// through it.
func TestHostileFiles(t *testing.T) {
	kinds := map[string]func(t *testing.T, path, victim string){
		"symlink":          func(t *testing.T, path, victim string) { check(t, os.Symlink(victim, path)) },
		"dangling symlink": func(t *testing.T, path, victim string) { check(t, os.Symlink(victim+".none", path)) },
		"symlink inside":   func(t *testing.T, path, _ string) { check(t, os.Symlink(filepath.Base(path)+".real", path)) },
		"hard link":        func(t *testing.T, path, victim string) { check(t, os.Link(victim, path)) },
		"FIFO":             func(t *testing.T, path, _ string) { check(t, unix.Mkfifo(path, 0o600)) },
		"folder":           func(t *testing.T, path, _ string) { check(t, os.Mkdir(path, 0o700)) },
		"device":           func(t *testing.T, path, _ string) { makeDevice(t, path) },
	}
	for _, target := range []string{
		".holdfast", ".holdfast/FORMAT", ".holdfast/gen", ".holdfast/gen/0001", ".holdfast/gen/0001/rev",
		".holdfast/gen/0001/rev/00000003.json", ".holdfast/gen/0001/rev/00000000.json", ".holdfast/gen/0001/tmp",
		".holdfast/gen/0001/pack", ".holdfast/lock", ".holdfast/gen/0001/rev/00000004.json", ".holdfast/gen/0002",
	} {
		for kind, make := range kinds {
			t.Run(target+" "+kind, func(t *testing.T) {
				t.Parallel()
				l, p := grown(t, quickLog(t), 3)
				path := filepath.Join(l.p.Dir, target)
				victims := filepath.Join(filepath.Dir(l.p.Dir), "victims")
				victim := plant(t, path, victims, kind)
				make(t, path, victim)
				outside := snapshot(t, victims)
				err := attempt(t, l, p)
				if harmlessThere(target, kind) {
					return
				}
				if err == nil {
					t.Error("a save was accepted")
				}
				same(t, outside, snapshot(t, victims))
			})
		}
	}
}

// plant moves what is at path out of the way, so that a link to it would work.
func plant(t *testing.T, path, victims, kind string) (victim string) {
	mkdir(t, victims)
	victim = filepath.Join(victims, "victim")
	switch _, err := os.Lstat(path); {
	case err != nil:
		put(t, victim, "a file of somebody else")
	case kind == "symlink inside":
		check(t, os.Rename(path, path+".real"))
		put(t, victim, "a file of somebody else")
	default:
		check(t, os.Rename(path, victim))
	}
	if info, err := os.Lstat(victim); kind == "hard link" && err == nil && info.IsDir() {
		check(t, os.RemoveAll(victim))
		put(t, victim, "a file of somebody else")
	}
	return victim
}

// harmlessThere: a folder of packs or temporaries that is one may be empty, and
// a folder named like the next generation is damage of its own kind.
func harmlessThere(target, kind string) bool {
	name := filepath.Base(target)
	return kind == "folder" && (name == tmpName || name == packName)
}

// attempt reads and saves with a time limit of its own: a FIFO must not block.
func attempt(t *testing.T, l *Log, p ledger.Pos) error {
	t.Helper()
	done := make(chan error, 1)
	go func() {
		s := l.again()
		for range s.Entries(t.Context(), ledger.Pos{}) {
		}
		_, _ = s.Stamps(t.Context())
		unlock, err := s.Lock(t.Context())
		if err == nil {
			_, err = s.Append(t.Context(), p, note("through something strange"))
			_ = unlock()
		}
		done <- err
	}()
	select {
	case err := <-done:
		return err
	case <-time.After(time.Minute):
		t.Fatal("it blocks")
		return nil
	}
}

func makeDevice(t *testing.T, path string) {
	t.Helper()
	if err := unix.Mknod(path, unix.S_IFCHR|0o600, int(unix.Mkdev(1, 3))); err != nil {
		t.Skipf("no device can be made here: %v", err)
	}
}

// The same for what lies in the state folders: a save stands, unprotected or
// unsealed, and says so; nothing outside changes.
func TestHostileState(t *testing.T) {
	for _, target := range []string{"", keyName, "ID", "ID/" + mirrorName, "ID/" + mirrorLockName, pathsName} {
		for _, kind := range []string{"symlink", "hard link", "FIFO"} {
			t.Run(target+" "+kind, func(t *testing.T) {
				l, p := grown(t, quickLog(t), 2)
				path := l.state(strings.Replace(target, "ID", l.id(), 1))
				victims := filepath.Join(filepath.Dir(l.p.Dir), "victims")
				victim := plant(t, path, victims, kind)
				switch kind {
				case "symlink":
					check(t, os.Symlink(victim, path))
				case "hard link":
					check(t, os.Link(victim, path))
				case "FIFO":
					check(t, unix.Mkfifo(path, 0o600))
				}
				outside := snapshot(t, victims)
				s := l.again()
				s.m.Adopted = []string{l.id()}
				saved, err := s.Append(t.Context(), p, note("x"))
				check(t, err)
				if len(saved.Warnings) == 0 {
					t.Errorf("nobody was told: %+v", saved)
				}
				same(t, outside, snapshot(t, victims))
			})
		}
	}
}

// A path note that is a link, or of another path, is none.
func TestHostileNotes(t *testing.T) {
	l, _ := made(t, 2)
	real := realPath(l.p.Dir)
	note := filepath.Join(l.paths(), noteName(real))
	content := get(t, note)
	put(t, filepath.Join(t.TempDir(), "x"), content)
	if _, ok := l.m.readNote(real); !ok {
		t.Fatal("no note")
	}
	for name, do := range map[string]func(){
		"a link":            func() { check(t, os.Rename(note, note+"x")); check(t, os.Symlink(note+"x", note)) },
		"of another path":   func() { put(t, note, strings.Replace(content, real, "/elsewhere", 1)) },
		"of no ledger":      func() { put(t, note, strings.Replace(content, l.id(), "../../x", 1)) },
		"not a note at all": func() { put(t, note, "{") },
	} {
		check(t, os.RemoveAll(note))
		put(t, note, content)
		do()
		if n, ok := l.m.readNote(real); ok {
			t.Errorf("%s: %+v", name, n)
		}
	}
}

// Another user's ledger, or one with a file of another user in it, is refused.
// Root takes a folder's owner for its own, so this runs as nobody.
func TestOtherOwner(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can give files away")
	}
	const nobody = 65534
	for name, c := range map[string]struct {
		give func(l *Log) string
		ok   bool
	}{
		"all its own":          {func(*Log) string { return "" }, true},
		"the folder is root's": {func(l *Log) string { return l.Dir() }, false},
		"FORMAT is root's":     {func(l *Log) string { return l.at(formatName) }, false},
		"the head is root's":   {func(l *Log) string { return l.rev(2) }, false},
	} {
		t.Run(name, func(t *testing.T) {
			dir, err := os.MkdirTemp("", "filelog-")
			check(t, err)
			t.Cleanup(func() { check(t, os.RemoveAll(dir)) })
			l, _ := grown(t, logIn(t, dir), 2)
			check(t, filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error {
				check(t, err)
				return os.Lchown(path, nobody, nobody)
			}))
			if path := c.give(l); path != "" {
				check(t, os.Chown(path, 0, 0))
			}
			exe := filepath.Join(dir, "child")
			self, err := os.Executable()
			check(t, err)
			b, err := os.ReadFile(self)
			check(t, err)
			check(t, os.WriteFile(exe, b, 0o755))
			check(t, os.Chmod(dir, 0o755))
			cmd := l.command(t, "head")
			cmd.Path, cmd.Args[0], cmd.Stderr = exe, exe, nil
			cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
			out, err := cmd.CombinedOutput()
			if (err == nil) != c.ok {
				t.Errorf("%v: %s", err, out)
			}
		})
	}
}

// A folder that can't be written is named; nothing is handed out, and reading
// goes on. As root the modes say nothing, so the layer plays them.
func TestCaseC011_ReadOnlyFolder(t *testing.T) {
	l, p := made(t, 2)
	for _, sys := range []error{errReadOnly, errDenied} {
		ro := l.with(readOnlyBelow(l.Dir(), sys))
		if h := head(t, ro); h != p {
			t.Errorf("head %v", h)
		}
		before := snapshot(t, l.p.Dir, l.m.State[0])
		_, err := ro.Append(t.Context(), p, note("x"))
		if err == nil || !strings.Contains(err.Error(), l.Dir()) {
			t.Errorf("got %v", err)
		}
		if !isNotWritable(err) {
			t.Errorf("%v is not of the class", err)
		}
		_, err = ro.Lock(t.Context())
		if err == nil || !isNotWritable(err) {
			t.Errorf("lock: %v", err)
		}
		same(t, before, snapshot(t, l.p.Dir, l.m.State[0]))
	}
	verify(t, l, add(t, l.again(), p, note("now")))
}

// An outcome can be told for as long as the disk is full.
func TestCaseC010_FullDisk(t *testing.T) {
	for _, below := range []string{"project", "state"} {
		l, p := made(t, 2)
		full := l.with(fullBelow(filepath.Join(filepath.Dir(l.p.Dir), below)))
		if h := head(t, full); h != p {
			t.Errorf("head %v", h)
		}
		before := snapshot(t, l.p.Dir)
		saved, err := full.Append(t.Context(), p, note("x"))
		switch {
		case below == "project" && (err == nil || !isFull(err)):
			t.Errorf("project: %+v, %v", saved, err)
		case below == "project":
			same(t, before, snapshot(t, l.p.Dir))
			saved.Pos = p
		case err != nil || saved.Protected || len(saved.Warnings) == 0:
			t.Errorf("state: %+v, %v", saved, err)
		}
		if found := l.temporaries(t); len(found) > 0 {
			t.Errorf("left: %v", found)
		}
		for range full.Entries(t.Context(), ledger.Pos{}) {
		}
		q := add(t, l.again(), saved.Pos, note("with space again"))
		verify(t, l, q)
		wantMirrored(t, l, q)
	}
}
