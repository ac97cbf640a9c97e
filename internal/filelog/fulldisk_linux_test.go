package filelog

import (
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// The real thing: a small file system, filled to the last byte or inode.
func TestCaseC010_RealFullDisk(t *testing.T) {
	for _, option := range []string{"size=96k", "size=1m,nr_inodes=24"} {
		t.Run(option, func(t *testing.T) {
			dir := t.TempDir()
			if err := unix.Mount("tmpfs", dir, "tmpfs", 0, option); err != nil {
				t.Skipf("nothing can be mounted here: %v", err)
			}
			defer func() { check(t, unix.Unmount(dir, 0)) }()
			l := testLog(t)
			l.p.Dir = filepath.Join(dir, "project")
			mkdir(t, l.p.Dir)
			p := create(t, l)
			for n := 0; ; n++ {
				saved, err := l.Append(t.Context(), p, note(strings.Repeat("x", 1500)))
				if err != nil {
					if !isFull(err) {
						t.Fatalf("after %d saves: %v", n, err)
					}
					break
				}
				p = saved.Pos
			}
			verify(t, l, p)
			if found := l.temporaries(t); len(found) > 0 {
				t.Errorf("left: %v", found)
			}
			check(t, unix.Mount("", dir, "", unix.MS_REMOUNT, "size=4m,nr_inodes=1000"))
			verify(t, l, add(t, l.again(), p, note("with space again")))
			check(t, unix.Mount("", dir, "", unix.MS_REMOUNT|unix.MS_RDONLY, ""))
			h := head(t, l.again())
			if _, err := l.again().Append(t.Context(), h, note("x")); err == nil || !isNotWritable(err) {
				t.Errorf("read-only: %v", err)
			}
			verify(t, l, h)
			check(t, unix.Mount("", dir, "", unix.MS_REMOUNT, ""))
		})
	}
}
