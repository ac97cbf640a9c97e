//go:build unix

package durable

import (
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
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
	// However the two are scheduled: until enough reads got through.
	for n, read := 0, 0; n < 3000 || read < 100; n++ {
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
	wantFile(t, secret, "secret")
	wantFile(t, d.join("beside"), "secret")
}
