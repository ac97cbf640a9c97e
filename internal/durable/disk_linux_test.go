package durable

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// inMounts runs a part in its own mount and user namespace, where it may mount.
func inMounts(t *testing.T, part string) {
	t.Helper()
	cmd := child(t, part, t.TempDir())
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
	}
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Skip("no user namespaces here, so nothing can be mounted:", err)
	}
	if bytes.Contains(out.Bytes(), []byte("mount: ")) {
		t.Skipf("nothing can be mounted here: %s", out.Bytes())
	}
	if err != nil {
		t.Errorf("%v\n%s", err, out.Bytes())
	}
}

func mount(source, target, kind string, flags uintptr, data string) error {
	if err := unix.Mount(source, target, kind, flags, data); err != nil {
		return fmt.Errorf("mount: %w", err)
	}
	return nil
}

func TestCaseC010_FullDisk(t *testing.T) { inMounts(t, "full") }

func TestCaseC010_NoInodesLeft(t *testing.T) { inMounts(t, "nospc") }

func TestCaseC011_ReadOnlyMount(t *testing.T) { inMounts(t, "ro") }

const oldContent = "line 1\nline 2\n"

// small is a tmpfs with a folder of ours on it.
func small(base, options string) (d, tmp *Dir, err error) {
	if err := mount("tmpfs", base, "tmpfs", 0, options); err != nil {
		return nil, nil, err
	}
	if err := os.Chmod(base, 0o700); err != nil {
		return nil, nil, err
	}
	d, err = (*Layer)(nil).OpenDir(base)
	if err == nil {
		tmp, err = d.MakeSub("tmp", 0o700)
	}
	if err == nil {
		err = os.WriteFile(d.join("old"), []byte(oldContent), 0o600)
	}
	return d, tmp, err
}

// writes are all the ways of writing more than fits.
func writes(d, tmp *Dir, data []byte) map[string]func() error {
	return map[string]func() error{
		"publish": func() error { _, err := d.Publish(tmp, "new", data, 0o400); return err },
		"publish by create": func() error {
			d.l = without(ByCreate)
			defer func() { d.l = nil }()
			_, err := d.Publish(tmp, "new", data, 0o400)
			return err
		},
		"replace":         func() error { return d.Replace(tmp, "old", data, 0o600) },
		"replace keeping": func() error { return d.ReplaceKeeping(nil, "old", data) },
		"append":          func() error { return d.Append("old", data, 0o600) },
		"in place":        func() error { return d.WriteInPlace("old", data) },
	}
}

// wantRefused runs every write, which must fail in the given way and leave
// everything as it was.
func wantRefused(d, tmp *Dir, data []byte, class func(error) bool) (errs []error) {
	for name, write := range writes(d, tmp, data) {
		if err := write(); err == nil || !class(err) {
			errs = append(errs, fmt.Errorf("%s: got %v", name, err))
		}
		got, err := d.ReadFile("old", 1<<20)
		if err != nil || string(got) != oldContent {
			errs = append(errs, fmt.Errorf("%s: old file holds %d bytes: %w", name, len(got), err))
		}
		if _, err := d.Lstat("new"); !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, fmt.Errorf("%s: something was published: %w", name, err))
		}
		for _, dir := range []*Dir{d, tmp} {
			names, err := dir.Names()
			for _, n := range names {
				if IsTemporary(n) {
					err = errors.Join(err, errors.New("a temporary file stays"))
				}
			}
			if err != nil {
				errs = append(errs, fmt.Errorf("%s: %w", name, err))
			}
		}
	}
	return errs
}

// wantAccepted: without any repair the same writes work.
func wantAccepted(d, tmp *Dir, data []byte) (errs []error) {
	for name, write := range writes(d, tmp, data) {
		if err := write(); err != nil {
			errs = append(errs, fmt.Errorf("%s with room again: %w", name, err))
		}
		os.Remove(d.join("new"))
	}
	return errs
}

func childFull(args []string) error {
	d, tmp, err := small(args[0], "size=128k")
	if err != nil {
		return err
	}
	filler, err := os.Create(filepath.Join(args[0], "filler"))
	if err != nil {
		return err
	}
	for err == nil {
		_, err = filler.Write(make([]byte, 4096))
	}
	filler.Close()
	if !DiskFull(err) {
		return err
	}
	data := bytes.Repeat([]byte("0123456\n"), 1<<10)
	errs := wantRefused(d, tmp, data, DiskFull)
	if err := os.Remove(filler.Name()); err != nil {
		return err
	}
	return errors.Join(append(errs, wantAccepted(d, tmp, data)...)...)
}

func childNoInodes(args []string) error {
	d, tmp, err := small(args[0], "size=1m,nr_inodes=32")
	if err != nil {
		return err
	}
	n := 0
	for ; err == nil; n++ {
		err = os.WriteFile(filepath.Join(args[0], "f"+strconv.Itoa(n)), nil, 0o600)
	}
	if !DiskFull(err) {
		return err
	}
	var errs []error
	for name, write := range writes(d, tmp, []byte("x\n")) {
		if name == "append" || name == "in place" {
			continue // these need no inode
		}
		if err := write(); !DiskFull(err) {
			errs = append(errs, fmt.Errorf("%s: got %v", name, err))
		}
	}
	if _, err := d.Lock(bg, "lock", 0, ""); !DiskFull(err) {
		errs = append(errs, fmt.Errorf("lock: got %v", err))
	}
	if _, err := d.MakeSub("sub", 0o700); !DiskFull(err) {
		errs = append(errs, fmt.Errorf("make folder: got %v", err))
	}
	for i := range n {
		os.Remove(filepath.Join(args[0], "f"+strconv.Itoa(i)))
	}
	return errors.Join(append(errs, wantAccepted(d, tmp, []byte("x\n"))...)...)
}

func childReadOnly(args []string) error {
	d, tmp, err := small(args[0], "size=1m")
	if err == nil {
		err = os.WriteFile(d.join("lock"), nil, 0o600)
	}
	if err == nil {
		err = mount("", args[0], "", unix.MS_REMOUNT|unix.MS_RDONLY, "")
	}
	if err != nil {
		return err
	}
	errs := wantRefused(d, tmp, []byte("x\n"), NotWritable)
	for name, write := range map[string]func() error{
		"lock":        func() error { _, err := d.Lock(bg, "lock", 0, ""); return err },
		"make folder": func() error { _, err := d.MakeSub("sub", 0o700); return err },
		"make all":    func() error { return (*Layer)(nil).MkdirAll(d.join("a"), 0o700) },
		"chmod":       func() error { return d.Chmod("old", 0o400) },
		"remove":      func() error { return d.Remove("old") },
		"rename":      func() error { return d.Rename("old", tmp, "new") },
	} {
		if err := write(); !NotWritable(err) {
			errs = append(errs, fmt.Errorf("%s: got %v", name, err))
		}
	}
	if f, err := d.Open("old"); err != nil {
		errs = append(errs, err)
	} else {
		f.Close()
	}
	return errors.Join(errs...)
}

// A real mount in the way: a bind-mounted file, and a tmp on another mount,
// from which nothing can be linked or renamed.
func TestMountsInTheWay(t *testing.T) { inMounts(t, "mounts") }

func childMounts(args []string) error {
	d, tmp, err := small(args[0], "size=1m")
	if err == nil {
		err = os.WriteFile(d.join("source"), []byte("bound\n"), 0o600)
	}
	if err == nil {
		err = mount(d.join("source"), d.join("old"), "", unix.MS_BIND, "")
	}
	if err != nil {
		return err
	}
	var mounted *MountedError
	for _, err := range []error{d.Replace(tmp, "old", []byte("x"), 0o600), d.ReplaceKeeping(nil, "old", []byte("x"))} {
		if !errors.As(err, &mounted) {
			return fmt.Errorf("replace a mounted file: %w", err)
		}
	}
	if err := d.WriteInPlace("old", []byte("in place\n")); err != nil {
		return err
	}
	if got, err := d.ReadFile("source", 100); err != nil || string(got) != "in place\n" {
		return fmt.Errorf("the mounted file holds %q: %w", got, err)
	}
	tmp.Close()
	if err := mount("tmpfs", d.join("tmp"), "tmpfs", 0, "size=1m,mode=700"); err != nil {
		return err
	}
	if tmp, err = d.Sub("tmp"); err != nil {
		return err
	}
	pub, err := d.Publish(tmp, "new", []byte("x\n"), 0o400)
	if err != nil || pub.How != ByCreate {
		return fmt.Errorf("published by %q: %w", pub.How, err)
	}
	if _, err = d.Publish(tmp, "new", []byte("y\n"), 0o400); !errors.Is(err, ErrExists) {
		return fmt.Errorf("published twice: %w", err)
	}
	names, err := tmp.Names()
	if len(names) != 0 {
		err = errors.Join(err, errors.New("a temporary file stays"))
	}
	return err
}

func mountChildren() map[string]func([]string) error {
	return map[string]func([]string) error{"full": childFull, "nospc": childNoInodes, "ro": childReadOnly,
		"mounts": childMounts}
}
