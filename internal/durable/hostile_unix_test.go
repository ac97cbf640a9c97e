//go:build unix

package durable

import (
	"errors"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// hostile are the things that may lie where a file of ours should be. Each
// makes one at path; outside is a folder of the victim's.
func hostile(t *testing.T) map[string]func(t *testing.T, path, outside string) {
	kinds := map[string]func(t *testing.T, path, outside string){
		"link to a file beside it": func(t *testing.T, path, _ string) {
			put(t, path+".target", "victim\n")
			check(t, os.Symlink(filepath.Base(path)+".target", path))
		},
		"link to a file outside": func(t *testing.T, path, outside string) {
			check(t, os.Symlink(filepath.Join(outside, "victim"), path))
		},
		"relative link to a file outside": func(t *testing.T, path, outside string) {
			rel, err := filepath.Rel(filepath.Dir(path), filepath.Join(outside, "victim"))
			check(t, err)
			check(t, os.Symlink(rel, path))
		},
		"dangling link": func(t *testing.T, path, _ string) {
			check(t, os.Symlink("nowhere", path))
		},
		"dangling link outside": func(t *testing.T, path, outside string) {
			check(t, os.Symlink(filepath.Join(outside, "nowhere"), path))
		},
		"link to itself": func(t *testing.T, path, _ string) {
			check(t, os.Symlink(filepath.Base(path), path))
		},
		"FIFO": func(t *testing.T, path, _ string) { check(t, unix.Mkfifo(path, 0o600)) },
		"folder": func(t *testing.T, path, _ string) {
			check(t, os.Mkdir(path, 0o700))
			put(t, filepath.Join(path, "in it"), "victim\n")
		},
		"socket": func(t *testing.T, path, _ string) {
			// A path for a socket is short: bind under a short name first.
			short, err := os.MkdirTemp("", "s")
			check(t, err)
			defer os.RemoveAll(short)
			s, err := net.ListenUnix("unix", &net.UnixAddr{Name: filepath.Join(short, "s")})
			check(t, err)
			s.SetUnlinkOnClose(false)
			t.Cleanup(func() { s.Close() })
			check(t, os.Rename(filepath.Join(short, "s"), path))
		},
		"third name of a file": func(t *testing.T, path, outside string) {
			check(t, os.Link(filepath.Join(outside, "victim"), filepath.Join(outside, "second")))
			check(t, os.Link(filepath.Join(outside, "victim"), path))
		},
	}
	if os.Geteuid() == 0 {
		kinds["device"] = func(t *testing.T, path, _ string) {
			if err := unix.Mknod(path, unix.S_IFCHR|0o600, int(unix.Mkdev(1, 5))); err != nil {
				t.Skip("this kernel lets nobody make a device here:", err)
			}
		}
		kinds["foreign file"] = func(t *testing.T, path, _ string) {
			put(t, path, "victim\n")
			check(t, os.Chown(path, 12345, 12345))
		}
	} else {
		t.Log("not root: devices and foreign files are not tried")
	}
	return kinds
}

// world is a folder with a hostile thing "x" in it, and a victim outside.
type world struct {
	d       *Dir
	outside string
	before  map[string]string
	kind    fs.FileInfo
}

func newWorld(t *testing.T, make func(t *testing.T, path, outside string)) *world {
	t.Helper()
	base := t.TempDir()
	w := &world{outside: filepath.Join(base, "outside")}
	ours := filepath.Join(base, "ours")
	check(t, os.Mkdir(w.outside, 0o700))
	check(t, os.Mkdir(ours, 0o700))
	put(t, filepath.Join(w.outside, "victim"), "victim\n")
	make(t, filepath.Join(ours, "x"), w.outside)
	w.d = openDir(t, nil, ours)
	w.before = snapshot(t, base)
	var err error
	w.kind, err = os.Lstat(w.d.join("x"))
	check(t, err)
	return w
}

// wantUntouched: no content changed, nothing was made, x is still what it was.
func (w *world) wantUntouched(t *testing.T) {
	t.Helper()
	after := snapshot(t, filepath.Dir(w.outside))
	for name, content := range w.before {
		if after[name] != content {
			t.Errorf("%s was changed", name)
		}
	}
	wantMissing(t, filepath.Join(w.outside, "nowhere"))
	wantMissing(t, w.d.join("nowhere"))
	wantNoTemporaries(t, filepath.Dir(w.outside))
	now, err := os.Lstat(w.d.join("x"))
	check(t, err)
	if !os.SameFile(now, w.kind) || now.Mode() != w.kind.Mode() {
		t.Errorf("x was %v and is %v", w.kind.Mode(), now.Mode())
	}
}

func TestHostileThingsAreRefused(t *testing.T) {
	opened := func(f *os.File, err error) error {
		if err == nil {
			f.Close()
		}
		return err
	}
	ops := map[string]func(d *Dir) error{
		"Open":       func(d *Dir) error { return opened(d.Open("x")) },
		"OpenLinked": func(d *Dir) error { return opened(d.OpenLinked("x")) },
		"ReadFile":   func(d *Dir) error { _, err := d.ReadFile("x", 1<<20); return err },
		"Append":     func(d *Dir) error { return d.Append("x", []byte("evil\n"), 0o600) },
		"Lock": func(d *Dir) error {
			k, err := d.Lock(bg, "x", time.Hour, "evil\n")
			return errors.Join(err, k.Unlock())
		},
		"ReplaceKeeping": func(d *Dir) error { return d.ReplaceKeeping(nil, "x", []byte("evil")) },
		"WriteInPlace":   func(d *Dir) error { return d.WriteInPlace("x", []byte("evil")) },
		"Chmod":          func(d *Dir) error { return d.Chmod("x", 0o777) },
	}
	for kind, make := range hostile(t) {
		for name, op := range ops {
			if kind == "folder" && name == "Chmod" {
				continue // that is allowed
			}
			t.Run(kind+"/"+name, func(t *testing.T) {
				w := newWorld(t, make)
				err := op(w.d)
				if kind == "foreign file" && name != "" {
					wantForeignRefused(t, err)
				} else {
					wantIs(t, err, ErrUnsafe)
				}
				w.wantUntouched(t)
			})
		}
		t.Run(kind+"/Publish", func(t *testing.T) {
			for _, way := range []string{ByLink, ByRename, ByCreate} {
				w := newWorld(t, make)
				w.d.l = without(way)
				_, err := w.d.Publish(nil, "x", []byte("evil"), 0o600)
				wantIs(t, err, ErrExists)
				w.wantUntouched(t)
			}
		})
		t.Run(kind+"/Rename", func(t *testing.T) {
			w := newWorld(t, make)
			put(t, w.d.join("y"), "y")
			wantIs(t, w.d.Rename("y", w.d, "x"), ErrExists)
			w.wantUntouched(t)
			wantFile(t, w.d.join("y"), "y")
		})
		t.Run(kind+"/Replace", func(t *testing.T) {
			w := newWorld(t, make)
			err := w.d.Replace(nil, "x", []byte("new"), 0o600)
			if kind == "folder" {
				if err == nil {
					t.Fatal("a folder was replaced")
				}
				w.wantUntouched(t)
				return
			}
			check(t, err)
			wantFile(t, w.d.join("x"), "new")
			wantFile(t, filepath.Join(w.outside, "victim"), "victim\n")
			wantMissing(t, filepath.Join(w.outside, "nowhere"))
		})
	}
}

func wantForeignRefused(t *testing.T, err error) {
	t.Helper()
	var unsafe *UnsafeFileError
	if !errors.As(err, &unsafe) || unsafe.Why != "belongs to another user" {
		t.Fatalf("got %v", err)
	}
}

// A second hard link may be our own temporary: readers of published files
// accept two names, everybody else one.
func TestSecondName(t *testing.T) {
	w := newWorld(t, func(t *testing.T, path, outside string) {
		check(t, os.Link(filepath.Join(outside, "victim"), path))
	})
	_, err := w.d.Open("x")
	wantIs(t, err, ErrUnsafe)
	wantIs(t, w.d.Append("x", []byte("evil\n"), 0o600), ErrUnsafe)
	wantIs(t, w.d.WriteInPlace("x", []byte("evil\n")), ErrUnsafe)
	wantIs(t, w.d.Chmod("x", 0o777), ErrUnsafe)
	f, err := w.d.OpenLinked("x")
	check(t, err)
	f.Close()
	w.wantUntouched(t)
}

func TestHostileFolders(t *testing.T) {
	for kind, make := range hostile(t) {
		if kind == "folder" {
			continue
		}
		t.Run(kind, func(t *testing.T) {
			w := newWorld(t, make)
			x := w.d.join("x")
			_, err := w.d.Sub("x")
			wantIs(t, err, ErrUnsafe)
			_, err = w.d.MakeSub("x", 0o700)
			wantIs(t, err, ErrUnsafe)
			_, err = (*Layer)(nil).OpenDir(x)
			wantIs(t, err, ErrUnsafe)
			_, err = (*Layer)(nil).OpenForeignDir(x)
			wantIs(t, err, ErrUnsafe)
			if err := (*Layer)(nil).MkdirAll(x, 0o700); err == nil {
				t.Error("MkdirAll took it for a folder")
			}
			w.wantUntouched(t)
		})
	}
	t.Run("links to folders", func(t *testing.T) {
		w := newWorld(t, func(t *testing.T, path, outside string) {
			check(t, os.Mkdir(filepath.Join(filepath.Dir(path), "sub"), 0o700))
			check(t, os.Symlink("sub", path))
		})
		_, err := w.d.Sub("x")
		wantIs(t, err, ErrUnsafe)
		_, err = w.d.MakeSub("x", 0o700)
		wantIs(t, err, ErrUnsafe)
		_, err = (*Layer)(nil).OpenDir(w.d.join("x"))
		wantIs(t, err, ErrUnsafe)
	})
}

// Somebody swaps the file for a link to a secret, for a FIFO and back, all the
// time. No opening may block or come out with the secret.
func TestOpenWhileTheNameIsSwapped(t *testing.T) {
	d, _ := tempDir(t, nil)
	secret := filepath.Join(t.TempDir(), "secret")
	put(t, secret, "secret")
	put(t, d.join("beside"), "secret")
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for n := 0; ; n++ {
			select {
			case <-stop:
				return
			default:
			}
			next := d.join("next")
			switch n % 4 {
			case 0, 2:
				os.WriteFile(next, []byte("plain"), 0o600)
			case 1:
				os.Symlink([]string{secret, "beside"}[n/4%2], next)
			case 3:
				unix.Mkfifo(next, 0o600)
			}
			os.Rename(next, d.join("x"))
		}
	}()
	read := 0
	for range 3000 {
		data, err := d.ReadFile("x", 100)
		switch {
		case err == nil && !strings.Contains(string(data), "secret"):
			read++
		case err == nil:
			t.Fatal("read the secret")
		}
		err = d.Append("x", []byte("added"), 0o600)
		if err != nil && !errors.Is(err, ErrUnsafe) && !errors.Is(err, fs.ErrNotExist) {
			var pathErr *fs.PathError
			if !errors.As(err, &pathErr) { // "path escapes from parent"
				t.Fatal(err)
			}
		}
	}
	close(stop)
	<-done
	if read == 0 {
		t.Error("not one read got through: the test shows nothing")
	}
	wantFile(t, secret, "secret")
	wantFile(t, d.join("beside"), "secret")
}

// Owner rules for root: what belongs to root or to the folder's owner is ours,
// and what root makes in somebody's folder becomes that somebody's.
func TestOwnersForRoot(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root to give files away")
	}
	path := t.TempDir()
	check(t, os.Chown(path, 1234, 1234))
	d := openDir(t, nil, path)
	for name, uid := range map[string]int{"root's": 0, "owner's": 1234, "third party's": 5678} {
		put(t, d.join(name), "x")
		check(t, os.Chown(d.join(name), uid, uid))
		f, err := d.Open(name)
		if uid == 5678 {
			wantForeignRefused(t, err)
			continue
		}
		check(t, err)
		f.Close()
	}
	sub, err := d.MakeSub("sub", 0o700)
	check(t, err)
	defer sub.Close()
	_, err = sub.Publish(nil, "published", nil, 0o400)
	check(t, err)
	check(t, d.Replace(sub, "replaced", nil, 0o600))
	check(t, d.Append("appended", nil, 0o600))
	k, err := d.Lock(bg, "lock", 0, "")
	check(t, err)
	check(t, k.Unlock())
	for _, name := range []string{"sub", "sub/published", "replaced", "appended", "lock"} {
		info, err := os.Lstat(d.join(name))
		check(t, err)
		if uid, gid, _ := ownerOf(info); uid != 1234 || gid != 1234 {
			t.Errorf("%s belongs to %d:%d", name, uid, gid)
		}
	}
}

// The same as a plain user: only what is that user's own.
func TestOwnersForAPlainUser(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root to become somebody else")
	}
	base, err := os.MkdirTemp("", "owners")
	check(t, err)
	defer os.RemoveAll(base)
	check(t, os.Chmod(base, 0o755))
	exe, err := os.Executable()
	check(t, err)
	bin, err := os.ReadFile(exe)
	check(t, err)
	check(t, os.WriteFile(filepath.Join(base, "bin"), bin, 0o755))
	for name, uid := range map[string]int{"mine": 1234, "roots": 0} {
		dir := filepath.Join(base, name)
		check(t, os.Mkdir(dir, 0o755))
		for name, uid := range map[string]int{"mine": 1234, "roots": 0} {
			check(t, os.WriteFile(filepath.Join(dir, name), []byte("x"), 0o644))
			check(t, os.Chown(filepath.Join(dir, name), uid, uid))
		}
		check(t, os.Mkdir(filepath.Join(dir, "sub"), 0o755))
		check(t, os.Chown(dir, uid, uid))
	}
	cmd := exec.Command(filepath.Join(base, "bin"), base)
	cmd.Dir = base
	cmd.Env = []string{childEnv + "=owners"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 1234, Gid: 1234}}
	out, err := cmd.CombinedOutput()
	check(t, err)
	want := "open mine: ok\nmine/mine: ok\nmine/roots: belongs to another user\nmine/sub: belongs to another user\n" +
		"open roots: belongs to another user\nroots/mine: ok\nroots/roots: belongs to another user\nroots/sub: belongs to another user\n"
	if string(out) != want {
		t.Errorf("got\n%swant\n%s", out, want)
	}
}

func childOwners(args []string) error {
	say := func(what string, err error) {
		var unsafe *UnsafeFileError
		switch {
		case err == nil:
			os.Stdout.WriteString(what + ": ok\n")
		case errors.As(err, &unsafe):
			os.Stdout.WriteString(what + ": " + unsafe.Why + "\n")
		default:
			os.Stdout.WriteString(what + ": " + err.Error() + "\n")
		}
	}
	for _, name := range []string{"mine", "roots"} {
		path := filepath.Join(args[0], name)
		_, err := (*Layer)(nil).OpenDir(path)
		say("open "+name, err)
		d, err := (*Layer)(nil).OpenForeignDir(path)
		if err != nil {
			return err
		}
		for _, file := range []string{"mine", "roots"} {
			_, err := d.Open(file)
			say(name+"/"+file, err)
		}
		_, err = d.Sub("sub")
		say(name+"/sub", err)
	}
	return nil
}

func TestReplaceKeepingKeepsModeAndOwner(t *testing.T) {
	d, tmp := tempDir(t, nil)
	for _, mode := range []fs.FileMode{0o600, 0o644, 0o640, 0o755, 0o444} {
		put(t, d.join("x"), "old")
		check(t, os.Chmod(d.join("x"), mode))
		uid := os.Geteuid()
		if uid == 0 {
			check(t, os.Chown(tmp.Path(), 1234, 1234))
			check(t, os.Chown(d.Path(), 1234, 1234))
			d, uid = openDir(t, nil, d.Path()), 1234
			check(t, os.Chown(d.join("x"), uid, 4321))
		}
		check(t, d.ReplaceKeeping(nil, "x", []byte("new")))
		wantFile(t, d.join("x"), "new")
		info, err := d.Lstat("x")
		check(t, err)
		owner, gid, _ := ownerOf(info)
		if info.Mode().Perm() != mode || owner != uid || os.Geteuid() == 0 && gid != 4321 {
			t.Errorf("%v became %v of %d:%d", mode, info.Mode(), owner, gid)
		}
		check(t, d.Remove("x"))
	}
	if err := d.ReplaceKeeping(nil, "missing", nil); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v", err)
	}
}

func TestMountedFileIsToldApart(t *testing.T) {
	d, tmp := tempDir(t, nil)
	put(t, d.join("x"), "old")
	d.l = &Layer{Fault: func(op Op, _ string) error {
		if op == OpRename {
			return errBusy
		}
		return nil
	}}
	for _, err := range []error{d.Replace(tmp, "x", []byte("new"), 0o600), d.ReplaceKeeping(nil, "x", []byte("new"))} {
		var mounted *MountedError
		if !errors.As(err, &mounted) || mounted.Path != d.join("x") {
			t.Errorf("got %v", err)
		}
		wantFile(t, d.join("x"), "old")
		wantNoTemporaries(t, d.Path())
	}
}

// A stopped holder is waited for, then named; once it goes on and lets go the
// lock is free. Stray signals in between don't end the wait.
func TestCaseC049_StoppedHolderIsWaitedForThenNamed(t *testing.T) {
	d, _ := tempDir(t, nil)
	text := "pid 77, started 2026-11-30T20:00:00Z, host box"
	cmd, in := hold(t, d, text+"\n")
	check(t, cmd.Process.Signal(syscall.SIGSTOP))
	stop := signalOurselves(t)
	_, err := d.Lock(bg, "lock", 100*time.Millisecond, "me\n")
	stop()
	var busy *BusyError
	if !errors.As(err, &busy) || busy.Holder != text {
		t.Fatalf("got %v", err)
	}
	if !strings.Contains(err.Error(), text) {
		t.Errorf("the message doesn't name the holder: %v", err)
	}
	got := make(chan error)
	go func() {
		k, err := d.Lock(bg, "lock", time.Hour, "me\n")
		got <- errors.Join(err, k.Unlock())
	}()
	check(t, in.Close())
	check(t, cmd.Process.Signal(syscall.SIGCONT))
	check(t, <-got)
}

// signalOurselves sends this process a stream of harmless signals.
func signalOurselves(t *testing.T) (stop func()) {
	quit, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-quit:
				return
			case <-time.After(time.Millisecond):
				if err := syscall.Kill(os.Getpid(), syscall.SIGWINCH); err != nil {
					t.Error(err)
				}
			}
		}
	}()
	return func() { close(quit); <-done }
}
