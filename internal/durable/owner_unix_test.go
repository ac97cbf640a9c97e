//go:build unix

package durable

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
)

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
