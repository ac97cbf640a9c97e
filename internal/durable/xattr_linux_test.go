package durable

import (
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// list is a POSIX access list as Linux keeps it: the owner reads and writes, one
// other user reads, the group reads, others nothing. Source: the kernel's
// include/uapi/linux/posix_acl_xattr.h.
func list() []byte {
	out := binary.LittleEndian.AppendUint32(nil, 2)
	for _, e := range []struct {
		tag, perm uint16
		id        uint32
	}{{1, 6, ^uint32(0)}, {2, 4, 4242}, {4, 4, ^uint32(0)}, {0x10, 4, ^uint32(0)}, {0x20, 0, ^uint32(0)}} {
		out = binary.LittleEndian.AppendUint16(out, e.tag)
		out = binary.LittleEndian.AppendUint16(out, e.perm)
		out = binary.LittleEndian.AppendUint32(out, e.id)
	}
	return out
}

func TestCaseC041_ReplacingKeepsAccessListsAndAttributes(t *testing.T) {
	d := openDir(t, nil, t.TempDir())
	path := filepath.Join(d.Path(), "f")
	if err := os.WriteFile(path, []byte("old"), 0o640); err != nil {
		t.Fatal(err)
	}
	want := map[string][]byte{"user.note": []byte("kept\x00as it is"), accessList: list()}
	for name, value := range want {
		err := unix.Setxattr(path, name, value, 0)
		if errors.Is(err, unix.ENOTSUP) {
			t.Logf("no %s on this file system", name)
			delete(want, name)
		} else if err != nil {
			t.Fatal(err)
		}
	}
	if len(want) == 0 {
		t.Skip("no extended attributes on this file system")
	}
	before, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := d.ReplaceKeeping(nil, "f", []byte("new content")); err != nil {
		t.Fatal(err)
	}
	after, err := os.Stat(path)
	if err != nil || after.Mode() != before.Mode() || os.SameFile(before, after) {
		t.Errorf("mode %v, was %v: %v", after.Mode(), before.Mode(), err)
	}
	for name, value := range want {
		got := make([]byte, 200)
		n, err := unix.Getxattr(path, name, got)
		if err != nil || !bytes.Equal(got[:n], value) {
			t.Errorf("%s: %q, %v", name, got[:max(n, 0)], err)
		}
	}
}

// TestReplacingSaysWhatItCannotKeep: an access list that can't be given to the
// new file stops the replacing; the old file stands.
func TestReplacingSaysWhatItCannotKeep(t *testing.T) {
	path := t.TempDir()
	if err := os.WriteFile(filepath.Join(path, "f"), []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := unix.Setxattr(filepath.Join(path, "f"), "user.note", []byte("x"), 0); err != nil {
		t.Skip("no extended attributes on this file system: ", err)
	}
	d := openDir(t, &Layer{Fault: func(op Op, _ string) error {
		if op == OpChmod {
			return syscall.EPERM
		}
		return nil
	}}, path)
	if err := d.ReplaceKeeping(nil, "f", []byte("new")); !errors.Is(err, syscall.EPERM) {
		t.Errorf("not told: %v", err)
	}
	if names, err := d.Names(); err != nil || len(names) != 1 {
		t.Errorf("%v, %v", names, err)
	}
	if data, err := os.ReadFile(filepath.Join(path, "f")); err != nil || string(data) != "old" {
		t.Errorf("%s, %v", data, err)
	}
}
