package durable

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// accessList is where Linux keeps a POSIX access list. Source: acl(5).
const accessList = "system.posix_acl_access"

// readXattrs gives a file's access list and what users attached to it.
// security.* and trusted.* are the system's own and are left to it.
func readXattrs(f *os.File) (map[string][]byte, error) {
	names, err := xattr(func(buf []byte) (int, error) { return unix.Flistxattr(int(f.Fd()), buf) })
	if errors.Is(err, unix.ENOTSUP) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list extended attributes: %w", err)
	}
	out := map[string][]byte{}
	for name := range bytes.SplitSeq(names, []byte{0}) {
		n := string(name)
		if n != accessList && !strings.HasPrefix(n, "user.") {
			continue
		}
		value, err := xattr(func(buf []byte) (int, error) { return unix.Fgetxattr(int(f.Fd()), n, buf) })
		if errors.Is(err, unix.ENODATA) {
			continue // taken away meanwhile
		}
		if err != nil {
			return nil, fmt.Errorf("read extended attribute %s: %w", n, err)
		}
		out[n] = value
	}
	return out, nil
}

// xattr asks for the size, then for the value, again as long as it grows.
func xattr(get func([]byte) (int, error)) ([]byte, error) {
	for range maxInterrupts {
		n, err := get(nil)
		var out []byte
		if err == nil && n > 0 {
			out = make([]byte, n)
			n, err = get(out)
		}
		switch {
		case errors.Is(err, unix.ERANGE), errors.Is(err, unix.EINTR):
			continue
		case err != nil:
			return nil, err
		}
		return out[:n], nil
	}
	return nil, unix.EINTR
}

func setXattr(f *os.File, name string, value []byte) error {
	return unix.Fsetxattr(int(f.Fd()), name, value, 0)
}
